//! Lengths at which one way of moving bytes becomes quicker than another: all of them in one table ([`crossovers`]).
//!
//! Many choices in messages and collectives are a matter of cost alone. Either way is right, and one of them is quicker up
//! to some length: the *crossover*. Where it lies depends on the processor, so `serried tune` measures both ways around
//! each one, and writes what it finds to a file ([`file`]). A node has one table: who makes its segment reads the file, and
//! every rank takes the values from the segment, because the members of a collective must choose alike.
//!
//! What the distance of two cores costs is not here. It changes while a program runs, whenever the system or a virtual
//! machine moves a rank; so it is measured where it is used (`memory::copy::Chooser`, `transport::node::distance`).

pub mod crossovers;
pub mod file;

pub use crossovers::{ALL, COUNT};

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The length up to which one way is taken, and beyond which another one is.
#[derive(Debug)]
pub struct Crossover {
    /// Its name in the file and in what people see.
    pub name: &'static str,
    /// What holds where nothing has been measured, in bytes.
    pub default: u32,
    /// The lengths that may be set: any of them is right.
    pub least: u32,
    /// The greatest of them.
    pub most: u32,
    /// The way up to it.
    pub below: &'static str,
    /// The way beyond it.
    pub beyond: &'static str,
    bytes: AtomicU32,
}

impl Crossover {
    const fn new(
        name: &'static str,
        default: u32,
        (least, most): (u32, u32),
        (below, beyond): (&'static str, &'static str),
    ) -> Crossover {
        assert!(least <= default && default <= most);
        Crossover { name, default, least, most, below, beyond, bytes: AtomicU32::new(default) }
    }

    /// The longest that goes the way below, in bytes.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes.load(Relaxed))
    }

    /// Whether so many bytes go the way beyond.
    #[inline(always)]
    pub fn is_passed_by(&self, bytes: u64) -> bool {
        bytes > self.bytes()
    }

    /// What it decides, for people.
    pub fn description(&self) -> String {
        format!("bytes; up to it: {}; beyond: {}", self.below, self.beyond)
    }

    /// Sets it in this process, to the nearest of what may be set. All ranks of the node do it between two operations.
    pub fn set(&self, bytes: u32) {
        self.bytes.store(bytes.clamp(self.least, self.most), Relaxed);
    }
}

/// The values of a node, as its segment has them: in the order of [`ALL`]. A value of 0 is the default.
#[derive(Debug)]
#[repr(transparent)]
pub struct OfNode([AtomicU32; COUNT]);

impl OfNode {
    /// Writes the values of a new segment.
    pub fn write(&self, values: &[u32; COUNT]) {
        self.0.iter().zip(values).for_each(|(place, value)| place.store(*value, Relaxed));
    }

    /// Has this process use them.
    pub fn adopt(&self) {
        for (crossover, place) in ALL.iter().zip(&self.0) {
            match place.load(Relaxed) {
                0 => crossover.set(crossover.default),
                value => crossover.set(value),
            }
        }
    }
}
