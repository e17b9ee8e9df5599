//! The loop that all builtin operators share.

use super::element::Operation;
#[cfg(target_arch = "x86_64")]
use crate::cpu;

/// `out[i] = left[i] op right[i]` for `count` elements.
///
/// # Safety
/// `left` and `right` can be read, and `out` written, for `count` elements
/// of the kernel's type; no alignment is needed. `out` is `left`, is
/// `right`, or overlaps neither. Nobody else writes to any of them meanwhile.
pub type Kernel = unsafe fn(left: *const u8, right: *const u8, out: *mut u8, count: usize);

/// The bytes that one turn of the loop takes: four vectors of AVX2, two of AVX-512.
pub(super) const BLOCK: usize = 128;

/// The kernel of the operator `O` on elements `T` for this processor. `N` is
/// the number of elements in a block.
pub(super) fn choose<T: Copy, O: Operation<T>, const N: usize>() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if cpu::has_wide_vectors() {
        return combine_avx512::<T, O, N>;
    } else if std::arch::is_x86_feature_detected!("avx2") {
        return combine_avx2::<T, O, N>;
    }
    combine::<T, O, N>
}

/// [`combine`], compiled for AVX-512.
///
/// # Safety
/// As for [`Kernel`], and the processor has AVX-512 with what [`cpu::has_wide_vectors`] asks for.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn combine_avx512<T: Copy, O: Operation<T>, const N: usize>(
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: what the caller promises is what `combine` asks for.
    unsafe { combine::<T, O, N>(left, right, out, count) }
}

/// [`combine`], compiled for AVX2.
///
/// # Safety
/// As for [`Kernel`], and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn combine_avx2<T: Copy, O: Operation<T>, const N: usize>(
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: what the caller promises is what `combine` asks for.
    unsafe { combine::<T, O, N>(left, right, out, count) }
}

/// The loop. A whole block is read before anything of it is written, so that
/// the compiler may use vectors although `out` may be one of the arguments.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
unsafe fn combine<T: Copy, O: Operation<T>, const N: usize>(
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    count: usize,
) {
    let (left, right, out) = (left.cast::<T>(), right.cast::<T>(), out.cast::<T>());
    let mut index = 0;
    while count - index >= N {
        // SAFETY: elements index..index + N are below `count`, which the
        // caller vouches for; the accesses are unaligned.
        unsafe {
            let first = left.add(index).cast::<[T; N]>().read_unaligned();
            let mut second = right.add(index).cast::<[T; N]>().read_unaligned();
            for (second, first) in second.iter_mut().zip(first) {
                *second = O::combine(first, *second);
            }
            out.add(index).cast::<[T; N]>().write_unaligned(second);
        }
        // One block after the other: of several at a time the compiler would make gathers.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: no instruction.
        unsafe {
            std::arch::asm!("", options(nomem, nostack, preserves_flags));
        }
        index += N;
    }
    while index < count {
        // SAFETY: as above, for one element.
        unsafe {
            let result = O::combine(left.add(index).read_unaligned(), right.add(index).read_unaligned());
            out.add(index).write_unaligned(result);
        }
        index += 1;
    }
}
