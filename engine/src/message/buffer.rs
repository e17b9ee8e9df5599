//! A user's buffer as the protocols see it: one block of bytes, or items of a
//! datatype that has gaps.

use crate::datatype::Datatype;
use crate::device::stand_ins;
use crate::memory::copy;
use std::sync::Arc;

/// Memory that a message is sent from or received into. The program keeps it
/// alive until the operation is complete (MPI-5.0 §3.7).
#[derive(Clone, Debug)]
pub enum Buffer {
    /// One block.
    Dense {
        /// Its first byte.
        address: *mut u8,
        /// Its length.
        bytes: u64,
    },
    /// Items of a datatype with gaps or in another order.
    Typed {
        /// The address that displacements count from.
        address: *mut u8,
        /// How many items.
        count: u64,
        /// Their type.
        datatype: Arc<Datatype>,
        /// Bytes of data in all.
        bytes: u64,
    },
}

impl Buffer {
    /// `count` items of `datatype` at `address`.
    #[inline]
    pub fn new(address: *mut u8, count: u64, datatype: &Arc<Datatype>) -> Buffer {
        match datatype.dense(count) {
            Some((offset, bytes)) => {
                Buffer::Dense { address: address.wrapping_offset(offset as isize), bytes }
            }
            None => Buffer::Typed {
                address,
                count,
                datatype: Arc::clone(datatype),
                bytes: datatype.size().saturating_mul(count),
            },
        }
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Buffer::Dense { bytes, .. } | Buffer::Typed { bytes, .. } => *bytes,
        }
    }

    /// The block, if it is one.
    #[inline]
    pub fn dense(&self) -> Option<*mut u8> {
        match self {
            Buffer::Dense { address, .. } => Some(*address),
            Buffer::Typed { .. } => None,
        }
    }

    /// The address of the block, or that displacements count from.
    pub fn address(&self) -> *mut u8 {
        match self {
            Buffer::Dense { address, .. } | Buffer::Typed { address, .. } => *address,
        }
    }

    /// So many bytes from the first one on are written by a message: where host memory stands for a device's, they have to
    /// be stored.
    #[inline]
    pub fn will_be_written(&self, bytes: u64) {
        if let Buffer::Dense { address, .. } = self {
            stand_ins::written(*address, bytes);
        }
    }

    /// Copies bytes `[offset, offset + bytes)` of the data to `target`.
    ///
    /// # Safety
    /// The buffer must be readable and the range inside it; `target` must have
    /// room and not overlap it.
    #[inline]
    pub unsafe fn pack(&self, offset: u64, target: *mut u8, bytes: usize) {
        match self {
            // SAFETY: by the caller.
            Buffer::Dense { address, .. } => unsafe {
                copy::plain(address.add(offset as usize), target, bytes);
            },
            // SAFETY: by the caller.
            Buffer::Typed { address, count, datatype, .. } => unsafe {
                datatype.pack(*address, *count, offset, std::slice::from_raw_parts_mut(target, bytes));
            },
        }
    }

    /// Copies `bytes` bytes at `source` to the data from byte `offset` on.
    ///
    /// # Safety
    /// The buffer must be writable and the range inside it; `source` must be
    /// readable and not overlap it.
    #[inline]
    pub unsafe fn unpack(&self, offset: u64, source: *const u8, bytes: usize) {
        match self {
            // SAFETY: by the caller.
            Buffer::Dense { address, .. } => unsafe {
                copy::plain(source, address.add(offset as usize), bytes);
            },
            // SAFETY: by the caller.
            Buffer::Typed { address, count, datatype, .. } => unsafe {
                datatype.unpack(*address, *count, offset, std::slice::from_raw_parts(source, bytes));
            },
        }
    }

    /// Lists contiguous pieces of the data from byte `offset` on: at most `most`
    /// pieces and `limit` bytes. Returns the bytes that they cover.
    pub fn pieces(&self, offset: u64, limit: u64, most: usize, pieces: &mut Vec<(usize, usize)>) -> u64 {
        pieces.clear();
        match self {
            Buffer::Dense { address, bytes } => {
                let covered = limit.min(bytes - offset);
                pieces.push((*address as usize + offset as usize, covered as usize));
                covered
            }
            Buffer::Typed { address, count, datatype, .. } => {
                datatype.segments(*address, *count, offset, limit, pieces, most)
            }
        }
    }
}
