//! Where things lie in a control block.

use crate::collective::node::protocol::claim::Part;

/// The largest communicator that has a control block.
pub const MOST_MEMBERS: u32 = 1024;

/// Bytes of the head.
pub(super) const HEAD_BYTES: usize = 256;
/// Bytes for what a sleeper waits for.
pub(super) const WISH_BYTES: usize = 16;
/// Bytes from one mark to the next: two lines, because processors fetch lines in pairs.
pub(super) const MARK_BYTES: usize = 128;
/// Marks of a member, at most.
pub(super) const MOST_MARKS: usize = 16;
/// All marks of a block together, where there are more than two for each member.
const MARKS_BYTES: usize = 32 << 10;

/// Where things lie in the block of a communicator of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) members: u32,
    /// Marks of a member: a power of two.
    pub(super) marks: usize,
    /// Bytes of a slot, the longest payload.
    pub(super) slot: usize,
    /// Bytes of a half: a slot, or more where payload lies behind other payload.
    pub(super) half: usize,
    /// Bytes of a wide half; 0: there are none.
    pub(super) wide: usize,
    /// Whether there are parts.
    pub(super) parts: bool,
}

/// All slots of a place together, or a little more.
const PLACE_BYTES: usize = 64 << 10;
/// All wide halves of a block together.
const WIDE_BYTES: usize = 1 << 20;

impl Shape {
    /// The shape for `members` members: the same wherever it is asked for.
    pub fn new(members: u32) -> Shape {
        let slot = match members {
            0..=16 => 4096,
            17..=32 => 2048,
            _ => 1024,
        };
        Shape { members, marks: 2, slot, half: slot, wide: 0, parts: false }
    }

    /// The same with wide halves, where so many members can have some, and with more marks: of members that
    /// share CPUs. Wide halves need memory once they are used.
    pub fn with_wide_halves(members: u32) -> Shape {
        let wide = (WIDE_BYTES / 2 / members as usize).min(64 << 10) / 4096 * 4096;
        let shape = Shape::new(members);
        match wide > 2 * shape.slot && wide * members as usize * 2 <= WIDE_BYTES {
            true => {
                let marks = MARKS_BYTES / MARK_BYTES / members.next_power_of_two() as usize;
                Shape { marks: marks.clamp(2, MOST_MARKS), half: 2 * shape.slot, wide, ..shape }
            }
            false => shape,
        }
    }

    /// The shape of a place for one operation at a time, beside others: its slots are
    /// smaller where there are many members.
    pub fn of_place(members: u32) -> Shape {
        let slot = (PLACE_BYTES / 2 / members.next_power_of_two() as usize).clamp(512, 4096);
        Shape { slot, half: slot, parts: true, ..Shape::new(members) }
    }

    /// Whether there are parts.
    pub fn has_parts(&self) -> bool {
        self.parts
    }

    /// The longest payload of a member.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The longest payload of a member once there is memory for the wide halves.
    pub fn widest(&self) -> usize {
        self.wide.max(self.slot)
    }

    /// Whether there are wide halves.
    pub fn is_wide(&self) -> bool {
        self.wide > 0
    }

    /// Whether a member has several payloads in a half, and more than two marks if there is room.
    #[inline]
    pub(super) fn runs_ahead(&self) -> bool {
        self.is_wide()
    }

    /// Bytes of a half, or of a wide one.
    #[inline]
    pub(super) fn half_bytes(&self, is_wide: bool) -> usize {
        if is_wide {
            self.wide
        } else {
            self.half
        }
    }

    /// Which of its marks a member uses in an epoch.
    #[inline]
    pub(super) fn mark_of(&self, epoch: u64) -> usize {
        epoch as usize & (self.marks - 1)
    }

    /// Where payload begins, from the beginning of the block on, that has `before` bytes before it in one of the two
    /// halves of a member.
    #[inline]
    pub(super) fn place(&self, member: u32, is_wide: bool, (half, before): (u32, u32)) -> u32 {
        let first = if is_wide { self.wide_at() } else { self.slots_at() };
        let number = member as usize * 2 + half as usize;
        (first + number * self.half_bytes(is_wide)) as u32 + before
    }

    /// Where the first slot begins.
    pub fn first_place(&self) -> u32 {
        self.place(0, false, (0, 0))
    }

    /// Bytes of a whole block.
    pub fn bytes(&self) -> usize {
        self.wide_at() + self.members as usize * 2 * self.wide
    }

    /// Bytes of a block without wide halves, which come last.
    pub fn wide_at(&self) -> usize {
        (self.slots_at() + self.members as usize * 2 * self.half).next_multiple_of(4096)
    }

    /// Where the marks begin.
    pub(super) fn marks_at(&self) -> usize {
        HEAD_BYTES + (self.members as usize * WISH_BYTES).next_multiple_of(128)
    }

    /// Where the parts begin, or would.
    pub(super) fn parts_at(&self) -> usize {
        self.marks_at() + self.members as usize * self.marks * MARK_BYTES
    }

    /// Where the slots begin.
    pub(super) fn slots_at(&self) -> usize {
        let each = if self.parts { std::mem::size_of::<Part>() } else { 0 };
        self.parts_at() + self.members as usize * each
    }
}
