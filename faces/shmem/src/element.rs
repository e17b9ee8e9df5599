//! The types of the standard that Rust has not, and what all are in the engine.

use serried_engine::datatype::Basic;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Acquire};

/// `long double`, where only its address is given.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct LongDouble([u64; 2]);

/// `float _Complex`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ComplexFloat([f32; 2]);

/// `double _Complex`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ComplexDouble([f64; 2]);

/// A type of the standard.
pub trait Element: Copy {
    /// What it is in the engine.
    const BASIC: Basic;
}

/// One that is an integer of the processor, which others change while it is waited for.
pub trait Word: Element + Ord {
    /// What it is now.
    ///
    /// # Safety
    /// The address can be read and is aligned.
    unsafe fn load(address: *const Self) -> Self;
}

macro_rules! elements {
    ($($type:ty: $basic:ident;)*) => {$(
        impl Element for $type {
            const BASIC: Basic = Basic::$basic;
        }
    )*};
}

elements! {
    i8: Int8; i16: Int16; i32: Int32; i64: Int64; isize: Int64;
    u8: Uint8; u16: Uint16; u32: Uint32; u64: Uint64; usize: Uint64;
    f32: Float32; f64: Float64; LongDouble: LongDouble;
    ComplexFloat: ComplexFloat32; ComplexDouble: ComplexFloat64;
}

macro_rules! words {
    ($($type:ty: $atomic:ty;)*) => {$(
        impl Word for $type {
            #[inline(always)]
            unsafe fn load(address: *const Self) -> Self {
                // SAFETY: by the caller; as wide.
                unsafe { &*address.cast::<$atomic>() }.load(Acquire) as $type
            }
        }
    )*};
}

words! {
    i16: AtomicU16; u16: AtomicU16;
    i32: AtomicU32; u32: AtomicU32;
    i64: AtomicU64; u64: AtomicU64; isize: AtomicU64; usize: AtomicU64;
}
