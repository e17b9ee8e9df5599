//! Reaching into exposed memory: what lies where, and copying pieces of it.

use super::block::{Block, Goes};
use super::device_memory::copy_by_driver;
use super::runs::{Chunk, Run, Stage, PIECES};
use crate::collective::Data;
use crate::device::{MemoryKind, Piece};
use crate::engine::Engine;
use crate::onesided::{find, Entry, Exposure, Kind, Known, Region, Seat, Target, Way};
use crate::transport::{AccessDescriptor, Means, OfferedMemory, Routed};
use crate::{Class, Error, Result};
use std::ptr;
use std::sync::atomic::{fence, Ordering};
use std::sync::{Arc, PoisonError};

/// Bytes that the kernel copies while this rank's lock is held.
pub(super) const AT_ONCE: u64 = 256 << 10;
/// How often a list of attached memory is read that changes meanwhile.
const TRIES: u32 = 1000;

/// A place in the memory of a member: so many items from here on.
pub(super) struct Place<'a> {
    pub region: &'a Region,
    /// Offset of the first byte that is touched.
    pub first: u64,
    /// How far item 0 is from there.
    pub before: i64,
    /// How many bytes from the first one to the end of the last.
    pub length: u64,
}

impl Place<'_> {
    /// Where item 0 lies in the owner's process.
    pub fn there(&self) -> u64 {
        self.region.address.wrapping_add(self.first).wrapping_sub(self.before as u64)
    }

    /// Where item 0 lies in this process, if this process reaches all bytes by plain loads and stores.
    #[inline]
    pub fn here(&self) -> Option<*mut u8> {
        self.region.here(self.first, self.length).map(|first| first.wrapping_offset(-self.before as isize))
    }

    /// The same, if everybody reaches all bytes so.
    pub fn direct(&self) -> Option<*mut u8> {
        let direct = &self.region.direct;
        let is_direct = direct.start <= self.first && self.first + self.length <= direct.end;
        if is_direct {
            self.here()
        } else {
            None
        }
    }
}

/// How many items.
#[inline]
pub(super) fn count_of(target: &Target) -> Result<u64> {
    u64::try_from(target.count).map_err(|_| {
        let sentence = format!("the count at the target is {}; a count cannot be negative", target.count);
        Error::new(Class::Count, sentence)
    })
}

/// Finding.
impl Engine {
    /// Finds a place and does something there.
    #[inline]
    pub(super) fn at<T>(
        &self,
        exposure: &Exposure,
        (rank, displacement): (u32, i64),
        span: (i64, i64),
        work: impl FnOnce(Place) -> Result<T>,
    ) -> Result<T> {
        if exposure.kind == Kind::Dynamic {
            return self.at_attached(exposure, rank, displacement, span, work);
        }
        if displacement < 0 {
            return Err(negative(displacement));
        }
        let unit = exposure.told[rank as usize].segment.unit;
        let at = displacement.checked_mul(unit as i64).unwrap_or(i64::MAX);
        let region = self.region_of(exposure, rank);
        let first = region.place(at, span)?;
        work(Place { region, first, before: span.0, length: (span.1 - span.0) as u64 })
    }

    #[inline(never)]
    fn at_attached<T>(
        &self,
        exposure: &Exposure,
        rank: u32,
        displacement: i64,
        span: (i64, i64),
        work: impl FnOnce(Place) -> Result<T>,
    ) -> Result<T> {
        let first = displacement.wrapping_add(span.0) as u64;
        let length = (span.1 - span.0) as u64;
        let region = self.attached_region(exposure, rank, (first, length))?;
        let Some(region) = region.filter(|region| first - region.address + length <= region.bytes) else {
            return Err(not_attached(rank, first, length));
        };
        work(Place { region: &region, first: first - region.address, before: span.0, length })
    }

