//! Twin of `transport/node/area.rs`: the words of a rank's area, with one
//! express box.

use crate::doorbell::Doorbell;
use crate::packet::{Memory, Words};
use crate::sizes::{BOX_BYTES, LINES, LINE_BYTES};
use crate::sync::{AtomicU32, AtomicU64};

#[derive(Debug)]
pub struct Line<T>(pub T);

#[derive(Debug)]
pub struct ExpressBox {
    pub owner: AtomicU32,
    pub head: AtomicU64,
}

#[derive(Debug)]
pub struct Control {
    pub tail: Line<AtomicU64>,
    pub head: Line<AtomicU64>,
    pub doorbell: Line<Doorbell>,
    pub room_wanted: Line<AtomicU32>,
    pub boxes: [Line<ExpressBox>; 1],
}

/// The memory of an area.
#[derive(Debug)]
pub struct Shared {
    control: Control,
    mailbox: Words,
    express: Words,
}

impl Shared {
    pub fn new() -> Shared {
        let express = ExpressBox { owner: AtomicU32::new(0), head: AtomicU64::new(0) };
        let control = Control {
            tail: Line(AtomicU64::new(0)),
            head: Line(AtomicU64::new(0)),
            doorbell: Line(Doorbell::new()),
            room_wanted: Line(AtomicU32::new(0)),
            boxes: [Line(express)],
        };
        Shared { control, mailbox: Words::new(LINES as usize * LINE_BYTES), express: Words::new(BOX_BYTES) }
    }

    pub fn area(&self) -> Area {
        Area(self)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Area(*const Shared);

// SAFETY: the checks keep the memory until all threads have ended.
unsafe impl Send for Area {}

impl Area {
    fn shared(&self) -> &Shared {
        // SAFETY: see `Send`.
        unsafe { &*self.0 }
    }

    pub fn control(&self) -> &Control {
        &self.shared().control
    }

    pub fn mailbox(&self) -> Memory {
        self.shared().mailbox.memory()
    }

    pub fn express(&self, number: usize) -> Memory {
        assert!(number == 0, "there is one box");
        self.shared().express.memory()
    }
}
