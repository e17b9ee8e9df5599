//! The start, which has no command line in Fortran; memory; what only Fortran has.

use super::report;
use crate::abi::{self, Status};
use crate::handles::{self, Place};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

pub unsafe extern "C" fn init(ierror: *mut c_int) {
    report(ierror, abi::c_init(null_mut(), null_mut()));
}

pub unsafe extern "C" fn init_thread(required: *const c_int, provided: *mut c_int, ierror: *mut c_int) {
    report(ierror, abi::c_init_thread(null_mut(), null_mut(), *required, provided));
}

pub unsafe extern "C" fn pcontrol(level: *const c_int) {
    abi::c_pcontrol(*level);
}

pub unsafe extern "C" fn info_create_env(info: *mut c_int, ierror: *mut c_int) {
    let mut info_c = Place::empty(info);
    let code = abi::c_info_create_env(0, null_mut(), info_c.as_mut_ptr());
    if code == abi::MPI_SUCCESS {
        info_c.store(handles::from_info);
    }
    report(ierror, code);
}

/// `MPI_Alloc_mem` with a `TYPE(C_PTR)`, which lies in memory as the integer does.
pub unsafe extern "C" fn alloc_mem_cptr(
    size: *const i64,
    info: *const c_int,
    base: *mut c_void,
    ierror: *mut c_int,
) {
    report(ierror, abi::c_alloc_mem(*size, handles::to_info(*info), base));
}

macro_rules! allocate {
    ($($name:ident => $called:ident;)*) => {$(
        pub unsafe extern "C" fn $name(
            size: *const i64,
            unit: *const c_int,
            info: *const c_int,
            comm: *const c_int,
            base: *mut c_void,
            win: *mut c_int,
            ierror: *mut c_int,
        ) {
            let mut win_c = Place::empty(win);
            let (info, comm) = (handles::to_info(*info), handles::to_comm(*comm));
            let code = abi::$called(*size, *unit, info, comm, base, win_c.as_mut_ptr());
            if code == abi::MPI_SUCCESS {
                win_c.store(handles::from_win);
            }
            report(ierror, code);
        }
    )*};
}

allocate! {
    win_allocate_cptr => c_win_allocate;
    win_allocate_shared_cptr => c_win_allocate_shared;
}

pub unsafe extern "C" fn win_shared_query_cptr(
    win: *const c_int,
    rank: *const c_int,
    size: *mut i64,
    unit: *mut c_int,
    base: *mut c_void,
    ierror: *mut c_int,
) {
    report(ierror, abi::c_win_shared_query(handles::to_win(*win), *rank, size, unit, base));
}

/// Tells the compiler that a variable may have changed; there is nothing to do.
pub unsafe extern "C" fn f_sync_reg(_buf: *mut c_void) {}

/// A status is the same ints in both: an array, or the fields of a type.
pub unsafe extern "C" fn status_f2f08(from: *const c_int, to: *mut c_int, ierror: *mut c_int) {
    std::ptr::copy(from, to, size_of::<Status>() / size_of::<c_int>());
    report(ierror, abi::MPI_SUCCESS);
}

pub unsafe extern "C" fn status_f082f(from: *const c_int, to: *mut c_int, ierror: *mut c_int) {
    status_f2f08(from, to, ierror);
}
