//! Collectives, as the faces start them: over shared memory or by messages.

use super::check::{number_of, Said};
use super::reason::Reason;
use super::waiting::Beside;
use super::{into_result, Engine};
use crate::collective::node::{self, ControlBlock, Endpoint, Member, Party, Pool, Shape, Until, Wait};
use crate::collective::{self, Data, Members, Operation, Root, Schedule};
use crate::datatype::{Basic, Datatype};
use crate::job::node_segment::BLOCKS_BYTES;
use crate::job::{Job, NodeSegment};
use crate::lock_order::{self, Level, Ordered};
use crate::message::turn::Turn;
use crate::observe::ledger::Call;
use crate::observe::page::add_together;
use crate::progress::wait::Pace;
use crate::progress::Crowd;
use crate::transport::node::doorbell_of;
use crate::world::calls::{Begun, NO_ROOT};
use crate::world::Communicator;
use crate::{LocalRank, Result};
use std::future::Future;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// Of what the lender of a block tells: the block has wide halves.
const WIDE: u64 = 1 << 63;
/// The same: members share CPUs.
pub(super) const SHARES_CPUS: u64 = 1 << 62;
/// The same: the process of each member may meet memory of devices.
const DEVICES: u64 = 1 << 61;
/// How often a wait looks before it drives everything else.
const LOOKS: u32 = 200;

/// Collectives.
impl Engine {
    /// Runs a collective to its end.
    ///
    /// # Errors
    /// The failure of the operation.
    #[inline]
    pub fn run_collective(&self, communicator: &Arc<Communicator>, operation: &Operation) -> Result<()> {
        let members = Members::from(&**communicator);
        operation.check(&members)?;
        self.begin(communicator, operation)?;
        match self.nodes.are_several() {
            true => self.run_over_nodes(communicator, operation, members)?,
            false => self.run_as_one(communicator, operation, members)?,
        }
        // Devices may be at other ranks alone.
        self.all_were_fetched(communicator, || Turn::latest(communicator, 0))
    }

    /// Runs an operation as if all members were on one node, or there were no nodes.
    #[inline]
    pub(super) fn run_as_one(
        &self,
        communicator: &Arc<Communicator>,
        operation: &Operation,
        members: Members,
    ) -> Result<()> {
        let me = self.member_of(communicator)?;
        self.run_at_or_by_messages(communicator, me, operation, members)
    }

