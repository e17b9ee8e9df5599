//! One member's own view of a control block: who it is, how far it has come, and what it knows of the others.

use crate::collective::members::Role;
use crate::collective::node::copying::copy_kind::{Choosers, CopyKind};
use crate::collective::node::copying::push_or_pull::PushOrPull;
use crate::collective::node::protocol::access::Access;
use crate::collective::node::protocol::control_block::ControlBlock;
use crate::collective::node::protocol::retained::Retained;
use crate::collective::node::protocol::room::Room;
use crate::collective::{Members, Root};
use crate::memory::copy::Chooser;
use crate::progress::{barrier, Doorbell};
use crate::LocalRank;
use std::sync::atomic::{fence, AtomicBool, AtomicU64, Ordering, Ordering::Relaxed};
use std::sync::OnceLock;

/// Another member, or myself.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Where it sleeps.
    pub doorbell: &'static Doorbell,
    /// What the transport calls it.
    pub peer: LocalRank,
}

/// Epochs from one look for promises to the next, until all members have promised.
const BETWEEN_LOOKS_FOR_PROMISES: u64 = 64;

/// A member's own view. MPI lets only one thread at a time be in a collective of
/// a communicator, so the counters are atomic for their type only.
pub struct Member {
    pub(super) block: ControlBlock,
    /// My rank in the communicator.
    pub rank: u32,
    /// How many members it has.
    pub size: u32,
    /// Its context.
    pub context: u64,
    /// The last operation that I have begun.
    epoch: AtomicU64,
    /// All members are known to have arrived here.
    pub(super) known: AtomicU64,
    /// Where my payload goes.
    pub(super) room: Room,
    members: Box<[Endpoint]>,
    /// What the program calls the members, if they are not all of a communicator.
    names: Box<[u32]>,
    /// Sleepers issue the barriers of who arrives.
    promised: AtomicBool,
    /// Members share CPUs, more ranks than there are CPUs: all members have been told the same.
    shares_cpus: bool,
    /// All of them may have buffers in memory of devices: the same.
    have_devices: bool,
    /// How all members reach each other's memory, once they have settled it.
    pub(crate) access: OnceLock<Access>,
    /// Whether wide halves can be used, once they have settled it.
    pub(crate) is_wide: OnceLock<bool>,
    choosers: Choosers,
    /// Who copies, in operations of two members.
    pub(crate) push_or_pull: PushOrPull,
    /// Copies that the others may still read.
    retained: Retained,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Member {
    /// Takes the place of member `rank` of `members`, in the communicator of `context`.
    pub fn new(block: ControlBlock, rank: u32, context: u64, members: Box<[Endpoint]>) -> Member {
        let size = members.len() as u32;
        let member = Member {
            block,
            rank,
            size,
            context,
            epoch: AtomicU64::new(0),
            known: AtomicU64::new(0),
            room: Room::default(),
            members,
            names: Box::default(),
            promised: AtomicBool::new(false),
            shares_cpus: false,
            have_devices: false,
            access: OnceLock::new(),
            is_wide: OnceLock::new(),
            choosers: Choosers::default(),
            push_or_pull: PushOrPull::default(),
            retained: Retained::default(),
        };
        member.look_for_promises();
        member
    }

    /// The same, of members that share CPUs, or do not. All members must say the same.
    pub fn sharing_cpus(mut self, shares_cpus: bool) -> Member {
        self.shares_cpus = shares_cpus;
        self
    }

    /// The same, of members each of whose processes may meet memory of devices. All members must say the same.
    pub fn having_devices(mut self, have_devices: bool) -> Member {
        self.have_devices = have_devices;
        self
    }

    /// Whether all may have buffers in memory of devices. All members know it alike.
    pub fn have_devices(&self) -> bool {
        self.have_devices
    }

    /// The same, of members that are these ranks of a larger communicator.
    pub fn among(mut self, ranks: &[u32]) -> Member {
        self.names = ranks.into();
        self
    }

    /// What the program calls a member.
    pub(crate) fn name(&self, member: u32) -> u32 {
        self.names.get(member as usize).copied().unwrap_or(member)
    }

    /// Whether members share CPUs, more ranks than there are CPUs. Then each epoch costs them turns of
    /// the CPUs. All members know it alike.
    #[inline]
    pub fn shares_cpus(&self) -> bool {
        self.shares_cpus
    }

    /// Finds out whether all members have promised to issue the barriers of others. A member may do so
    /// late, when all ranks of the node have come.
    #[cold]
    fn look_for_promises(&self) {
        if !self.shares_cpus && !self.promised.load(Relaxed) && barrier::register() {
            let all = self.members.iter().all(|member| member.doorbell.has_promised());
            self.promised.store(all, Relaxed);
        }
    }

    /// The control block.
    pub fn control_block(&self) -> &ControlBlock {
        &self.block
    }

    /// What the transport calls a member.
    #[inline]
    pub fn peer(&self, member: u32) -> LocalRank {
        self.members[member as usize].peer
    }

    /// The longest payload of a member that needs no wide half.
    #[inline]
    pub fn narrow(&self) -> u64 {
        self.block.shape().slot() as u64
    }

    /// The longest payload of a member, as all members know it.
    #[inline]
    pub fn slot(&self) -> u64 {
        let shape = self.block.shape();
        match self.is_wide.get() {
            Some(true) => shape.widest() as u64,
            _ => shape.slot() as u64,
        }
    }

    /// Whether all members have settled that they reach each other's memory at least so.
    #[inline]
    pub(crate) fn reaches(&self, least: Access) -> bool {
        self.access.get().is_some_and(|&access| access >= least)
    }

    /// The other members, beginning with the next one: so not all read from the same.
    #[inline]
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        let (rank, size) = (self.rank, self.size);
        (1..size).map(move |step| (rank + step) % size)
    }

