//! Descriptors of arrays: that of the standard, which C sees too (TS 29113), and that of gfortran, which its own routines
//! get. Only what both makers of compilers have at the same place is read.

use super::{Dimension, Section};
use std::ffi::{c_char, c_void};

/// `CFI_cdesc_t`, as gfortran and flang have it: they differ in bytes between rank and dimensions only.
#[repr(C)]
pub struct CfiDescriptor {
    base: *mut c_void,
    element: usize,
    version: i32,
    rank: u8,
    other: [u8; 3],
    dimensions: [CfiDimension; 0],
}

#[repr(C)]
struct CfiDimension {
    _lower: isize,
    extent: isize,
    stride: isize,
}

impl CfiDescriptor {
    /// What it describes.
    ///
    /// # Safety
    /// It is that of an argument, with as many dimensions as it says.
    #[inline]
    pub unsafe fn section(this: *const CfiDescriptor) -> Section {
        // SAFETY: by the contract; no reference covers the dimensions, which lie behind the structure.
        unsafe {
            let dimensions: *const CfiDimension = (&raw const (*this).dimensions).cast();
            let dimension = |index| {
                let one = &*dimensions.add(index);
                Dimension { extent: one.extent as i64, stride: one.stride as i64 }
            };
            Section::new((*this).base, (*this).element, (0..usize::from((*this).rank)).map(dimension))
        }
    }

    /// A string: where it lies, and its length.
    pub fn text(&self) -> (*const c_char, usize) {
        (self.base.cast_const().cast(), self.element)
    }
}

/// gfortran's own.
#[repr(C)]
pub struct NativeDescriptor {
    base: *mut c_void,
    offset: isize,
    element: usize,
    version: i32,
    rank: i8,
    _kind: i8,
    _attribute: i16,
    span: isize,
    dimensions: [NativeDimension; 0],
}

#[repr(C)]
struct NativeDimension {
    stride: isize,
    lower: isize,
    upper: isize,
}

impl NativeDescriptor {
    /// What it describes.
    ///
    /// # Safety
    /// As of [`CfiDescriptor::section`].
    #[inline]
    pub unsafe fn section(this: *const NativeDescriptor) -> Section {
        // SAFETY: as there.
        unsafe {
            let dimensions: *const NativeDimension = (&raw const (*this).dimensions).cast();
            let (element, rank) = ((*this).element, usize::try_from((*this).rank).unwrap_or(0));
            // Strides are counted in spans, which some versions leave at 0 where that is an element.
            let span = if (*this).span == 0 { element as i64 } else { (*this).span as i64 };
            let dimension = |index| {
                let one = &*dimensions.add(index);
                let whole = index + 1 == rank && one.upper < one.lower && one.upper == -1;
                let extent = if whole { -1 } else { (one.upper - one.lower + 1).max(0) as i64 };
                Dimension { extent, stride: one.stride as i64 * span }
            };
            Section::new((*this).base, element, (0..rank).map(dimension))
        }
    }
}
