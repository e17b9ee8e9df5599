//! Moving the bytes of messages: into one piece, out of one piece, as a list of
//! pieces, and from one layout to another.

use super::layout::Part;
use super::rows::Row;
use super::walk::{walk, Record, Sink};
use super::{rows, Datatype};
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes that [`copy`] stages at a time between two layouts that both have
/// gaps: small enough for the nearest cache.
const STAGE: usize = 8192;

impl Datatype {
    /// Copies the packed bytes from `offset` on of `count` items at `address`
    /// into `out`. Gives how many bytes were copied: less than `out` holds
    /// where the message ends.
    ///
    /// # Safety
    /// All bytes of the items may be read and nobody writes to them meanwhile;
    /// they do not overlap `out`.
    pub unsafe fn pack(&self, address: *const u8, count: u64, offset: u64, out: &mut [u8]) -> usize {
        if let Some((at, bytes)) = self.dense(count) {
            let length = bytes.saturating_sub(offset).min(out.len() as u64) as usize;
            if length > 0 {
                let from = address.wrapping_offset(at as isize).wrapping_add(offset as usize);
                // SAFETY: `length` bytes of the items begin there, and `out` holds as many.
                unsafe { ptr::copy_nonoverlapping(from, out.as_mut_ptr(), length) };
            }
            return length;
        }
        let mut packer = Packer { to: out.as_mut_ptr() };
        walk((self, address.cast_mut(), count), offset, out.len() as u64, &mut packer);
        packer.to as usize - out.as_ptr() as usize
    }

    /// Copies `input` to where the packed bytes from `offset` on of `count`
    /// items at `address` belong. Gives how many bytes were used: less than
    /// `input` holds where the message ends.
    ///
    /// # Safety
    /// All bytes of the items may be written and nobody uses them meanwhile;
    /// they do not overlap `input`.
    pub unsafe fn unpack(&self, address: *mut u8, count: u64, offset: u64, input: &[u8]) -> usize {
        if let Some((at, bytes)) = self.dense(count) {
            let length = bytes.saturating_sub(offset).min(input.len() as u64) as usize;
            if length > 0 {
                let to = address.wrapping_offset(at as isize).wrapping_add(offset as usize);
                // SAFETY: `length` bytes of the items begin there, and `input` holds as many.
                unsafe { ptr::copy_nonoverlapping(input.as_ptr(), to, length) };
            }
            return length;
        }
        let mut unpacker = Unpacker { from: input.as_ptr() };
        walk((self, address, count), offset, input.len() as u64, &mut unpacker);
        unpacker.from as usize - input.as_ptr() as usize
    }

    /// Appends to `out` where the packed bytes from `offset` on lie, as
    /// (address, bytes): at most `limit` bytes in at most `max_segments` new
    /// pieces, neighbours merged. Gives how many bytes they cover; call again
    /// with `offset` moved by that much for the rest. Touches no memory.
    pub fn segments(
        &self,
        address: *mut u8,
        count: u64,
        offset: u64,
        limit: u64,
        out: &mut Vec<(usize, usize)>,
        max_segments: usize,
    ) -> u64 {
        let first = out.len();
        let end = first.saturating_add(max_segments);
        let mut lister = Lister { out, first, end, covered: 0 };
        walk((self, address, count), offset, limit, &mut lister);
        lister.covered
    }
}

