//! Data with gaps that the device packs and unpacks by itself, so that they cross to the host in large pieces.
//!
//! They go through the slabs of the context; tables of offsets stay on the device for further calls.

use super::copy_streams::{copy_on, wait_for, Stream};
use super::driver_errors::Done;
use super::entry_points::Address;
use super::kernels::{try_out, Kernels, Launch, TRIAL_BYTES};
use super::slabs::{allocate, Entries, Slabs, SLAB};
use crate::device::gapped::Pattern;
use crate::device::interface::{Chunk, DeviceMemory, Direction, Piece, Spreading};
use crate::device::MemoryKind;
use std::sync::Arc;

/// Fewer pieces, or longer ones, are copied one by one: each costs about as much as a launch.
const FEWEST_PIECES: u64 = 4;
const LONGEST_PIECE: u64 = 64 << 10;
/// Tables that are kept, and offsets of the longest.
const TABLES: usize = 8;
const MOST_OFFSETS: usize = 1 << 20;

/// What a context has for it beside its slabs.
#[derive(Default)]
pub(super) enum Packing {
    /// Nothing has been packed so far.
    #[default]
    Untried,
    /// The programs do not go here, or are not right.
    Impossible,
    /// They are right.
    Tried(Packer),
}

/// The programs, and tables of offsets, the newest last.
pub(super) struct Packer {
    kernels: Kernels,
    tables: Vec<(Arc<[i64]>, Address)>,
}

/// Whether the device shall pack it: managed memory would be moved by that, and memory out of an allocation be an error that
/// ends the context.
pub(super) fn is_worth_it(memory: &DeviceMemory, what: &Spreading) -> bool {
    let Spreading { address, spread, range, .. } = what;
    let words = spread.blocks().saturating_mul(spread.block) >> spread.logarithm_of_word(*address, range);
    let listed = match &spread.pattern {
        Pattern::Listed { offsets, .. } => offsets.len(),
        Pattern::Loops(_) => 0,
    };
    memory.kind == MemoryKind::CUDA
        && spread.block <= LONGEST_PIECE
        && range.end.saturating_sub(range.start) / spread.block >= FEWEST_PIECES
        && u32::try_from(words).is_ok()
        && listed <= MOST_OFFSETS
        && is_within(memory, what)
}

/// Whether all blocks lie in the allocation.
fn is_within(memory: &DeviceMemory, what: &Spreading) -> bool {
    let spread = &what.spread;
    let reach = |count: u64, stride: i64| i128::from(stride) * i128::from(count - 1);
    let (mut low, mut high) = (i128::from(spread.offset), i128::from(spread.offset));
    let mut add = |least: i128, most: i128| {
        low += least.min(0);
        high += most.max(0);
    };
    match &spread.pattern {
        Pattern::Loops(loops) => loops.iter().for_each(|one| {
            let reach = reach(one.count, one.stride);
            add(reach, reach);
        }),
        Pattern::Listed { offsets, items } => {
            let reach = reach(items.count, items.stride);
            add(reach, reach);
            let (least, most) = (offsets.iter().min(), offsets.iter().max());
            add(least.map_or(0, |&least| least.into()), most.map_or(0, |&most| most.into()));
        }
    }
    let begin = what.address as i128 + low;
    let end = what.address as i128 + high + i128::from(spread.block);
    begin >= memory.first as i128 && end <= memory.first as i128 + memory.bytes as i128
}

impl Packing {
    /// Copies data that [`is_worth_it`]; whether it goes here.
    ///
    /// # Safety
    /// As [`crate::device::copy_spread`].
    pub unsafe fn copy(
        &mut self,
        entries: Entries,
        (here, slabs): (Stream, Slabs),
        what: &Spreading,
        chunk: &mut Chunk,
    ) -> Done<bool> {
        match self.packer(entries, here, slabs) {
            // SAFETY: by the caller.
            Some(packer) => unsafe { packer.copy(entries, (here, slabs), what, chunk) },
            None => Ok(false),
        }
    }

