//! What MPI-3.0 has removed: addresses in integers of the default kind, which hold the lower half. Programs that
//! still have it only use differences.

use super::report;
use crate::abi;
use crate::handles::{self, Array, Place};
use crate::special;
use std::ffi::{c_int, c_void};

pub unsafe extern "C" fn address(location: *mut c_void, address: *mut c_int, ierror: *mut c_int) {
    let mut found = 0;
    let code = abi::c_get_address(special::buffer(location), &mut found);
    address.write(found as c_int);
    report(ierror, code);
}

/// So many integers, as C has them.
unsafe fn widened(first: *const c_int, count: *const c_int) -> Vec<i64> {
    (0..usize::try_from(*count).unwrap_or(0)).map(|index| i64::from(*first.add(index))).collect()
}

unsafe fn put_type(
    mut place: Place<abi::Handle>,
    ierror: *mut c_int,
    make: impl FnOnce(*mut abi::Handle) -> c_int,
) {
    let code = make(place.as_mut_ptr());
    if code == abi::MPI_SUCCESS {
        place.store(handles::from_datatype);
    }
    report(ierror, code);
}

pub unsafe extern "C" fn type_hindexed(
    count: *const c_int,
    lengths: *const c_int,
    displacements: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    let displacements = widened(displacements, count);
    put_type(Place::empty(newtype), ierror, |made| {
        abi::c_type_create_hindexed(
            *count,
            lengths,
            displacements.as_ptr(),
            handles::to_datatype(*oldtype),
            made,
        )
    });
}

pub unsafe extern "C" fn type_hvector(
    count: *const c_int,
    length: *const c_int,
    stride: *const c_int,
    oldtype: *const c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    put_type(Place::empty(newtype), ierror, |made| {
        abi::c_type_create_hvector(*count, *length, i64::from(*stride), handles::to_datatype(*oldtype), made)
    });
}

pub unsafe extern "C" fn type_struct(
    count: *const c_int,
    lengths: *const c_int,
    displacements: *const c_int,
    types: *mut c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    let displacements = widened(displacements, count);
    let mut types = Array::new(types, i64::from(*count), handles::to_datatype);
    put_type(Place::empty(newtype), ierror, |made| {
        abi::c_type_create_struct(*count, lengths, displacements.as_ptr(), types.as_mut_ptr(), made)
    });
}

/// Lower bound and extent.
unsafe fn bounds(datatype: *const c_int) -> (c_int, i64, i64) {
    let (mut lower, mut extent) = (0, 0);
    let code = abi::c_type_get_extent(handles::to_datatype(*datatype), &mut lower, &mut extent);
    (code, lower, extent)
}

pub unsafe extern "C" fn type_extent(datatype: *const c_int, extent: *mut c_int, ierror: *mut c_int) {
    let (code, _, found) = bounds(datatype);
    extent.write(found as c_int);
    report(ierror, code);
}

pub unsafe extern "C" fn type_lb(datatype: *const c_int, displacement: *mut c_int, ierror: *mut c_int) {
    let (code, lower, _) = bounds(datatype);
    displacement.write(lower as c_int);
    report(ierror, code);
}

pub unsafe extern "C" fn type_ub(datatype: *const c_int, displacement: *mut c_int, ierror: *mut c_int) {
    let (code, lower, extent) = bounds(datatype);
    displacement.write((lower + extent) as c_int);
    report(ierror, code);
}
