//! The lines of a table of blocks, as it lies in a slot.
//!
//! A member publishes a table where each member knows only its own blocks (`irregular.rs`). Behind a table in its
//! slot lie short blocks, as many as there is room for, and the ends of long ones that others would have to read
//! through the kernel (as in `descriptor.rs`). Where members do the work of each other
//! (`work_sharing/arrivals.rs`), the blocks that a member expects are listed before these.
//!
//! Where all blocks lie behind the table, its lines are *short*: a word each. So the table and blocks of few bytes
//! lie in the cache line for which the others wait.

use crate::collective::node::buffer::expected::ExpectedBlock;

/// A line of a table. The first one stands for the table itself: `place` is 0 or the
/// address of a table that is too long for a slot, `bytes` the number of entries.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// How long it is; and for whom, in the bits from [`MEMBER`] on.
    pub(super) bytes: u64,
    /// Where the block is: an address, or, below [`LOWEST`], counted from the table; or so where its
    /// [`Apart`] is. The first line of a table with short lines has none.
    pub(super) place: u64,
}

/// A block that is lent, but for ends that others do not reach by plain loads: behind this lie the
/// one at its beginning and the one at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart {
    pub(super) address: u64,
    pub(super) head: u32,
    pub(super) tail: u32,
}

pub(super) const APART: u64 = std::mem::size_of::<Apart>() as u64;
pub(super) const ENTRY: usize = std::mem::size_of::<Entry>();
/// Where memory of a program may begin: beyond what a slot holds.
pub(super) const LOWEST: u64 = 64 << 10;
pub(super) const MEMBER: u32 = 48;
pub(super) const LENGTH: u64 = (1 << MEMBER) - 1;
/// In the first line: something is lent. In others: the ends of the block lie apart.
pub(super) const LENT: u64 = 1 << 63;
/// In the first line: what the member expects follows the table. How much, in the bits from
/// [`MEMBER`] on.
pub(super) const EXPECTS: u64 = 1 << 62;
/// In the first line: it and all others are short.
pub(super) const SHORT: u64 = 1 << 61;
/// Bytes of a short line.
pub(super) const SHORT_LINE: usize = 8;
/// In a short line, the place is above so many bits of the length, and below the member.
const SHORT_LENGTH: u32 = 24;
pub(super) const EXPECTED: usize = std::mem::size_of::<ExpectedBlock>();
/// The member of a block that is for all.
pub(crate) const ANY: u32 = 0x7fff;

impl Entry {
    pub(super) fn new(place: u64, bytes: u64, member: u32) -> Entry {
        Entry { place, bytes: bytes & LENGTH | u64::from(member) << MEMBER }
    }

    /// As a short line. Its block must lie in a slot, behind the table.
    pub(super) fn as_short(&self) -> u64 {
        debug_assert!(!self.is_apart() && self.place < LOWEST && self.length() < LOWEST);
        self.bytes & !LENGTH | self.place << SHORT_LENGTH | self.length()
    }

    /// What a short line says.
    pub(super) fn of_short(line: u64) -> Entry {
        let length = line & ((1 << SHORT_LENGTH) - 1);
        Entry { bytes: line & !LENGTH | length, place: (line & LENGTH) >> SHORT_LENGTH }
    }

    pub(super) fn length(&self) -> u64 {
        self.bytes & LENGTH
    }

    pub(super) fn is_apart(&self) -> bool {
        self.bytes & LENT != 0
    }

    pub(super) fn is_for(&self, member: u32) -> bool {
        let whose = (self.bytes & !LENT) >> MEMBER;
        whose == u64::from(ANY) || whose == u64::from(member)
    }
}

/// A block that a member has published.
pub(crate) struct TableBlock(pub(super) Entry);

impl TableBlock {
    /// How long it is.
    pub fn bytes(&self) -> u64 {
        self.0.length()
    }
}
