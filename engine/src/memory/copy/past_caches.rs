//! Copies by stores that pass the caches (non-temporal ones).

#[cfg(target_arch = "x86_64")]
use super::LINE;
#[cfg(target_arch = "x86_64")]
use crate::cpu;

/// Whether there are such stores: stable Rust has none for other processors.
pub const POSSIBLE: bool = cfg!(target_arch = "x86_64");

/// # Safety
/// As for [`super::Chooser::copy`].
#[cfg(target_arch = "x86_64")]
pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    let before = target.align_offset(LINE).min(bytes);
    // SAFETY: both are inside `bytes`.
    unsafe {
        std::ptr::copy_nonoverlapping(source, target, before);
        lines(source.add(before), target.add(before), bytes - before);
    }
}

/// The same for a target that begins with a line.
///
/// # Safety
/// As for [`super::Chooser::copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn lines(source: *const u8, target: *mut u8, bytes: usize) {
    let lines = bytes / LINE * LINE;
    // SAFETY: all inside `bytes`, `target` is aligned, and the processor has the instructions; by the caller. The
    // fence orders the stores before the one that publishes them.
    unsafe {
        match cpu::has_wide_vectors() {
            true => lines_at_once(source, target, lines),
            false => lines_by_parts(source, target, lines),
        }
        std::ptr::copy_nonoverlapping(source.add(lines), target.add(lines), bytes - lines);
        std::arch::x86_64::_mm_sfence();
    }
}

/// Whole lines, with a store for each: no line leaves the core in parts.
///
/// # Safety
/// As for [`lines`], on a processor with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn lines_at_once(source: *const u8, target: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    // SAFETY: by the caller.
    let line = |at| unsafe { _mm512_loadu_si512(source.add(at).cast()) };
    let mut at = 0;
    while at + 4 * LINE <= bytes {
        let four = [line(at), line(at + LINE), line(at + 2 * LINE), line(at + 3 * LINE)];
        for (number, line) in four.into_iter().enumerate() {
            // SAFETY: by the caller.
            unsafe { _mm512_stream_si512(target.add(at + number * LINE).cast(), line) };
        }
        at += 4 * LINE;
    }
    while at < bytes {
        // SAFETY: by the caller.
        unsafe { _mm512_stream_si512(target.add(at).cast(), line(at)) };
        at += LINE;
    }
}

/// Whole lines, on any processor.
///
/// # Safety
/// As for [`lines`].
#[cfg(target_arch = "x86_64")]
unsafe fn lines_by_parts(source: *const u8, target: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    // SAFETY: by the caller.
    unsafe {
        for at in (0..bytes).step_by(LINE) {
            let from = source.add(at).cast::<__m128i>();
            let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
            let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
            let to = target.add(at).cast::<__m128i>();
            _mm_stream_si128(to, a);
            _mm_stream_si128(to.add(1), b);
            _mm_stream_si128(to.add(2), c);
            _mm_stream_si128(to.add(3), d);
        }
    }
}

/// # Safety
/// As for [`super::Chooser::copy`].
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
}

/// Waits until all stores so far have left this core.
pub fn wait_for_stores() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_mfence()
    };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_at_once_and_by_parts() {
        #[repr(align(64))]
        struct Lines([u8; 1024]);
        let source: Vec<u8> = (0..1024).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut ways: Vec<unsafe fn(*const u8, *mut u8, usize)> = vec![lines_by_parts];
        if cpu::has_wide_vectors() {
            ways.push(lines_at_once);
        }
        for (way, number) in ways.into_iter().flat_map(|way| (0..12).map(move |number| (way, number))) {
            let (mut target, bytes) = (Lines([0xee; 1024]), number * LINE);
            // SAFETY: both have so many bytes; the target is aligned.
            unsafe { way(source[3..].as_ptr(), target.0.as_mut_ptr(), bytes) };
            assert_eq!(target.0[..bytes], source[3..3 + bytes]);
            assert!(target.0[bytes..].iter().all(|&byte| byte == 0xee));
        }
    }
}
