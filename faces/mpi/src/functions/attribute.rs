//! Attributes on communicators, datatypes and windows (MPI-5.0 §7.7, §9.1.2, §12.2.6, §16.1).

use super::communicator::owner;
use super::keyval::{with_callbacks, Keyvals, OF_COMMUNICATORS, OF_DATATYPES, OF_WINDOWS};
use crate::arguments::{not_null, OutValue};
use crate::entry::engine;
use crate::handle::{Handle, DATATYPES, WINS};
use crate::objects::{Comm, Datatype, Win};
use crate::{abi, codes};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::Arc;

type Pointer = *mut c_void;

fn create(
    keyvals: &'static Keyvals,
    copy: *const c_void,
    delete: *const c_void,
    keyval: OutValue<c_int>,
    extra_state: Pointer,
) -> Result<()> {
    keyval.set(keyvals.add(|number| with_callbacks(number, copy, delete, extra_state))?);
    Ok(())
}

fn free(keyvals: &Keyvals, name: &str, keyval: OutValue<c_int>) -> Result<()> {
    keyvals.free(name, keyval.get())?;
    keyval.set(abi::MPI_KEYVAL_INVALID);
    Ok(())
}

/// Stores a word, if there is one, where `attribute_val` points.
fn tell(found: Option<usize>, attribute_val: Pointer, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(found.is_some());
    if let Some(found) = found {
        not_null("attribute_val", attribute_val)?;
        // SAFETY: MPI says that `attribute_val` is the address of a pointer.
        unsafe { attribute_val.cast::<usize>().write_unaligned(found) };
    }
    Ok(())
}

/// `MPI_Comm_create_keyval`.
pub fn comm_create_keyval(
    comm_copy_attr_fn: *const c_void,
    comm_delete_attr_fn: *const c_void,
    comm_keyval: OutValue<c_int>,
    extra_state: Pointer,
) -> Result<()> {
    create(&OF_COMMUNICATORS, comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state)
}

/// `MPI_Comm_free_keyval`.
pub fn comm_free_keyval(comm_keyval: OutValue<c_int>) -> Result<()> {
    free(&OF_COMMUNICATORS, "comm_keyval", comm_keyval)
}

/// `MPI_Comm_set_attr`.
pub fn comm_set_attr(comm: &Arc<Comm>, comm_keyval: c_int, attribute_val: Pointer) -> Result<()> {
    check_changeable(comm_keyval, predefined(comm_keyval)?.is_some())?;
    let keyval = OF_COMMUNICATORS.get("comm_keyval", comm_keyval)?;
    comm.attributes.set(owner(comm), &keyval, attribute_val as usize)
}

/// `MPI_Comm_get_attr`.
pub fn comm_get_attr(
    comm: &Arc<Comm>,
    comm_keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    let found = match predefined(comm_keyval)? {
        Some(address) => Some(address as usize),
        None => comm.attributes.get(&OF_COMMUNICATORS.get("comm_keyval", comm_keyval)?),
    };
    tell(found, attribute_val, flag)
}

/// `MPI_Comm_delete_attr`.
pub fn comm_delete_attr(comm: &Arc<Comm>, comm_keyval: c_int) -> Result<()> {
    check_changeable(comm_keyval, predefined(comm_keyval)?.is_some())?;
    comm.attributes.delete(owner(comm), &OF_COMMUNICATORS.get("comm_keyval", comm_keyval)?)
}

/// `MPI_Keyval_create` (deprecated).
pub fn keyval_create(
    copy_fn: *const c_void,
    delete_fn: *const c_void,
    keyval: OutValue<c_int>,
    extra_state: Pointer,
) -> Result<()> {
    comm_create_keyval(copy_fn, delete_fn, keyval, extra_state)
}

/// `MPI_Keyval_free` (deprecated).
pub fn keyval_free(keyval: OutValue<c_int>) -> Result<()> {
    comm_free_keyval(keyval)
}

/// `MPI_Attr_put` (deprecated).
pub fn attr_put(comm: &Arc<Comm>, keyval: c_int, attribute_val: Pointer) -> Result<()> {
    comm_set_attr(comm, keyval, attribute_val)
}

/// `MPI_Attr_get` (deprecated).
pub fn attr_get(
    comm: &Arc<Comm>,
    keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    comm_get_attr(comm, keyval, attribute_val, flag)
}

/// `MPI_Attr_delete` (deprecated).
pub fn attr_delete(comm: &Arc<Comm>, keyval: c_int) -> Result<()> {
    comm_delete_attr(comm, keyval)
}

/// `MPI_Type_create_keyval`.
pub fn type_create_keyval(
    type_copy_attr_fn: *const c_void,
    type_delete_attr_fn: *const c_void,
    type_keyval: OutValue<c_int>,
    extra_state: Pointer,
) -> Result<()> {
    create(&OF_DATATYPES, type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state)
}

