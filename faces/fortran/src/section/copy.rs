//! A contiguous copy of the elements of a section.

use super::{Dimension, Section};
use crate::abi::{self, Handle};
use std::ffi::{c_int, c_void};

/// What C gets of a section: its address, or that of a copy.
pub struct Copied {
    section: Section,
    /// Words, so that any element is aligned.
    copy: Option<Box<[u128]>>,
}

/// Copies that live as long as a request, and whether the call fills them.
pub struct Kept(Vec<(Copied, bool)>);

impl Copied {
    /// Copies the elements, unless they lie one behind the other.
    ///
    /// # Safety
    /// They can be read.
    #[inline]
    pub unsafe fn new(section: Section) -> Copied {
        if section.is_contiguous() {
            return Copied { section, copy: None };
        }
        // SAFETY: by the contract.
        unsafe { Copied::of_scattered(section) }
    }

    #[cold]
    unsafe fn of_scattered(section: Section) -> Copied {
        let bytes = section.elements() * section.element;
        let mut copied = Copied { section, copy: Some(vec![0; bytes.div_ceil(16)].into_boxed_slice()) };
        // SAFETY: by the contract.
        unsafe { copied.read_again() };
        copied
    }

    /// Whether this is a copy.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// What C gets.
    #[inline]
    pub fn address(&mut self) -> *mut c_void {
        match &mut self.copy {
            None => self.section.address(),
            Some(copy) => copy.as_mut_ptr().cast(),
        }
    }

    /// Copies the elements again.
    ///
    /// # Safety
    /// They can be read.
    pub unsafe fn read_again(&mut self) {
        if let Some(copy) = &mut self.copy {
            let to: *mut u8 = copy.as_mut_ptr().cast();
            // SAFETY: by the contract, and the copy has room for all.
            unsafe {
                each(&self.section, |element, place, bytes| {
                    place_of(to, element).copy_from_nonoverlapping(place, bytes)
                })
            };
        }
    }

    /// Fills the section with what the copy has.
    ///
    /// # Safety
    /// The elements can be written.
    pub unsafe fn put_back(&self) {
        if let Some(copy) = &self.copy {
            let from: *const u8 = copy.as_ptr().cast();
            // SAFETY: by the contract, and the copy has all.
            unsafe {
                each(&self.section, |element, place, bytes| {
                    place.copy_from_nonoverlapping(from.add(element), bytes)
                })
            };
        }
    }
}

unsafe fn place_of(first: *mut u8, offset: usize) -> *mut u8 {
    // SAFETY: by the contract of its caller.
    unsafe { first.add(offset) }
}

impl Kept {
    /// Keeps copies until a request is gone; each that the call fills is put back when its operation ends, and all are
    /// made again when a persistent one begins.
    ///
    /// # Safety
    /// The sections live as long as MPI says for such a request.
    pub unsafe fn until_gone<const COUNT: usize>(copies: [(Copied, bool); COUNT], request: Handle) {
        let copies: Vec<_> = copies.into_iter().filter(|(copied, _)| copied.is_copy()).collect();
        if !copies.is_empty() {
            let kept = Box::into_raw(Box::new(Kept(copies)));
            // SAFETY: the hook is of that type, and the word is its own.
            unsafe { abi::c_mpii_request_set_hook(request, happened as *const c_void, kept.cast()) };
        }
    }
}

/// Something happens to a request that has copies (`faces/mpi/src/functions/request/hooks.rs`).
unsafe extern "C" fn happened(kept: *mut c_void, event: c_int) {
    const BEGIN: c_int = 0;
    const END: c_int = 1;
    let kept: *mut Kept = kept.cast();
    // SAFETY: the word of `until_gone`, which is there until the last event; the sections live by its contract.
    unsafe {
        match event {
            BEGIN => (*kept).0.iter_mut().for_each(|(copied, _)| copied.read_again()),
            END => (*kept).0.iter().filter(|(_, filled)| *filled).for_each(|(copied, _)| copied.put_back()),
            _ => drop(Box::from_raw(kept)),
        }
    }
}

/// Calls `visit` for each run of elements: its offset in the copy, its place in the section, its bytes.
///
/// # Safety
/// `visit` may do with the elements what it does.
unsafe fn each(section: &Section, mut visit: impl FnMut(usize, *mut u8, usize)) {
    let dimensions = section.dimensions();
    let (run, outer) = match dimensions.split_first() {
        Some((first, rest)) if first.stride == section.element as i64 => {
            (section.element * first.extent.max(0) as usize, rest)
        }
        _ => (section.element, dimensions),
    };
    let mut offset = 0;
    let total = section.elements() * section.element;
    let mut index = [0_i64; super::MOST_DIMENSIONS];
    let mut place: *mut u8 = section.base.cast();
    while offset < total {
        visit(offset, place, run);
        offset += run;
        place = advance(outer, &mut index, place);
    }
}

/// The next place: the first dimension turns quickest.
fn advance(outer: &[Dimension], index: &mut [i64], mut place: *mut u8) -> *mut u8 {
    for (dimension, index) in outer.iter().zip(index) {
        *index += 1;
        place = place.wrapping_offset(dimension.stride as isize);
        if *index < dimension.extent {
            return place;
        }
        place = place.wrapping_offset(-(dimension.stride * dimension.extent) as isize);
        *index = 0;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::super::tests::section;
    use super::*;

    #[test]
    fn a_copy_has_the_elements_in_order_and_goes_back_to_its_places() {
        // a(10, 4): every third of the rows from the second on, the columns 4 and 2.
        let mut array: Vec<i32> = (0..40).collect();
        let base: *mut c_void = array.as_mut_ptr().wrapping_add(1 + 30).cast();
        let rows = section(base, 4, &[(3, 12), (2, -80)]);
        // SAFETY: the section lies in the array.
        unsafe {
            let mut copied = Copied::new(rows);
            let copy = std::slice::from_raw_parts_mut(copied.address().cast::<i32>(), 6);
            assert_eq!(copy, [31, 34, 37, 11, 14, 17]);
            copy.iter_mut().for_each(|value| *value = -*value);
            copied.put_back();
            assert_eq!(
                (array[31], array[17], array[32], array.iter().filter(|value| **value < 0).count()),
                (-31, -17, 32, 6)
            );
        }
    }

    #[test]
    fn runs_of_the_first_dimension_are_copied_at_once() {
        let mut array: Vec<u16> = (0..60).collect();
        // a(2:4, :, 2) of a(5, 4, 3).
        let block = section(array.as_mut_ptr().wrapping_add(1 + 20).cast(), 2, &[(3, 2), (4, 10)]);
        let mut runs = 0;
        // SAFETY: nothing is touched.
        unsafe { each(&block, |_, _, bytes| (runs, _) = (runs + 1, assert_eq!(bytes, 6))) };
        assert_eq!(runs, 4);
        // SAFETY: the section lies in the array.
        let mut copied = unsafe { Copied::new(block) };
        // SAFETY: twelve elements.
        let copy = unsafe { std::slice::from_raw_parts(copied.address().cast::<u16>(), 12) };
        assert_eq!(copy[..7], [21, 22, 23, 26, 27, 28, 31]);
    }

    #[test]
    fn a_contiguous_section_is_not_copied() {
        let mut array = [1_u8; 8];
        // SAFETY: the section is the array.
        let mut copied = unsafe { Copied::new(section(array.as_mut_ptr().cast(), 1, &[(8, 1)])) };
        assert_eq!((copied.is_copy(), copied.address()), (false, array.as_mut_ptr().cast()));
    }
}
