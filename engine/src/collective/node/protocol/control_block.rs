//! The control block of a communicator: memory that all its members share.
//!
//! ```text
//! Head | where each member sleeps | marks for each member | two halves for each member
//!      | two wide halves for each member, or none
//! ```
//! At places there are parts too (`claim.rs`), between marks and halves: one for each member.
//!
//! # Ownership
//! The operations of a communicator that use its block are numbered from 1 by their
//! *epoch*; all members come to them in the same order. A member uses its marks in turn: two, one for even
//! epochs and one for odd ones, or more where members share CPUs.
//!
//! 1. A member stores epoch `e` in its mark (*arrives*) when it begins operation
//!    `e`, and so when it has finished all operations before.
//! 2. Payload is in the mark or, if it is longer, in a half or a wide half: where the mark says, if members share
//!    CPUs, else at the beginning of the half for even or for odd epochs. Storing `e` publishes it together with its
//!    length. Before a member writes payload of `e` it waits until nobody reads what lies there: if the last payload
//!    in this mark is of epoch `p`, until all members have arrived at `p + 1`, and where it begins a half, the same
//!    of the last payload in that half (`room.rs`). A member without payload writes the epoch only.
//! 3. A member that sees `e` (or more) in a mark may read the payload of `e` until it
//!    arrives at `e + 1` itself.
//!
//! So a member that all wait for in turn may be ahead of them by one operation, or by as many as its marks and halves
//! hold, and by more where it has payload now and then only, as roots that take turns. Of a mark whose owner has no
//! payload nobody looks at more than the epoch: it may hold that of a later operation already, but not payload of one.
//!
//! # Sleeping
//! A member that sleeps says first for what (`Wish`), counts itself in `sleepers`, and then looks
//! once more. An arriving member reads `sleepers` after its epoch is published; if there are any it
//! looks which wishes hold now, and rings their doorbells. Both sides have a full barrier between
//! their store and their load (`sleep`), so one of them sees the other. Where all members have
//! promised it at their doorbells, the sleeper issues the barrier of the others too, in
//! `Doorbell::sleep_unless`, before it looks once more; then who arrives has none.

use crate::collective::node::protocol::claim::Part;
use crate::collective::node::protocol::shape::{Shape, HEAD_BYTES, MARK_BYTES, WISH_BYTES};
use crate::collective::node::protocol::until::Until;
use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};

/// Payload bytes that a mark holds, in the cache line of its epoch.
pub const INLINE_BYTES: usize = 48;
/// Among the bytes of a mark: it holds words that are no payload, but say where it lies.
const WORDS: u32 = 1 << 31;
/// Among the bytes of a mark: its payload begins with a table (`irregular.rs`).
const TABLE: u32 = 1 << 30;

/// What all members write.
#[repr(C, align(128))]
struct Head {
    /// Members that have not left the communicator.
    members: AtomicU32,
    /// The last operation whose root has said that it has taken what the others have lent it.
    taken: AtomicU64,
    /// Members that sleep; on a line of its own.
    sleepers: Apart<AtomicU32>,
}

#[repr(C, align(128))]
struct Apart<T>(T);

/// For what a member sleeps: `kind` is 0 (nothing), or that of [`Until::words`]. Written by
/// that member alone.
#[repr(C, align(16))]
struct Wish {
    kind: AtomicU32,
    epoch: AtomicU64,
}

/// What a member publishes when it arrives.
#[derive(Clone, Copy)]
pub enum Published {
    /// Payload of so many bytes.
    Payload(usize),
    /// So many bytes that begin with a table.
    Table(usize),
    /// Words in the mark that are no payload.
    Words,
}

/// How far a member has come, and its payload.
#[repr(C, align(64))]
struct Mark {
    epoch: AtomicU64,
    bytes: AtomicU32,
    /// Where payload begins that is not inline, where a half holds several.
    place: AtomicU32,
    inline: [u8; INLINE_BYTES],
}

const _: () = assert!(size_of::<Head>() == HEAD_BYTES && size_of::<Wish>() == WISH_BYTES);
const _: () = assert!(size_of::<Mark>() <= MARK_BYTES);

/// A mapped block.
#[derive(Clone, Copy, Debug)]
pub struct ControlBlock {
    base: *mut u8,
    /// Where the marks begin.
    marks: *mut u8,
    shape: Shape,
}

// SAFETY: all that lies in a block is atomic or guarded by the rules above; the
// memory lives as long as the process (`ControlBlock::new`).
unsafe impl Send for ControlBlock {}
// SAFETY: as above.
unsafe impl Sync for ControlBlock {}

