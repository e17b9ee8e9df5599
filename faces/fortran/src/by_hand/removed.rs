//! What MPI-3.0 has removed: addresses in integers of the default kind, which hold the lower half. Programs that
//! still have it only use differences.

use super::report;
use crate::abi;
use crate::handles::{self, Array, Place};
use crate::integers::{long, narrow, Fint, Ints};
use crate::special;
use std::ffi::{c_int, c_void};

pub unsafe extern "C" fn address(location: *mut c_void, address: *mut Fint, ierror: *mut Fint) {
    let mut found = 0;
    let code = abi::c_get_address(special::buffer(location), &mut found);
    address.write(found as Fint);
    report(ierror, code);
}

/// So many integers, as C has them.
#[allow(clippy::useless_conversion)] // where integers have 8 bytes
unsafe fn widened(first: *const Fint, count: *const Fint) -> Vec<i64> {
    (0..usize::try_from(*count).unwrap_or(0)).map(|index| i64::from(*first.add(index))).collect()
}

unsafe fn put_type(
    mut place: Place<abi::Handle>,
    ierror: *mut Fint,
    make: impl FnOnce(*mut abi::Handle) -> c_int,
) {
    let code = make(place.as_mut_ptr());
    if code == abi::MPI_SUCCESS {
        place.store(handles::from_datatype);
    }
    report(ierror, code);
}

pub unsafe extern "C" fn type_hindexed(
    count: *const Fint,
    lengths: *const Fint,
    displacements: *const Fint,
    oldtype: *const Fint,
    newtype: *mut Fint,
    ierror: *mut Fint,
) {
    let (displacements, count, old) = (widened(displacements, count), narrow(*count), narrow(*oldtype));
    let mut lengths = Ints::new(lengths.cast_mut(), i64::from(count));
    put_type(Place::empty(newtype), ierror, |made| {
        let (lengths, old) = (lengths.as_mut_ptr(), handles::to_datatype(old));
        abi::c_type_create_hindexed(count, lengths, displacements.as_ptr(), old, made)
    });
}

pub unsafe extern "C" fn type_hvector(
    count: *const Fint,
    length: *const Fint,
    stride: *const Fint,
    oldtype: *const Fint,
    newtype: *mut Fint,
    ierror: *mut Fint,
) {
    put_type(Place::empty(newtype), ierror, |made| {
        let old = handles::to_datatype(narrow(*oldtype));
        abi::c_type_create_hvector(narrow(*count), narrow(*length), long(*stride), old, made)
    });
}

pub unsafe extern "C" fn type_struct(
    count: *const Fint,
    lengths: *const Fint,
    displacements: *const Fint,
    types: *mut Fint,
    newtype: *mut Fint,
    ierror: *mut Fint,
) {
    let (displacements, count) = (widened(displacements, count), narrow(*count));
    let mut lengths = Ints::new(lengths.cast_mut(), i64::from(count));
    let mut types = Array::new(types, i64::from(count), handles::to_datatype);
    put_type(Place::empty(newtype), ierror, |made| {
        let (lengths, types) = (lengths.as_mut_ptr(), types.as_mut_ptr());
        abi::c_type_create_struct(count, lengths, displacements.as_ptr(), types, made)
    });
}

/// Lower bound and extent.
unsafe fn bounds(datatype: *const Fint) -> (c_int, i64, i64) {
    let (mut lower, mut extent) = (0, 0);
    let code = abi::c_type_get_extent(handles::to_datatype(narrow(*datatype)), &mut lower, &mut extent);
    (code, lower, extent)
}

pub unsafe extern "C" fn type_extent(datatype: *const Fint, extent: *mut Fint, ierror: *mut Fint) {
    let (code, _, found) = bounds(datatype);
    extent.write(found as Fint);
    report(ierror, code);
}

pub unsafe extern "C" fn type_lb(datatype: *const Fint, displacement: *mut Fint, ierror: *mut Fint) {
    let (code, lower, _) = bounds(datatype);
    displacement.write(lower as Fint);
    report(ierror, code);
}

pub unsafe extern "C" fn type_ub(datatype: *const Fint, displacement: *mut Fint, ierror: *mut Fint) {
    let (code, lower, extent) = bounds(datatype);
    displacement.write((lower + extent) as Fint);
    report(ierror, code);
}
