//! Hints for the caches: they change when lines move from core to core, and nothing else. Each is a loop over the lines
//! of some bytes, worth its instructions for up to a few KiB.

use super::LINE;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_mm_prefetch, _MM_HINT_ET0 as WRITE, _MM_HINT_T0 as READ};
#[cfg(not(target_arch = "x86_64"))]
const READ: i32 = 0;
#[cfg(not(target_arch = "x86_64"))]
const WRITE: i32 = 1;

/// Asks for all lines of what will be read next, at once: a loop that also computes or stores asks for fewer at a time.
#[inline(always)]
pub fn fetch(source: *const u8, bytes: usize) {
    prefetch::<READ>(source, bytes);
}

/// Asks for lines that will be written next, and that another core has read: so the stores do not wait for them.
#[inline(always)]
pub fn claim(target: *const u8, bytes: usize) {
    prefetch::<WRITE>(target, bytes);
}

#[inline(always)]
fn prefetch<const HINT: i32>(first: *const u8, bytes: usize) {
    each_line(first, bytes, |_line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; the address is used for nothing else.
        unsafe {
            _mm_prefetch::<HINT>(_line.cast());
        }
    });
}

/// Puts lines that have been written into the cache that all cores share, where another one finds them sooner than in the
/// caches of this one (`CLDEMOTE`, Intel's processors from Sapphire Rapids on).
#[inline(always)]
pub fn hand_over(written: *const u8, bytes: usize) {
    each_line(written, bytes, |_line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; a processor that does not know it takes it for no operation (Intel's manual, volume 2A).
        unsafe {
            std::arch::asm!("cldemote [{}]", in(reg) _line, options(nostack, preserves_flags));
        }
    });
}

/// Other processors than those of x86-64 get no hints.
#[inline(always)]
fn each_line(first: *const u8, bytes: usize, hint: impl Fn(*const u8)) {
    (0..bytes).step_by(LINE).for_each(|at| hint(first.wrapping_add(at)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_change_nothing_and_touch_no_memory_that_is_not_there() {
        let mut bytes = [7_u8; 1000];
        claim(bytes.as_ptr(), bytes.len());
        bytes[999] = 9;
        hand_over(bytes.as_ptr(), bytes.len());
        fetch(bytes.as_ptr(), bytes.len());
        assert!(bytes[..999].iter().all(|&byte| byte == 7) && bytes[999] == 9);
        for hint in [claim, hand_over, fetch] {
            hint(std::ptr::null(), 4096);
        }
    }
}
