//! Plain copies by vectors, in either direction.
//!
//! For a few KiB and more libc takes the processor's instruction for strings. It begins slowly, and takes long
//! where a core near by has the lines of the target: an allreduce of 4 KiB over slots took 0.50 us by it and
//! 0.38 by vectors. For more than some 16 KiB it is the quicker one, as it fetches no lines that it overwrites.

use super::LINE;
#[cfg(target_arch = "x86_64")]
use crate::processor;

/// Bytes that one turn of the loop takes.
const TURN: usize = 2 * LINE;

/// Whether the target begins a few bytes after the source, apart from whole pages. Then
/// a processor believes for a while that each load reads what a store before it has
/// written, and the copy of libc takes 20 times as long. From the end to the
/// beginning there is no such pair of a load and a store.
#[inline]
pub fn is_behind(source: *const u8, target: *const u8) -> bool {
    let behind = (target as usize).wrapping_sub(source as usize) % 4096;
    (1..LINE / 2).contains(&behind)
}

/// Copies in the direction that is quick.
///
/// # Safety
/// As for [`super::Chooser::copy`].
#[inline]
pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe {
        match is_behind(source, target) {
            true => backwards(source, target, bytes),
            false => forwards(source, target, bytes),
        }
    }
}

/// Copies from the beginning to the end.
///
/// # Safety
/// As for [`super::Chooser::copy`].
#[inline]
unsafe fn forwards(source: *const u8, target: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if processor::has_wide_vectors() {
        // SAFETY: by the caller, and the processor has these instructions.
        return unsafe { forwards_by_avx512(source, target, bytes) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { forwards_by_avx2(source, target, bytes) };
    }
    // SAFETY: by the caller.
    unsafe { turns_forwards(source, target, bytes) }
}

/// Copies from the end to the beginning.
///
/// # Safety
/// As for [`super::Chooser::copy`].
#[cold]
pub unsafe fn backwards(source: *const u8, target: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: by the caller, and the processor has these instructions.
        return unsafe { backwards_by_avx2(source, target, bytes) };
    }
    // SAFETY: by the caller.
    unsafe { lines_backwards(source, target, bytes) }
}

/// # Safety
/// As for [`forwards`], on a processor with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn forwards_by_avx512(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { turns_forwards(source, target, bytes) }
}

/// # Safety
/// As for [`forwards`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn forwards_by_avx2(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { turns_forwards(source, target, bytes) }
}

/// # Safety
/// As for [`forwards`].
#[inline(always)]
unsafe fn turns_forwards(source: *const u8, target: *mut u8, bytes: usize) {
    let whole = bytes / TURN * TURN;
    // SAFETY: all inside `bytes`; the accesses are unaligned.
    unsafe {
        for at in (0..whole).step_by(TURN) {
            let part = source.add(at).cast::<[u64; TURN / 8]>().read_unaligned();
            target.add(at).cast::<[u64; TURN / 8]>().write_unaligned(part);
        }
        std::ptr::copy_nonoverlapping(source.add(whole), target.add(whole), bytes - whole);
    }
}

/// As quick as libc's copy, where that is not slow.
///
/// # Safety
/// As for [`backwards`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn backwards_by_avx2(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { lines_backwards(source, target, bytes) }
}

/// # Safety
/// As for [`backwards`].
#[inline(always)]
unsafe fn lines_backwards(source: *const u8, target: *mut u8, bytes: usize) {
    let whole = bytes / LINE * LINE;
    // SAFETY: all inside `bytes`; the accesses are unaligned.
    unsafe {
        std::ptr::copy_nonoverlapping(source.add(whole), target.add(whole), bytes - whole);
        for at in (0..whole).step_by(LINE).rev() {
            let line = source.add(at).cast::<[u64; LINE / 8]>().read_unaligned();
            target.add(at).cast::<[u64; LINE / 8]>().write_unaligned(line);
        }
    }
}