    /// The programs; loaded and tried out at first use.
    fn packer(&mut self, entries: Entries, here: Stream, slabs: Slabs) -> Option<&mut Packer> {
        if let Packing::Untried = self {
            // A driver that refuses the programs leaves the way without them.
            *self = match Packer::new(entries, here, slabs) {
                Ok(Some(packer)) => Packing::Tried(packer),
                Ok(None) | Err(_) => Packing::Impossible,
            };
        }
        match self {
            Packing::Tried(packer) => Some(packer),
            _ => None,
        }
    }
}

impl Packer {
    /// `None` where the programs are not right.
    fn new((entry, kernel_entry): Entries, here: Stream, slabs: Slabs) -> Done<Option<Packer>> {
        let kernels = Kernels::load(kernel_entry)?;
        // SAFETY: the stream has been waited for, and is so again before this returns.
        let trial = unsafe { &mut slabs.host_bytes()[..TRIAL_BYTES] };
        let is_right = try_out((entry, kernel_entry), here, &kernels, (slabs.device, trial))?;
        Ok(is_right.then(|| Packer { kernels, tables: Vec::new() }))
    }

    /// # Safety
    /// As [`Packing::copy`].
    unsafe fn copy(
        &mut self,
        (entry, kernel_entry): Entries,
        (here, slabs): (Stream, Slabs),
        what: &Spreading,
        chunk: &mut Chunk,
    ) -> Done<bool> {
        let Spreading { address, spread, range, direction } = what;
        let table = match &spread.pattern {
            Pattern::Loops(_) => 0,
            Pattern::Listed { offsets, .. } => match self.table((entry, kernel_entry), here, offsets) {
                Ok(table) => table,
                Err(_) => return Ok(false),
            },
        };
        let logarithm = spread.logarithm_of_word(*address, range);
        let mut done = range.start;
        while done < range.end {
            let bytes = (range.end - done).min(SLAB as u64);
            let part = done..done + bytes;
            let launch = Launch {
                spread,
                data: *address,
                table,
                logarithm,
                begin: (done >> logarithm) as u32,
                number: (bytes >> logarithm) as u32,
                packed: slabs.device as usize,
                direction: *direction,
            };
            let piece = |to: usize, from: usize| Piece {
                to: to as *mut u8,
                from: from as *const u8,
                bytes: bytes as usize,
            };
            let (device, host) = (slabs.device as usize, slabs.host);
            // SAFETY: what the kernel moves is by the caller, and lies within the allocation and the slab; what is started has
            // ended before anything else is done with either.
            unsafe {
                match direction {
                    Direction::FromDevice => {
                        self.kernels.start(kernel_entry, here, &launch)?;
                        copy_on(entry, here, &[piece(host, device)])?;
                        chunk(part, host as *mut u8);
                    }
                    Direction::ToDevice => {
                        chunk(part, host as *mut u8);
                        copy_on(entry, here, &[piece(device, host)])?;
                        self.kernels.start(kernel_entry, here, &launch).and(wait_for(entry, here))?;
                    }
                }
            }
            done += bytes;
        }
        Ok(true)
    }

    /// Offsets in memory of the device.
    fn table(&mut self, (entry, kernel_entry): Entries, here: Stream, offsets: &Arc<[i64]>) -> Done<Address> {
        if let Some(found) = self.tables.iter().position(|one| Arc::ptr_eq(&one.0, offsets)) {
            return Ok(self.tables[found].1);
        }
        if self.tables.len() == TABLES {
            // SAFETY: allocated below; all that used it has been waited for.
            unsafe { (kernel_entry.free)(self.tables.remove(0).1) };
        }
        let bytes = size_of_val(&**offsets);
        let table = allocate(kernel_entry, bytes)?;
        let piece = Piece { to: table as *mut u8, from: offsets.as_ptr().cast(), bytes };
        // SAFETY: both have so many bytes.
        let copied = unsafe { copy_on(entry, here, &[piece]) };
        match copied {
            Ok(()) => self.tables.push((Arc::clone(offsets), table)),
            // SAFETY: allocated above; nobody uses it.
            Err(_) => drop(unsafe { (kernel_entry.free)(table) }),
        }
        copied.map(|()| table)
    }
}
