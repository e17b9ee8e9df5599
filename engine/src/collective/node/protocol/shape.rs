//! Where things lie in a control block.

use crate::collective::node::protocol::claim::Part;

/// The largest communicator that has a control block.
pub const MOST_MEMBERS: u32 = 1024;

/// Bytes of the head.
pub(super) const HEAD_BYTES: usize = 256;
/// Bytes for what a sleeper waits for.
pub(super) const WISH_BYTES: usize = 16;
/// Bytes from one mark to the next. A member has a mark for even and one for odd epochs, two lines apart,
/// because processors fetch lines in pairs.
pub(super) const MARK_BYTES: usize = 128;

/// Where things lie in the block of a communicator of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) members: u32,
    /// Bytes of a slot.
    pub(super) slot: usize,
    /// Bytes of a wide slot; 0: there are none.
    pub(super) wide: usize,
    /// Whether there are parts.
    pub(super) parts: bool,
}

/// All slots of a place together, or a little more.
const PLACE_BYTES: usize = 64 << 10;
/// All wide slots of a block together.
const WIDE_BYTES: usize = 1 << 20;

impl Shape {
    /// The shape for `members` members: the same wherever it is asked for.
    pub fn new(members: u32) -> Shape {
        let slot = match members {
            0..=16 => 4096,
            17..=32 => 2048,
            _ => 1024,
        };
        Shape { members, slot, wide: 0, parts: false }
    }

    /// The same with wide slots, where so many members can have some. They need
    /// memory once they are used.
    pub fn with_wide_slots(members: u32) -> Shape {
        let wide = (WIDE_BYTES / 2 / members as usize).min(64 << 10) / 4096 * 4096;
        let shape = Shape::new(members);
        match wide > 2 * shape.slot && wide * members as usize * 2 <= WIDE_BYTES {
            true => Shape { wide, ..shape },
            false => shape,
        }
    }

    /// The shape of a place for one operation at a time, beside others: its slots are
    /// smaller where there are many members.
    pub fn of_place(members: u32) -> Shape {
        let slot = (PLACE_BYTES / 2 / members.next_power_of_two() as usize).clamp(512, 4096);
        Shape { slot, parts: true, ..Shape::new(members) }
    }

    /// Whether there are parts.
    pub fn has_parts(&self) -> bool {
        self.parts
    }

    /// The longest payload of a member.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The longest payload of a member once there is memory for the wide slots.
    pub fn widest(&self) -> usize {
        self.wide.max(self.slot)
    }

    /// Whether there are wide slots.
    pub fn is_wide(&self) -> bool {
        self.wide > 0
    }

    /// Bytes of a whole block.
    pub fn bytes(&self) -> usize {
        self.wide_at() + self.members as usize * 2 * self.wide
    }

    /// Bytes of a block without wide slots, which come last.
    pub fn wide_at(&self) -> usize {
        (self.slots_at() + self.members as usize * 2 * self.slot).next_multiple_of(4096)
    }

    /// Where the marks begin.
    pub(super) fn marks_at(&self) -> usize {
        HEAD_BYTES + (self.members as usize * WISH_BYTES).next_multiple_of(128)
    }

    /// Where the parts begin, or would.
    pub(super) fn parts_at(&self) -> usize {
        self.marks_at() + self.members as usize * 2 * MARK_BYTES
    }

    /// Where the slots begin.
    pub(super) fn slots_at(&self) -> usize {
        let each = if self.parts { std::mem::size_of::<Part>() } else { 0 };
        self.parts_at() + self.members as usize * each
    }
}
