//! Layout of the part of the node segment that the transport of one rank has: for each
//! of its lanes
//!
//! ```text
//! Control (4 KiB) | mailbox (64 KiB) | shared tasks (4 KiB) | express boxes | cells, by class
//! | list of what was withdrawn (4 KiB)
//! ```

use super::packet::Memory;
use super::returned::Returned;
use super::shared_tasks::{TaskBlock, TASKS};
use super::sizes::{BOXES, BOX_BYTES, CLASSES, LINES, LINE_BYTES};
use super::withdrawals::{List, Taking, Withdrawn};
use crate::job::node_segment::{ALL_LANES, LANE_BYTES};
use crate::job::NodeSegment;
use crate::progress::watchers::Watchers;
use crate::progress::{changes, Doorbell};
use std::sync::atomic::{AtomicU32, AtomicU64};

const CONTROL_BYTES: usize = 4096;
const MAILBOX_AT: usize = CONTROL_BYTES;
const TASKS_AT: usize = MAILBOX_AT + LINES as usize * LINE_BYTES;
const EXPRESS_AT: usize = TASKS_AT + TASKS * 64;
const CELLS_AT: usize = EXPRESS_AT + BOXES * BOX_BYTES;
const LIST_AT: usize = LANE_BYTES - LIST_BYTES;
/// Bytes of the list of what was withdrawn; reserved when there is something.
pub const LIST_BYTES: usize = 4096;
/// What has to be reserved before the first packet.
pub const FIRST_BYTES: usize = EXPRESS_AT;

/// The fixed words of a rank's transport area. Zero is the right initial value
/// of each, so that a peer may send before the owner has started.
#[repr(C)]
pub struct Control {
    /// Lines taken by senders; senders write it.
    pub tail: Line<AtomicU64>,
    /// Lines consumed; the owner writes it, now and then.
    pub head: Line<AtomicU64>,
    /// Where the owner sleeps; of the first lane only.
    pub doorbell: Line<Doorbell>,
    /// Not 0: somebody waits for room in this mailbox. Senders set it, the
    /// owner clears it when it has published a new head.
    pub room_wanted: Line<AtomicU32>,
    /// By what a peer proves that it can read the owner's memory.
    pub proof: Line<Proof>,
    /// Not 0: the owner takes no packets of several lines now. The owner writes it.
    pub short_only: Line<AtomicU32>,
    /// How the owner's memory file comes to peers, and theirs to the owner.
    pub passing: Line<Passing>,
    /// The express boxes.
    pub boxes: [Line<ExpressBox>; BOXES],
    /// Cells that peers have given back.
    pub returned: Line<Returned>,
    /// Cross-memory copies and forks, which wait for each other.
    pub forks: Line<Words>,
    /// What the owner takes.
    pub taking: Line<Taking>,
    /// How much has been withdrawn from the owner.
    pub withdrawn: Line<Withdrawn>,
    /// Whose memory the owner changes, and who changes the owner's alone; of the first lane, and that of servers.
    pub changes: Line<changes::Words>,
    /// The ranks that wait until the owner's memory changes; of the first lane only.
    pub watchers: Line<Watchers>,
    /// 1 + local rank of the one in whose mailbox the owner may have a line that it has not filled; 0: nobody's.
    pub filling: Line<AtomicU32>,
}

/// Whose an express box is, and how far it has been read.
#[repr(C)]
pub struct ExpressBox {
    /// 1 + local rank of the sender that has taken it, for ever; 0: free.
    pub owner: AtomicU32,
    /// Lines consumed; the reader writes it, now and then.
    pub head: AtomicU64,
}

/// See [`super::forks`].
#[repr(C)]
pub struct Words {
    /// 1 + local rank of the one into whose memory the owner copies; 0: nobody's.
    pub copying: AtomicU32,
    /// Not 0: the owner forks.
    pub forking: AtomicU32,
}

/// See [`super::passing`].
#[repr(C)]
pub struct Passing {
    /// Where the owner listens for descriptors; 0: nowhere. The owner writes it.
    pub name: [AtomicU64; 2],
    /// Not 0: a peer that listens has not got the owner's memory file. Peers set
    /// it, the owner clears it.
    pub wanted: AtomicU32,
    /// Descriptors brought to the owner; peers count it up.
    pub came: AtomicU32,
}

/// The address of a word in the owner's private memory, and what it holds.
#[repr(C)]
pub struct Proof {
    /// Address in the owner's process, 0 before it has attached.
    pub address: AtomicU64,
    /// The value there.
    pub value: AtomicU64,
}

/// A value alone on its cache line (two, because processors fetch in pairs).
#[repr(C, align(128))]
pub struct Line<T>(pub T);

/// The mapped area of one lane of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    base: *mut u8,
    /// Of the rank: the area of its first lane.
    first: *mut u8,
}

