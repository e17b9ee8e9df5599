//! Sums that are exact until they are rounded, once: `SERRIED_REPRODUCIBLE`.
//!
//! The sum of some operands is then the number of its type that is nearest to the
//! true sum, ties to even. So it depends on the operands alone, and not on how many
//! ranks hold them, in which order they come or who adds them up. For that all
//! operands of an element have to be at hand at once; the collectives see to it.
//!
//! Nearly always the true sum is that of two numbers: what plain additions give, and
//! the sum of their rounding errors, which is kept beside it (`TwoSum`, Knuth) and
//! found to be exact. Then one addition rounds it. Where that is not so, where
//! something is not finite, and where the program has changed how its processor
//! rounds, the element goes through a superaccumulator ([`accumulator`]).
//!
//! A sum with a NaN among its operands, or with infinities of both signs, is the one
//! quiet NaN without sign and payload. A sum of zeros is -0 if all of them are.

mod accumulator;
#[cfg(test)]
mod tests;

use crate::datatype::Basic;
use accumulator::Accumulator;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether `MPI_SUM` is exact in this process.
static SWITCH: AtomicBool = AtomicBool::new(false);

/// Makes `MPI_SUM` exact, or leaves it as it is.
pub fn switch(on: bool) {
    SWITCH.store(on, Relaxed);
}

/// Whether `MPI_SUM` is exact.
#[inline]
pub(super) fn is_on() -> bool {
    SWITCH.load(Relaxed)
}

/// How the elements of a type are added up exactly.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    sum: unsafe fn(&[*const u8], *mut u8, usize),
    /// Numbers in an element.
    numbers: usize,
}

impl Exact {
    /// For elements `basic`, if they are numbers of 32 or 64 bits, real or complex.
    pub(super) fn of(basic: Basic) -> Option<Exact> {
        match basic {
            Basic::Float32 => Some(Exact { sum: choose::<f32, 32>(), numbers: 1 }),
            Basic::Float64 => Some(Exact { sum: choose::<f64, 16>(), numbers: 1 }),
            Basic::ComplexFloat32 => Some(Exact { sum: choose::<f32, 32>(), numbers: 2 }),
            Basic::ComplexFloat64 => Some(Exact { sum: choose::<f64, 16>(), numbers: 2 }),
            _ => None,
        }
    }

    /// `out[i]` is the sum of `operands[..][i]`, for `count` elements.
    ///
    /// # Safety
    /// There is an operand; all can be read and `out` written for `count` elements,
    /// at any address. Where `out` overlaps an operand it does not begin after it, and
    /// nobody else writes to them.
    pub unsafe fn sum(&self, operands: &[*const u8], out: *mut u8, count: usize) {
        // SAFETY: passed on.
        unsafe { (self.sum)(operands, out, count * self.numbers) }
    }
}

/// A number of which sums are made.
trait Real: Copy {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn magnitude(self) -> Self;
    /// Not true of a NaN.
    fn is_zero(self) -> bool;
    /// Adds it to an accumulator.
    fn give(self, to: &mut Accumulator);
    /// What an accumulator holds, rounded.
    fn take(from: Accumulator) -> Self;
}

macro_rules! reals {
    ($($type:ty, $give:ident, $take:ident;)*) => {$(
        impl Real for $type {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn magnitude(self) -> Self { self.abs() }
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0.0 }
            fn give(self, to: &mut Accumulator) { to.$give(self) }
            fn take(from: Accumulator) -> Self { from.$take() }
        }
    )*};
}
reals! {
    f32, add_single, single;
    f64, add_double, double;
}

/// The sum of two numbers, rounded, and what rounding has lost: exact, if nothing
/// overflows and the processor rounds to nearest and knows subnormal numbers.
#[inline(always)]
fn two_sum<T: Real>(left: T, right: T) -> (T, T) {
    let sum = left.add(right);
    let other = sum.subtract(left);
    let lost = left.subtract(sum.subtract(other)).add(right.subtract(other));
    (sum, lost)
}

fn choose<T: Real, const N: usize>() -> unsafe fn(&[*const u8], *mut u8, usize) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return sum_avx2::<T, N>;
    }
    sum::<T, N>
}