    /// The member that this rank is at the block of a communicator of one node, if it has one by now.
    #[inline]
    pub(super) fn member_of<'a>(&self, communicator: &'a Arc<Communicator>) -> Result<Option<&'a Member>> {
        match communicator.member() {
            Some(me) => Ok(me),
            None => self.find_member(communicator, &(0..communicator.size()).collect::<Vec<_>>()),
        }
    }

    /// Runs an operation over a block, or by messages.
    #[inline]
    pub(super) fn run_at_or_by_messages(
        &self,
        communicator: &Arc<Communicator>,
        me: Option<&Member>,
        operation: &Operation,
        members: Members,
    ) -> Result<()> {
        if let Some(me) = me {
            if let Some(done) = self.run_at(me, operation, 1) {
                return done;
            }
        }
        let schedule = operation.clone().schedule(members)?;
        self.run_schedule(communicator, schedule, communicator.next_collective_tag())
    }

    /// Runs an operation over the control block of a member, and counts it as so many of the
    /// program's; `None` if it has to go by messages.
    #[inline]
    pub(super) fn run_at(&self, me: &Member, operation: &Operation, counted: u64) -> Option<Result<()>> {
        if node::fits(me, operation) {
            add_together(&self.page.counters.collectives, counted);
            return Some(node::run(&self.party(me), operation));
        }
        if !node::wants(me, operation) {
            return None;
        }
        match node::at_once(node::can(&self.party(me), operation)) {
            Ok(false) => None,
            Ok(true) => {
                add_together(&self.page.counters.collectives, counted);
                Some(node::at_once(node::run_large(&self.party(me), operation)))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// A member of this rank, as one party of an operation that waits where it stands.
    #[inline]
    fn party<'a>(&'a self, member: &'a Member) -> Party<'a, Engine, Engine> {
        Party { member, waits: self, memory: self }
    }

    /// Notes for observers that a collective begins; with `SERRIED_CHECK` its
    /// members compare it.
    #[inline]
    pub(super) fn begin(&self, communicator: &Communicator, operation: &Operation) -> Result<()> {
        self.all_members_go_on(communicator)?;
        let (root, bytes) = operation.outline();
        let root = root.map_or(NO_ROOT, |rank| rank as i32);
        let name = self.page.own().name();
        communicator.calls.note(Begun { name, root, bytes });
        match self.checks {
            true => {
                let operator = operation.operator().map_or(0, number_of);
                let traffic = operation.traffic(&Members::from(communicator));
                let said = traffic.as_ref().map_or(Said::Nothing, |(to, from)| Said::Traffic(to, from));
                self.compare(communicator, Call { name, operator, root, bytes }, said)
            }
            false => Ok(()),
        }
    }

    pub(super) fn run_schedule(
        &self,
        communicator: &Arc<Communicator>,
        schedule: Schedule,
        tag: i32,
    ) -> Result<()> {
        add_together(&self.page.counters.collectives, 1);
        let begun = self.begin_schedule(communicator, schedule, tag)?;
        self.end_schedule(begun)
    }

    /// Begins with the messages of an operation, or a phase of one: the request of those that are left.
    pub(super) fn begin_schedule(
        &self,
        communicator: &Arc<Communicator>,
        mut schedule: Schedule,
        tag: i32,
    ) -> Result<Option<u32>> {
        self.crowd.wait_for(|| None);
        let mut core = self.lane(communicator.context()).lock();
        if core.begin_at_once(communicator, &mut schedule, tag, self.looks()) {
            return Ok(None);
        }
        self.drive(&mut core)?;
        let turn = Turn::within(communicator, tag);
        core.start_uncounted(Arc::clone(communicator), schedule, turn, None).map(Some)
    }

    /// Waits for what [`Engine::begin_schedule`] has begun.
    pub(super) fn end_schedule(&self, begun: Option<u32>) -> Result<()> {
        match begun {
            Some(request) => into_result(self.wait_for_index(request)?).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Members at control blocks.
impl Engine {
    /// Settles, together with the other members, whether those of a communicator that
    /// share a node (`ranks`, I among them) have a block, once it has had its first
    /// operations. All members count alike.
    #[cold]
    pub(super) fn find_member<'a>(
        &self,
        communicator: &'a Arc<Communicator>,
        ranks: &[u32],
    ) -> Result<Option<&'a Member>> {
        if communicator.count_before_member() < node::FIRST_BY_MESSAGES {
            return Ok(None);
        }
        // Every member takes the tag, also one that is alone on its node.
        let tag = communicator.next_collective_tag();
        let me = match self.places_of(communicator, ranks) {
            Some(places) => self.agree_on_block(communicator, ranks, &places, tag)?.map(|(block, told)| {
                let place = ranks.partition_point(|&rank| rank < communicator.rank);
                let me = Member::new(block, place as u32, communicator.context(), places);
                let me = me.sharing_cpus(told & SHARES_CPUS != 0).having_devices(told & DEVICES != 0);
                match ranks.len() as u32 == communicator.size() {
                    true => me,
                    false => me.among(ranks),
                }
            }),
            None => None,
        };
        communicator.settle_member(me);
        Ok(communicator.member().flatten())
    }

    /// The members; `None` if not all of them are here, or for other reasons no
    /// block is wanted.
    pub(super) fn places_of(&self, communicator: &Communicator, ranks: &[u32]) -> Option<Box<[Endpoint]>> {
        let size = ranks.len() as u32;
        if communicator.is_inter() || !(2..=node::MOST_MEMBERS).contains(&size) {
            return None;
        }
        let place = |&member: &u32| {
            let peer = self.local_rank(communicator, member)?;
            Some(Endpoint { doorbell: doorbell_of(&self.job.node, peer), peer })
        };
        ranks.iter().map(place).collect()
    }

    pub(super) fn local_rank(&self, communicator: &Communicator, member: u32) -> Option<LocalRank> {
        let job_rank = communicator.group.job_rank(member);
        self.job.local(job_rank).filter(|_| self.is_near(job_rank))
    }

    /// The first of the ranks lends a block, if it has one, and tells; and what it knows of all of them once they have come
    /// ([`SHARES_CPUS`], [`DEVICES`]).
    fn agree_on_block(
        &self,
        communicator: &Arc<Communicator>,
        ranks: &[u32],
        places: &[Endpoint],
        tag: i32,
    ) -> Result<Option<(ControlBlock, u64)>> {
        let size = ranks.len() as u32;
        let rank = ranks.partition_point(|&rank| rank < communicator.rank) as u32;
        let members = Members { rank, size, remote: None };
        self.run_schedule(communicator, collective::barrier(members)?.between(ranks), tag)?;
        self.crowd.look_again();
        let mut number = if rank == 0 { self.lend_block(places) } else { 0 };
        let bytes = Datatype::basic(Basic::Packed);
        let data = Data::new((&raw mut number).cast(), 0, 8, &bytes)?;
        let telling = collective::broadcast(members, Root::Rank(0), data)?.between(ranks);
        self.run_schedule(communicator, telling, tag)?;
        let leader = self.local_rank(communicator, ranks[0]);
        let shape = match number & WIDE {
            0 => Shape::new(size),
            _ => Shape::with_wide_halves(size),
        };
        let offset = (number & !(WIDE | SHARES_CPUS | DEVICES)).checked_sub(1);
        let (Some(offset), Some(leader)) = (offset, leader) else { return Ok(None) };
        // SAFETY: the leader has lent this part of its area as a block of this
        // shape until all members have left; the node segment lives for ever.
        let block =
            unsafe { ControlBlock::new(self.job.node.blocks_area(leader.0).add(offset as usize), shape) };
        Ok(Some((block, number)))
    }

    /// 1 + the offset of a block for these members, or 0, and whether some of them share CPUs. If so,
    /// the block has wide halves, if there is room for them: what lies there needs one
    /// turn of all ranks, and what is read from the program's buffers two.
    fn lend_block(&self, places: &[Endpoint]) -> u64 {
        let peers = places.iter().map(|place| place.peer.0);
        let shares = self.crowd.shares_any(peers).unwrap_or(self.crowd.shares());
        let mut pool = self.pool();
        let members = places.len() as u32;
        let wide = Shape::with_wide_halves(members);
        let lent = if shares && wide.is_wide() { pool.lend(wide) } else { None };
        let number = match lent {
            Some(offset) => WIDE | (offset as u64 + 1),
            None => pool.lend(Shape::new(members)).map_or(0, |offset| offset as u64 + 1),
        };
        let have_devices = places.iter().all(|place| self.job.node.page(place.peer.0).may_have_devices());
        let also = |so: bool, what: u64| if so { what } else { 0 };
        number | also(shares, SHARES_CPUS) | also(have_devices, DEVICES)
    }

    pub(super) fn pool(&self) -> Ordered<'_, Pool> {
        lock_order::lock(&self.blocks, Level::POOL)
    }

    /// Takes back the blocks that nobody uses any more.
    pub(super) fn collect_blocks(&self) {
        self.pool().collect();
    }
}

/// The part of the node segment where the blocks of one rank lie.
struct BlocksArea {
    node: &'static NodeSegment,
    local_rank: u32,
}

impl node::pool::Area for BlocksArea {
    fn base(&self) -> *mut u8 {
        self.node.blocks_area(self.local_rank)
    }

    fn bytes(&self) -> usize {
        BLOCKS_BYTES
    }

    fn reserve(&self, offset: usize, bytes: usize) -> Result<()> {
        self.node.reserve_blocks(self.local_rank, offset, bytes)
    }

    fn give_back(&self, offset: usize, bytes: usize) -> Result<()> {
        self.node.give_back_blocks(self.local_rank, offset, bytes)
    }
}

/// The pool of blocks of a rank.
pub(super) fn blocks_of(job: &'static Job) -> Pool {
    let area = BlocksArea { node: &job.node, local_rank: job.local_rank };
    // SAFETY: the area is this rank's, zero at first, and lives for ever; each
    // rank has one engine.
    unsafe { Pool::new(Box::new(area)) }
}

/// A wait for other members at a block.
struct AtBlock<'a> {
    me: &'a Member,
    until: Until,
    node: &'static NodeSegment,
}

impl Beside for AtBlock<'_> {
    #[inline]
    fn holds(&self) -> bool {
        self.me.control_block().holds(self.until)
    }

    fn lie_down(&self) {
        self.me.control_block().lie_down(self.me.rank, self.until);
    }

    fn get_up(&self) {
        self.me.control_block().get_up(self.me.rank);
    }

    /// Members that have arrived do not need this core: the last of several ranks that share one
    /// keeps it while it waits for those on other cores, and goes on first. A member that waits for
    /// one other, as under a root, lets those here catch up that are behind by more than the
    /// operation they all wait in: sooner or later that member waits for them.
    fn looks(&self, crowd: &Crowd) -> u32 {
        let me = self.me;
        let page = |member| self.node.page(me.peer(member).0);
        crowd.spread().turn(me.rank, || (0..me.size).map(|member| page(member).identity.core.load(Relaxed)));
        let block = me.control_block();
        let is_here = |member| crowd.whereabouts().is_here(page(member));
        let here = || match self.until {
            Until::Member(_, epoch) if block.missing(Until::All(epoch - 1)).any(is_here) => true,
            until => block.missing(until).any(is_here),
        };
        let at_work = || block.missing(self.until).any(|member| crowd.whereabouts().is_at_work(page(member)));
        Pace::looks_for_many(crowd, here, at_work)
    }
}

impl Wait for Engine {
    #[inline]
    fn wait<'a>(&'a self, me: &'a Member, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a {
        std::future::ready(self.wait_at(me, until))
    }
}

impl Engine {
    #[inline]
    fn wait_at(&self, me: &Member, until: Until) -> Result<()> {
        let block = me.control_block();
        let looks = if self.crowd.is_here() { 1 } else { LOOKS };
        for _ in 0..looks {
            if block.holds(until) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.wait_at_block(me, until)
    }

    #[inline(never)]
    fn wait_at_block(&self, me: &Member, until: Until) -> Result<()> {
        self.crowd.wait_for(|| None);
        let beside = AtBlock { me, until, node: &self.job.node };
        let lane = self.lane(me.context);
        self.wait_beside(lane, Reason::Block(me, until), &beside, |_| beside.holds().then_some(()))
    }
}
