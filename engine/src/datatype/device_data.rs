//! Data whose bytes lie in device memory: finding them, and host memory that stands for them.

use super::Datatype;
use crate::device::stand_ins::{self, Side, StandIn};
use crate::device::{self, DeviceMemory, Direction, Piece, Spreading};
use crate::{Class, Error, Result};
use std::alloc::{alloc, alloc_zeroed, dealloc, Layout};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Pieces that are copied with one wait.
const PIECES: usize = 1024;

impl Datatype {
    /// The device memory in which data lie. Data at an address of their own are asked about by their
    /// first byte, and where they have gaps by their last one too; where the datatype has the
    /// addresses, all pieces are.
    ///
    /// # Errors
    /// What the driver says when it cannot answer; `Buffer` for pieces of more than one kind of memory.
    pub fn find_device(&self, address: *mut u8, count: u64) -> Result<Option<DeviceMemory>> {
        let bytes = self.size().saturating_mul(count);
        if !device::is_on() || bytes == 0 {
            return Ok(None);
        }
        if address.is_null() {
            return self.find_device_of_pieces(bytes, count);
        }
        let (begin, end) = self.span(count)?;
        let at = |offset: i64| device::find(address.wrapping_offset(offset as isize));
        match at(begin)? {
            None if self.dense(count).is_none() => at(end - 1),
            found => Ok(found),
        }
    }

    /// The same of data whose datatype has the addresses.
    fn find_device_of_pieces(&self, bytes: u64, count: u64) -> Result<Option<DeviceMemory>> {
        let (mut done, mut pieces) = (0, Vec::with_capacity(PIECES));
        while done < bytes {
            pieces.clear();
            let covered = self.segments(std::ptr::null_mut(), count, done, bytes - done, &mut pieces, PIECES);
            for &(first, _) in &pieces {
                if let Some(memory) = device::find(first as *const u8)? {
                    return Ok(Some(memory));
                }
            }
            match covered {
                0 => break,
                covered => done += covered,
            }
        }
        Ok(None)
    }
}

/// Host memory that stands for data in device memory while an operation goes on: as large, with the
/// same gaps. Only the bytes of the data are ever copied, so what lies in the gaps is safe.
pub struct HostCopy {
    /// Whose memory it is; empty until the driver has said so, and nothing if it is the host's.
    memory: OnceLock<Option<DeviceMemory>>,
    address: *mut u8,
    count: u64,
    datatype: Arc<Datatype>,
    room: *mut u8,
    layout: Layout,
    /// Of the first byte of the room, from the address that displacements count from.
    begin: i64,
    /// It is among `device::stand_ins`.
    stands_in: bool,
}

// SAFETY: the room is its own, and the program lends the data until the operation is complete,
// whichever thread goes on with it.
unsafe impl Send for HostCopy {}
// SAFETY: as above; what changes is memory that only its operation uses.
unsafe impl Sync for HostCopy {}

impl HostCopy {
    /// A host copy of `count` items at an address, with zeros where there are gaps.
    ///
    /// # Errors
    /// `NoMem`; `Count` where the items do not fit 64 bits.
    pub fn new(
        memory: DeviceMemory,
        address: *mut u8,
        count: u64,
        datatype: &Arc<Datatype>,
    ) -> Result<HostCopy> {
        let copy = HostCopy::of_unknown(address, count, datatype)?;
        let _ = copy.memory.set(Some(memory));
        Ok(copy)
    }

    /// The same where the driver could not say whose memory it is: it is asked again when the data are fetched.
    ///
    /// # Errors
    /// As [`HostCopy::new`].
    pub fn of_unknown(address: *mut u8, count: u64, datatype: &Arc<Datatype>) -> Result<HostCopy> {
        let (begin, end) = datatype.span(count)?;
        let bytes = usize::try_from(end - begin).unwrap_or(usize::MAX).max(1);
        let layout = Layout::from_size_align(bytes, 64).map_err(|_| no_room(bytes))?;
        // SAFETY: at least one byte.
        let room = unsafe {
            match datatype.dense(count) {
                Some(_) => alloc(layout),
                None => alloc_zeroed(layout),
            }
        };
        if room.is_null() {
            return Err(no_room(bytes));
        }
        Ok(HostCopy {
            memory: OnceLock::new(),
            address,
            count,
            datatype: Arc::clone(datatype),
            room,
            layout,
            begin,
            stands_in: false,
        })
    }

    /// Lets peers that can map the device memory pass this by, if the data are a block: it has no data until it needs them.
    /// Whether it is so.
    pub fn stand_in(&mut self, side: Side) -> bool {
        let Some((offset, bytes)) = self.datatype.dense(self.count) else { return false };
        let Some(memory) = self.memory.get().copied().flatten() else { return false };
        let there = self.address.wrapping_offset(offset as isize) as usize;
        stand_ins::add(StandIn { room: self.room as usize, bytes: bytes as usize, there, memory, side });
        self.stands_in = true;
        true
    }

    /// Whether it is among `device::stand_ins`.
    pub fn stands_in(&self) -> bool {
        self.stands_in
    }

    /// What stands for the address that displacements count from.
    pub fn address(&self) -> *mut u8 {
        self.room.wrapping_offset(-self.begin as isize)
    }

    /// All bytes of the data.
    pub fn all(&self) -> Range<u64> {
        0..self.datatype.size().saturating_mul(self.count)
    }

    /// Whose memory the data are; `None`: the host's.
    fn whose(&self) -> Result<Option<DeviceMemory>> {
        match self.memory.get() {
            Some(memory) => Ok(*memory),
            None => {
                let found = self.datatype.find_device(self.address, self.count)?;
                Ok(*self.memory.get_or_init(|| found))
            }
        }
    }

