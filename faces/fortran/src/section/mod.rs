//! Buffers of mpi_f08: sections of arrays, which need not be contiguous (MPI-5.0 §19.1.12).
//!
//! A contiguous section is an address, and C gets that. Of any other one MPI means its elements, in order. A call that
//! blocks gets a copy of them, and the section is filled again after it (`copy.rs`), as compilers do it for routines
//! that know nothing of sections. A call that goes on in the background gets a datatype that finds the elements where
//! they lie (`described.rs`), or a copy that is put back when its request ends.

mod copy;
mod described;
mod descriptor;

pub use copy::{Copied, Kept};
pub use described::Described;
pub use descriptor::{CfiDescriptor, NativeDescriptor};

use crate::special;
use std::ffi::c_void;

/// One dimension: how many, and how many bytes from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    extent: i64,
    stride: i64,
}

/// Fortran has no more (§19.1.12).
const MOST_DIMENSIONS: usize = 15;

/// A section of an array.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    base: *mut c_void,
    element: usize,
    rank: usize,
    dimensions: [Dimension; MOST_DIMENSIONS],
}

impl Section {
    fn new(base: *mut c_void, element: usize, all: impl Iterator<Item = Dimension>) -> Section {
        let mut dimensions = [Dimension { extent: 1, stride: 0 }; MOST_DIMENSIONS];
        let mut rank = 0;
        for (place, dimension) in dimensions.iter_mut().zip(all) {
            (*place, rank) = (dimension, rank + 1);
        }
        Section { base, element, rank, dimensions }
    }

    fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.rank]
    }

    /// What C gets of a contiguous section; sentinels become C's.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        special::buffer(self.base)
    }

    /// Whether the elements lie one behind the other. An array without a known end does.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = self.element as i64;
        for dimension in self.dimensions() {
            if dimension.extent < 0 {
                return true;
            }
            if dimension.extent != 1 && dimension.stride != expected {
                return dimension.extent == 0;
            }
            expected *= dimension.extent;
        }
        true
    }

    /// How many elements there are.
    fn elements(&self) -> usize {
        self.dimensions().iter().map(|dimension| dimension.extent.max(0) as usize).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn section(base: *mut c_void, element: usize, dimensions: &[(i64, i64)]) -> Section {
        Section::new(base, element, dimensions.iter().map(|&(extent, stride)| Dimension { extent, stride }))
    }

    #[test]
    fn whole_arrays_and_single_elements_are_contiguous() {
        let is = |dimensions: &[(i64, i64)]| section(std::ptr::null_mut(), 4, dimensions).is_contiguous();
        assert!(is(&[]) && is(&[(10, 4)]) && is(&[(10, 4), (3, 40)]) && is(&[(1, 80)]));
        assert!(
            is(&[(10, 4), (1, 400)]) && is(&[(1, 8), (5, 4)]) && is(&[(0, 8)]) && is(&[(10, 4), (-1, 40)])
        );
        assert!(!is(&[(5, 8)]) && !is(&[(5, 4), (3, 40)]) && !is(&[(10, -4)]));
    }
}
