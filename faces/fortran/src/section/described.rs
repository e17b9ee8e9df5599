//! A datatype that finds the elements of a section where they lie.

use super::{Dimension, Section};
use crate::abi::{self, Handle};
use std::ffi::c_void;

/// What C gets of a section and the items that the program wants of it.
pub struct Described {
    /// The buffer.
    pub address: *mut c_void,
    /// How many items.
    pub count: i64,
    /// Of what type.
    pub datatype: Handle,
    /// The datatype was made here.
    made: bool,
}

/// A part of a section: how many bytes behind its beginning, and its type.
type Piece = (i64, Handle);

impl Described {
    /// `count` items of a type in a section; `None` if their elements are not what the section consists of.
    ///
    /// # Safety
    /// The datatype is a handle of the program.
    #[inline]
    pub unsafe fn new(section: &Section, count: i64, datatype: Handle) -> Option<Described> {
        if section.is_contiguous() {
            return Some(Described { address: section.address(), count, datatype, made: false });
        }
        // SAFETY: by the contract.
        let made = unsafe { of_scattered(section, count, datatype) }?;
        Some(Described { address: section.base, count: 1, datatype: made, made: true })
    }

    /// The call has begun: what goes on keeps the type itself.
    pub fn free(&mut self) {
        if self.made {
            // SAFETY: a type that was made here.
            unsafe { abi::c_type_free(&mut self.datatype) };
        }
    }
}

#[cold]
unsafe fn of_scattered(section: &Section, count: i64, datatype: Handle) -> Option<Handle> {
    let (mut size, mut lower, mut true_lower, mut extent, mut true_extent) = (0, 0, 0, 0, 0);
    // SAFETY: places for the answers.
    let asked = unsafe {
        [
            abi::c_type_size_c(datatype, &mut size),
            abi::c_type_get_extent_c(datatype, &mut lower, &mut extent),
            abi::c_type_get_true_extent_c(datatype, &mut true_lower, &mut true_extent),
        ]
    };
    let element = i64::try_from(section.element).ok()?;
    let is_whole = asked == [abi::MPI_SUCCESS; 3]
        && size > 0
        && [lower, true_lower] == [0; 2]
        && [extent, true_extent] == [size; 2];
    if !is_whole || element % size != 0 || count * size % element != 0 {
        return None;
    }
    let wanted = count * size / element;
    if wanted > section.elements() as i64 {
        return None;
    }
    let mut builder = Builder { made: Vec::new() };
    // SAFETY: the program's datatype, and a place for the new one.
    let unit = builder.make(|new| unsafe { abi::c_type_contiguous_c(element / size, datatype, new) })?;
    let whole = builder.elements(section.dimensions(), wanted, unit)?;
    // SAFETY: a type that was just made.
    let code = unsafe { abi::c_type_commit(&mut { whole }) };
    builder.free_all_but(whole);
    (code == abi::MPI_SUCCESS).then_some(whole)
}

/// Types on the way to the one that is wanted.
struct Builder {
    made: Vec<Handle>,
}

impl Builder {
    fn make(&mut self, make: impl FnOnce(*mut Handle) -> i32) -> Option<Handle> {
        // SAFETY: zeros are a value of handles in every ABI.
        let mut new: Handle = unsafe { std::mem::zeroed() };
        if make(&mut new) != abi::MPI_SUCCESS {
            return None;
        }
        self.made.push(new);
        Some(new)
    }

    /// The first so many elements of an array.
    fn elements(&mut self, dimensions: &[Dimension], wanted: i64, unit: Handle) -> Option<Handle> {
        let mut pieces = Vec::new();
        self.pieces(dimensions, wanted, unit, 0, &mut pieces)?;
        if let [(0, only)] = pieces[..] {
            return Some(only);
        }
        let lengths = vec![1_i64; pieces.len()];
        let places: Vec<i64> = pieces.iter().map(|(offset, _)| *offset).collect();
        let types: Vec<Handle> = pieces.iter().map(|(_, datatype)| *datatype).collect();
        let count = pieces.len() as i64;
        // SAFETY: three arrays of that length.
        self.make(|new| unsafe {
            abi::c_type_create_struct_c(count, lengths.as_ptr(), places.as_ptr(), types.as_ptr(), new)
        })
    }

    /// Whole slices of the last dimension, then what is left in the next one.
    fn pieces(
        &mut self,
        dimensions: &[Dimension],
        wanted: i64,
        unit: Handle,
        offset: i64,
        pieces: &mut Vec<Piece>,
    ) -> Option<()> {
        let Some((last, inner)) = dimensions.split_last().filter(|_| wanted > 0) else {
            if wanted > 0 {
                pieces.push((offset, unit));
            }
            return Some(());
        };
        let of_a_slice: i64 = inner.iter().map(|dimension| dimension.extent).product();
        let (slices, left) = (wanted / of_a_slice, wanted % of_a_slice);
        if slices > 0 {
            let slice = self.whole(inner, unit)?;
            let stride = last.stride;
            // SAFETY: types that were made here.
            let all =
                self.make(|new| unsafe { abi::c_type_create_hvector_c(slices, 1, stride, slice, new) })?;
            pieces.push((offset, all));
        }
        self.pieces(inner, left, unit, offset + slices * last.stride, pieces)
    }

    /// All elements of an array.
    fn whole(&mut self, dimensions: &[Dimension], unit: Handle) -> Option<Handle> {
        dimensions.iter().try_fold(unit, |inner, dimension| {
            let (extent, stride) = (dimension.extent, dimension.stride);
            // SAFETY: types that were made here.
            self.make(|new| unsafe { abi::c_type_create_hvector_c(extent, 1, stride, inner, new) })
        })
    }

    fn free_all_but(&mut self, kept: Handle) {
        for mut datatype in self.made.drain(..).filter(|datatype| *datatype != kept) {
            // SAFETY: a type that was made here.
            unsafe { abi::c_type_free(&mut datatype) };
        }
    }
}
