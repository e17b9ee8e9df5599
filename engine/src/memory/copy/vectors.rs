//! Plain copies by vectors, in either direction.
//!
//! For a few KiB and more libc takes the processor's instruction for strings. It begins slowly, and takes long
//! where a core near by has the lines of the target: an allreduce of 4 KiB over slots took 0.50 us by it and
//! 0.38 by vectors. For more than some 16 KiB it is the quicker one, as it fetches no lines that it overwrites.

use super::LINE;
#[cfg(target_arch = "x86_64")]
use crate::cpu;

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
            true => in_direction::<true>(source, target, bytes),
            false => in_direction::<false>(source, target, bytes),
        }
    }
}

/// Copies from the beginning to the end, or backwards.
///
/// # Safety
/// As for [`copy`].
#[inline]
unsafe fn in_direction<const BACKWARDS: bool>(source: *const u8, target: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if cpu::has_wide_vectors() {
        // SAFETY: by the caller, and the processor has these instructions.
        return unsafe { by_avx512::<BACKWARDS>(source, target, bytes) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { by_avx2::<BACKWARDS>(source, target, bytes) };
    }
    // SAFETY: by the caller.
    unsafe { turns::<BACKWARDS>(source, target, bytes) }
}

/// # Safety
/// As for [`copy`], on a processor with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn by_avx512<const BACKWARDS: bool>(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { turns::<BACKWARDS>(source, target, bytes) }
}

/// # Safety
/// As for [`copy`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn by_avx2<const BACKWARDS: bool>(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { turns::<BACKWARDS>(source, target, bytes) }
}

/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn turns<const BACKWARDS: bool>(source: *const u8, target: *mut u8, bytes: usize) {
    let (turns, whole) = (bytes / TURN, bytes / TURN * TURN);
    // SAFETY: all inside `bytes`; the accesses are unaligned.
    unsafe {
        for turn in 0..turns {
            let at = TURN * if BACKWARDS { turns - 1 - turn } else { turn };
            let part = source.add(at).cast::<[u64; TURN / 8]>().read_unaligned();
            target.add(at).cast::<[u64; TURN / 8]>().write_unaligned(part);
        }
        std::ptr::copy_nonoverlapping(source.add(whole), target.add(whole), bytes - whole);
    }
}