    /// Where the piece is that a member has attached in which so many bytes from an address on lie.
    fn attached_region(
        &self,
        exposure: &Exposure,
        rank: u32,
        there: (u64, u64),
    ) -> Result<Option<Arc<Region>>> {
        let known = || exposure.known[rank as usize].lock().unwrap_or_else(PoisonError::into_inner);
        // Where not all are on one node, each has seats of its own, and what others write there is not seen here.
        let is_told = exposure.is_spread && rank != exposure.rank();
        let version = match is_told {
            true => exposure.epochs.number(),
            // version: paired with `attached::change`
            false => exposure.control.seat(rank).version.load(Ordering::Acquire),
        };
        if let Some(region) = known().region(version, there) {
            return Ok(Some(region));
        }
        let Some(entry) = self.attached_at(exposure, rank, there)? else { return Ok(None) };
        let region = Arc::new(self.find_region(exposure, rank, entry));
        match entry.memory_kind() {
            MemoryKind::HOST if !is_told => known().remember(entry, &region),
            MemoryKind::HOST if self.is_out_of_reach(exposure.peers[rank as usize]) => {
                known().hear_of(version, &region);
            }
            _ => {}
        }
        Ok(Some(region))
    }

    /// The piece that a member has attached in which so many bytes from an address on lie.
    fn attached_at(&self, exposure: &Exposure, rank: u32, there: (u64, u64)) -> Result<Option<Entry>> {
        if rank == exposure.rank() {
            return Ok(exposure.attached.find(there.0, there.1));
        }
        if exposure.is_spread || self.is_out_of_reach(exposure.peers[rank as usize]) {
            return self.ask_to_find(exposure, rank, there);
        }
        let seat = exposure.control.seat(rank);
        let mut known = exposure.known[rank as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let open = |list| self.find_region(exposure, rank, list);
        match self.find_in_list(seat, &mut known, open, there)? {
            Some(entry) => Ok(entry),
            None => {
                let sentence =
                    format!("rank {rank} attaches and detaches memory all the time, so none of it is found");
                Err(Error::new(Class::RmaRange, sentence))
            }
        }
    }

    /// The entry in which so many bytes from an address on lie, in the list of a member that is read again if it has changed; `None`: it
    /// changes all the time.
    pub(in crate::engine) fn find_in_list(
        &self,
        seat: &Seat,
        known: &mut Known,
        open: impl Fn(Entry) -> Region,
        (address, bytes): (u64, u64),
    ) -> Result<Option<Option<Entry>>> {
        for _ in 0..TRIES {
            let version = seat.version.load(Ordering::Acquire); // version: paired with `attached::change`
            if version == known.version {
                return Ok(Some(find(&known.entries, address, bytes)));
            }
            if version.is_multiple_of(2) {
                let entries = self.read_list(seat, &open)?;
                fence(Ordering::SeqCst);
                if seat.version.load(Ordering::Relaxed) == version {
                    *known = Known { version, entries, regions: Vec::new() };
                    continue;
                }
            }
            std::thread::yield_now();
        }
        Ok(None)
    }

    /// What a member has attached, as its list is now: perhaps it changes meanwhile. Its list is the region that
    /// `open` finds.
    pub(in crate::engine) fn read_list(
        &self,
        seat: &Seat,
        open: impl FnOnce(Entry) -> Region,
    ) -> Result<Vec<Entry>> {
        let (list, length) = (seat.list.load(Ordering::Relaxed), seat.length.load(Ordering::Relaxed));
        let mut entries = vec![Entry::default(); length as usize];
        let bytes = size_of_val(&entries[..]) as u64;
        let to = entries.as_mut_ptr().cast();
        let region = open(Entry { address: list, bytes, ..Entry::default() });
        // SAFETY: the list that the owner keeps; `entries` has room for as much.
        unsafe { self.read_from(&region, 0, to, bytes)? };
        Ok(entries)
    }
}

#[cold]
fn negative(displacement: i64) -> Error {
    let sentence = format!("argument target_disp is {displacement}; it cannot be negative");
    Error::new(Class::Disp, sentence)
}

#[cold]
fn not_attached(rank: u32, address: u64, length: u64) -> Error {
    let sentence = format!(
        "{length} bytes at {address:#x} are not all in memory that rank {rank} has attached to this window: \
         give the address there (MPI_Get_address) as displacement, and attach it first"
    );
    Error::new(Class::RmaRange, sentence)
}

/// Copying.
impl Engine {
    /// Copies from the origin's pieces to a place.
    ///
    /// # Safety
    /// The origin can be read; it has `bytes` bytes, and the place room for them.
    pub(super) unsafe fn put_pieces(
        &self,
        origin: &Data,
        place: &Place,
        target: &Target,
        bytes: u64,
    ) -> Result<()> {
        if let Some(block) = self.whole_block(origin, place, target, (bytes, Goes::There)) {
            // SAFETY: by the caller.
            return unsafe { self.move_block(place.region, block) };
        }
        if self.goes_by_messages(place.region) {
            // SAFETY: by the caller.
            return unsafe { self.put_by_messages(origin, (place, target), bytes) };
        }
        let mut stage = Stage::of(origin);
        self.each_chunk(place, target, bytes, |offset, chunk| {
            // SAFETY: by the caller.
            unsafe {
                let local = stage.fill(origin, offset, chunk.bytes).cast_mut();
                if chunk.pieces.len() > 1 && self.goes_by_kernel(place.region) {
                    return self.write_chunk(place.region, chunk, local);
                }
                chunk.runs().try_for_each(|(at, run)| match run.one() {
                    Some((piece, length)) => self.write_to(place.region, piece, local.add(at), length),
                    None => run.with(local.add(at), |pieces| self.put_pieces_to(place.region, pieces)),
                })
            }
        })
    }

