//! The place of one member at the block of its communicator.

use super::behind::Behind;
use super::block::{Block, Until, INLINE_BYTES};
use super::direction::Direction;
use super::lent::Lent;
use super::reach::{Reach, Reaches, Room};
use crate::datatype::{self, Basic, Datatype};
use crate::memory::copy::{plain, Chooser};
use crate::progress::{barrier, Doorbell};
use crate::{collective::Data, Class, Error, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{fence, AtomicU64, Ordering, Ordering::Relaxed};
use std::sync::OnceLock;
use std::task::{Context, Poll};

/// How a member waits. A blocking operation waits in the future's making, while the engine
/// drives everything, or in its first poll; one that goes on beside others is polled again.
pub trait Wait {
    /// Is ready when `until` holds at the block of `seat`; fails with what progress reports.
    fn wait<'a>(&'a self, seat: &'a Seat, until: Until) -> impl Future<Output = Result<()>> + Unpin + 'a;

    /// Is ready when the parts of all members in the work of an epoch are over (`false`), or when
    /// there is a piece to be had and this member has nothing better to do (`true`).
    fn idle<'a>(&'a self, seat: &'a Seat, epoch: u64) -> impl Future<Output = Result<bool>> + 'a {
        async move {
            self.wait(seat, Until::Work(epoch)).await?;
            Ok(!seat.block().is_done(epoch))
        }
    }
}

/// Another member, or myself.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it sleeps.
    pub doorbell: &'static Doorbell,
    /// What the transport calls it.
    pub peer: u32,
}

/// What is copied from the memory of other members: each sort has its own way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Copied {
    Broadcast,
    Allgather,
    Alltoall,
    /// More than the caches hold.
    Beyond,
    /// Much more.
    FarBeyond,
    Reduction,
    Exchange,
    /// Into the memory of another.
    Written,
    /// The result of a reduction, to where others read it.
    Result,
    /// Into a slot, not from one.
    Slot,
    /// So are a few KiB.
    Short,
    /// Data of a root into the buffer of the other member.
    Pushed,
    /// Through the caches in any case.
    Cached,
}

/// Payload of so many bytes at most is [`Copied::Short`].
const SHORT: usize = 16 << 10;

/// How many sorts there are.
const SORTS: usize = Copied::Cached as usize + 1;