    /// Makes it zeros.
    ///
    /// # Safety
    /// Nobody else uses the host copy.
    pub unsafe fn clear(&self) {
        // SAFETY: the room has so many bytes, and is this one's.
        unsafe { self.room.write_bytes(0, self.layout.size()) };
    }

    /// The operation begins (again): copies all bytes of the data to the host copy, if it does not stand in for them.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The program lends the data.
    pub unsafe fn begin(&self) -> Result<()> {
        if self.stands_in {
            stand_ins::empty(self.room as usize);
            return Ok(());
        }
        // SAFETY: by the caller.
        unsafe { self.exchange(self.all(), Direction::FromDevice) }
    }

    /// Copies bytes of the data, counted without the gaps, from the device to the host copy. Of what stands in, a message
    /// may be sent from the device later.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The program lends the data.
    pub unsafe fn fetch(&self, which: Range<u64>, is_direct: bool) -> Result<()> {
        if self.stands_in {
            let (first, bytes) = (self.room.wrapping_add(which.start as usize), which.end - which.start);
            // SAFETY: by the caller.
            return if is_direct { Ok(()) } else { unsafe { stand_ins::fill(first, bytes) } };
        }
        // SAFETY: by the caller.
        unsafe { self.exchange(which, Direction::FromDevice) }
    }

    /// Copies bytes of the data, counted without the gaps, from the host copy to the device; of what stands in, those that
    /// messages have written.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The program lends the data, and nobody else uses them.
    pub unsafe fn store(&self, which: Range<u64>) -> Result<()> {
        if self.stands_in {
            // SAFETY: by the caller.
            return unsafe { stand_ins::store(self.room as usize, &which) };
        }
        // SAFETY: by the caller.
        unsafe { self.exchange(which, Direction::ToDevice) }
    }

    /// # Safety
    /// As above.
    unsafe fn exchange(&self, which: Range<u64>, direction: Direction) -> Result<()> {
        let end = which.end.min(self.all().end);
        let memory = self.whose()?;
        if let Some(memory) = &memory {
            // SAFETY: by the caller.
            if unsafe { self.exchange_packed(memory, which.start..end, direction)? } {
                return Ok(());
            }
        }
        // The host copy has the same shape.
        let piece = |copy: *mut u8, data: *mut u8, bytes| match direction {
            Direction::FromDevice => Piece { to: copy, from: data, bytes },
            Direction::ToDevice => Piece { to: data, from: copy, bytes },
        };
        let (mut done, mut segments) = (which.start, Vec::new());
        let copy = self.address();
        while done < end {
            segments.clear();
            let covered =
                self.datatype.segments(self.address, self.count, done, end - done, &mut segments, PIECES);
            if covered == 0 {
                break;
            }
            done += covered;
            let beside = |first: usize| copy.wrapping_add(first.wrapping_sub(self.address as usize));
            let pieces: Vec<Piece> = segments
                .iter()
                .map(|&(first, bytes)| piece(beside(first), first as *mut u8, bytes))
                .collect();
            // SAFETY: by the caller.
            unsafe { copy_pieces(memory.as_ref(), &pieces)? };
        }
        Ok(())
    }
}

impl HostCopy {
    /// The same by the device itself, which packs or unpacks what has gaps; whether it was done so.
    ///
    /// # Safety
    /// As above.
    unsafe fn exchange_packed(
        &self,
        memory: &DeviceMemory,
        range: Range<u64>,
        direction: Direction,
    ) -> Result<bool> {
        if range.is_empty() || self.address.is_null() || self.datatype.dense(self.count).is_some() {
            return Ok(false);
        }
        let Some(spread) = self.datatype.spread(self.count) else { return Ok(false) };
        let copy = self.address();
        let mut chunk = |part: Range<u64>, packed: *mut u8| {
            let bytes = (part.end - part.start) as usize;
            // SAFETY: the piece has as many bytes, and the host copy is the operation's own.
            unsafe {
                let packed = std::slice::from_raw_parts_mut(packed, bytes);
                match direction {
                    Direction::FromDevice => self.datatype.unpack(copy, self.count, part.start, packed),
                    Direction::ToDevice => self.datatype.pack(copy, self.count, part.start, packed),
                };
            }
        };
        let what = Spreading { address: self.address as usize, spread, range, direction };
        // SAFETY: by the caller.
        unsafe { device::copy_spread(memory, &what, &mut chunk) }
    }
}

impl Drop for HostCopy {
    fn drop(&mut self) {
        if self.stands_in {
            stand_ins::remove(self.room as usize);
        }
        // SAFETY: allocated in `new`, with this layout.
        unsafe { dealloc(self.room, self.layout) };
    }
}

/// Copies pieces from or to a device's memory, or the host's.
///
/// # Safety
/// As [`device::copy`].
unsafe fn copy_pieces(memory: Option<&DeviceMemory>, pieces: &[Piece]) -> Result<()> {
    match memory {
        // SAFETY: by the caller.
        Some(memory) => unsafe { device::copy(memory, pieces) },
        None => {
            for piece in pieces {
                // SAFETY: by the caller.
                unsafe { std::ptr::copy_nonoverlapping(piece.from, piece.to, piece.bytes) };
            }
            Ok(())
        }
    }
}

#[cold]
fn no_room(bytes: usize) -> Error {
    let sentence = format!(
        "{bytes} bytes of host memory to stand for a device buffer are not to be had; a datatype that reaches from \
         one memory to another needs as many as lie between: use one call for each memory"
    );
    Error::new(Class::NoMem, sentence)
}