impl ControlBlock {
    /// The block at `base`.
    ///
    /// # Safety
    /// `shape.bytes()` bytes, zero when the block was made, aligned to 128,
    /// mapped as long as this value and its copies are used, and used as a block
    /// of this shape only.
    pub unsafe fn new(base: *mut u8, shape: Shape) -> ControlBlock {
        // SAFETY: inside the block, by the shape.
        let marks = unsafe { base.add(shape.marks_at()) };
        ControlBlock { base, marks, shape }
    }

    /// Where it begins.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Says that all members use it from now on; before any of them does.
    pub fn found(&self) {
        self.head().members.store(self.shape.members, Ordering::Release);
    }

    /// One member will not use it any more.
    pub fn leave(&self) {
        self.head().members.fetch_sub(1, Ordering::AcqRel); // left: paired with `is_left`
    }

    /// Nobody uses it any more.
    pub fn is_left(&self) -> bool {
        self.head().members.load(Ordering::Acquire) == 0 // left: paired with `leave`
    }

    /// Where payload in a mark lies.
    #[inline]
    pub fn inline(&self, member: u32, epoch: u64) -> *mut u8 {
        // SAFETY: inside the mark; the address is taken without a reference.
        unsafe { std::ptr::addr_of_mut!((*self.mark_address(member, epoch)).inline).cast() }
    }

    /// Where a place in a half lies ([`Shape::place`]).
    #[inline]
    pub fn at(&self, place: u32) -> *mut u8 {
        debug_assert!((place as usize) < self.shape.bytes());
        // SAFETY: inside the halves, by the shape.
        unsafe { self.base.add(place as usize) }
    }

    /// Where `bytes` bytes of payload lie of a member that has arrived.
    #[inline]
    pub fn payload(&self, member: u32, epoch: u64, bytes: usize) -> *mut u8 {
        debug_assert!(member < self.shape.members && bytes <= self.shape.widest());
        if bytes <= INLINE_BYTES {
            return self.inline(member, epoch);
        }
        self.at(match self.shape.runs_ahead() {
            true => self.mark(member, epoch).place.load(Ordering::Relaxed),
            false => self.shape.place(member, false, ((epoch & 1) as u32, 0)),
        })
    }

    /// Arrives with payload, which lies in the mark or at `place`.
    #[inline]
    pub fn publish(&self, member: u32, epoch: u64, what: Published, place: u32) {
        let bytes = match what {
            Published::Payload(bytes) => bytes as u32,
            Published::Table(bytes) => TABLE | bytes as u32,
            Published::Words => WORDS,
        };
        let mark = self.mark(member, epoch);
        mark.bytes.store(bytes, Ordering::Relaxed);
        mark.place.store(place, Ordering::Relaxed);
        self.arrive(member, epoch);
    }

    /// How many bytes with a table a member that has arrived has published.
    #[inline]
    pub fn table_bytes(&self, member: u32, epoch: u64) -> Option<usize> {
        let bytes = self.mark(member, epoch).bytes.load(Ordering::Relaxed);
        (bytes & TABLE != 0 && bytes & WORDS == 0).then_some((bytes & !TABLE) as usize)
    }

    /// Whether a member that has arrived has published such words.
    #[inline]
    pub fn has_words(&self, member: u32, epoch: u64) -> bool {
        self.mark(member, epoch).bytes.load(Ordering::Relaxed) == WORDS
    }

    /// Arrives at an epoch without payload.
    #[inline]
    pub fn arrive(&self, member: u32, epoch: u64) {
        self.mark(member, epoch).epoch.store(epoch, Ordering::Release); // mark: paired with `has_arrived`
    }

    /// How many bytes a member that has arrived has published.
    #[inline]
    pub fn published(&self, member: u32, epoch: u64) -> usize {
        self.mark(member, epoch).bytes.load(Ordering::Relaxed) as usize
    }

    /// Whether a member has arrived at an epoch.
    #[inline]
    pub fn has_arrived(&self, member: u32, epoch: u64) -> bool {
        self.mark(member, epoch).epoch.load(Ordering::Acquire) >= epoch // mark: paired with `arrive`
    }

    /// Whether the first `members` members have.
    #[inline]
    fn have_arrived(&self, members: u32, epoch: u64) -> bool {
        (0..members).all(|member| self.has_arrived(member, epoch))
    }

    /// Whether what is waited for has come.
    #[inline]
    pub fn holds(&self, until: Until) -> bool {
        match until {
            Until::All(epoch) => self.have_arrived(self.shape.members, epoch),
            Until::First(members, epoch) => self.have_arrived(members, epoch),
            Until::Member(member, epoch) => self.has_arrived(member, epoch),
            Until::Work(epoch) => self.has_pieces(epoch) || self.is_done(epoch),
            Until::Part(member, epoch) => self.part(member).is_over(epoch),
            Until::Taken(_, epoch) => self.head().taken.load(Ordering::Acquire) >= epoch, // taken: paired with `take`
        }
    }

