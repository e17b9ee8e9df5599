//! Chunks: many pieces of one region at once, as one kind of memory reaches them.

use super::changing::{FEW_IN_PIECES, MANY};
use super::places::{step_both, Places};
use super::runs::{Chunk, Counterpart, Run};
use super::target_memory::{Place, AT_ONCE};
use crate::engine::Engine;
use crate::memory::cross_memory::Pair;
use crate::onesided::{Elements, Region, Target, Way};
use crate::transport::{Means, OfferedMemory, Routed};
use crate::{JobRank, Result};
use std::ptr;

/// The kernel finds a piece in about the time in which it copies so many bytes: gaps up to this are read as well.
const GAP: u64 = 1024;
/// Elements that are packed at a time: so many bytes stay in the first cache.
const PACKED: u64 = 8 << 10;

/// Copying.
impl Engine {
    /// Whether bytes of a region that are not direct are copied by the kernel.
    pub(super) fn goes_by_kernel(&self, region: &Region) -> bool {
        !region.own && region.device.is_none() && !self.is_served(region)
    }

    /// Reads a chunk of a region that goes by the kernel to `local`, one piece behind the other.
    ///
    /// # Safety
    /// `local` can be written for all bytes of the chunk, which lies in the region.
    pub(super) unsafe fn read_chunk(&self, region: &Region, chunk: Chunk, local: *mut u8) -> Result<()> {
        let (span, gaps) = (chunk.span(), chunk.pieces.len() as u64 - 1);
        let length = span.end - span.start;
        if gaps > 0 && length <= AT_ONCE && length <= chunk.bytes + GAP * gaps {
            let mut room = vec![0u8; length as usize];
            // SAFETY: by the caller; the room is as long as the span, which lies in the region.
            unsafe { self.read_from(region, span.start, room.as_mut_ptr(), length)? };
            for (at, (address, bytes)) in chunk.each() {
                let from = (address as u64 - chunk.base - span.start) as usize;
                // SAFETY: the piece lies in the span, and `local` has room for all pieces.
                unsafe { ptr::copy_nonoverlapping(room.as_ptr().add(from), local.add(at), bytes) };
            }
            return Ok(());
        }
        // SAFETY: by the caller.
        let far =
            far_parts(region, chunk, local, |here, local, bytes| unsafe { ptr::copy(here, local, bytes) });
        // SAFETY: by the caller.
        self.copy_far(region, &far, |transport, peer| unsafe { transport.read_many(peer, &far) })?;
        if !region.for_server {
            self.flows.took(peer_of(region).0, bytes_of(&far));
        }
        Ok(())
    }

    /// Writes a chunk of a region that goes by the kernel from `local`, one piece behind the other.
    ///
    /// # Safety
    /// `local` can be read for all bytes of the chunk, which lies in the region.
    pub(super) unsafe fn write_chunk(&self, region: &Region, chunk: Chunk, local: *mut u8) -> Result<()> {
        // SAFETY: by the caller.
        let far =
            far_parts(region, chunk, local, |here, local, bytes| unsafe { ptr::copy(local, here, bytes) });
        // SAFETY: by the caller.
        self.copy_far(region, &far, |transport, peer| unsafe { transport.write_many(peer, &far) })?;
        if !region.for_server {
            self.flows.gave(peer_of(region).0, bytes_of(&far));
        }
        Ok(())
    }

    fn copy_far(
        &self,
        region: &Region,
        far: &[Pair],
        copy: impl FnOnce(&mut Routed, JobRank) -> Result<()>,
    ) -> Result<()> {
        if far.is_empty() {
            return Ok(());
        }
        let copy = || self.reach(region, |transport| copy(transport, peer_of(region)));
        if region.for_server {
            return copy();
        }
        self.page.copying(copy)?;
        Means::CrossMemory.count(&self.page.counters, bytes_of(far));
        Ok(())
    }
}

/// The process on this node that has a region, which goes by the kernel.
fn peer_of(region: &Region) -> JobRank {
    region.peer.unwrap_or_default()
}

fn bytes_of(pairs: &[Pair]) -> u64 {
    pairs.iter().map(|pair| pair.bytes as u64).sum()
}

