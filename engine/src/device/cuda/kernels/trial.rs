//! Whether the programs do on this device what the processor does: tried with all lengths of words, in both directions.

use super::{Kernels, Launch};
use crate::device::cuda::copy_streams::{copy_on, wait_for, Stream};
use crate::device::cuda::driver_errors::Done;
use crate::device::cuda::entry_points::{Address, EntryPoints, KernelEntryPoints};
use crate::device::gapped::{Loop, Pattern, Spread};
use crate::device::interface::{Direction, Piece};
use std::sync::Arc;

/// Bytes of the data with their gaps, of what is packed, and of a table.
const DATA: usize = 4096;
const PACKED: usize = 1024;
const TABLE: usize = 64;
/// Bytes of the device, and of the host, that a trial takes.
pub(in super::super) const BYTES: usize = DATA + PACKED + TABLE;

/// Where the data begin, so that a negative stride stays within.
const MIDDLE: usize = DATA / 2;

/// Data in three loops, one of them backwards, and in a list, of words of so many bytes.
fn samples(word: i64) -> [Spread; 2] {
    let again = |count, stride| Loop { count, stride: stride * word };
    let loops = [again(3, 4), again(2, -20), again(2, 50), Loop::ONCE];
    let offsets: Arc<[i64]> = [13, 2, 40, -7].map(|place| place * word).into();
    let block = 2 * word as u64;
    [
        Spread { offset: word, block, pattern: Pattern::Loops(loops) },
        Spread { offset: 0, block, pattern: Pattern::Listed { offsets, items: again(3, -11) } },
    ]
}

/// Tries all out on memory of the device and of the host with [`BYTES`] bytes each; whether all is right.
pub(in super::super) fn try_out(
    (entry, kernel_entry): (&EntryPoints, &KernelEntryPoints),
    here: Stream,
    kernels: &Kernels,
    (device, host): (Address, &mut [u8]),
) -> Done<bool> {
    for logarithm in 0..=4 {
        for spread in samples(1 << logarithm) {
            for direction in [Direction::FromDevice, Direction::ToDevice] {
                let trial = Trial { spread: &spread, logarithm, direction };
                if !trial.is_right((entry, kernel_entry), here, kernels, (device as usize, host))? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

struct Trial<'a> {
    spread: &'a Spread,
    logarithm: u32,
    direction: Direction,
}

impl Trial<'_> {
    fn is_right(
        &self,
        (entry, kernel_entry): (&EntryPoints, &KernelEntryPoints),
        here: Stream,
        kernels: &Kernels,
        (device, host): (usize, &mut [u8]),
    ) -> Done<bool> {
        let host = &mut host[..BYTES];
        host.iter_mut().enumerate().for_each(|(place, byte)| *byte = (place * 7 + place / 251) as u8);
        if let Pattern::Listed { offsets, .. } = &self.spread.pattern {
            let table = &mut host[DATA + PACKED..];
            let bytes = offsets.iter().flat_map(|offset| offset.to_ne_bytes());
            table.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        }
        let expected = self.expected(host);
        let words = (self.spread.blocks() * self.spread.block) >> self.logarithm;
        // All but the first word.
        let launch = Launch {
            spread: self.spread,
            data: device + MIDDLE,
            table: (device + DATA + PACKED) as Address,
            logarithm: self.logarithm,
            begin: 1,
            number: words as u32 - 1,
            packed: device + DATA,
            direction: self.direction,
        };
        let piece =
            |to: usize, from: usize| Piece { to: to as *mut u8, from: from as *const u8, bytes: BYTES };
        let there = host.as_mut_ptr() as usize;
        // SAFETY: both have so many bytes, and all that is moved lies within.
        unsafe {
            copy_on(entry, here, &[piece(device, there)])?;
            let started = kernels.start(kernel_entry, here, &launch);
            started.and(wait_for(entry, here))?;
            copy_on(entry, here, &[piece(there, device)])?;
        }
        Ok(host == expected)
    }

    /// What the processor makes of it.
    fn expected(&self, before: &[u8]) -> Vec<u8> {
        let mut after = before.to_vec();
        let first = 1 << self.logarithm;
        for byte in first..self.spread.blocks() * self.spread.block {
            let place = self.spread.place(byte / self.spread.block) + (byte % self.spread.block) as i64;
            let (data, packed) = ((MIDDLE as i64 + place) as usize, DATA + (byte - first) as usize);
            match self.direction {
                Direction::FromDevice => after[packed] = before[data],
                Direction::ToDevice => after[data] = before[packed],
            }
        }
        after
    }
}
