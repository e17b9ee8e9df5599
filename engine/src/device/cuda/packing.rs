//! Data with gaps that the device packs and unpacks by itself, so that they cross to the host in large pieces.
//!
//! Each context has a slab of the device's memory and one of pinned host memory; tables of offsets stay on the device for
//! further calls.

use super::copy_streams::{copy_on, succeed, wait_for, Done, Stream, Streams};
use super::entry_points::{Address, EntryPoints, KernelEntryPoints};
use super::kernels::{try_out, Kernels, Launch, TRIAL_BYTES};
use crate::device::gapped::Pattern;
use crate::device::interface::{Chunk, DeviceMemory, Direction, Piece, Spreading};
use crate::device::MemoryKind;
use crate::lock_order::{self, Level};
use crate::Result;
use std::ffi::c_uint;
use std::ptr;
use std::sync::{Arc, Mutex};

/// Bytes of a slab.
const SLAB: usize = 4 << 20;
/// Fewer pieces, or longer ones, are copied one by one: each costs about as much as a launch.
const FEWEST_PIECES: u64 = 4;
const LONGEST_PIECE: u64 = 64 << 10;
/// Tables that are kept, and offsets of the longest.
const TABLES: usize = 8;
const MOST_OFFSETS: usize = 1 << 20;
/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for all contexts.
const PORTABLE: c_uint = 1;

/// What is there for it in this process.
pub(super) struct Packing {
    entry: Option<KernelEntryPoints>,
    rooms: Mutex<Vec<Room>>,
}

/// What a context has for it.
struct Room {
    context: usize,
    /// The number of its stream; if the stream is another one, the context has gone, and this with it.
    stream: u64,
    /// `None`: it does not go here.
    tools: Option<Tools>,
}

struct Tools {
    kernels: Kernels,
    device: Address,
    host: usize,
    /// The newest last.
    tables: Vec<(Arc<[i64]>, Address)>,
}

type Entries<'a> = (&'a EntryPoints, &'a KernelEntryPoints);

impl Packing {
    pub fn new(entry: Option<KernelEntryPoints>) -> Packing {
        Packing { entry, rooms: Mutex::default() }
    }

    /// Copies data with gaps, if it is worth it and can be done so.
    ///
    /// # Safety
    /// As [`crate::device::copy_spread`].
    pub unsafe fn copy(
        &self,
        (entry, streams): (&EntryPoints, &Streams),
        memory: &DeviceMemory,
        what: &Spreading,
        chunk: &mut Chunk,
    ) -> Result<bool> {
        let Some(kernel_entry) = self.entry.as_ref().filter(|_| is_worth_it(memory, what)) else {
            return Ok(false);
        };
        streams.on_stream(entry, memory, |here| {
            // A stream that has gone is found out before anything of its context is used.
            wait_for(entry, here)?;
            let mut rooms = lock_order::lock(&self.rooms, Level::PACKING);
            let tools = tools_of(&mut rooms, (entry, kernel_entry), here);
            let Some(tools) = tools else { return Ok(false) };
            // SAFETY: by the caller.
            unsafe { tools.copy((entry, kernel_entry), here, what, chunk) }
        })
    }
}

/// Whether the device shall pack it: managed memory would be moved by that, and memory out of an allocation be an error that
/// ends the context.
fn is_worth_it(memory: &DeviceMemory, what: &Spreading) -> bool {
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

/// What the present context has for it; made at first use.
fn tools_of<'a>(rooms: &'a mut Vec<Room>, entries: Entries, here: Stream) -> Option<&'a mut Tools> {
    rooms.retain(|room| room.context != here.context || room.stream == here.number);
    let place = rooms.iter().position(|room| room.context == here.context).unwrap_or_else(|| {
        // A driver that refuses the programs, or has no memory for them, leaves the way without them.
        let tools = Tools::new(entries, here).ok().flatten();
        rooms.push(Room { context: here.context, stream: here.number, tools });
        rooms.len() - 1
    });
    rooms[place].tools.as_mut()
}

fn allocate(entry: &KernelEntryPoints, bytes: usize) -> Done<Address> {
    let mut first: Address = 0;
    // SAFETY: stores the address of new memory.
    succeed("cuMemAlloc", unsafe { (entry.allocate)(&raw mut first, bytes) }).map(|()| first)
}

impl Tools {
    /// `None` where the programs are not right.
    fn new((entry, kernel_entry): Entries, here: Stream) -> Done<Option<Tools>> {
        let kernels = Kernels::load(kernel_entry)?;
        let device = allocate(kernel_entry, SLAB)?;
        let mut host = ptr::null_mut();
        // SAFETY: stores the address of new memory.
        let answer = unsafe { (kernel_entry.allocate_host)(&raw mut host, SLAB, PORTABLE) };
        succeed("cuMemHostAlloc", answer)?;
        // SAFETY: allocated just now, longer than that.
        let trial = unsafe {
            host.write_bytes(0, TRIAL_BYTES);
            std::slice::from_raw_parts_mut(host.cast(), TRIAL_BYTES)
        };
        let is_right = try_out((entry, kernel_entry), here, &kernels, (device, trial))?;
        Ok(is_right.then(|| Tools { kernels, device, host: host as usize, tables: Vec::new() }))
    }

    /// # Safety
    /// As [`Packing::copy`].
    unsafe fn copy(
        &mut self,
        (entry, kernel_entry): Entries,
        here: Stream,
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
                packed: self.device as usize,
                direction: *direction,
            };
            let piece = |to: usize, from: usize| Piece {
                to: to as *mut u8,
                from: from as *const u8,
                bytes: bytes as usize,
            };
            let (device, host) = (self.device as usize, self.host);
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
