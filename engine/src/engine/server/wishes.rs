//! What a rank asks the server of its node for, and how it waits for that.

use super::served_members::Entering;
use super::{NodeServer, Reason};
use crate::engine::waiting::Beside;
use crate::engine::Engine;
use crate::message::failed;
use crate::onesided::Servant;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::sync::atomic::{fence, AtomicU64, AtomicU8, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// That a server does something with memory of a rank.
    Operation = 1,
    /// The same, and it is a lock, which may be granted later.
    Lock = 2,
    /// That this rank's memory is served.
    Enter = 3,
    /// That it is not served any more.
    Leave = 4,
    /// That a block of the one who asks goes to memory of a rank.
    Put = 5,
    /// That a block of that memory goes to the one who asks.
    Get = 6,
    /// As an operation, under a lock that is taken before. If that is granted later, the answer is empty, and nothing was done.
    Locked = 7,
}

/// How it has ended.
pub const DONE: u8 = 1;
/// It was refused.
pub const REFUSED: u8 = 2;
/// The node that was asked is gone.
pub const GONE: u8 = 3;
/// It has not ended: it is a lock that others have.
pub const QUEUED: u8 = 4;
/// Nothing was done: the block has to go in pieces.
pub const CUT: u8 = 5;

/// Bytes of a room before the answer: its length.
pub const ROOM_HEAD: u64 = 8;

/// If something was not done, the launcher may be about to say that a rank has failed.
const LAUNCHERS_TURN: Duration = Duration::from_millis(500);

/// What a server reads of a wish.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Slip {
    /// One of [`What`].
    pub what: u32,
    /// The node whose server does it.
    pub node: u32,
    /// The job rank whose memory it is.
    pub rank: u32,
    /// Bytes of the body.
    pub bytes: u32,
    /// Where the body lies: as [`body_of`](super::served_members::body_of) makes it, or what enters or leaves.
    pub body: u64,
    /// Where the answer shall lie: its length, and behind it as many bytes of it as there is room for.
    pub room: u64,
    /// That room, in bytes.
    pub most: u64,
    /// The block that goes, or where one goes to: its address,
    pub block: u64,
    /// and its length.
    pub block_bytes: u64,
}

/// Something that a rank asks for, in its memory until it has ended.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Wish {
    /// Address of the one that this rank has asked for before.
    pub older: AtomicU64,
    /// How it has ended; 0: it has not.
    pub ended: AtomicU8,
    /// What it is.
    pub slip: Slip,
}

/// With what it needs. The server reads and writes there until it has ended.
struct Pending {
    wish: Wish,
    /// Until it has ended, only the server reads it.
    body: Vec<u8>,
    room: Vec<u8>,
}

/// Something that a server is doing with memory of a member.
#[derive(Clone)]
pub(in crate::engine) struct UnderWay {
    pending: Arc<Pending>,
    servant: Servant,
}

impl UnderWay {
    /// What was asked for, once that has ended.
    pub fn body(&self) -> &[u8] {
        &self.pending.body
    }

    /// The context of the exposure whose lock has to be had before.
    fn locked_context(&self) -> Option<u64> {
        (self.pending.wish.slip.what == What::Locked as u32).then_some(self.servant.context)
    }
}

impl Drop for UnderWay {
    /// Where nobody has waited for the end, the server keeps the memory.
    fn drop(&mut self) {
        if matches!(self.pending.wish.ended.load(Ordering::Acquire), 0 | QUEUED) {
            self.pending.abandon();
        }
    }
}

impl Pending {
    /// The answer, once it has ended: its length comes first.
    fn answer(&self) -> &[u8] {
        fence(Ordering::Acquire);
        // SAFETY: the server has written there before it said that it has ended; eight bytes and the answer.
        let given = unsafe { self.room.as_ptr().cast::<u64>().read_unaligned() } as usize;
        self.room.get(8..8 + given).unwrap_or_default()
    }

    /// It is never given back: a server may still read and write there.
    fn abandon(self: &Arc<Pending>) {
        std::mem::forget(self.clone());
    }
}

impl Engine {
    /// Has a server do what a body asks for, which may be for a lock; the answer will have `most` bytes.
    ///
    /// # Errors
    /// Where this node has no server.
    pub(in crate::engine) fn begin_to_ask_server(
        &self,
        servant: Servant,
        (what, body): (What, Vec<u8>),
        most: usize,
    ) -> Result<UnderWay> {
        let server = self.server.get().ok_or_else(no_server)?;
        let node = servant.node.ok_or_else(no_server)?;
        let slip = Slip { what: what as u32, node, rank: servant.job_rank.0, ..Slip::default() };
        Ok(UnderWay { pending: self.begin_wish(server, slip, body, most), servant })
    }