/// Copies the data of `from` (type, address, count) to the places of `to`,
/// as far as both go. Gives how many bytes were copied; where that is less than
/// the size of `from`, the message is truncated, and the caller says so.
/// Between two dense layouts the memory may overlap; else it may not.
///
/// # Safety
/// All bytes of the items of `from` may be read, those of `to` written, and
/// nobody else uses them meanwhile.
pub unsafe fn copy(from: (&Datatype, *const u8, u64), to: (&Datatype, *mut u8, u64)) -> u64 {
    let (source, source_address, source_count) = from;
    let (target, target_address, target_count) = to;
    let total = |datatype: &Datatype, count: u64| datatype.size().saturating_mul(count);
    let bytes = total(source, source_count).min(total(target, target_count));
    if bytes == 0 {
        return 0;
    }
    match (source.dense(source_count), target.dense(target_count)) {
        (Some((first, _)), Some((second, _))) => {
            let read = source_address.wrapping_offset(first as isize);
            let write = target_address.wrapping_offset(second as isize);
            // SAFETY: both have at least `bytes` bytes there; overlap is allowed.
            unsafe { ptr::copy(read, write, bytes as usize) };
        }
        (Some((first, _)), None) => {
            let read = source_address.wrapping_offset(first as isize);
            // SAFETY: the source has `bytes` readable bytes there; unpack as the caller promises.
            unsafe {
                let input = std::slice::from_raw_parts(read, bytes as usize);
                target.unpack(target_address, target_count, 0, input);
            }
        }
        (None, Some((second, _))) => {
            let write = target_address.wrapping_offset(second as isize);
            // SAFETY: the target has `bytes` writable bytes there; pack as the caller promises.
            unsafe {
                let out = std::slice::from_raw_parts_mut(write, bytes as usize);
                source.pack(source_address, source_count, 0, out);
            }
        }
        // SAFETY: as the caller promises; the data of both lie in the same way.
        (None, None) if ptr::eq(source, target) => unsafe {
            source.copy_alike(source_address, target_address, bytes)
        },
        // SAFETY: as the caller promises.
        (None, None) => unsafe { copy_staged(from, to, bytes) },
    }
    bytes
}

/// Copies `bytes` between two layouts with gaps, a little at a time. Both have as many.
///
/// # Safety
/// As [`copy`].
unsafe fn copy_staged(from: (&Datatype, *const u8, u64), to: (&Datatype, *mut u8, u64), bytes: u64) {
    let mut stage = MaybeUninit::<[u8; STAGE]>::uninit();
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(STAGE as u64);
        let mut packer = Packer { to: stage.as_mut_ptr().cast() };
        walk((from.0, from.1.cast_mut(), from.2), done, length, &mut packer);
        let mut unpacker = Unpacker { from: stage.as_ptr().cast() };
        walk((to.0, to.1, to.2), done, length, &mut unpacker);
        done += length;
    }
}

/// Goes through records column by column, a few records at a time so that they
/// stay in the nearest cache: calls `copy` with the first record, how many
/// records, the part and its bytes.
fn columns(record: Record, count: usize, mut copy: impl FnMut(usize, usize, &Part, usize)) {
    let group = (STAGE / 2 / record.size).max(1);
    for item in (0..count).step_by(group) {
        let items = group.min(count - item);
        for (part, bytes) in record.blocks() {
            copy(item, items, part, bytes);
        }
    }
}

/// Copies blocks into one piece. Made only by [`Datatype::pack`] and [`copy_staged`], whose walk
/// visits no more bytes than there is room for, all of them in the items.
struct Packer {
    to: *mut u8,
}

impl Sink for Packer {
    #[inline]
    fn block(&mut self, address: *mut u8, bytes: usize) -> bool {
        // SAFETY: see `Packer`.
        unsafe { rows::copy_block(address, self.to, bytes) };
        self.to = self.to.wrapping_add(bytes);
        true
    }

    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool {
        // SAFETY: see `Packer`.
        unsafe {
            let to = Row { first: self.to, stride: bytes as isize };
            rows::copy_row(Row { first: address, stride }, to, bytes, count)
        };
        self.to = self.to.wrapping_add(bytes * count);
        true
    }

    fn records(&mut self, address: *mut u8, record: Record, count: usize, stride: isize) -> bool {
        columns(record, count, |item, items, part, bytes| {
            let place = address.wrapping_offset(stride.wrapping_mul(item as isize) + part.offset as isize);
            let packed = self.to.wrapping_add(item * record.size + part.start as usize);
            // SAFETY: see `Packer`.
            unsafe {
                let to = Row { first: packed, stride: record.size as isize };
                rows::copy_row(Row { first: place, stride }, to, bytes, items)
            };
        });
        self.to = self.to.wrapping_add(record.size * count);
        true
    }

