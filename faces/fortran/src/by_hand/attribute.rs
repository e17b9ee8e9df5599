//! Attributes: their values are integers, and the program's callbacks get references (MPI-5.0 §7.7, §19.3.7).
//!
//! The C library knows of each key by what function its callbacks are called (`MPII_Keyval_set_proxy`), and of each
//! value that it is an integer of Fortran.

use super::report;
use crate::abi;
use crate::handles;
use crate::integers::{long, narrow, widen, Cell, Fint};
use std::ffi::{c_int, c_void};

/// An integer as wide as an address.
const ADDRESS: c_int = 1;
/// An integer of the default kind, which is an int of C or as wide as an address.
const DEFAULT: c_int = if size_of::<Fint>() == size_of::<i64>() { ADDRESS } else { 3 };

type CopyAddress =
    unsafe extern "C" fn(*const Fint, *const Fint, *const i64, *const i64, *mut i64, *mut Fint, *mut Fint);
type Delete = unsafe extern "C" fn(*const Fint, *const Fint, *const i64, *const i64, *mut Fint);

/// Calls the program's copy function. Its arguments are addresses, so those of default integers find the lower half,
/// and `is_default` says that only that of the copy is stored.
unsafe fn copy(
    function: *const c_void,
    object: c_int,
    keyval: c_int,
    (extra_state, value): (*mut c_void, *mut c_void),
    (copied, flag): (*mut *mut c_void, *mut c_int),
    is_default: bool,
) -> c_int {
    let function = std::mem::transmute::<*const c_void, CopyAddress>(function);
    let (extra_state, value) = (extra_state as i64, value as i64);
    let (mut copy, mut is_copied, mut code) = (0, widen(*flag), widen(abi::MPI_SUCCESS));
    let (object, keyval) = (widen(object), widen(keyval));
    function(&object, &keyval, &extra_state, &value, &mut copy, &mut is_copied, &mut code);
    flag.write(c_int::from(is_copied != 0));
    let copy = if is_default { long(copy as Fint) } else { copy };
    copied.write(copy as *mut c_void);
    narrow(code)
}

unsafe extern "C" fn copy_address(
    function: *const c_void,
    object: c_int,
    keyval: c_int,
    extra_state: *mut c_void,
    _language: c_int,
    value: *mut c_void,
    copied: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    copy(function, object, keyval, (extra_state, value), (copied, flag), false)
}

unsafe extern "C" fn copy_default(
    function: *const c_void,
    object: c_int,
    keyval: c_int,
    extra_state: *mut c_void,
    _language: c_int,
    value: *mut c_void,
    copied: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    copy(function, object, keyval, (extra_state, value), (copied, flag), true)
}

