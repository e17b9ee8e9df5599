//! The start, which has no command line in Fortran; memory; what only Fortran has.

use super::report;
use crate::abi::{self, Status};
use crate::handles::{self, Place};
use crate::integers::{narrow, Cell, Fint};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

pub unsafe extern "C" fn init(ierror: *mut Fint) {
    report(ierror, abi::c_init(null_mut(), null_mut()));
}

pub unsafe extern "C" fn init_thread(required: *const Fint, provided: *mut Fint, ierror: *mut Fint) {
    let mut provided = Cell::new(provided);
    report(ierror, abi::c_init_thread(null_mut(), null_mut(), narrow(*required), provided.as_mut_ptr()));
    provided.store();
}

pub unsafe extern "C" fn pcontrol(level: *const Fint) {
    abi::c_pcontrol(narrow(*level));
}

pub unsafe extern "C" fn info_create_env(info: *mut Fint, ierror: *mut Fint) {
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
    info: *const Fint,
    base: *mut c_void,
    ierror: *mut Fint,
) {
    report(ierror, abi::c_alloc_mem(*size, handles::to_info(narrow(*info)), base));
}

macro_rules! allocate {
    ($($name:ident => $called:ident;)*) => {$(
        pub unsafe extern "C" fn $name(
            size: *const i64,
            unit: *const Fint,
            info: *const Fint,
            comm: *const Fint,
            base: *mut c_void,
            win: *mut Fint,
            ierror: *mut Fint,
        ) {
            let mut win_c = Place::empty(win);
            let (info, comm) = (handles::to_info(narrow(*info)), handles::to_comm(narrow(*comm)));
            let code = abi::$called(*size, narrow(*unit), info, comm, base, win_c.as_mut_ptr());
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
    win: *const Fint,
    rank: *const Fint,
    size: *mut i64,
    unit: *mut Fint,
    base: *mut c_void,
    ierror: *mut Fint,
) {
    let (win, rank, mut unit) = (handles::to_win(narrow(*win)), narrow(*rank), Cell::new(unit));
    report(ierror, abi::c_win_shared_query(win, rank, size, unit.as_mut_ptr(), base));
    unit.store();
}

/// Tells the compiler that a variable may have changed; there is nothing to do.
pub unsafe extern "C" fn f_sync_reg(_buf: *mut c_void) {}

/// A status is the same ints in both: an array, or the fields of a type.
pub unsafe extern "C" fn status_f2f08(from: *const Fint, to: *mut Fint, ierror: *mut Fint) {
    std::ptr::copy(from, to, size_of::<Status>() / size_of::<c_int>());
    report(ierror, abi::MPI_SUCCESS);
}

pub unsafe extern "C" fn status_f082f(from: *const Fint, to: *mut Fint, ierror: *mut Fint) {
    status_f2f08(from, to, ierror);
}
