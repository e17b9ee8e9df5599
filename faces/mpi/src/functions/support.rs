//! What Fortran libraries ask of the C library beyond MPI: attributes that are integers, callbacks that are
//! Fortran's. The names are those of MPICH, whose own Fortran library works over ours by them.

use super::attribute::{self, of_communicator, of_datatype, of_window};
use super::keyval::{Keyvals, Proxies, OF_COMMUNICATORS, OF_DATATYPES, OF_WINDOWS};
use super::request::{generalized, hooks, present};
use crate::abi;
use crate::arguments::{not_null, OutValue};
use crate::callbacks::{CopyProxy, DeleteProxy};
use crate::objects::{Comm, Datatype, Win};
use serried_engine::request::RequestId;
use serried_engine::Result;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The program names an attribute in C.
const OF_C: c_int = 0;
/// It is an integer of Fortran's default kind.
const DEFAULT_INTEGER: c_int = 3;

/// The number that C has for a predefined attribute that Fortran names.
fn keyval_of_c(keyval: c_int, kind: c_int) -> c_int {
    let offset = abi::FORTRAN_KEYVALS;
    if kind != OF_C && attribute::is_predefined(keyval - offset) {
        return keyval - offset;
    }
    keyval
}

/// Stores what is cached, as wide as `kind` says.
fn tell(found: Option<usize>, attribute_val: *mut c_void, flag: OutValue<c_int>, kind: c_int) -> Result<()> {
    flag.set_flag(found.is_some());
    let Some(word) = found else { return Ok(()) };
    not_null("attribute_val", attribute_val)?;
    // SAFETY: the caller says by `kind` what lies there.
    unsafe {
        match kind {
            DEFAULT_INTEGER => attribute_val.cast::<c_int>().write_unaligned(word as c_int),
            _ => attribute_val.cast::<usize>().write_unaligned(word),
        }
    }
    Ok(())
}

/// What the program means by the word that it gives for an attribute.
fn word(attribute_val: *mut c_void, kind: c_int) -> usize {
    match kind {
        OF_C => attribute_val as usize,
        _ => attribute::integer::keep(attribute_val as i64),
    }
}

/// `MPI_Comm_get_attr` for a language.
pub fn mpii_comm_get_attr(
    comm: &Arc<Comm>,
    keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutValue<c_int>,
    kind: c_int,
) -> Result<()> {
    let found = of_communicator(comm, keyval_of_c(keyval, kind))?;
    tell(found.map(|found| found.seen(kind != OF_C)), attribute_val, flag, kind)
}

/// `MPI_Comm_set_attr` for a language.
pub fn mpii_comm_set_attr(
    comm: &Arc<Comm>,
    keyval: c_int,
    attribute_val: *mut c_void,
    kind: c_int,
) -> Result<()> {
    attribute::set_of_communicator(comm, keyval_of_c(keyval, kind), word(attribute_val, kind))
}

/// `MPI_Type_get_attr` for a language.
pub fn mpii_type_get_attr(
    datatype: &Arc<Datatype>,
    keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutValue<c_int>,
    kind: c_int,
) -> Result<()> {
    let found = of_datatype(datatype, keyval)?;
    tell(found.map(|found| found.seen(kind != OF_C)), attribute_val, flag, kind)
}

/// `MPI_Type_set_attr` for a language.
pub fn mpii_type_set_attr(
    datatype: &Arc<Datatype>,
    keyval: c_int,
    attribute_val: *mut c_void,
    kind: c_int,
) -> Result<()> {
    attribute::set_of_datatype(datatype, keyval, word(attribute_val, kind))
}

/// `MPI_Win_get_attr` for a language.
pub fn mpii_win_get_attr(
    win: &Arc<Win>,
    keyval: c_int,
    attribute_val: *mut c_void,
    flag: OutValue<c_int>,
    kind: c_int,
) -> Result<()> {
    let found = of_window(win, keyval_of_c(keyval, kind))?;
    tell(found.map(|found| found.seen(kind != OF_C)), attribute_val, flag, kind)
}

/// `MPI_Win_set_attr` for a language.
pub fn mpii_win_set_attr(
    win: &Arc<Win>,
    keyval: c_int,
    attribute_val: *mut c_void,
    kind: c_int,
) -> Result<()> {
    attribute::set_of_window(win, keyval_of_c(keyval, kind), word(attribute_val, kind))
}

/// The callbacks of a key are called by these functions from now on, which know the program's language.
pub fn mpii_keyval_set_proxy(keyval: c_int, copy: *const c_void, delete: *const c_void) -> Result<()> {
    not_null("copy_proxy", copy)?;
    not_null("delete_proxy", delete)?;
    // SAFETY: not null, and of these types by the contract of the caller.
    let proxies = unsafe {
        Proxies {
            copy: std::mem::transmute::<*const c_void, CopyProxy>(copy),
            delete: std::mem::transmute::<*const c_void, DeleteProxy>(delete),
        }
    };
    let all: [&Keyvals; 3] = [&OF_COMMUNICATORS, &OF_DATATYPES, &OF_WINDOWS];
    let keyvals = all.into_iter().find(|keyvals| keyvals.has(keyval)).unwrap_or(&OF_COMMUNICATORS);
    keyvals.set_proxies("keyval", keyval, proxies)
}

/// The function is called at each begin and end of the request's operation, and when the request is gone.
pub fn mpii_request_set_hook(
    request: Option<RequestId>,
    hook: *const c_void,
    extra_state: *mut c_void,
) -> Result<()> {
    not_null("hook", hook)?;
    // SAFETY: not null, and of this type by the contract of the caller.
    let hook = unsafe { std::mem::transmute::<*const c_void, hooks::Hook>(hook) };
    hooks::set(present(request)?, hook, extra_state);
    Ok(())
}

/// The callbacks of a generalized request have Fortran's arguments.
pub fn mpii_grequest_set_lang_f77(request: Option<RequestId>) -> Result<()> {
    generalized::is_fortran(present(request)?);
    Ok(())
}