    /// Has servers move a block between memory of this rank, address and length, and that which a body names. What is got
    /// is there, and what goes may be used again, when that is over.
    ///
    /// # Errors
    /// Where this node has no server.
    pub(in crate::engine) fn begin_to_move(
        &self,
        servant: Servant,
        (what, body): (What, Vec<u8>),
        (block, block_bytes): (u64, u64),
    ) -> Result<UnderWay> {
        let server = self.server.get().ok_or_else(no_server)?;
        let (node, rank) = (servant.node.ok_or_else(no_server)?, servant.job_rank.0);
        let slip = Slip { what: what as u32, node, rank, block, block_bytes, ..Slip::default() };
        Ok(UnderWay { pending: self.begin_wish(server, slip, body, 0), servant })
    }

    /// Whether servers move blocks whole between a member's memory, which its server reaches by plain loads and stores or
    /// not, and that of members on other nodes.
    pub(in crate::engine) fn servers_move_blocks(&self, servant: Servant, is_plain: bool) -> bool {
        let leads = |node| self.leader_of(node) == servant.job_rank;
        servant.node.is_some_and(|node| self.servers_take_long() && (is_plain || leads(node)))
    }

    /// Whether servers fetch long requests, and long answers.
    pub(in crate::engine) fn servers_take_long(&self) -> bool {
        self.server.get().is_some_and(|server| !server.is_in_steps)
    }

    /// Waits until a server has done it, and takes the answer, which is as long as `answer`.
    ///
    /// # Errors
    /// What the server says; what progress reports.
    pub(in crate::engine) fn wait_for_server(&self, under_way: UnderWay, answer: &mut [u8]) -> Result<()> {
        let UnderWay { pending, servant } = &under_way;
        let server = self.server.get().ok_or_else(no_server)?;
        self.wait_for_wish(server, pending, Some(servant.context))?;
        match self.how_ended(server, pending, Some(servant.context))? {
            DONE if pending.answer().len() == answer.len() => {
                answer.copy_from_slice(pending.answer());
                Ok(())
            }
            ended => Err(self.not_done(server, *servant, ended)),
        }
    }

    /// Waits until a server has done it, or will not do it.
    ///
    /// # Errors
    /// What progress reports.
    pub(in crate::engine) fn await_server(&self, under_way: &UnderWay) -> Result<()> {
        let server = self.server.get().ok_or_else(no_server)?;
        self.wait_for_wish(server, &under_way.pending, under_way.locked_context())
    }

