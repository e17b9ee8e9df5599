//! Addresses that mean something: a sentinel of Fortran is a variable at a place that everybody knows, and C has a
//! value of its own for it.

use crate::abi;
use std::ffi::{c_int, c_void};

/// A buffer: `MPI_BOTTOM`, `MPI_IN_PLACE` and `MPI_BUFFER_AUTOMATIC` become C's.
#[inline]
pub fn buffer(place: *mut c_void) -> *mut c_void {
    if abi::is_in_place(place) {
        return abi::in_place();
    }
    if abi::is_bottom(place) {
        return abi::bottom();
    }
    if abi::is_buffer_automatic(place) {
        return abi::buffer_automatic();
    }
    place
}

/// A status, which has the same ints in Fortran as in C: `MPI_STATUS_IGNORE` becomes C's.
#[inline]
pub fn status(place: *mut c_int) -> *mut abi::Status {
    if abi::is_status_ignore(place.cast()) {
        return abi::status_ignore().cast();
    }
    place.cast()
}

/// An array of statuses. Programs that pass the sentinel for one status mean that for several.
#[inline]
pub fn statuses(place: *mut c_int) -> *mut abi::Status {
    if abi::is_statuses_ignore(place.cast()) || abi::is_status_ignore(place.cast()) {
        return abi::statuses_ignore().cast();
    }
    place.cast()
}

/// An array of integers: weights and error codes may be sentinels.
#[inline]
pub fn ints(place: *mut c_int) -> *mut c_int {
    let address = place.cast();
    if abi::is_unweighted(address) {
        return abi::unweighted().cast();
    }
    if abi::is_weights_empty(address) {
        return abi::weights_empty().cast();
    }
    if abi::is_errcodes_ignore(address) {
        return abi::errcodes_ignore().cast();
    }
    place
}
