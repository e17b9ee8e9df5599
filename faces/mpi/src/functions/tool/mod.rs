//! The tool information interface (MPI-5.0 chapter 15): what a rank shows of
//! itself to a tool in the same process.
//!
//! Control variables are our settings, performance variables the counters of
//! the rank's page, events what `observe::events` notes. Everything may be
//! called before `MPI_Init` and after `MPI_Finalize`. Errors are bare codes
//! (`MPI_T_ERR_…`), which tools compare with, and no error handler is called.

mod callback;
mod category;
mod control;
mod enumeration;
mod event;
mod listening;
mod performance;
mod registration;
mod slots;
mod variables;

pub use category::*;
pub use control::*;
pub use enumeration::*;
pub use event::*;
pub use performance::*;
pub use registration::*;

use crate::abi;
use crate::arguments::{write_string, OutValue};
use serried_engine::{Class, Error, Result};
use slots::Slots;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A handle of this chapter, or a pointer to one.
pub type Raw = *mut c_void;

/// What tools hold handles of.
struct Tool {
    /// Initialisations without finalization.
    users: u32,
    controls: Slots<control::Control>,
    sessions: Slots<()>,
    performances: Slots<performance::Handle>,
    registrations: Slots<callback::Registration>,
}

static TOOL: Mutex<Tool> = Mutex::new(Tool {
    users: 0,
    controls: Slots::new(1),
    sessions: Slots::new(2),
    performances: Slots::new(3),
    registrations: Slots::new(4),
});

fn lock() -> MutexGuard<'static, Tool> {
    TOOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state, while the interface is initialised.
fn ready() -> Result<MutexGuard<'static, Tool>> {
    let tool = lock();
    if tool.users == 0 {
        return Err(error(abi::MPI_T_ERR_NOT_INITIALIZED, "call MPI_T_init_thread before"));
    }
    Ok(tool)
}

/// An error of the tool interface.
fn error(code: c_int, text: impl Into<String>) -> Error {
    Error::new(Class::User(code), text)
}

fn no_index(what: &str, index: c_int) -> Error {
    error(abi::MPI_T_ERR_INVALID_INDEX, format!("there is no {what} with index {index}"))
}

fn no_name(what: &str, name: &str) -> Error {
    error(abi::MPI_T_ERR_INVALID_NAME, format!("there is no {what} called {name}"))
}

fn no_handle(what: &str) -> Error {
    error(abi::MPI_T_ERR_INVALID_HANDLE, format!("the handle is null, freed or not one of a {what}"))
}

fn null(name: &str) -> Error {
    error(abi::MPI_T_ERR_INVALID, format!("argument {name} is a null pointer"))
}

/// The entry of a table that an index names.
fn entry<T>(what: &str, table: &'static [T], index: c_int) -> Result<&'static T> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or_else(|| no_index(what, index))
}

/// Stores a result that the program may not want.
fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: MPI says that it is null or can be written.
        unsafe { place.write(value) };
    }
}

/// Stores a result that has to be wanted.
fn put_handle(name: &str, place: Raw, value: Raw) -> Result<()> {
    if place.is_null() {
        return Err(null(name));
    }
    put(place.cast::<Raw>(), value);
    Ok(())
}

/// The handle behind a pointer.
fn handle_at(place: Raw) -> Result<Raw> {
    if place.is_null() {
        return Err(null("handle"));
    }
    // SAFETY: MPI says that it points to a handle.
    Ok(unsafe { place.cast::<Raw>().read() })
}

/// Stores a string by the rule of §15.3.3: the length goes in as the room there
/// is and comes out as the room that is needed; without room only that.
fn put_text(text: &str, place: *mut c_char, length: *mut c_int) -> Result<()> {
    if length.is_null() {
        return Ok(());
    }
    // SAFETY: MPI says that it can be read and written.
    let room = unsafe { length.read() };
    if !place.is_null() && room > 0 {
        write_string("name", place, room as usize, text)?;
    }
    put(length, text.len() as c_int + 1);
    Ok(())
}

/// `MPI_T_init_thread` (§15.3.4): every level is granted.
pub fn t_init_thread(required: c_int, provided: OutValue<c_int>) -> Result<()> {
    if !(abi::MPI_THREAD_SINGLE..=abi::MPI_THREAD_MULTIPLE).contains(&required) {
        return Err(error(abi::MPI_T_ERR_INVALID, format!("{required} is no level of thread support")));
    }
    lock().users += 1;
    provided.set(abi::MPI_THREAD_MULTIPLE);
    Ok(())
}

/// `MPI_T_finalize` (§15.3.4): the last one makes all handles stale.
pub fn t_finalize() -> Result<()> {
    let mut tool = ready()?;
    tool.users -= 1;
    if tool.users == 0 {
        tool.controls.clear();
        tool.sessions.clear();
        tool.performances.clear();
        tool.registrations.clear();
        listening::choose(&tool.registrations);
    }
    Ok(())
}
