//! Event handles and their callbacks (MPI-5.0 §15.3.8).

use super::callback::{Callback, Dropped, Farewell, Freed, Registration, Tell, LEVELS};
use super::event::EVENTS;
use super::{entry, error, listening, no_handle, null, put_handle, ready, Raw, Tool};
use crate::abi;
use crate::handle_arguments::Out;
use crate::objects::Info;
use serried_engine::Result;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

fn find(tool: &mut Tool, handle: Raw) -> Result<&mut Registration> {
    let found = tool.registrations.get(handle).filter(|found| found.farewell.is_none());
    found.ok_or_else(|| no_handle("event"))
}

fn level(cb_safety: c_int) -> Result<usize> {
    let place = LEVELS.iter().position(|&level| level == cb_safety);
    place.ok_or_else(|| error(abi::MPI_T_ERR_INVALID, format!("{cb_safety} is no level of callback safety")))
}

fn copy(info: Option<&Arc<Info>>) -> Arc<Info> {
    Arc::new(info.map(|info| Info::clone(info)).unwrap_or_default())
}

/// `MPI_T_event_handle_alloc`; no event is bound to an object.
pub fn t_event_handle_alloc(
    event_index: c_int,
    _obj_handle: *mut c_void,
    info: Option<&Arc<Info>>,
    event_registration: Raw,
) -> Result<()> {
    let mut tool = ready()?;
    let event = entry("event", &EVENTS, event_index)?;
    if event_registration.is_null() {
        return Err(null("event_registration"));
    }
    let made = Registration {
        kind: event.kind,
        info: copy(info),
        callbacks: [const { None }; 4],
        dropped: None,
        running: 0,
        farewell: None,
    };
    let made = tool.registrations.put(made);
    let made = made.ok_or_else(|| error(abi::MPI_T_ERR_OUT_OF_HANDLES, "too many handles"))?;
    put_handle("event_registration", event_registration, made)
}

/// `MPI_T_event_handle_set_info`.
pub fn t_event_handle_set_info(event_registration: Raw, info: Option<&Arc<Info>>) -> Result<()> {
    let mut tool = ready()?;
    find(&mut tool, event_registration)?.info = copy(info);
    Ok(())
}

/// `MPI_T_event_handle_get_info`.
pub fn t_event_handle_get_info(event_registration: Raw, info_used: Out<Info>) -> Result<()> {
    let mut tool = ready()?;
    info_used.put(copy(Some(&find(&mut tool, event_registration)?.info)))
}

/// `MPI_T_event_register_callback`: replaces the one of the same level; a null
/// function takes it away.
pub fn t_event_register_callback(
    event_registration: Raw,
    cb_safety: c_int,
    info: Option<&Arc<Info>>,
    user_data: *mut c_void,
    event_cb_function: *mut c_void,
) -> Result<()> {
    let mut tool = ready()?;
    let found = find(&mut tool, event_registration)?;
    let place = level(cb_safety)?;
    // SAFETY: MPI says that it is null or such a function.
    let function = unsafe { std::mem::transmute::<*mut c_void, Option<Tell>>(event_cb_function) };
    found.callbacks[place] = function.map(|function| Callback { function, user_data, info: copy(info) });
    listening::choose(&tool.registrations);
    Ok(())
}

fn callback(tool: &mut Tool, event_registration: Raw, cb_safety: c_int) -> Result<&mut Callback> {
    let found = find(tool, event_registration)?;
    let none = || error(abi::MPI_T_ERR_INVALID, "no callback of this level is registered");
    found.callbacks[level(cb_safety)?].as_mut().ok_or_else(none)
}

/// `MPI_T_event_callback_set_info`.
pub fn t_event_callback_set_info(
    event_registration: Raw,
    cb_safety: c_int,
    info: Option<&Arc<Info>>,
) -> Result<()> {
    let mut tool = ready()?;
    callback(&mut tool, event_registration, cb_safety)?.info = copy(info);
    Ok(())
}

/// `MPI_T_event_callback_get_info`.
pub fn t_event_callback_get_info(
    event_registration: Raw,
    cb_safety: c_int,
    info_used: Out<Info>,
) -> Result<()> {
    let mut tool = ready()?;
    info_used.put(copy(Some(&callback(&mut tool, event_registration, cb_safety)?.info)))
}

/// `MPI_T_event_set_dropped_handler`: a null function takes it away.
pub fn t_event_set_dropped_handler(event_registration: Raw, dropped_cb_function: *mut c_void) -> Result<()> {
    let mut tool = ready()?;
    // SAFETY: MPI says that it is null or such a function.
    let function = unsafe { std::mem::transmute::<*mut c_void, Option<Dropped>>(dropped_cb_function) };
    find(&mut tool, event_registration)?.dropped = function;
    Ok(())
}

/// `MPI_T_event_handle_free`: no callback begins any more; `free_cb_function` is
/// called when none is running, which is at once unless it is freed within one.
pub fn t_event_handle_free(
    event_registration: Raw,
    user_data: *mut c_void,
    free_cb_function: *mut c_void,
) -> Result<()> {
    let mut tool = ready()?;
    // SAFETY: MPI says that it is null or such a function.
    let function = unsafe { std::mem::transmute::<*mut c_void, Option<Freed>>(free_cb_function) };
    let found = find(&mut tool, event_registration)?;
    found.farewell = Some(Farewell { function, user_data });
    let last = listening::end(&mut tool, event_registration);
    listening::choose(&tool.registrations);
    drop(tool);
    listening::say(event_registration, last);
    Ok(())
}