    /// The answer, or why there is none; `None`: it has not ended.
    pub(in crate::engine) fn outcome<'a>(&self, under_way: &'a UnderWay) -> Option<Result<&'a [u8]>> {
        let UnderWay { pending, servant } = under_way;
        let Some(server) = self.server.get() else { return Some(Err(no_server())) };
        let context = under_way.locked_context();
        self.is_over(under_way).then(|| match self.how_ended(server, pending, context)? {
            DONE => Ok(pending.answer()),
            ended => Err(self.not_done(server, *servant, ended)),
        })
    }

    /// Whether a block was not moved, and has to go in pieces.
    pub(in crate::engine) fn is_cut(&self, under_way: &UnderWay) -> bool {
        under_way.pending.wish.ended.load(Ordering::Acquire) == CUT
    }

    /// Whether it has ended, or will not.
    pub(in crate::engine) fn is_over(&self, under_way: &UnderWay) -> bool {
        let wish = &under_way.pending.wish;
        let at = |server| AtServer { engine: self, server, wish, context: under_way.locked_context() };
        self.server.get().is_none_or(|server| at(server).is_over())
    }

    /// The error of what a server has not done: if the job goes on without ranks that fail, such a rank may be the cause.
    #[cold]
    fn not_done(&self, server: &NodeServer, servant: Servant, ended: u8) -> Error {
        let leaders = [servant.node, Some(server.node)].map(|node| node.map(|node| self.leader_of(node)));
        let needed = [Some(servant.job_rank), leaders[0], leaders[1]];
        let began = Instant::now();
        while self.job.node.goes_on_without_ranks() && began.elapsed() < LAUNCHERS_TURN {
            if let Some(rank) = needed.iter().flatten().find(|rank| self.failure_of(**rank).is_some()) {
                return failed::failed(*rank);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        match ended {
            GONE => gone(servant),
            _ => crate::engine::onesided::refused(servant.member),
        }
    }

    /// Enters what this member exposes; `false`: the server cannot serve it.
    pub(super) fn say_entering(&self, server: &NodeServer, entering: Entering) -> Result<bool> {
        Ok(self.tell_server(server, What::Enter, entering.to_bytes())? == DONE)
    }

    pub(super) fn say_leaving(&self, server: &NodeServer, context: u64, member: u32) -> Result<()> {
        let body = [context, u64::from(member)].iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.tell_server(server, What::Leave, body).map(drop)
    }

    /// Tells the server of this node something about this rank, and waits: how it has ended.
    fn tell_server(&self, server: &NodeServer, what: What, body: Vec<u8>) -> Result<u8> {
        let slip = Slip { what: what as u32, node: server.node, rank: self.rank(), ..Slip::default() };
        let pending = self.begin_wish(server, slip, body, 0);
        self.wait_for_wish(server, &pending, None)?;
        self.how_ended(server, &pending, None)
    }

    /// Asks the server of this node for what a slip says.
    fn begin_wish(&self, server: &NodeServer, slip: Slip, body: Vec<u8>, most: usize) -> Arc<Pending> {
        let mut room = vec![0; 8 + most];
        let slip = Slip {
            bytes: body.len() as u32,
            body: body.as_ptr() as u64,
            room: room.as_mut_ptr() as u64,
            most: most as u64,
            ..slip
        };
        let pending = Arc::new(Pending { wish: Wish { slip, ..Wish::default() }, body, room });
        let address = std::ptr::from_ref(&pending.wish) as u64;
        server.own.add(address, |before| pending.wish.older.store(before, Ordering::Release));
        server.words.show(LocalRank(self.job.local_rank));
        let is_done = server.here.as_ref().is_some_and(|here| here.try_turn(self, server).is_some());
        if !is_done {
            server.words.doorbell.ring();
        }
        pending
    }

    /// Waits until it is over. A lock of an exposure with this context is not waited for once a member has failed.
    fn wait_for_wish(&self, server: &NodeServer, pending: &Arc<Pending>, context: Option<u64>) -> Result<()> {
        let beside = AtServer { engine: self, server, wish: &pending.wish, context };
        self.crowd.wait_for(|| None);
        let lane = self.lanes.at(0);
        let waited = self.wait_beside(lane, Reason::Server, &beside, |_| beside.is_over().then_some(()));
        waited.inspect_err(|_| pending.abandon())
    }

    /// How it has ended that is over.
    fn how_ended(&self, server: &NodeServer, pending: &Arc<Pending>, context: Option<u64>) -> Result<u8> {
        match pending.wish.ended.load(Ordering::Acquire) {
            0 => {
                pending.abandon();
                Ok(if self.server_has_failed(server) { GONE } else { REFUSED })
            }
            QUEUED => {
                pending.abandon();
                Err(context.and_then(|context| self.failed_in(context)).unwrap_or_else(no_server))
            }
            ended => Ok(ended),
        }
    }
}

/// A wait for the server.
struct AtServer<'a> {
    engine: &'a Engine,
    server: &'a NodeServer,
    wish: &'a Wish,
    context: Option<u64>,
}

impl AtServer<'_> {
    fn is_over(&self) -> bool {
        let has_ended = match self.wish.ended.load(Ordering::Acquire) {
            0 => false,
            QUEUED => self.context.is_some_and(|context| self.engine.failed_in(context).is_some()),
            _ => true,
        };
        has_ended
            || self.server.own.refused.load(Ordering::Relaxed) != 0
            || self.engine.server_has_failed(self.server)
    }
}

impl Engine {
    /// Whether the rank that has the server of this node has failed, and the job goes on.
    fn server_has_failed(&self, server: &NodeServer) -> bool {
        let leader = self.job.local_ranks[server.leader.0 as usize];
        self.news() != 0 && self.failure_of(JobRank(leader)).is_some()
    }
}

impl Beside for AtServer<'_> {
    fn holds(&self) -> bool {
        self.is_over()
    }
}

#[cold]
fn no_server() -> Error {
    Error::new(Class::Intern, "a server is asked for something, and this node has none")
}

#[cold]
fn gone(servant: Servant) -> Error {
    let message = format!(
        "the memory of rank {} cannot be reached any more: its node, one on the way there, or the rank that has the \
         server of this node is gone",
        servant.member
    );
    Error::new(Class::Other, message)
}
