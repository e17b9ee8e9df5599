//! The inner loops: copying rows of small blocks.
//!
//! Blocks of the usual sizes are moved by a loop made for that size, so that a
//! column of doubles goes about as fast as a loop written by hand.

use std::ptr::copy_nonoverlapping;

/// Calls `$function::<N>` for the usual block sizes, `$other` for the rest.
macro_rules! by_block_size {
    ($bytes:expr, $function:ident($($argument:expr),*), $other:expr) => {
        match $bytes {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            4 => $function::<4>($($argument),*),
            8 => $function::<8>($($argument),*),
            12 => $function::<12>($($argument),*),
            16 => $function::<16>($($argument),*),
            24 => $function::<24>($($argument),*),
            32 => $function::<32>($($argument),*),
            64 => $function::<64>($($argument),*),
            _ => $other,
        }
    };
}

/// Copies one block, with no call where it is small: its two ends, which overlap unless its length is a power of two.
///
/// # Safety
/// `bytes` bytes at `from` may be read and at `to` be written, and they do not
/// overlap.
#[inline(always)]
pub(crate) unsafe fn copy_block(from: *const u8, to: *mut u8, bytes: usize) {
    /// As `copy_block`, of one to two times the bytes of `N`.
    #[inline(always)]
    unsafe fn ends<N>(from: *const u8, to: *mut u8, bytes: usize) {
        let last = bytes - size_of::<N>();
        // SAFETY: as the caller promises.
        unsafe {
            let (first, second) =
                (from.cast::<N>().read_unaligned(), from.add(last).cast::<N>().read_unaligned());
            to.cast::<N>().write_unaligned(first);
            to.add(last).cast::<N>().write_unaligned(second);
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            8..=16 => ends::<u64>(from, to, bytes),
            4..=7 => ends::<u32>(from, to, bytes),
            17..=32 => ends::<u128>(from, to, bytes),
            2..=3 => ends::<u16>(from, to, bytes),
            1 => to.write(from.read()),
            _ => copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// A row of places, each `stride` bytes after the last.
#[derive(Clone, Copy)]
pub(crate) struct Row<P> {
    /// The first place.
    pub first: P,
    /// Bytes from one to the next.
    pub stride: isize,
}

/// Copies `count` blocks of `bytes` from one row of places to another.
///
/// # Safety
/// All blocks of `from` may be read, all of `to` written, and they do not
/// overlap.
pub(crate) unsafe fn copy_row(from: Row<*const u8>, to: Row<*mut u8>, bytes: usize, count: usize) {
    /// As `copy_row` for blocks of `N` bytes.
    unsafe fn blocks<const N: usize>(mut from: Row<*const u8>, mut to: Row<*mut u8>, count: usize) {
        for _ in 0..count {
            // SAFETY: as the caller promises; the last step only computes addresses.
            unsafe { copy_nonoverlapping(from.first, to.first, N) };
            from.first = from.first.wrapping_offset(from.stride);
            to.first = to.first.wrapping_offset(to.stride);
        }
    }
    // SAFETY: as the caller promises, block by block.
    unsafe {
        by_block_size!(bytes, blocks(from, to, count), {
            for index in 0..count as isize {
                let source = from.first.wrapping_offset(from.stride.wrapping_mul(index));
                let target = to.first.wrapping_offset(to.stride.wrapping_mul(index));
                copy_nonoverlapping(source, target, bytes);
            }
        })
    }
}

/// Copies blocks of `bytes` at `base` + each of `offsets` to `to`.
///
/// # Safety
/// All blocks may be read, as many bytes at `to` written, and they do not
/// overlap.
pub(super) unsafe fn gather_scattered(base: *const u8, bytes: usize, offsets: &[i64], to: *mut u8) {
    /// As `gather_scattered` for blocks of `N` bytes.
    unsafe fn blocks<const N: usize>(base: *const u8, offsets: &[i64], mut to: *mut u8) {
        for &offset in offsets {
            // SAFETY: as the caller promises; the last step only computes an address.
            unsafe { copy_nonoverlapping(base.wrapping_offset(offset as isize), to, N) };
            to = to.wrapping_add(N);
        }
    }
    // SAFETY: as the caller promises, block by block.
    unsafe {
        by_block_size!(bytes, blocks(base, offsets, to), {
            for (index, &offset) in offsets.iter().enumerate() {
                copy_nonoverlapping(base.wrapping_offset(offset as isize), to.add(index * bytes), bytes);
            }
        })
    }
}

/// Copies one piece at `from` to blocks of `bytes` at `base` + each of
/// `offsets`.
///
/// # Safety
/// All blocks may be written, as many bytes at `from` read, and they do not
/// overlap.
pub(super) unsafe fn scatter_scattered(from: *const u8, base: *mut u8, bytes: usize, offsets: &[i64]) {
    /// As `scatter_scattered` for blocks of `N` bytes.
    unsafe fn blocks<const N: usize>(mut from: *const u8, base: *mut u8, offsets: &[i64]) {
        for &offset in offsets {
            // SAFETY: as the caller promises; the last step only computes an address.
            unsafe { copy_nonoverlapping(from, base.wrapping_offset(offset as isize), N) };
            from = from.wrapping_add(N);
        }
    }
    // SAFETY: as the caller promises, block by block.
    unsafe {
        by_block_size!(bytes, blocks(from, base, offsets), {
            for (index, &offset) in offsets.iter().enumerate() {
                copy_nonoverlapping(from.add(index * bytes), base.wrapping_offset(offset as isize), bytes);
            }
        })
    }
}
