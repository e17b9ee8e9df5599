//! What shows where a crossover lies: an operation, on some memory, of so many ranks.

use crate::bench::blocks::Memory;
use crate::bench::cells::{Cell, Collective};
use serried_engine::tuning::crossovers::*;
use serried_engine::tuning::Crossover;

/// What is measured for one crossover.
pub struct Probe {
    /// Which.
    pub crossover: &'static Crossover,
    /// `None`: messages between two ranks.
    what: Option<Collective>,
    /// Where the data lie: all of these count alike.
    pub memories: &'static [Memory],
    /// Ranks of the job.
    pub ranks: u32,
    /// The crossover is about so many times the bytes that a rank gives.
    times: u64,
}

const ANY: &[Memory] = &[Memory::Heap, Memory::Window, Memory::Apart];
const MAPPED: &[Memory] = &[Memory::Heap, Memory::Window];
const APART: &[Memory] = &[Memory::Apart];

const fn message(crossover: &'static Crossover, memories: &'static [Memory]) -> Probe {
    Probe { crossover, what: None, memories, ranks: 2, times: 1 }
}

const fn of_two(crossover: &'static Crossover, what: Collective, memories: &'static [Memory]) -> Probe {
    Probe { crossover, what: Some(what), memories, ranks: 2, times: 1 }
}

const fn of_four(crossover: &'static Crossover, what: Collective, times: u64) -> Probe {
    Probe { crossover, what: Some(what), memories: ANY, ranks: 4, times }
}

/// A probe for each crossover.
pub static PROBES: [Probe; COUNT] = [
    message(&EAGER_BLOCK, ANY),
    message(&WHOLE_CELL, ANY),
    message(&READ_ALONE, MAPPED),
    message(&STAGED_UNLESS_MAPPED, APART),
    of_two(&IN_SLOTS_OF_TWO, Collective::Alltoall, MAPPED),
    of_two(&WHOLE_OF_TWO, Collective::Allreduce, ANY),
    of_two(&WHOLE_OF_TWO_UNLESS_PUT, Collective::Allreduce, APART),
    of_two(&ROOT_ALONE, Collective::Reduce, ANY),
    of_two(&WHOLE_VECTOR_OF_TWO, Collective::Allreduce, ANY),
    of_two(&PUSHED_BY_ROOT, Collective::Broadcast, ANY),
    of_two(&PULLED, Collective::Alltoall, ANY),
    of_two(&ENDS_COPIED, Collective::Broadcast, &[Memory::Heap]),
    of_two(&PAST_CACHES, Collective::Alltoall, ANY),
    message(&BY_VECTORS, ANY),
    of_four(&WHOLE, Collective::Allreduce, 3),
    of_four(&READ_BY_ALL, Collective::Broadcast, 1),
    of_four(&SHORT_SLOT, Collective::Broadcast, 1),
];

/// Lengths that are measured: from a quarter of the crossover to four times it, and none of them a power of two.
const STEPS: [f64; 9] = [0.26, 0.37, 0.53, 0.74, 1.05, 1.48, 2.1, 2.97, 4.2];
/// The longest of them.
const LONGEST: u32 = 4 << 20;

impl Probe {
    /// The lengths that are measured around a crossover, in bytes that a rank gives: those that can go either way.
    pub fn lengths(&self, center: u32) -> Vec<u64> {
        let (least, most) = (self.crossover.least, self.most());
        let lengths = STEPS.map(|step| (f64::from(center) * step) as u64);
        let fits = |length: &u64| u64::from(least) < *length && *length <= u64::from(most);
        let mut lengths: Vec<u64> =
            lengths.into_iter().filter(fits).map(|length| length / self.times / 8 * 8).collect();
        lengths.dedup();
        lengths
    }

    /// Whether a length goes the way below, with such a crossover.
    pub fn goes_below(&self, length: u64, crossover: u32) -> bool {
        length * self.times <= u64::from(crossover)
    }

    /// The crossover that is in the middle of two lengths that a rank gives.
    pub fn between(&self, shorter: u64, longer: u64) -> u32 {
        let middle = ((shorter * longer) as f64).sqrt() as u64 * self.times / 8 * 8;
        u32::try_from(middle).unwrap_or(u32::MAX).clamp(self.crossover.least, self.crossover.most)
    }

    /// What is measured at a length.
    pub fn cell(&self, length: u64) -> Cell {
        let bytes = length as usize;
        match self.what {
            None => Cell::Message { partner: 1, bytes },
            Some(what) => Cell::All { what, bytes },
        }
    }

    fn most(&self) -> u32 {
        self.crossover.most.min(LONGEST)
    }

    /// The most that a rank gives or gets in one call.
    pub fn most_bytes(&self) -> usize {
        self.most() as usize * self.ranks as usize
    }

    /// What people read of it.
    pub fn name(&self) -> String {
        format!("{} of {} ranks", self.cell(8).name(), self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crossover_has_one_probe_with_lengths_on_both_sides() {
        for crossover in ALL {
            let mut probes = PROBES.iter().filter(|probe| std::ptr::eq(probe.crossover, crossover));
            let (probe, others) = (probes.next().expect(crossover.name), probes.count());
            let lengths = probe.lengths(crossover.default);
            assert!(
                others == 0 && lengths.is_sorted() && lengths.len() >= 5,
                "{}: {lengths:?}",
                crossover.name
            );
            let below = lengths
                .iter()
                .filter(|&&length| length * probe.times <= u64::from(crossover.default))
                .count();
            assert!(below >= 2 && below < lengths.len(), "{}: {lengths:?}", crossover.name);
            assert!(lengths.iter().all(|length| length % 8 == 0 && *length as usize <= probe.most_bytes()));
        }
    }
}