    /// Whether a member that has arrived has pieces that nobody has claimed.
    #[inline]
    pub fn has_pieces(&self, epoch: u64) -> bool {
        let mut members = 0..self.shape.members;
        members.any(|member| self.has_arrived(member, epoch) && self.part(member).has_pieces(epoch))
    }

    /// Whether the parts of all members are over.
    #[inline]
    pub fn is_done(&self, epoch: u64) -> bool {
        (0..self.shape.members).all(|member| self.part(member).is_over(epoch))
    }

    /// A root has taken what others have lent it in an epoch that no other one ends. Roots come here in the order of
    /// their epochs: the next one waits until this one has arrived at the next.
    pub fn take(&self, epoch: u64) {
        self.head().taken.store(epoch, Ordering::Release); // taken: paired with `holds`
    }

    /// The members that have not arrived of those that are waited for.
    pub fn missing(&self, until: Until) -> impl Iterator<Item = u32> + '_ {
        let (members, epoch) = match until {
            Until::All(epoch) | Until::Work(epoch) => (0..self.shape.members, epoch),
            Until::First(members, epoch) => (0..members, epoch),
            Until::Member(member, epoch) | Until::Part(member, epoch) | Until::Taken(member, epoch) => {
                (member..member + 1, epoch)
            }
        };
        members.filter(move |&member| !self.has_arrived(member, epoch))
    }

    /// Says that a member is about to sleep; it has to look once more then.
    pub fn lie_down(&self, member: u32, until: Until) {
        let wish = self.wish(member);
        let (kind, epoch) = until.words();
        wish.epoch.store(epoch, Ordering::Relaxed);
        wish.kind.store(kind, Ordering::Release);
        self.head().sleepers.0.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst); // sleep: paired with `Member::wake`
    }

    /// Says that it is awake.
    pub fn get_up(&self, member: u32) {
        self.wish(member).kind.store(0, Ordering::Relaxed);
        self.head().sleepers.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether anyone may be asleep whom my arrival concerns; asked after a barrier.
    #[inline]
    pub fn anyone_asleep(&self) -> bool {
        self.head().sleepers.0.load(Ordering::Relaxed) != 0
    }

    /// The members that sleep although what they wait for has come.
    pub fn to_wake(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.shape.members).filter(|&member| {
            let wish = self.wish(member);
            let kind = wish.kind.load(Ordering::Acquire);
            let epoch = wish.epoch.load(Ordering::Relaxed);
            Until::of_words((kind, epoch), self.shape.members).is_some_and(|until| self.holds(until))
        })
    }

    fn head(&self) -> &Head {
        // SAFETY: the block begins with it, aligned; atomics only.
        unsafe { &*self.base.cast::<Head>() }
    }

    fn wish(&self, member: u32) -> &Wish {
        debug_assert!(member < self.shape.members);
        // SAFETY: inside the wishes, aligned; atomics only.
        unsafe { &*self.base.add(HEAD_BYTES + member as usize * WISH_BYTES).cast::<Wish>() }
    }

    /// The part of a member, where there are parts.
    #[inline]
    pub fn part(&self, member: u32) -> &Part {
        debug_assert!(self.shape.parts && member < self.shape.members);
        // SAFETY: inside the parts, by the shape, aligned; atomics only.
        unsafe { &*self.base.add(self.shape.parts_at()).cast::<Part>().add(member as usize) }
    }

    #[inline]
    fn mark_address(&self, member: u32, epoch: u64) -> *mut Mark {
        debug_assert!(member < self.shape.members);
        let mark = member as usize * self.shape.marks + self.shape.mark_of(epoch);
        // SAFETY: inside the marks, by the shape.
        unsafe { self.marks.add(mark * MARK_BYTES).cast() }
    }

    #[inline]
    fn mark(&self, member: u32, epoch: u64) -> MarkWords<'_> {
        let mark = self.mark_address(member, epoch);
        // SAFETY: inside the marks, aligned; only the atomic words are borrowed,
        // because the payload beside them is written by its owner.
        unsafe { MarkWords { epoch: &(*mark).epoch, bytes: &(*mark).bytes, place: &(*mark).place } }
    }
}

/// The atomic words of a mark.
struct MarkWords<'a> {
    epoch: &'a AtomicU64,
    bytes: &'a AtomicU32,
    place: &'a AtomicU32,
}