    /// The other way round.
    ///
    /// # Safety
    /// The origin can be written and has room for `bytes` bytes, as many as the place has.
    pub(super) unsafe fn get_pieces(
        &self,
        origin: &Data,
        place: &Place,
        target: &Target,
        bytes: u64,
    ) -> Result<()> {
        if let Some(block) = self.whole_block(origin, place, target, (bytes, Goes::Here)) {
            // SAFETY: by the caller.
            return unsafe { self.move_block(place.region, block) };
        }
        if self.goes_by_messages(place.region) {
            // SAFETY: by the caller.
            return unsafe { self.get_by_messages(origin, (place, target), bytes) };
        }
        let mut stage = Stage::of(origin);
        self.each_chunk(place, target, bytes, |offset, chunk| {
            // SAFETY: by the caller.
            unsafe {
                let local = stage.room(offset, chunk.bytes);
                let region = place.region;
                match chunk.pieces.len() > 1 {
                    true if self.goes_by_kernel(region) => self.read_chunk(region, chunk, local)?,
                    _ => chunk.runs().try_for_each(|(at, run)| match run.one() {
                        Some((piece, length)) => self.read_from(region, piece, local.add(at), length),
                        None => run.with(local.add(at), |pieces| self.get_pieces_from(region, pieces)),
                    })?,
                }
                if stage.is_aside() {
                    self.have_answers(place.region)?;
                    stage.empty(origin, offset);
                }
            }
            Ok(())
        })
    }

    /// The block that goes whole, if origin and target lie in one piece each, and are long.
    fn whole_block(
        &self,
        origin: &Data,
        place: &Place,
        target: &Target,
        (bytes, goes): (u64, Goes),
    ) -> Option<Block> {
        if !self.goes_whole(place.region, bytes) {
            return None;
        }
        target.datatype.dense(target.count as u64)?;
        let here = origin.dense()?.0 as u64;
        Some(Block { goes, there: place.region.address + place.first, here, bytes })
    }

    /// The pieces of a place in the order of sending, as far as it goes, in chunks: how many bytes came before each.
    pub(super) fn each_chunk(
        &self,
        place: &Place,
        target: &Target,
        bytes: u64,
        mut each: impl FnMut(u64, Chunk<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut done, mut pieces) = (0, Vec::new());
        let there = place.there() as *mut u8;
        while done < bytes {
            pieces.clear();
            let limit = (bytes - done).min(AT_ONCE);
            let covered =
                target.datatype.segments(there, target.count as u64, done, limit, &mut pieces, PIECES);
            each(done, Chunk { base: place.region.address, pieces: &pieces, bytes: covered })?;
            done += covered;
        }
        Ok(())
    }