/// Calls the program's delete function.
unsafe extern "C" fn delete(
    function: *const c_void,
    object: c_int,
    keyval: c_int,
    _language: c_int,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int {
    let function = std::mem::transmute::<*const c_void, Delete>(function);
    let (extra_state, value, mut code) = (extra_state as i64, value as i64, widen(abi::MPI_SUCCESS));
    function(&widen(object), &widen(keyval), &value, &extra_state, &mut code);
    narrow(code)
}

/// After a key was made: its callbacks are called as Fortran's.
unsafe fn made(code: c_int, keyval: &Cell, copy: *const c_void, ierror: *mut Fint) {
    keyval.store();
    let proxied = match code == abi::MPI_SUCCESS {
        true => abi::c_mpii_keyval_set_proxy(keyval.get(), copy, delete as *const c_void),
        false => code,
    };
    report(ierror, proxied);
}

macro_rules! keyvals {
    ($($create:ident => $called:ident, $set:ident => $set_called:ident, $get:ident => $get_called:ident, $to:ident;)*) => {$(
        pub unsafe extern "C" fn $create(
            copy: *const c_void,
            delete: *const c_void,
            keyval: *mut Fint,
            extra_state: *const i64,
            ierror: *mut Fint,
        ) {
            let mut keyval = Cell::new(keyval);
            let code = abi::$called(copy, delete, keyval.as_mut_ptr(), *extra_state as *mut c_void);
            made(code, &keyval, copy_address as *const c_void, ierror);
        }

        pub unsafe extern "C" fn $set(object: *const Fint, keyval: *const Fint, value: *const i64, ierror: *mut Fint) {
            report(ierror, abi::$set_called(handles::$to(narrow(*object)), narrow(*keyval), *value as *mut c_void, ADDRESS));
        }

        pub unsafe extern "C" fn $get(
            object: *const Fint,
            keyval: *const Fint,
            value: *mut i64,
            flag: *mut Fint,
            ierror: *mut Fint,
        ) {
            let (object, keyval, mut flag) = (handles::$to(narrow(*object)), narrow(*keyval), Cell::new(flag));
            report(ierror, abi::$get_called(object, keyval, value.cast(), flag.as_mut_ptr(), ADDRESS));
            flag.store();
        }
    )*};
}

keyvals! {
    comm_create_keyval => c_comm_create_keyval, comm_set_attr => c_mpii_comm_set_attr, comm_get_attr => c_mpii_comm_get_attr, to_comm;
    type_create_keyval => c_type_create_keyval, type_set_attr => c_mpii_type_set_attr, type_get_attr => c_mpii_type_get_attr, to_datatype;
    win_create_keyval => c_win_create_keyval, win_set_attr => c_mpii_win_set_attr, win_get_attr => c_mpii_win_get_attr, to_win;
}

// The same as MPI-1 had them, with integers of the default kind.

pub unsafe extern "C" fn keyval_create(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut Fint,
    extra_state: *const Fint,
    ierror: *mut Fint,
) {
    let mut keyval = Cell::new(keyval);
    let extra_state = *extra_state as isize as *mut c_void;
    let code = abi::c_comm_create_keyval(copy, delete, keyval.as_mut_ptr(), extra_state);
    made(code, &keyval, copy_default as *const c_void, ierror);
}

pub unsafe extern "C" fn attr_put(
    comm: *const Fint,
    keyval: *const Fint,
    value: *const Fint,
    ierror: *mut Fint,
) {
    let (comm, keyval) = (handles::to_comm(narrow(*comm)), narrow(*keyval));
    report(ierror, abi::c_mpii_comm_set_attr(comm, keyval, *value as isize as *mut c_void, DEFAULT));
}

pub unsafe extern "C" fn attr_get(
    comm: *const Fint,
    keyval: *const Fint,
    value: *mut Fint,
    flag: *mut Fint,
    ierror: *mut Fint,
) {
    let (comm, keyval, mut flag) = (handles::to_comm(narrow(*comm)), narrow(*keyval), Cell::new(flag));
    report(ierror, abi::c_mpii_comm_get_attr(comm, keyval, value.cast(), flag.as_mut_ptr(), DEFAULT));
    flag.store();
}

macro_rules! predefined {
    ($($duplicate:ident $null_copy:ident $null_delete:ident $integer:ty;)*) => {$(
        pub unsafe extern "C" fn $duplicate(
            _object: *const Fint,
            _keyval: *const Fint,
            _extra_state: *const $integer,
            value: *const $integer,
            copy: *mut $integer,
            flag: *mut Fint,
            ierror: *mut Fint,
        ) {
            copy.write(*value);
            flag.write(1);
            report(ierror, abi::MPI_SUCCESS);
        }

        pub unsafe extern "C" fn $null_copy(
            _object: *const Fint,
            _keyval: *const Fint,
            _extra_state: *const $integer,
            _value: *const $integer,
            _copy: *mut $integer,
            flag: *mut Fint,
            ierror: *mut Fint,
        ) {
            flag.write(0);
            report(ierror, abi::MPI_SUCCESS);
        }

        pub unsafe extern "C" fn $null_delete(
            _object: *const Fint,
            _keyval: *const Fint,
            _value: *const $integer,
            _extra_state: *const $integer,
            ierror: *mut Fint,
        ) {
            report(ierror, abi::MPI_SUCCESS);
        }
    )*};
}

predefined! {
    comm_dup_fn comm_null_copy_fn comm_null_delete_fn i64;
    type_dup_fn type_null_copy_fn type_null_delete_fn i64;
    win_dup_fn win_null_copy_fn win_null_delete_fn i64;
    dup_fn null_copy_fn null_delete_fn Fint;
}