/// Does something with each part of a chunk that plain loads and stores reach (where it is, its place in `local`, its
/// length), and gives the other ones.
fn far_parts(
    region: &Region,
    chunk: Chunk,
    local: *mut u8,
    near: impl Fn(*mut u8, *mut u8, usize),
) -> Vec<Pair> {
    let mut far = Vec::with_capacity(chunk.pieces.len());
    for (at, (address, bytes)) in chunk.each() {
        let (mut offset, mut local) = (address as u64 - chunk.base, local.wrapping_add(at));
        let end = offset + bytes as u64;
        while offset < end {
            let (way, length) = region.way(offset, end - offset);
            match way {
                Way::Direct(here) | Way::Own(here) | Way::Device(here) => near(here, local, length as usize),
                Way::Far(there) => far.push(Pair { there, here: local as usize, bytes: length as usize }),
            }
            offset += length;
            local = local.wrapping_add(length as usize);
        }
    }
    far
}

/// Changing.
impl Engine {
    /// Where item 0 of a place lies here, if its elements, which lie in pieces, are so many that this member had better
    /// pack them, alone.
    pub(super) fn is_better_packed(
        &self,
        place: &Place,
        elements: &Elements,
        bytes: u64,
    ) -> Result<Option<*mut u8>> {
        let count = bytes as usize / elements.element().size();
        let here = place.direct().filter(|_| elements.element().is_block() && count >= FEW_IN_PIECES);
        let Some(here) = here else { return Ok(None) };
        Ok(self.changes_of(place.region)?.is_worth_being_alone(count, MANY).then_some(here))
    }

