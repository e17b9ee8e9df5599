//! What one instruction of the processor changes: words of 1, 2, 4 and 8 bytes.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering::*};

/// What an instruction changes. But for `load` and `store` each gives what the word was.
pub trait Word {
    /// What it holds.
    type Value: Copy + Default + PartialEq;
    fn load(&self) -> Self::Value;
    fn store(&self, new: Self::Value);
    fn swap(&self, new: Self::Value) -> Self::Value;
    fn add(&self, by: Self::Value) -> Self::Value;
    fn and(&self, by: Self::Value) -> Self::Value;
    fn or(&self, by: Self::Value) -> Self::Value;
    fn xor(&self, by: Self::Value) -> Self::Value;
    /// `new` makes of what it was what it becomes, perhaps several times.
    fn change(&self, new: impl Fn(Self::Value) -> Self::Value) -> Self::Value;
    /// The sum of what both are as IEEE doubles, if they have 8 bytes.
    fn add_double(left: Self::Value, right: Self::Value) -> Self::Value;
    /// The same of IEEE singles and 4 bytes.
    fn add_single(left: Self::Value, right: Self::Value) -> Self::Value;
}

macro_rules! words {
    ($($atomic:ident $value:ty)*) => {$(
        impl Word for $atomic {
            type Value = $value;
            #[inline(always)]
            fn load(&self) -> $value { $atomic::load(self, Acquire) }
            #[inline(always)]
            fn store(&self, new: $value) { $atomic::store(self, new, Release) }
            #[inline(always)]
            fn swap(&self, new: $value) -> $value { $atomic::swap(self, new, AcqRel) }
            #[inline(always)]
            fn add(&self, by: $value) -> $value { self.fetch_add(by, AcqRel) }
            #[inline(always)]
            fn and(&self, by: $value) -> $value { self.fetch_and(by, AcqRel) }
            #[inline(always)]
            fn or(&self, by: $value) -> $value { self.fetch_or(by, AcqRel) }
            #[inline(always)]
            fn xor(&self, by: $value) -> $value { self.fetch_xor(by, AcqRel) }
            #[inline(always)]
            fn change(&self, new: impl Fn($value) -> $value) -> $value {
                let mut old = $atomic::load(self, Acquire);
                loop {
                    let next = new(old);
                    match self.compare_exchange_weak(old, next, AcqRel, Acquire) {
                        Ok(old) => return old,
                        Err(now) => old = now,
                    }
                }
            }
            #[inline(always)]
            fn add_double(left: $value, right: $value) -> $value {
                (f64::from_bits(left as u64) + f64::from_bits(right as u64)).to_bits() as $value
            }
            #[inline(always)]
            fn add_single(left: $value, right: $value) -> $value {
                (f32::from_bits(left as u32) + f32::from_bits(right as u32)).to_bits() as $value
            }
        }
    )*};
}
words! { AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 }

/// Puts `new` in the place of a word that is `compare`; what it was goes to `result`.
///
/// # Safety
/// The word is of `bytes` bytes (1, 2, 4, 8) at a multiple of them, mapped for reading and writing; the others can be
/// read and written for as many.
#[inline]
pub unsafe fn compare_and_swap(
    bytes: usize,
    target: *mut u8,
    (new, compare, result): (*const u8, *const u8, *mut u8),
) {
    macro_rules! swap {
        ($atomic:ident $value:ty) => {{
            // SAFETY: by the caller.
            unsafe {
                let (new, compare) =
                    (new.cast::<$value>().read_unaligned(), compare.cast::<$value>().read_unaligned());
                let (Ok(old) | Err(old)) =
                    (*target.cast::<$atomic>()).compare_exchange(compare, new, AcqRel, Acquire);
                result.cast::<$value>().write_unaligned(old);
            }
        }};
    }
    match bytes {
        8 => swap!(AtomicU64 u64),
        4 => swap!(AtomicU32 u32),
        2 => swap!(AtomicU16 u16),
        _ => swap!(AtomicU8 u8),
    }
}