/// A member's own view. MPI lets only one thread at a time be in a collective of
/// a communicator, so the counters are atomic for their type only.
pub struct Seat {
    block: Block,
    /// My rank in the communicator.
    pub rank: u32,
    /// How many members it has.
    pub size: u32,
    /// Its context.
    pub context: u64,
    /// The last operation that I have begun.
    epoch: AtomicU64,
    /// All members are known to have arrived here.
    known: AtomicU64,
    /// The epoch at which all have read my last payload of an even and of an odd one.
    read: [AtomicU64; 2],
    members: Box<[Place]>,
    /// What the program calls the members, if they are not all of a communicator.
    names: Box<[u32]>,
    /// Sleepers issue the barriers of who arrives.
    promised: bool,
    /// How all members reach each other's memory, once they have settled it.
    pub(super) reaches: OnceLock<Reaches>,
    /// Whether wide slots can be used, once they have settled it.
    pub(super) is_wide: OnceLock<bool>,
    /// How to copy, by [`Copied`].
    choosers: [Chooser; SORTS],
    /// Who copies, in operations of two members.
    pub(super) direction: Direction,
    /// Copies that the others may still read.
    behind: Behind,
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Seat {
    /// Takes the place of member `rank` of `members`, in the communicator of `context`.
    pub fn new(block: Block, rank: u32, context: u64, members: Box<[Place]>) -> Seat {
        let size = members.len() as u32;
        let mut choosers: [Chooser; SORTS] = Default::default();
        choosers[Copied::Beyond as usize] = Chooser::beyond();
        choosers[Copied::FarBeyond as usize] = Chooser::always_past();
        choosers[Copied::Short as usize] = Chooser::to_be_read();
        choosers[Copied::Cached as usize] = Chooser::plain();
        let promised = barrier::register() && members.iter().all(|member| member.doorbell.has_promised());
        Seat {
            block,
            rank,
            size,
            context,
            epoch: AtomicU64::new(0),
            known: AtomicU64::new(0),
            read: Default::default(),
            members,
            names: Box::default(),
            promised,
            reaches: OnceLock::new(),
            is_wide: OnceLock::new(),
            choosers,
            direction: Direction::default(),
            behind: Behind::default(),
        }
    }

    /// The same, of members that are these ranks of a larger communicator.
    pub fn among(mut self, ranks: &[u32]) -> Seat {
        self.names = ranks.into();
        self
    }

    /// What the program calls a member.
    pub(super) fn name(&self, member: u32) -> u32 {
        self.names.get(member as usize).copied().unwrap_or(member)
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// What the transport calls a member.
    #[inline]
    pub fn peer(&self, member: u32) -> u32 {
        self.members[member as usize].peer
    }

    /// The longest payload of a member that needs no wide slot.
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

    /// How to copy what is copied.
    pub(super) fn chooser(&self, copied: Copied) -> &Chooser {
        &self.choosers[copied as usize]
    }

    /// The epoch of the operation that begins now.
    #[inline]
    pub(super) fn begin(&self) -> u64 {
        let epoch = self.epoch.load(Relaxed) + 1;
        self.epoch.store(epoch, Relaxed);
        epoch
    }

    /// How many there have been.
    #[cfg(test)]
    pub(super) fn epochs(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// Arrives without payload.
    #[inline]
    pub(super) fn arrive(&self, epoch: u64) {
        self.block.arrive(self.rank, epoch);
        self.wake();
    }

    /// Waits until all members have arrived.
    #[inline(always)]
    pub(super) fn all<'a>(
        &'a self,
        epoch: u64,
        wait: &'a impl Wait,
    ) -> impl Future<Output = Result<()>> + 'a {
        All { seat: self, epoch, waiting: self.unless_known(epoch, wait), room: None }
    }

    #[inline]
    fn unless_known<'a, W: Wait>(
        &'a self,
        epoch: u64,
        wait: &'a W,
    ) -> Option<impl Future<Output = Result<()>> + Unpin + 'a> {
        let is_known = self.known.load(Relaxed) >= epoch;
        (!is_known).then(|| wait.wait(self, Until::All(epoch)))
    }

    /// Waits until `member` has arrived.
    #[inline]
    pub(super) fn member<'a>(
        &'a self,
        member: u32,
        epoch: u64,
        wait: &'a impl Wait,
    ) -> impl Future<Output = Result<()>> + 'a {
        wait.wait(self, Until::Member(member, epoch))
    }

    /// Waits until nobody reads what lies where payload of an epoch goes (rule 2 of the
    /// block). Who has payload now and then only, as roots that take turns, hardly waits.
    #[inline]
    pub(super) fn room<'a>(
        &'a self,
        epoch: u64,
        wait: &'a impl Wait,
    ) -> impl Future<Output = Result<()>> + 'a {
        let read = self.read[(epoch & 1) as usize].load(Relaxed);
        All { seat: self, epoch: read, waiting: self.unless_known(read, wait), room: Some(epoch) }
    }

    /// Who writes payload has waited for room.
    #[inline]
    fn debug_rule_2(&self, epoch: u64) {
        debug_assert!(self.read[(epoch & 1) as usize].load(Relaxed) == epoch + 1);
    }

    /// Publishes items, one after the other, as the payload of an epoch. For this and all
    /// else that is published the caller has waited as rule 2 of the block wants.
    #[inline]
    pub(super) fn publish(&self, epoch: u64, data: &Data) {
        self.debug_rule_2(epoch);
        let bytes = data.bytes() as usize;
        let packed = self.packed(self.rank, epoch, bytes);
        // SAFETY: the program lends the data; the place is ours by rule 2, and
        // has room, because who called has compared `bytes` with `slot`.
        unsafe {
            match data.dense() {
                Some((from, _)) if bytes >= Chooser::WORTH => {
                    let copied = if bytes <= SHORT { Copied::Short } else { Copied::Slot };
                    self.chooser(copied).copy(from, packed, bytes);
                }
                Some((from, _)) => std::ptr::copy_nonoverlapping(from, packed, bytes),
                None => {
                    let source = (&**data.datatype, data.address.cast_const(), data.count);
                    datatype::copy(source, (Seat::bytes(), packed, bytes as u64));
                }
            }
        }
        self.block.publish(self.rank, epoch, bytes);
        self.wake();
    }

    /// Where the payload of a member that has arrived lies.
    #[inline]
    pub(super) fn packed(&self, member: u32, epoch: u64, bytes: usize) -> *mut u8 {
        self.block.payload(member, epoch, bytes)
    }

    /// Publishes `bytes` bytes that `write` writes and that begin with a table.
    pub(super) fn publish_table(&self, epoch: u64, bytes: usize, write: impl FnOnce(*mut u8)) {
        self.debug_rule_2(epoch);
        write(self.packed(self.rank, epoch, bytes));
        self.block.publish_table(self.rank, epoch, bytes);
        self.wake();
    }

    /// The payload of a member that has arrived, if it begins with a table, and how
    /// long it is.
    pub(super) fn table(&self, member: u32, epoch: u64) -> Option<(*const u8, usize)> {
        let bytes = self.block.table_bytes(member, epoch)?.min(self.block.shape().widest());
        Some((self.packed(member, epoch, bytes).cast_const(), bytes))
    }

    /// Publishes where payload lies instead of the payload.
    #[inline]
    pub(super) fn tell(&self, epoch: u64, lent: Lent) {
        self.tell_with(epoch, lent, |_| ());
    }

    /// The same with something more, which `write` writes into the slot.
    #[inline]
    pub(super) fn tell_with(&self, epoch: u64, lent: Lent, write: impl FnOnce(*mut u8)) {
        self.debug_rule_2(epoch);
        write(self.packed(self.rank, epoch, self.narrow() as usize));
        let place = self.block.payload(self.rank, epoch, INLINE_BYTES).cast::<Lent>();
        // SAFETY: the place is ours by rule 2, and has room and alignment for it.
        unsafe { place.write(lent) };
        self.block.publish_words(self.rank, epoch);
        self.wake();
    }

    /// Whether a member that has arrived has published where its payload lies.
    #[inline]
    pub(super) fn has_lent(&self, member: u32, epoch: u64) -> bool {
        self.block.has_words(member, epoch)
    }

    /// Where the payload of a member that has arrived lies.
    ///
    /// # Errors
    /// `Truncate`: it is not `expected` bytes long.
    #[inline]
    pub(super) fn told(&self, member: u32, epoch: u64, expected: u64) -> Result<Lent> {
        if !self.block.has_words(member, epoch) {
            return Err(self.disagree(member, self.block.published(member, epoch) as u64, expected));
        }
        let lent = self.words(member, epoch);
        match lent.bytes == expected {
            true => Ok(lent),
            false => Err(self.disagree(member, lent.bytes, expected)),
        }
    }

    /// Whether a member that has arrived has lent a copy, which it leaves behind for the others.
    #[inline]
    pub(super) fn has_lent_copy(&self, member: u32, epoch: u64) -> bool {
        self.block.has_words(member, epoch) && self.words(member, epoch).is_copy
    }

    /// Whether all members have, so that no epoch has to end the operation.
    #[inline]
    pub(super) fn have_all_lent_copies(&self, epoch: u64) -> bool {
        (0..self.size).all(|member| self.has_lent_copy(member, epoch))
    }

    /// Whether a member that has arrived has lent the place of its result, too.
    #[inline]
    pub(super) fn has_lent_result(&self, member: u32, epoch: u64) -> bool {
        self.block.has_words(member, epoch) && self.words(member, epoch).receive != 0
    }

    /// Leaves a copy behind that is lent since an epoch.
    pub(super) fn leave_behind(&self, epoch: u64, copy: Room) {
        self.behind.leave(epoch, copy);
    }

    /// A place within reach of all for so many bytes that are lent in an epoch which has just begun, and stay
    /// behind. The caller has waited as rule 2 of the block wants.
    pub(super) fn place_behind(&self, epoch: u64, bytes: u64, by: &impl Reach) -> Option<*mut u8> {
        self.debug_rule_2(epoch);
        let serves = |room: &Room| room.bytes() >= bytes && by.is_shared(self, room.address(), bytes);
        self.behind.place(epoch, serves, || by.room(self, bytes))
    }

    /// Where the payload of this member lies, which has lent or published so many bytes.
    #[inline]
    pub(super) fn offered(&self, epoch: u64, bytes: u64) -> *const u8 {
        match self.has_lent(self.rank, epoch) {
            true => self.words(self.rank, epoch).send as *const u8,
            false => self.packed(self.rank, epoch, bytes as usize).cast_const(),
        }
    }

    fn words(&self, member: u32, epoch: u64) -> Lent {
        let place = self.block.payload(member, epoch, INLINE_BYTES).cast_const().cast::<Lent>();
        // SAFETY: published, and so it stays by rule 3.
        unsafe { place.read() }
    }

    /// Checks that a member that has arrived has published `expected` bytes.
    ///
    /// # Errors
    /// `Truncate`: the members do not agree.
    #[inline]
    pub(super) fn agree(&self, member: u32, epoch: u64, expected: u64) -> Result<()> {
        let published = self.block.published(member, epoch) as u64;
        if published == expected {
            return Ok(());
        }
        Err(self.disagree(member, published, expected))
    }

    #[cold]
    pub(super) fn disagree(&self, member: u32, published: u64, expected: u64) -> Error {
        let sentence = format!(
            "rank {} takes part with {published} bytes and this rank ({}) with {expected}; the counts and \
             datatypes of a collective operation must match at all ranks",
            self.name(member),
            self.name(self.rank)
        );
        Error::new(Class::Truncate, sentence)
    }

    /// Copies `bytes` payload bytes from `offset` on of a member to `data`.
    #[inline(always)]
    pub(super) fn take(&self, member: u32, epoch: u64, (offset, bytes): (u64, u64), data: &Data) {
        let payload = self.packed(member, epoch, bytes as usize);
        let part = data.bytes();
        debug_assert!(offset + part <= bytes);
        // SAFETY: the payload has `bytes` bytes, which stay by rule 3; the program
        // lends the data.
        unsafe { Seat::unpack(payload.cast_const().add(offset as usize), data) };
    }

    /// Copies payload to `data`.
    ///
    /// # Safety
    /// It must be long enough; the program lends the data, which lie elsewhere.
    #[inline(always)]
    pub(super) unsafe fn unpack(from: *const u8, data: &Data) {
        let part = data.bytes();
        // SAFETY: by the caller.
        unsafe {
            if let Some((to, _)) = data.dense() {
                return plain(from, to, part as usize);
            }
            datatype::copy((Seat::bytes(), from, part), (&**data.datatype, data.address, data.count));
        }
    }

    fn bytes() -> &'static Datatype {
        Datatype::shared(Basic::Packed)
    }

    /// Wakes the members that have waited for what I have just published.
    #[inline]
    pub(super) fn wake(&self) {
        if self.promised {
            barrier::counterpart();
        } else {
            fence(Ordering::SeqCst); // sleep: paired with `Block::lie_down`
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

/// A wait for all members. Written out, because it has to be inlined.
struct All<'a, Waiting> {
    seat: &'a Seat,
    epoch: u64,
    waiting: Option<Waiting>,
    /// The epoch of payload that there is room for then.
    room: Option<u64>,
}

impl<Waiting: Future<Output = Result<()>> + Unpin> Future for All<'_, Waiting> {
    type Output = Result<()>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(waiting) = &mut self.waiting {
            match Pin::new(waiting).poll(context) {
                Poll::Ready(Ok(())) => self.seat.known.store(self.epoch, Relaxed),
                other => return other,
            }
        }
        if let Some(epoch) = self.room {
            self.seat.read[(epoch & 1) as usize].store(epoch + 1, Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.block.leave();
        self.behind.keep_for(self.block);
    }
}