/// [`sum`], compiled for AVX2.
///
/// # Safety
/// As for [`Exact::sum`], and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn sum_avx2<T: Real, const N: usize>(operands: &[*const u8], out: *mut u8, count: usize) {
    // SAFETY: passed on.
    unsafe { sum::<T, N>(operands, out, count) }
}

/// Blocks of `N` numbers, then one at a time.
///
/// # Safety
/// As for [`Exact::sum`], with `count` numbers.
#[inline(always)]
unsafe fn sum<T: Real, const N: usize>(operands: &[*const u8], out: *mut u8, count: usize) {
    let plain = rounds_plainly();
    let mut index = 0;
    while count - index >= N {
        // SAFETY: N numbers from `index` on are below `count`.
        unsafe { block::<T, N>(operands, out, index, plain) };
        index += N;
    }
    while index < count {
        // SAFETY: this number is below `count`.
        unsafe { block::<T, 1>(operands, out, index, plain) };
        index += 1;
    }
}

/// The sums of the `N` numbers from `index` on. All of them are read before one is
/// written, as `out` may be an operand.
///
/// # Safety
/// As for [`Exact::sum`], for those numbers.
#[inline(always)]
unsafe fn block<T: Real, const N: usize>(operands: &[*const u8], out: *mut u8, index: usize, plain: bool) {
    // SAFETY: the caller's promise; the accesses are unaligned.
    let read =
        |operand: *const u8| unsafe { operand.cast::<T>().add(index).cast::<[T; N]>().read_unaligned() };
    let mut sums = read(operands[0]);
    // What makes an element doubtful: an error of the errors, a sum that is not finite.
    let mut doubts = [T::ZERO; N];
    if let [_, other] = operands {
        let numbers = read(*other);
        for place in 0..N {
            sums[place] = sums[place].add(numbers[place]);
        }
    } else {
        let mut errors = [T::ZERO; N];
        for &operand in &operands[1..] {
            let numbers = read(operand);
            for place in 0..N {
                let (sum, error) = two_sum(sums[place], numbers[place]);
                let (error, beyond) = two_sum(errors[place], error);
                sums[place] = sum;
                errors[place] = error;
                doubts[place] = doubts[place].add(beyond.magnitude());
            }
        }
        for place in 0..N {
            let total = sums[place].add(errors[place]);
            // A sum of zeros keeps its sign.
            sums[place] = if errors[place].is_zero() { sums[place] } else { total };
        }
    }
    let mut doubtful = !plain;
    for place in 0..N {
        // Zero where the sum is finite, else not a number.
        doubts[place] = doubts[place].add(sums[place].subtract(sums[place]).magnitude());
        doubtful |= !doubts[place].is_zero();
    }
    if doubtful {
        for place in (0..N).filter(|&place| !(plain && doubts[place].is_zero())) {
            // SAFETY: as above, one number.
            sums[place] = unsafe { accumulate(operands, index + place) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { out.cast::<T>().add(index).cast::<[T; N]>().write_unaligned(sums) };
}

/// The sum of one number of each operand by an accumulator.
///
/// # Safety
/// The number at `index` can be read in all.
#[cold]
#[inline(never)]
unsafe fn accumulate<T: Real>(operands: &[*const u8], index: usize) -> T {
    let mut accumulator = Accumulator::new();
    for &operand in operands {
        // SAFETY: by the caller; the access is unaligned.
        unsafe { operand.cast::<T>().add(index).read_unaligned() }.give(&mut accumulator);
    }
    T::take(accumulator)
}

/// Whether this thread rounds to nearest and knows subnormal numbers, as every
/// thread does at first.
#[cfg(target_arch = "x86_64")]
fn rounds_plainly() -> bool {
    /// Flush to zero, rounding (two bits), denormals are zeros.
    const CHANGES: u32 = 0xE040;
    let mut control = 0u32;
    // SAFETY: writes the control word of the vector unit to four bytes of ours.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut control, options(nostack, preserves_flags)) };
    control & CHANGES == 0
}

/// As above.
#[cfg(target_arch = "aarch64")]
fn rounds_plainly() -> bool {
    /// Flush to zero, rounding (two bits).
    const CHANGES: u64 = 0x7 << 22;
    let control: u64;
    // SAFETY: reads a control word.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    control & CHANGES == 0
}

/// Nothing is known of other processors.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn rounds_plainly() -> bool {
    false
}
