//! The words by which cells come back to their owner (see [`super::cells`]).

use super::sizes::{Free, CELLS, CLASSES};
use crate::progress::barrier;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};

/// The cells that have come back.
#[repr(C)]
pub struct Returned {
    /// Not 0: the owner waits for a cell.
    wanted: AtomicU32,
    /// Not 0: that cell has come back. A byte each, so that who gives one back
    /// only stores.
    flags: [AtomicU8; CELLS],
}

impl Returned {
    /// Gives a cell back; any process may. `true` if the owner waits for one and
    /// has to be woken. `promised`: the owner issues the barriers of both sides
    /// before it sleeps (`Doorbell::promise_barriers`) and looks again after.
    #[inline]
    pub fn give(&self, index: u32, promised: bool) -> bool {
        let flag = &self.flags[index as usize];
        if promised {
            flag.store(1, Ordering::Release); // cell-returned: paired with `take`
            barrier::counterpart();
        } else {
            flag.swap(1, Ordering::SeqCst); // cell-returned: the same
        }
        // cell-wanted: paired with `want`
        self.wanted.load(Ordering::SeqCst) != 0 && self.wanted.swap(0, Ordering::SeqCst) != 0
    }

    /// Asks to be woken at the next return; `true` if some are there already.
    pub fn want(&self) -> bool {
        self.wanted.store(1, Ordering::SeqCst); // cell-wanted: paired with `give`
        std::sync::atomic::fence(Ordering::SeqCst);
        self.flags.iter().any(|flag| flag.load(Ordering::SeqCst) != 0)
    }

    /// Takes a cell if it has come back; only the owner may.
    #[inline]
    pub fn take_one(&self, index: u32) -> bool {
        let flag = &self.flags[index as usize];
        // cell-returned: paired with `give`
        let is_back = flag.load(Ordering::Acquire) != 0;
        if is_back {
            flag.store(0, Ordering::Relaxed);
        }
        is_back
    }

    /// Takes all that have come back; only the owner may.
    pub fn take(&self, free: &mut Free) {
        for (class, free) in free.iter_mut().enumerate() {
            for index in indices(class) {
                if self.take_one(index) {
                    free.push_back(index);
                }
            }
        }
    }
}

/// The numbers of the cells of a class.
pub fn indices(class: usize) -> Range<u32> {
    let first: usize = CLASSES[..class].iter().map(|class| class.count).sum();
    first as u32..(first + CLASSES[class].count) as u32
}
