//! Strings whose room the program says in another argument: in C that counts the final 0, in Fortran there is none
//! (MPI-5.0 §10, §11.3). And the name of a data representation. Strings come as places and their lengths; `plain.rs` and
//! `bound.rs` have the routines for each way in which compilers pass them.

use super::{callback, report};
use crate::abi;
use crate::handles;
use crate::integers::{narrow, widen, Cell, Fint};
use crate::text::{self, Out, Place};
use std::ffi::{c_int, c_void};

pub unsafe fn info_get(
    info: *const Fint,
    key: Place,
    valuelen: *const Fint,
    value: Place,
    flag: *mut Fint,
    ierror: *mut Fint,
) {
    let key = text::stripped(key);
    let (info, valuelen, mut flag) = (handles::to_info(narrow(*info)), narrow(*valuelen), Cell::new(flag));
    let mut value = Out::with_room(value, usize::try_from(valuelen).unwrap_or(0) + 1);
    let code = abi::c_info_get(info, key.as_ptr(), valuelen, value.as_mut_ptr(), flag.as_mut_ptr());
    flag.store();
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

pub unsafe fn info_get_string(
    info: *const Fint,
    key: Place,
    buflen: *mut Fint,
    value: Place,
    flag: *mut Fint,
    ierror: *mut Fint,
) {
    let key = text::stripped(key);
    let (mut room, mut flag) = (room_of_c(narrow(*buflen)), Cell::new(flag));
    let mut value = Out::with_room(value, usize::try_from(room).unwrap_or(0));
    let (info, place) = (handles::to_info(narrow(*info)), value.as_mut_ptr());
    let code = abi::c_info_get_string(info, key.as_ptr(), &mut room, place, flag.as_mut_ptr());
    flag.store();
    if code == abi::MPI_SUCCESS && flag.get() != 0 {
        buflen.write(widen(room - 1));
        value.put();
    }
    report(ierror, code);
}

pub unsafe fn session_get_nth_pset(
    session: *const Fint,
    info: *const Fint,
    n: *const Fint,
    pset_len: *mut Fint,
    pset_name: Place,
    ierror: *mut Fint,
) {
    let mut room = room_of_c(narrow(*pset_len));
    let mut name = Out::with_room(pset_name, usize::try_from(room).unwrap_or(0));
    let (session, info) = (handles::to_session(narrow(*session)), handles::to_info(narrow(*info)));
    let code = abi::c_session_get_nth_pset(session, info, narrow(*n), &mut room, name.as_mut_ptr());
    if code == abi::MPI_SUCCESS {
        pset_len.write(widen(room - 1));
        name.put();
    }
    report(ierror, code);
}

pub unsafe fn register_datarep(
    datarep: Place,
    functions: [*const c_void; 3],
    extra_state: *const i64,
    ierror: *mut Fint,
    large: bool,
) {
    let name = text::trimmed(datarep);
    let ([read, write, extent], given) =
        callback::representation(functions, extra_state, callback::conversions(large));
    let code = match large {
        true => abi::c_register_datarep_c(name.as_ptr(), read, write, extent, given),
        false => abi::c_register_datarep(name.as_ptr(), read, write, extent, given),
    };
    report(ierror, code);
}
