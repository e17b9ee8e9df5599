//! Forms as blocking operations, and as operations that go on beside others.
//!
//! A form is a future: it waits at a few points, and everything between two of them is done
//! at once. A blocking operation waits where it stands ([`at_once`]). A nonblocking or
//! persistent one ([`Task`]) is left there, and goes on when somebody finds that what it
//! waits for has come. It is the same form, so its results have the same bits. Where members
//! can do the work of each other (`work_sharing/`), one that has nothing else to do goes on with that.
//!
//! Blocking operations of a communicator share one block, which counts them. Others have
//! *places* ([`Places`]): seats at blocks of their own. The k-th nonblocking operation of a
//! communicator uses the k-th place, and begins there when this member's part of the one
//! before it at that place is over; all members start them in one order. A persistent
//! operation has a place to itself, for it may be started in any order.

use crate::collective::node::algorithm::{slots, zero_copy};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::Operation;
use crate::Result;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

/// The most places of a communicator.
pub const MOST_PLACES: usize = 4;
/// Larger communicators have none.
pub const MOST_MEMBERS_WITH_PLACES: u32 = 64;
/// Nonblocking operations of a communicator that go by messages before it asks for places.
pub const FIRST_WITHOUT_PLACES: u32 = 2;

/// Whether a long operation had better be one message: then both ranks may copy, and the sender is
/// told as soon as its buffer is read. So it is too where one can do the work of the other.
fn is_message(me: &Member, operation: &Operation) -> bool {
    me.size == 2 && matches!(operation, Operation::Broadcast { .. }) && !me.shares_work()
}

/// The places of a communicator, or of a persistent operation.
#[derive(Debug, Default)]
pub struct Places(OnceLock<Box<[Arc<Member>]>>);

impl Places {
    /// Settles which there are, once; none: messages do it.
    pub fn settle(&self, members: Box<[Arc<Member>]>) {
        let _ = self.0.set(members);
    }

    /// Those that there are; `None` while that is not settled.
    pub fn settled(&self) -> Option<&[Arc<Member>]> {
        self.0.get().map(|members| &**members)
    }
}

/// Where an operation stands: what it waits for. It waits by stopping there.
#[derive(Debug, Default)]
struct WaitPoint {
    /// [`Until::words`].
    until: (AtomicU32, AtomicU64),
    /// The operation may take pieces of others: once.
    idle: AtomicBool,
}

impl WaitPoint {
    fn stop<T>(&self, until: Until) -> Poll<T> {
        let (kind, epoch) = until.words();
        self.until.0.store(kind, Relaxed);
        self.until.1.store(epoch, Relaxed);
        Poll::Pending
    }

    fn until(&self, me: &Member) -> Until {
        let words = (self.until.0.load(Relaxed), self.until.1.load(Relaxed));
        // Before it has stopped anywhere it may begin.
        Until::of_words(words, me.size).unwrap_or(Until::All(0))
    }
}

impl Wait for WaitPoint {
    fn wait<'a>(&'a self, me: &'a Member, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        std::future::poll_fn(move |_| match me.control_block().holds(until) {
            true => Poll::Ready(Ok(())),
            false => self.stop(until),
        })
    }

    fn idle<'a>(&'a self, me: &'a Member, epoch: u64) -> impl Future<Output = Result<bool>> + 'a {
        std::future::poll_fn(move |_| {
            let may_help = self.idle.swap(false, Relaxed);
            if me.control_block().is_done(epoch) {
                return Poll::Ready(Ok(false));
            }
            match may_help && me.control_block().has_pieces(epoch) {
                true => Poll::Ready(Ok(true)),
                false => self.stop(Until::Work(epoch)),
            }
        })
    }
}

/// An operation under way at a place.
///
/// The buffers of the program that the operation names must stay valid while it runs.
pub struct Task {
    operation: Pin<Box<dyn Future<Output = Result<bool>>>>,
    member: Arc<Member>,
    stands: Arc<WaitPoint>,
    /// Others know for what this member sleeps.
    lies: bool,
}

// SAFETY: the raw addresses in an operation are of buffers that the program lends to it
// until it is done, from whichever thread it goes on, and of memory that it owns; no
// guard of a lock lives across a wait; `go_on` takes `&mut self`.
unsafe impl Send for Task {}

/// An operation that does not fit a slot; `false`: it has to go by messages.
async fn run_long(party: &Party<'_, impl Wait, impl PeerMemory>, operation: &Operation) -> Result<bool> {
    if !zero_copy::wants(party.member, operation)
        || !zero_copy::can(party, operation).await?
        || is_message(party.member, operation)
    {
        return Ok(false);
    }
    zero_copy::run(party, operation).await?;
    Ok(true)
}

impl Task {
    /// The operation, not yet begun, at a place that nobody else uses meanwhile. `memory` reaches the memory
    /// of the others until the operation is over.
    pub fn new<Memory>(member: &Arc<Member>, operation: Arc<Operation>, memory: Memory) -> Task
    where
        Memory: Deref<Target: PeerMemory + Sized> + 'static,
    {
        let (me, stands) = (Arc::clone(member), Arc::<WaitPoint>::default());
        let waits = Arc::clone(&stands);
        let operation = async move {
            let party = &Party { member: &me, waits: &*waits, memory: &*memory };
            if slots::fits(&me, &operation) {
                slots::run_nonblocking(party, &operation).await?;
                return Ok(true);
            }
            // Apart, because its state is much larger: who runs a short one would move it for nothing.
            Box::pin(run_long(party, &operation)).await
        };
        Task { operation: Box::pin(operation), member: Arc::clone(member), stands, lies: false }
    }

    /// Goes on as far as it can now. Ready with `false`: nothing was done, for it has to go by messages,
    /// at all members.
    pub fn go_on(&mut self) -> Poll<Result<bool>> {
        self.operation.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    /// How much memory its state takes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.operation)
    }

    /// Where it is.
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// What it waits for.
    pub fn until(&self) -> Until {
        self.stands.until(&self.member)
    }

    /// Whether it can go on.
    pub fn is_due(&self) -> bool {
        match self.until() {
            Until::Work(epoch) => self.member.control_block().is_done(epoch),
            until => self.member.control_block().holds(until),
        }
    }

    /// Whether it can go on, or this member could do something for another.
    pub fn has_something(&self) -> bool {
        self.member.control_block().holds(self.until())
    }

    /// Whether this member could do a piece of the work of another.
    pub fn can_help(&self) -> bool {
        matches!(self.until(), Until::Work(epoch) if self.member.control_block().has_pieces(epoch))
    }

    /// This member has nothing better to do: when it goes on next, it does such a piece.
    pub fn help(&mut self) {
        self.stands.idle.store(true, Relaxed);
    }

    /// This rank may sleep from now on: who brings what is waited for rings. It has to look
    /// once more then.
    pub fn lie_down(&mut self) {
        if !self.lies {
            self.lies = true;
            self.member.control_block().lie_down(self.member.rank, self.until());
        }
    }

    /// Whether those who can bring what is waited for know that this rank may sleep.
    pub fn lies(&self) -> bool {
        self.lies
    }

    /// Nobody needs to ring any more.
    pub fn get_up(&mut self) {
        if std::mem::take(&mut self.lies) {
            self.member.control_block().get_up(self.member.rank);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.get_up();
    }
}
