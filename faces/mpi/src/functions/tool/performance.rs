//! Performance variables: sessions and handles (MPI-5.0 §15.3.7).
//!
//! A handle counts from its start: it keeps what the variable was then, and
//! adds up over starts and stops.

use super::variables::{level_and_peak, set_peak, Class, Variable, VARIABLES};
use super::{entry, error, handle_at, no_handle, no_name, null, put, put_handle, put_text, ready, Raw, Tool};
use crate::abi;
use crate::arguments::{read_string, OutValue};
use serried_engine::Result;
use std::ffi::{c_char, c_int, c_void};

/// What a handle stands for.
pub struct Handle {
    session: usize,
    variable: &'static Variable,
    running: bool,
    /// What the variable was when it was started or read into `held` last.
    base: u64,
    /// What has been added up before that; of a high-water mark, the mark.
    held: u64,
}

impl Handle {
    fn value(&self) -> u64 {
        match self.variable.class {
            Class::State | Class::Level | Class::Size => self.variable.now(),
            Class::Peak => self.held,
            _ if self.running => self.held.wrapping_add(self.variable.now().wrapping_sub(self.base)),
            _ => self.held,
        }
    }

    fn start(&mut self) {
        if !self.running {
            self.running = true;
            self.base = self.variable.now();
            if self.variable.class == Class::Peak {
                self.held = level_and_peak().0;
            }
        }
    }

    fn stop(&mut self) {
        self.held = self.value();
        self.running = false;
    }

    fn set(&mut self, value: u64) {
        self.held = value;
        self.base = self.variable.now();
    }

    /// As it was when it was made.
    fn reset(&mut self) {
        let start = if self.variable.class == Class::Peak { level_and_peak().0 } else { 0 };
        self.set(start);
    }

    fn read(&self, buf: *mut c_void) {
        match self.variable.class {
            Class::State => put(buf.cast(), self.value() as c_int),
            _ => put(buf.cast(), self.value()),
        }
    }
}

/// Takes the mark of the page into all handles that run, and starts it anew: so
/// one mark serves handles that start at different times.
fn gather_peaks(tool: &mut Tool) {
    let (level, peak) = level_and_peak();
    for (_, handle) in tool.performances.all().filter(|(_, handle)| handle.running) {
        if handle.variable.class == Class::Peak {
            handle.held = handle.held.max(peak);
        }
    }
    set_peak(level);
}

/// `MPI_T_pvar_get_num`.
pub fn t_pvar_get_num(num_pvar: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    num_pvar.set(VARIABLES.len() as c_int);
    Ok(())
}

/// `MPI_T_pvar_get_index`: name and class together.
pub fn t_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: OutValue<c_int>) -> Result<()> {
    let _tool = ready()?;
    let name = read_string("name", name)?;
    let same = |variable: &Variable| variable.name == name && variable.class.number() == var_class;
    let place = VARIABLES.iter().position(same);
    pvar_index.set(place.ok_or_else(|| no_name("performance variable of this class", &name))? as c_int);
    Ok(())
}

/// `MPI_T_pvar_get_info`.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn t_pvar_get_info(
    pvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    var_class: *mut c_int,
    datatype: *mut c_void,
    enumtype: Raw,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> Result<()> {
    let _tool = ready()?;
    let variable = entry("performance variable", &VARIABLES, pvar_index)?;
    let fixed = c_int::from(variable.class.is_continuous());
    put(verbosity, abi::MPI_T_VERBOSITY_USER_BASIC);
    put(var_class, variable.class.number());
    put(datatype.cast(), variable.datatype());
    put(enumtype.cast::<Raw>(), variable.words().map_or(abi::MPI_T_ENUM_NULL, |words| words.handle()));
    put(bind, abi::MPI_T_BIND_NO_OBJECT);
    put(readonly, fixed);
    put(continuous, fixed);
    put(atomic, 1 - fixed);
    put_text(variable.name, name, name_len)?;
    put_text(variable.description, desc, desc_len)
}

/// `MPI_T_pvar_session_create`.
pub fn t_pvar_session_create(session: Raw) -> Result<()> {
    let mut tool = ready()?;
    if session.is_null() {
        return Err(null("session"));
    }
    let made =
        tool.sessions.put(()).ok_or_else(|| error(abi::MPI_T_ERR_OUT_OF_SESSIONS, "too many sessions"))?;
    put_handle("session", session, made)
}

/// `MPI_T_pvar_session_free`: its handles go with it.
pub fn t_pvar_session_free(session: Raw) -> Result<()> {
    let mut tool = ready()?;
    let freed = handle_at(session)?;
    tool.sessions.take(freed).ok_or_else(no_session)?;
    let mine = |handle: &Handle| handle.session == freed as usize;
    let handles: Vec<Raw> =
        tool.performances.all().filter(|(_, handle)| mine(handle)).map(|(raw, _)| raw).collect();
    for handle in handles {
        tool.performances.take(handle);
    }
    put_handle("session", session, abi::MPI_T_PVAR_SESSION_NULL)
}