    /// The rank of a root.
    #[inline]
    pub(crate) fn root_of(&self, root: Root) -> u32 {
        let members = Members { rank: self.rank, size: self.size, remote: None };
        match members.role(root) {
            Role::Leaf(root) => root,
            _ => self.rank,
        }
    }

    /// The half that holds the payload of this operation.
    pub(crate) fn half(&self) -> usize {
        self.room.half()
    }

    /// The copies that others may read after this member has gone on.
    pub(crate) fn retained(&self) -> &Retained {
        &self.retained
    }

    /// How to copy data of a kind.
    pub(crate) fn chooser(&self, copied: CopyKind) -> &Chooser {
        self.choosers.of(copied)
    }

    /// The epoch of the operation that begins now.
    #[inline]
    pub(crate) fn begin(&self) -> u64 {
        let epoch = self.epoch.load(Relaxed) + 1;
        self.epoch.store(epoch, Relaxed);
        if epoch.is_multiple_of(BETWEEN_LOOKS_FOR_PROMISES) {
            self.look_for_promises();
        }
        epoch
    }

    /// How many there have been.
    #[cfg(test)]
    pub(crate) fn epochs(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// Arrives without payload.
    #[inline]
    pub(crate) fn arrive(&self, epoch: u64) {
        self.block.arrive(self.rank, epoch);
        self.wake();
    }

    /// Arrives at the next epoch without payload.
    #[inline]
    pub(crate) fn arrive_at_next(&self) -> u64 {
        let epoch = self.begin();
        self.arrive(epoch);
        epoch
    }

    /// This member, a root, has taken what others have lent it in an epoch that no other one ends.
    pub(crate) fn has_taken(&self, epoch: u64) {
        self.block.take(epoch);
        self.wake();
    }

    /// Wakes the members that have waited for what I have just published.
    #[inline]
    pub(crate) fn wake(&self) {
        if self.promised.load(Relaxed) {
            barrier::counterpart();
        } else {
            fence(Ordering::SeqCst); // sleep: paired with `ControlBlock::lie_down`
        }
        if self.block.anyone_asleep() {
            self.wake_sleepers();
        }
    }

    #[cold]
    fn wake_sleepers(&self) {
        for member in self.block.to_wake() {
            self.members[member as usize].doorbell.ring();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.block.leave();
        self.retained.keep_for(self.block);
    }
}