    fn record(&mut self, address: *mut u8, record: Record) -> bool {
        let to = self.to;
        for (part, bytes) in record.blocks() {
            let from = address.wrapping_offset(part.offset as isize);
            // SAFETY: see `Packer`.
            unsafe { rows::copy_block(from, to.wrapping_add(part.start as usize), bytes) };
        }
        self.to = to.wrapping_add(record.size);
        true
    }

    fn scattered(&mut self, address: *mut u8, bytes: usize, offsets: &[i64]) -> bool {
        // SAFETY: see `Packer`.
        unsafe { rows::gather_scattered(address, bytes, offsets, self.to) };
        self.to = self.to.wrapping_add(bytes * offsets.len());
        true
    }
}

/// Copies one piece into blocks. Made only by [`Datatype::unpack`] and [`copy_staged`], whose walk
/// visits no more bytes than there are, all of them in the items.
struct Unpacker {
    from: *const u8,
}

impl Sink for Unpacker {
    #[inline]
    fn block(&mut self, address: *mut u8, bytes: usize) -> bool {
        // SAFETY: see `Unpacker`.
        unsafe { rows::copy_block(self.from, address, bytes) };
        self.from = self.from.wrapping_add(bytes);
        true
    }

    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool {
        // SAFETY: see `Unpacker`.
        unsafe {
            let from = Row { first: self.from, stride: bytes as isize };
            rows::copy_row(from, Row { first: address, stride }, bytes, count)
        };
        self.from = self.from.wrapping_add(bytes * count);
        true
    }

    fn records(&mut self, address: *mut u8, record: Record, count: usize, stride: isize) -> bool {
        columns(record, count, |item, items, part, bytes| {
            let place = address.wrapping_offset(stride.wrapping_mul(item as isize) + part.offset as isize);
            let packed = self.from.wrapping_add(item * record.size + part.start as usize);
            // SAFETY: see `Unpacker`.
            unsafe {
                let from = Row { first: packed, stride: record.size as isize };
                rows::copy_row(from, Row { first: place, stride }, bytes, items)
            };
        });
        self.from = self.from.wrapping_add(record.size * count);
        true
    }

    fn record(&mut self, address: *mut u8, record: Record) -> bool {
        let from = self.from;
        for (part, bytes) in record.blocks() {
            let to = address.wrapping_offset(part.offset as isize);
            // SAFETY: see `Unpacker`.
            unsafe { rows::copy_block(from.wrapping_add(part.start as usize), to, bytes) };
        }
        self.from = from.wrapping_add(record.size);
        true
    }

    fn scattered(&mut self, address: *mut u8, bytes: usize, offsets: &[i64]) -> bool {
        // SAFETY: see `Unpacker`.
        unsafe { rows::scatter_scattered(self.from, address, bytes, offsets) };
        self.from = self.from.wrapping_add(bytes * offsets.len());
        true
    }
}

/// Lists blocks, merging neighbours.
struct Lister<'a> {
    out: &'a mut Vec<(usize, usize)>,
    first: usize,
    end: usize,
    covered: u64,
}

impl Sink for Lister<'_> {
    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool {
        // Items without gaps are one block, however many there are.
        let is_one = stride == bytes as isize;
        let (bytes, count) = if is_one { (bytes.saturating_mul(count), 1) } else { (bytes, count) };
        for index in 0..count {
            let place = address.wrapping_offset(stride.wrapping_mul(index as isize)) as usize;
            let is_full = self.out.len() == self.end;
            match self.out[self.first..].last_mut() {
                Some((start, length)) if start.wrapping_add(*length) == place => *length += bytes,
                _ if is_full => return false,
                _ => self.out.push((place, bytes)),
            }
            self.covered += bytes as u64;
        }
        true
    }
}
