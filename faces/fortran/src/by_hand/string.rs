//! Strings whose room the program says in another argument: in C that counts the final 0, in Fortran there is none
//! (MPI-5.0 §10, §11.3). And the name of a data representation.

use super::{callback, report};
use crate::abi;
use crate::handles;
use crate::text::{self, Out};
use std::ffi::{c_char, c_int, c_void};

pub unsafe extern "C" fn info_get(
    info: *const c_int,
    key: *const c_char,
    valuelen: *const c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    let key = text::stripped((key, key_length));
    let mut value = Out::with_room((value, value_length), usize::try_from(*valuelen).unwrap_or(0) + 1);
    let code = abi::c_info_get(handles::to_info(*info), key.as_ptr(), *valuelen, value.as_mut_ptr(), flag);
    if code == abi::MPI_SUCCESS {
        value.put();
    }
    report(ierror, code);
}

/// The room that C is told, and back.
fn room_of_c(length: c_int) -> c_int {
    if length > 0 {
        length.saturating_add(1)
    } else {
        length
    }
}

pub unsafe extern "C" fn info_get_string(
    info: *const c_int,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    let key = text::stripped((key, key_length));
    let mut room = room_of_c(*buflen);
    let mut value = Out::with_room((value, value_length), usize::try_from(room).unwrap_or(0));
    let code =
        abi::c_info_get_string(handles::to_info(*info), key.as_ptr(), &mut room, value.as_mut_ptr(), flag);
    if code == abi::MPI_SUCCESS && *flag != 0 {
        buflen.write(room - 1);
        value.put();
    }
    report(ierror, code);
}

pub unsafe extern "C" fn session_get_nth_pset(
    session: *const c_int,
    info: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
    ierror: *mut c_int,
    name_length: usize,
) {
    let mut room = room_of_c(*pset_len);
    let mut name = Out::with_room((pset_name, name_length), usize::try_from(room).unwrap_or(0));
    let (session, info) = (handles::to_session(*session), handles::to_info(*info));
    let code = abi::c_session_get_nth_pset(session, info, *n, &mut room, name.as_mut_ptr());
    if code == abi::MPI_SUCCESS {
        pset_len.write(room - 1);
        name.put();
    }
    report(ierror, code);
}

pub unsafe extern "C" fn register_datarep(
    datarep: *const c_char,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut c_int,
    length: usize,
) {
    let name = text::trimmed((datarep, length));
    let ([read, write, extent], given) =
        callback::representation([read, write, extent], extra_state, callback::conversions(false));
    report(ierror, abi::c_register_datarep(name.as_ptr(), read, write, extent, given));
}

pub unsafe extern "C" fn register_datarep_c(
    datarep: *const c_char,
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *const i64,
    ierror: *mut c_int,
    length: usize,
) {
    let name = text::trimmed((datarep, length));
    let ([read, write, extent], given) =
        callback::representation([read, write, extent], extra_state, callback::conversions(true));
    report(ierror, abi::c_register_datarep_c(name.as_ptr(), read, write, extent, given));
}