/// `MPI_Type_free_keyval`.
pub fn type_free_keyval(type_keyval: OutValue<c_int>) -> Result<()> {
    free(&OF_DATATYPES, "type_keyval", type_keyval)
}

/// `MPI_Type_set_attr`.
pub fn type_set_attr(datatype: &Arc<Datatype>, type_keyval: c_int, attribute_val: Pointer) -> Result<()> {
    let keyval = OF_DATATYPES.get("type_keyval", type_keyval)?;
    datatype.attributes.set(datatype_owner(datatype), &keyval, attribute_val as usize)
}

/// `MPI_Type_get_attr`.
pub fn type_get_attr(
    datatype: &Arc<Datatype>,
    type_keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    let found = datatype.attributes.get(&OF_DATATYPES.get("type_keyval", type_keyval)?);
    tell(found, attribute_val, flag)
}

/// `MPI_Type_delete_attr`.
pub fn type_delete_attr(datatype: &Arc<Datatype>, type_keyval: c_int) -> Result<()> {
    datatype.attributes.delete(datatype_owner(datatype), &OF_DATATYPES.get("type_keyval", type_keyval)?)
}

/// The word by which callbacks know a datatype: its handle.
pub fn datatype_owner(datatype: &Arc<Datatype>) -> usize {
    DATATYPES.handle_of(datatype).map_or(0, Handle::word)
}

/// `MPI_Win_create_keyval`.
pub fn win_create_keyval(
    win_copy_attr_fn: *const c_void,
    win_delete_attr_fn: *const c_void,
    win_keyval: OutValue<c_int>,
    extra_state: Pointer,
) -> Result<()> {
    create(&OF_WINDOWS, win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state)
}

/// `MPI_Win_free_keyval`.
pub fn win_free_keyval(win_keyval: OutValue<c_int>) -> Result<()> {
    free(&OF_WINDOWS, "win_keyval", win_keyval)
}

/// `MPI_Win_set_attr`.
pub fn win_set_attr(win: &Arc<Win>, win_keyval: c_int, attribute_val: Pointer) -> Result<()> {
    check_changeable(win_keyval, win.predefined_attribute(win_keyval).is_some())?;
    let keyval = OF_WINDOWS.get("win_keyval", win_keyval)?;
    win.members().attributes.set(window_owner(win), &keyval, attribute_val as usize)
}

/// `MPI_Win_get_attr`.
pub fn win_get_attr(
    win: &Arc<Win>,
    win_keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    let found = match win.predefined_attribute(win_keyval) {
        Some(word) => Some(word),
        None => win.members().attributes.get(&OF_WINDOWS.get("win_keyval", win_keyval)?),
    };
    tell(found, attribute_val, flag)
}

/// `MPI_Win_delete_attr`.
pub fn win_delete_attr(win: &Arc<Win>, win_keyval: c_int) -> Result<()> {
    check_changeable(win_keyval, win.predefined_attribute(win_keyval).is_some())?;
    win.members().attributes.delete(window_owner(win), &OF_WINDOWS.get("win_keyval", win_keyval)?)
}

/// The word by which callbacks know a window: its handle.
pub fn window_owner(win: &Arc<Win>) -> usize {
    WINS.handle_of(win).map_or(0, Handle::word)
}

/// Where the value of a predefined attribute lies (§9.1.2).
fn predefined(keyval: c_int) -> Result<Option<*mut c_int>> {
    static VALUES: [AtomicI32; 7] = [const { AtomicI32::new(0) }; 7];
    let (place, value) = match keyval {
        abi::MPI_TAG_UB => (0, serried_engine::message::TAG_UPPER_BOUND),
        abi::MPI_HOST => (1, abi::MPI_PROC_NULL),
        abi::MPI_IO => (2, abi::MPI_ANY_SOURCE),
        abi::MPI_WTIME_IS_GLOBAL => (3, 1),
        abi::MPI_UNIVERSE_SIZE => (4, engine()?.size() as c_int),
        abi::MPI_LASTUSEDCODE => (5, codes::last_used()),
        abi::MPI_APPNUM => (6, engine()?.job().program()? as c_int),
        _ => return Ok(None),
    };
    VALUES[place].store(value, Relaxed);
    Ok(Some(VALUES[place].as_ptr()))
}

fn check_changeable(keyval: c_int, predefined: bool) -> Result<()> {
    match predefined {
        true => Err(Error::new(
            Class::Keyval,
            format!("argument keyval ({keyval}) is that of a predefined attribute, which cannot be changed"),
        )),
        false => Ok(()),
    }
}