// SAFETY: the area is part of the node segment, which lives as long as the
// engine; all that lies in it is atomic or guarded by an ownership rule.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

impl Area {
    /// The area of the first lane of the rank whose areas begin at `first`.
    ///
    /// # Safety
    /// The areas must be mapped for as long as this value and its copies are used.
    pub unsafe fn new(first: *mut u8) -> Area {
        Area { base: first, first }
    }

    /// The area of a lane of a local rank of `node`.
    pub fn of(node: &'static NodeSegment, rank: u32, lane: usize) -> Area {
        let first = node.transport_area(rank);
        // SAFETY: inside the areas of the rank; the node segment lives for ever.
        Area { base: unsafe { first.add(offset(lane)) }, first }
    }

    /// Where the rank sleeps: for all lanes the same.
    #[inline]
    pub fn doorbell(&self) -> &Doorbell {
        // SAFETY: as `control`.
        unsafe { &(*self.first.cast::<Control>()).doorbell.0 }
    }

    /// Whether the rank forks: for all lanes the same.
    #[inline]
    pub fn forks(&self) -> &Words {
        // SAFETY: as `control`.
        unsafe { &(*self.first.cast::<Control>()).forks.0 }
    }

    /// Changes of the rank's memory, and by it: for all lanes the same.
    pub fn changes(&self) -> &changes::Words {
        // SAFETY: as `control`.
        unsafe { &(*self.first.cast::<Control>()).changes.0 }
    }

    /// Changes by the one who has this lane: the server of the node, or the rank.
    pub fn changes_of_lane(&self) -> &changes::Words {
        &self.control().changes.0
    }

    /// The ranks that wait until the rank's memory changes: for all lanes the same.
    pub fn watchers(&self) -> &Watchers {
        // SAFETY: as `control`.
        unsafe { &(*self.first.cast::<Control>()).watchers.0 }
    }

    /// The fixed words.
    pub fn control(&self) -> &Control {
        // SAFETY: the area begins with them, 4 KiB aligned; atomics only.
        unsafe { &*self.base.cast::<Control>() }
    }

    /// The lines of the mailbox.
    #[inline]
    pub fn mailbox(&self) -> Memory {
        // SAFETY: inside the area, and that long.
        unsafe { Memory::new(self.base.add(MAILBOX_AT)) }
    }

    /// The bytes of express box `number`; their memory must have been reserved.
    pub fn express(&self, number: usize) -> Memory {
        assert!(number < BOXES, "express box {number} does not exist");
        // SAFETY: inside the area, and that long.
        unsafe { Memory::new(self.base.add(EXPRESS_AT + number * BOX_BYTES)) }
    }

    /// The words of a shared task.
    pub fn task(&self, number: u32) -> &TaskBlock {
        assert!((number as usize) < TASKS, "shared task {number} does not exist");
        // SAFETY: inside the blocks, 64-byte aligned; atomics only.
        unsafe { &*self.base.add(TASKS_AT + number as usize * 64).cast::<TaskBlock>() }
    }

    /// What the owner has withdrawn; only if it has reserved the memory for it.
    pub fn withdrawals(&self) -> &List {
        // SAFETY: inside the area, by the assertion below, 4 KiB aligned; atomics only.
        unsafe { &*self.base.add(LIST_AT).cast::<List>() }
    }

    /// Address of byte `offset` of the cells.
    pub fn cells(&self, offset: usize) -> *mut u8 {
        debug_assert!(CELLS_AT + offset < LIST_AT);
        // SAFETY: inside the area, by the assertion below and the callers.
        unsafe { self.base.add(CELLS_AT + offset) }
    }
}

/// Where the area of a lane begins.
pub fn offset(lane: usize) -> usize {
    assert!(lane < ALL_LANES, "lane {lane} does not exist");
    lane * LANE_BYTES
}

/// Offset of express box `number` in the area, to reserve it.
pub fn express_offset(number: usize) -> usize {
    EXPRESS_AT + number * BOX_BYTES
}

/// Offset of the list of what was withdrawn in the area, to reserve it.
pub const fn withdrawals_offset() -> usize {
    LIST_AT
}

/// Offset of byte `offset` of the cells in the area, to reserve it.
pub fn cells_offset(offset: usize) -> usize {
    CELLS_AT + offset
}

const _: () = assert!(std::mem::size_of::<Control>() <= CONTROL_BYTES);
const _: () = assert!(std::mem::size_of::<TaskBlock>() == 64);
const _: () = assert!(std::mem::size_of::<List>() == LIST_BYTES && LIST_AT.is_multiple_of(4096));
const _: () = {
    let mut total = CELLS_AT;
    let mut class = 0;
    while class < CLASSES.len() {
        total += CLASSES[class].total();
        class += 1;
    }
    assert!(total <= LIST_AT);
};
