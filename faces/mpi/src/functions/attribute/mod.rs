//! Attributes on communicators, datatypes and windows (MPI-5.0 §7.7, §9.1.2, §12.2.6, §16.1).

pub mod integer;

use super::communicator::owner;
use super::keyval::{with_callbacks, Keyvals, OF_COMMUNICATORS, OF_DATATYPES, OF_WINDOWS};
use crate::arguments::{not_null, OutValue};
use crate::entry::engine;
use crate::handle::{Handle, DATATYPES, WINS};
use crate::objects::{Comm, Datatype, Win};
use crate::{abi, codes};
use serried_engine::world::attribute::{Attributes, Keyval};
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

/// What is cached under a key.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// The word of the program.
    Word(usize),
    /// A value of MPI's own: what C gets, and what Fortran gets.
    Predefined(usize, i64),
}

impl Found {
    /// As C or Fortran sees it.
    pub fn seen(self, by_fortran: bool) -> usize {
        match self {
            Found::Word(word) if by_fortran => integer::of(word).map_or(word, |value| value as usize),
            Found::Predefined(_, value) if by_fortran => value as usize,
            Found::Word(word) | Found::Predefined(word, _) => word,
        }
    }
}

/// Stores for C what is found, if anything is, where `attribute_val` points.
fn tell(found: Option<Found>, attribute_val: Pointer, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(found.is_some());
    if let Some(found) = found {
        not_null("attribute_val", attribute_val)?;
        // SAFETY: MPI says that `attribute_val` is the address of a pointer.
        unsafe { attribute_val.cast::<usize>().write_unaligned(found.seen(false)) };
    }
    Ok(())
}

/// Caches a word; that of an integer is forgotten where it cannot be cached.
fn set(attributes: &Attributes, owner: usize, key: Result<Arc<Keyval>>, word: usize) -> Result<()> {
    key.and_then(|key| attributes.set(owner, &key, word)).inspect_err(|_| integer::forget(word))
}

/// Whether this is the number of a predefined attribute.
pub fn is_predefined(keyval: c_int) -> bool {
    let of_windows = [
        abi::MPI_WIN_BASE,
        abi::MPI_WIN_SIZE,
        abi::MPI_WIN_DISP_UNIT,
        abi::MPI_WIN_CREATE_FLAVOR,
        abi::MPI_WIN_MODEL,
    ];
    of_windows.contains(&keyval) || place_of(keyval).is_some()
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
    set_of_communicator(comm, comm_keyval, attribute_val as usize)
}

/// Caches a word on a communicator.
pub fn set_of_communicator(comm: &Arc<Comm>, keyval: c_int, word: usize) -> Result<()> {
    let key = check_changeable(keyval, place_of(keyval).is_some())
        .and_then(|()| OF_COMMUNICATORS.get("comm_keyval", keyval));
    set(&comm.attributes, owner(comm), key, word)
}

/// What is cached on a communicator.
pub fn of_communicator(comm: &Arc<Comm>, keyval: c_int) -> Result<Option<Found>> {
    match predefined(keyval)? {
        Some(found) => Ok(Some(found)),
        None => Ok(comm.attributes.get(&OF_COMMUNICATORS.get("comm_keyval", keyval)?).map(Found::Word)),
    }
}

/// `MPI_Comm_get_attr`.
pub fn comm_get_attr(
    comm: &Arc<Comm>,
    comm_keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    tell(of_communicator(comm, comm_keyval)?, attribute_val, flag)
}

/// `MPI_Comm_delete_attr`.
pub fn comm_delete_attr(comm: &Arc<Comm>, comm_keyval: c_int) -> Result<()> {
    check_changeable(comm_keyval, place_of(comm_keyval).is_some())?;
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
    set_of_datatype(datatype, type_keyval, attribute_val as usize)
}

/// Caches a word on a datatype.
pub fn set_of_datatype(datatype: &Arc<Datatype>, keyval: c_int, word: usize) -> Result<()> {
    let key = OF_DATATYPES.get("type_keyval", keyval);
    set(&datatype.attributes, datatype_owner(datatype), key, word)
}

/// What is cached on a datatype.
pub fn of_datatype(datatype: &Arc<Datatype>, keyval: c_int) -> Result<Option<Found>> {
    Ok(datatype.attributes.get(&OF_DATATYPES.get("type_keyval", keyval)?).map(Found::Word))
}

/// `MPI_Type_get_attr`.
pub fn type_get_attr(
    datatype: &Arc<Datatype>,
    type_keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    tell(of_datatype(datatype, type_keyval)?, attribute_val, flag)
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
    set_of_window(win, win_keyval, attribute_val as usize)
}

/// Caches a word on a window.
pub fn set_of_window(win: &Arc<Win>, keyval: c_int, word: usize) -> Result<()> {
    let key = check_changeable(keyval, win.predefined_attribute(keyval).is_some())
        .and_then(|()| OF_WINDOWS.get("win_keyval", keyval));
    set(&win.members().attributes, window_owner(win), key, word)
}

/// What is cached on a window.
pub fn of_window(win: &Arc<Win>, keyval: c_int) -> Result<Option<Found>> {
    match win.predefined_attribute(keyval) {
        Some((address, value)) => Ok(Some(Found::Predefined(address, value))),
        None => Ok(win.members().attributes.get(&OF_WINDOWS.get("win_keyval", keyval)?).map(Found::Word)),
    }
}

/// `MPI_Win_get_attr`.
pub fn win_get_attr(
    win: &Arc<Win>,
    win_keyval: c_int,
    attribute_val: Pointer,
    flag: OutValue<c_int>,
) -> Result<()> {
    tell(of_window(win, win_keyval)?, attribute_val, flag)
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

/// The predefined attributes of communicators (§9.1.2), and one of Open MPI's.
const PREDEFINED: [c_int; 8] = [
    abi::MPI_TAG_UB,
    abi::MPI_HOST,
    abi::MPI_IO,
    abi::MPI_WTIME_IS_GLOBAL,
    abi::MPI_UNIVERSE_SIZE,
    abi::MPI_LASTUSEDCODE,
    abi::MPI_APPNUM,
    abi::MPI_FT,
];

fn place_of(keyval: c_int) -> Option<usize> {
    PREDEFINED.iter().position(|known| *known == keyval)
}

/// A predefined attribute: C gets the address of the value.
fn predefined(keyval: c_int) -> Result<Option<Found>> {
    static VALUES: [AtomicI32; PREDEFINED.len()] = [const { AtomicI32::new(0) }; PREDEFINED.len()];
    let Some(place) = place_of(keyval) else { return Ok(None) };
    let value = match keyval {
        abi::MPI_TAG_UB => serried_engine::message::TAG_UPPER_BOUND,
        abi::MPI_HOST => abi::MPI_PROC_NULL,
        abi::MPI_IO => abi::MPI_ANY_SOURCE,
        abi::MPI_WTIME_IS_GLOBAL => 1,
        abi::MPI_UNIVERSE_SIZE => engine()?.universe_size() as c_int,
        abi::MPI_LASTUSEDCODE => codes::last_used(),
        // Whether the job goes on without ranks that fail.
        abi::MPI_FT => engine()?.job().node.goes_on_without_ranks().into(),
        _ => engine()?.job().program()? as c_int,
    };
    VALUES[place].store(value, Relaxed);
    Ok(Some(Found::Predefined(VALUES[place].as_ptr() as usize, i64::from(value))))
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