    /// Changes the elements of a chunk, if all its pieces are reached in the same way and that takes many at once; `false`:
    /// nothing was done.
    ///
    /// # Safety
    /// As [`Engine::change`]: the pieces consist of whole elements without holes and lie within the region.
    pub(super) unsafe fn change_chunk(
        &self,
        region: &Region,
        chunk: Chunk,
        elements: &Elements,
        places: Places,
    ) -> Result<bool> {
        let (span, direct) = (chunk.span(), &region.direct);
        if chunk.pieces.len() < 2 {
            return Ok(false);
        }
        let is_direct = direct.start <= span.start && span.end <= direct.end;
        let is_apart = span.end <= direct.start || direct.end <= span.start;
        let here = |address: usize| region.mapped(address as u64);
        let words = chunk.pieces.iter().filter(|piece| elements.is_word(here(piece.0))).count();
        // SAFETY: by the caller.
        unsafe {
            if is_direct && words == chunk.pieces.len() {
                self.change_chunk_of_words(region, chunk, elements, places)?;
            } else if is_direct && words == 0 || is_apart && region.own && region.device.is_none() {
                let _held = self.hold_chunk(region, chunk)?;
                change_each_alone(region, chunk, elements, places);
            } else if is_apart && self.goes_by_kernel(region) {
                self.change_far_chunk(region, chunk, elements, places)?;
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Changes the elements of a chunk, at once or run by run.
    ///
    /// # Safety
    /// As [`Engine::change_chunk`].
    pub(super) unsafe fn change_any_chunk(
        &self,
        region: &Region,
        chunk: Chunk,
        elements: &Elements,
        places: Places,
    ) -> Result<()> {
        // SAFETY: by the caller.
        unsafe {
            if self.change_chunk(region, chunk, elements, places)? {
                return Ok(());
            }
            chunk
                .runs()
                .try_for_each(|(at, run)| self.change_run(region, run, elements, step_both(places, at)))
        }
    }

    /// Changes the elements of a run; its owner is asked for many pieces at once.
    ///
    /// # Safety
    /// As [`Engine::change`]: the run lies within the region.
    pub(super) unsafe fn change_run(
        &self,
        region: &Region,
        run: Run<'_>,
        elements: &Elements,
        (from, to): Places,
    ) -> Result<()> {
        let count = run.length() as usize / elements.element().size();
        if run.pieces.len() > 1 && self.goes_by_messages(region) {
            // SAFETY: by the caller.
            return unsafe { self.change_run_by_messages(region, run, elements, (from, to)) };
        }
        for (index, &(address, length)) in run.pieces.iter().enumerate() {
            let (at, offset) = (index * length, address as u64 - run.base);
            // SAFETY: by the caller.
            unsafe { self.change(region, elements, (offset, count), step_both((from, to), at))? };
        }
        Ok(())
    }

    /// # Safety
    /// As [`Engine::change_chunk`]; all pieces are words that are direct.
    unsafe fn change_chunk_of_words(
        &self,
        region: &Region,
        chunk: Chunk,
        elements: &Elements,
        places: Places,
    ) -> Result<()> {
        let size = elements.element().size();
        self.changes_of(region)?.words(self.is_threaded(), || {
            for (here, bytes, (from, to)) in mapped(region, chunk, places) {
                // SAFETY: by the caller.
                unsafe { elements.change_words(from, here, bytes / size, to) };
            }
        });
        Ok(())
    }

    /// # Safety
    /// As [`Engine::change_chunk`]; all pieces go by the kernel.
    unsafe fn change_far_chunk(
        &self,
        region: &Region,
        chunk: Chunk,
        elements: &Elements,
        (from, to): Places,
    ) -> Result<()> {
        let mut room = vec![0u128; chunk.bytes.div_ceil(16) as usize];
        let there: *mut u8 = room.as_mut_ptr().cast();
        let _held = self.hold_chunk(region, chunk)?;
        // SAFETY: by the caller; the room is as long.
        unsafe {
            if !elements.only_writes(to) {
                self.read_chunk(region, chunk, there)?;
            }
            elements.change_alone(from, there, chunk.bytes as usize / elements.element().size(), to);
            if !elements.only_reads() {
                self.write_chunk(region, chunk, there)?;
            }
        }
        Ok(())
    }
}

/// Changes elements that lie in pieces while nobody else does: those of a part are packed, changed, and unpacked.
///
/// # Safety
/// The target's items lie from `here` on, all within memory that is mapped here.
pub(super) unsafe fn change_packed(
    (here, target): (*mut u8, &Target),
    (bytes, elements): (u64, &Elements),
    with_data: &mut impl FnMut(u64, u64, &mut dyn FnMut(Places) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let (datatype, count) = (target.datatype, target.count as u64);
    let size = elements.element().size() as u64;
    let part = (PACKED / size).max(1) * size;
    let mut room = vec![0u128; part.min(bytes).div_ceil(16) as usize];
    for offset in (0..bytes).step_by(part as usize) {
        let length = part.min(bytes - offset);
        with_data(offset, length, &mut |(from, to)| {
            // SAFETY: by the caller; the room is as long.
            unsafe {
                let there = std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), length as usize);
                datatype.pack(here, count, offset, there);
                elements.change_alone(from, there.as_mut_ptr(), (length / size) as usize, to);
                if !elements.only_reads() {
                    datatype.unpack(here, count, offset, there);
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Changes elements that lie in long blocks while nobody else does, block by block.
///
/// # Safety
/// As [`change_packed`]; the counterparts can be read and written.
pub(super) unsafe fn change_blocks(
    (here, target): (*mut u8, &Target),
    elements: &Elements,
    (from, to): (Counterpart, Counterpart),
) {
    let mut done = 0;
    target.datatype.each_block(here, target.count as u64, |place, bytes| {
        let behind = (place as usize).wrapping_sub(here as usize);
        let (from, to) = (from.at(behind, done), to.at(behind, done));
        // SAFETY: by the caller.
        unsafe { elements.change_alone(from, place, bytes / elements.element().size(), to) };
        done += bytes;
    });
}

/// Each piece of a chunk that is mapped here: where it is, its length, and its places.
fn mapped<'a>(
    region: &'a Region,
    chunk: Chunk<'a>,
    places: Places,
) -> impl Iterator<Item = (*mut u8, usize, Places)> + 'a {
    let mapped = move |(at, (address, bytes)): (usize, (usize, usize))| {
        (region.mapped(address as u64), bytes, step_both(places, at))
    };
    chunk.each().map(mapped)
}

/// Changes the elements of a chunk that is mapped here, while nobody else does.
///
/// # Safety
/// As [`Engine::change_chunk`].
unsafe fn change_each_alone(region: &Region, chunk: Chunk, elements: &Elements, places: Places) {
    for (here, bytes, (from, to)) in mapped(region, chunk, places) {
        // SAFETY: by the caller.
        unsafe { elements.change_alone(from, here, bytes / elements.element().size(), to) };
    }
}