    /// The same where an element of `size` bytes may lie in parts: each piece is where one begins.
    pub(super) fn each_run_of_elements(
        &self,
        place: &Place,
        target: &Target,
        (bytes, size): (u64, u64),
        mut each: impl FnMut(u64, Run<'_>) -> Result<()>,
    ) -> Result<()> {
        let there = place.there() as *mut u8;
        let (mut part, mut pieces) = (Vec::with_capacity(1), Vec::new());
        for begin in (0..bytes).step_by(PIECES * size as usize) {
            pieces.clear();
            for done in (begin..bytes).step_by(size as usize).take(PIECES) {
                part.clear();
                target.datatype.segments(there, target.count as u64, done, size, &mut part, 1);
                pieces.push((part[0].0, size as usize));
            }
            each(begin, Run { base: place.region.address, pieces: &pieces })?;
        }
        Ok(())
    }

    /// Writes to a region.
    ///
    /// # Safety
    /// `local` can be read for `bytes` bytes, which lie within the region from `offset` on.
    pub(in crate::engine) unsafe fn write_to(
        &self,
        region: &Region,
        mut offset: u64,
        mut local: *const u8,
        bytes: u64,
    ) -> Result<()> {
        let end = offset + bytes;
        while offset < end {
            let (way, length) = region.way(offset, end - offset);
            // SAFETY: by the caller; what is direct or own is mapped here.
            unsafe {
                match way {
                    Way::Direct(here) | Way::Own(here) => ptr::copy(local, here, length as usize),
                    Way::Device(to) => {
                        let piece = Piece { to, from: local, bytes: length as usize };
                        copy_by_driver(region, &[piece])?;
                    }
                    Way::Far(there) => self.write_far(region, there, local, length)?,
                }
                local = local.add(length as usize);
            }
            offset += length;
        }
        Ok(())
    }

    /// Reads from a region.
    ///
    /// # Safety
    /// As [`Engine::write_to`], but `local` can be written.
    pub(in crate::engine) unsafe fn read_from(
        &self,
        region: &Region,
        mut offset: u64,
        mut local: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        let end = offset + bytes;
        while offset < end {
            let (way, length) = region.way(offset, end - offset);
            // SAFETY: by the caller; what is direct or own is mapped here.
            unsafe {
                match way {
                    Way::Direct(here) | Way::Own(here) => ptr::copy(here, local, length as usize),
                    Way::Device(from) => {
                        let piece = Piece { to: local, from, bytes: length as usize };
                        copy_by_driver(region, &[piece])?;
                    }
                    Way::Far(there) => self.read_far(region, there, local, length)?,
                }
                local = local.add(length as usize);
            }
            offset += length;
        }
        self.have_answers_now(region)
    }

    /// # Safety
    /// `local` can be read for `bytes` bytes, and the owner of the region exposes as many at `there`.
    #[inline(never)]
    unsafe fn write_far(&self, region: &Region, there: u64, local: *const u8, bytes: u64) -> Result<()> {
        let peer = match region.peer {
            Some(peer) if !self.is_served(region) => peer,
            // SAFETY: by the caller.
            _ => return unsafe { self.ask_to_write(region, there, local, bytes) },
        };
        for at in (0..bytes).step_by(AT_ONCE as usize) {
            let memory = AccessDescriptor::host(there + at, AT_ONCE.min(bytes - at));
            // SAFETY: by the caller.
            let write =
                |transport: &mut Routed| unsafe { transport.write(peer, memory, local.add(at as usize)) };
            if region.for_server {
                self.reach(region, write)?;
                continue;
            }
            self.page.copying(|| self.reach(region, write))?;
            Means::CrossMemory.count(&self.page.counters, memory.bytes);
        }
        if !region.for_server {
            self.flows.gave(peer.0, bytes);
        }
        Ok(())
    }

    /// # Safety
    /// `local` can be written for `bytes` bytes, and the owner of the region exposes as many at `there`.
    #[inline(never)]
    unsafe fn read_far(&self, region: &Region, there: u64, local: *mut u8, bytes: u64) -> Result<()> {
        let peer = match region.peer {
            Some(peer) if !self.is_served(region) => peer,
            // SAFETY: by the caller.
            _ => return unsafe { self.ask_to_read(region, there, local, bytes) },
        };
        for at in (0..bytes).step_by(AT_ONCE as usize) {
            let memory = AccessDescriptor::host(there + at, AT_ONCE.min(bytes - at));
            let pieces = [(local as usize + at as usize, memory.bytes as usize)];
            // SAFETY: by the caller.
            let read = |transport: &mut Routed| unsafe { transport.read(peer, memory, &pieces) };
            if region.for_server {
                self.reach(region, read)?;
                continue;
            }
            let means = self.page.copying(|| self.reach(region, read))?;
            means.count(&self.page.counters, memory.bytes);
        }
        if !region.for_server {
            self.flows.took(peer.0, bytes);
        }
        Ok(())
    }
}
