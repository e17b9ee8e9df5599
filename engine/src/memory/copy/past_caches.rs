//! Copies by stores that pass the caches (non-temporal ones).

#[cfg(target_arch = "x86_64")]
use super::LINE;

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
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let lines = bytes / LINE * LINE;
    // SAFETY: all inside `bytes`, and `target` is aligned; by the caller. The
    // fence orders the stores before the one that publishes them.
    unsafe {
        for at in (0..lines).step_by(LINE) {
            let from = source.add(at).cast::<__m128i>();
            let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
            let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
            let to = target.add(at).cast::<__m128i>();
            _mm_stream_si128(to, a);
            _mm_stream_si128(to.add(1), b);
            _mm_stream_si128(to.add(2), c);
            _mm_stream_si128(to.add(3), d);
        }
        std::ptr::copy_nonoverlapping(source.add(lines), target.add(lines), bytes - lines);
        _mm_sfence();
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