fn no_session() -> serried_engine::Error {
    error(abi::MPI_T_ERR_INVALID_SESSION, "the session is null or freed")
}

/// `MPI_T_pvar_handle_alloc`; no variable is bound to an object.
pub fn t_pvar_handle_alloc(
    session: Raw,
    pvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: Raw,
    count: OutValue<c_int>,
) -> Result<()> {
    let mut tool = ready()?;
    tool.sessions.get(session).ok_or_else(no_session)?;
    let variable = entry("performance variable", &VARIABLES, pvar_index)?;
    if handle.is_null() {
        return Err(null("handle"));
    }
    let running = variable.class.is_continuous();
    let mut made = Handle { session: session as usize, variable, running, base: 0, held: 0 };
    made.reset();
    let made = tool.performances.put(made);
    let made = made.ok_or_else(|| error(abi::MPI_T_ERR_OUT_OF_HANDLES, "too many handles"))?;
    count.set(1);
    put_handle("handle", handle, made)
}

/// `MPI_T_pvar_handle_free`.
pub fn t_pvar_handle_free(session: Raw, handle: Raw) -> Result<()> {
    let mut tool = ready()?;
    let freed = handle_at(handle)?;
    one(&mut tool, session, freed)?;
    tool.performances.take(freed);
    put_handle("handle", handle, abi::MPI_T_PVAR_HANDLE_NULL)
}

/// The handle of a session.
fn one(tool: &mut Tool, session: Raw, handle: Raw) -> Result<&mut Handle> {
    tool.sessions.get(session).ok_or_else(no_session)?;
    let found = tool.performances.get(handle).filter(|found| found.session == session as usize);
    found.ok_or_else(|| no_handle("performance variable of this session"))
}

/// Does something to a handle, or to all handles of a session that allow it;
/// `refusal` is the error where a single handle does not.
fn each(session: Raw, handle: Raw, refusal: c_int, work: impl Fn(&mut Handle)) -> Result<()> {
    let mut tool = ready()?;
    gather_peaks(&mut tool);
    if handle == abi::MPI_T_PVAR_ALL_HANDLES {
        tool.sessions.get(session).ok_or_else(no_session)?;
        let mine = tool.performances.all().map(|(_, found)| found);
        mine.filter(|found| found.session == session as usize && !found.variable.class.is_continuous())
            .for_each(work);
        return Ok(());
    }
    let found = one(&mut tool, session, handle)?;
    if found.variable.class.is_continuous() {
        return Err(error(refusal, format!("{} does not allow it", found.variable.name)));
    }
    work(found);
    Ok(())
}

/// `MPI_T_pvar_start`.
pub fn t_pvar_start(session: Raw, handle: Raw) -> Result<()> {
    each(session, handle, abi::MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::start)
}

/// `MPI_T_pvar_stop`.
pub fn t_pvar_stop(session: Raw, handle: Raw) -> Result<()> {
    each(session, handle, abi::MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::stop)
}

/// `MPI_T_pvar_reset`.
pub fn t_pvar_reset(session: Raw, handle: Raw) -> Result<()> {
    each(session, handle, abi::MPI_T_ERR_PVAR_NO_WRITE, Handle::reset)
}

/// `MPI_T_pvar_read`.
pub fn t_pvar_read(session: Raw, handle: Raw, buf: *mut c_void) -> Result<()> {
    let mut tool = ready()?;
    gather_peaks(&mut tool);
    let found = one(&mut tool, session, handle)?;
    if buf.is_null() {
        return Err(null("buf"));
    }
    found.read(buf);
    Ok(())
}

/// Checks that a call which needs a buffer names one variable, and has it.
fn check_single(handle: Raw, buf: *const c_void) -> Result<()> {
    if handle == abi::MPI_T_PVAR_ALL_HANDLES {
        let _tool = ready()?;
        return Err(no_handle("single performance variable"));
    }
    if buf.is_null() {
        let _tool = ready()?;
        return Err(null("buf"));
    }
    Ok(())
}

/// `MPI_T_pvar_write`.
pub fn t_pvar_write(session: Raw, handle: Raw, buf: *const c_void) -> Result<()> {
    check_single(handle, buf)?;
    // SAFETY: MPI says that a value of the variable's type is there; those that
    // can be written are all of this type.
    let value = || unsafe { buf.cast::<u64>().read() };
    each(session, handle, abi::MPI_T_ERR_PVAR_NO_WRITE, |found| found.set(value()))
}

/// `MPI_T_pvar_readreset`.
pub fn t_pvar_readreset(session: Raw, handle: Raw, buf: *mut c_void) -> Result<()> {
    check_single(handle, buf)?;
    each(session, handle, abi::MPI_T_ERR_PVAR_NO_ATOMIC, |found| {
        found.read(buf);
        found.reset();
    })
}
