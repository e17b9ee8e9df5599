//! Dynamic processes (MPI-5.0 §11.7 to §11.10).

use super::communicator::comm_free;
use crate::abi;
use crate::arguments::{number, read_string, write_string, Ints, OutArray};
use crate::entry::engine;
use crate::handle::COMMS;
use crate::handle_arguments::{Handles, InOut, Late, Out};
use crate::objects::{Comm, Info};
use crate::predefined;
use serried_engine::job::starter::Program;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void, CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null;
use std::sync::{Arc, Mutex, PoisonError, Weak};

mod spawn_info;

/// The communicator with the parents, once it has been asked for.
static PARENT: Mutex<Option<Weak<Comm>>> = Mutex::new(None);

/// `MPI_Comm_get_parent`: null without parents, and after the communicator has been freed.
pub fn comm_get_parent(parent: Out<Comm>) -> Result<()> {
    let mut known = PARENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = &*known {
        match made.upgrade().and_then(|made| COMMS.handle_of(&made)) {
            Some(handle) => parent.put_handle(handle),
            None => parent.put_null(),
        }
        return Ok(());
    }
    let Some(made) = engine()?.parent()? else {
        parent.put_null();
        return Ok(());
    };
    let made = Arc::new(made);
    made.set_name("MPI_COMM_PARENT");
    if let Some(handler) = predefined::first_error_handler() {
        made.set_error_handler(handler);
    }
    *known = Some(Arc::downgrade(&made));
    parent.put(made)
}

/// `MPI_Comm_disconnect` (§11.10.4): as `MPI_Comm_free`, but not before pending communication has ended.
pub fn comm_disconnect(comm: InOut<Comm>) -> Result<()> {
    let given = comm.get()?;
    let contexts: Vec<u64> = given.contexts().collect();
    let engine = engine()?;
    engine.settle(&contexts)?;
    if let Some(remote) = given.remote.as_ref().filter(|remote| remote.size() > 0) {
        engine.let_go(Some(remote.job_rank(0)));
    }
    comm_free(comm)
}

/// `MPI_Comm_spawn`: all but root, comm and the results count at the root alone.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn comm_spawn(
    command: *const c_char,
    argv: *mut c_void,
    maxprocs: c_int,
    info: Late<'_, Info>,
    root: i32,
    comm: &Arc<Comm>,
    intercomm: Out<Comm>,
    array_of_errcodes: OutArray<c_int>,
) -> Result<()> {
    let argv = if argv == abi::MPI_ARGV_NULL.cast() { null() } else { argv.cast_const().cast() };
    let programs = || Ok(vec![program(command, argv, maxprocs, info.get_nullable()?)?]);
    spawn(programs, root, comm, &intercomm, array_of_errcodes)
}

/// `MPI_Comm_spawn_multiple`: the same.
#[allow(clippy::too_many_arguments)] // MPI's own
pub fn comm_spawn_multiple(
    count: c_int,
    array_of_commands: *mut c_void,
    array_of_argv: *mut c_void,
    array_of_maxprocs: Ints,
    array_of_info: Handles<'_, Info>,
    root: i32,
    comm: &Arc<Comm>,
    intercomm: Out<Comm>,
    array_of_errcodes: OutArray<c_int>,
) -> Result<()> {
    let commands = array_of_commands.cast_const().cast::<*const c_char>();
    let argvs = array_of_argv.cast_const().cast::<*const *mut c_char>();
    let is_null = array_of_argv == abi::MPI_ARGVS_NULL.cast() || argvs.is_null();
    let programs = || {
        let count = number("count", count)?;
        crate::arguments::not_null("array_of_commands", commands)?;
        let maxprocs = array_of_maxprocs.to_vec(count)?;
        let one = |index: usize| {
            // SAFETY: MPI says that the arrays have `count` entries at the root.
            let (command, argv) = unsafe {
                let argv = if is_null { null() } else { argvs.add(index).read() };
                (commands.add(index).read(), argv)
            };
            program(command, argv, maxprocs[index], array_of_info.get_nullable(index)?)
        };
        (0..count).map(one).collect()
    };
    spawn(programs, root, comm, &intercomm, array_of_errcodes)
}

fn spawn(
    programs: impl FnOnce() -> Result<Vec<Program>>,
    root: i32,
    comm: &Arc<Comm>,
    intercomm: &Out<Comm>,
    errcodes: OutArray<c_int>,
) -> Result<()> {
    let made = match engine()?.spawn(comm, root, programs) {
        Ok(made) => made,
        Err(error) => {
            intercomm.put_null();
            return Err(error);
        }
    };
    let children = made.peers().size();
    if errcodes.address() != abi::MPI_ERRCODES_IGNORE && !errcodes.address().is_null() {
        (0..children as usize).try_for_each(|child| errcodes.set(child, abi::MPI_SUCCESS))?;
    }
    intercomm.put(Arc::new(made))
}

/// What is to be started, and on how many ranks.
fn program(
    command: *const c_char,
    argv: *const *mut c_char,
    maxprocs: c_int,
    info: Option<&Arc<Info>>,
) -> Result<Program> {
    let most = u32::try_from(maxprocs).map_err(|_| {
        Error::new(Class::Arg, format!("argument maxprocs is {maxprocs}; it cannot be negative"))
    })?;
    crate::arguments::not_null("command", command)?;
    let mut words = vec![word(command)];
    if !argv.is_null() {
        for index in 0.. {
            // SAFETY: MPI says that the array ends with a null pointer.
            let argument = unsafe { argv.add(index).read() };
            if argument.is_null() {
                break;
            }
            words.push(word(argument));
        }
    }
    let program = Program { ranks: most, words, ..Program::default() };
    match info {
        Some(info) => spawn_info::apply(info, program),
        None => Ok(program),
    }
}

fn word(text: *const c_char) -> OsString {
    // SAFETY: MPI says that the program passes strings with a 0 at their ends.
    OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes()).to_owned()
}

/// `MPI_Open_port`.
pub fn open_port(_info: Option<&Arc<Info>>, port_name: *mut c_char) -> Result<()> {
    let name = engine()?.open_port()?;
    write_string("port_name", port_name, abi::MPI_MAX_PORT_NAME as usize, &name).map(drop)
}

/// `MPI_Close_port`.
pub fn close_port(port_name: *const c_char) -> Result<()> {
    engine()?.close_port(&read_string("port_name", port_name)?)
}

/// `MPI_Comm_accept`: the name of the port counts at the root.
pub fn comm_accept(
    port_name: *const c_char,
    _info: Late<'_, Info>,
    root: i32,
    comm: &Arc<Comm>,
    newcomm: Out<Comm>,
) -> Result<()> {
    newcomm.put(Arc::new(engine()?.accept(|| read_string("port_name", port_name), root, comm)?))
}

/// `MPI_Comm_connect`: the same.
pub fn comm_connect(
    port_name: *const c_char,
    _info: Late<'_, Info>,
    root: i32,
    comm: &Arc<Comm>,
    newcomm: Out<Comm>,
) -> Result<()> {
    newcomm.put(Arc::new(engine()?.connect(|| read_string("port_name", port_name), root, comm)?))
}

/// `MPI_Comm_join`.
pub fn comm_join(fd: c_int, intercomm: Out<Comm>) -> Result<()> {
    intercomm.put_null();
    intercomm.put(Arc::new(engine()?.join_over(fd)?))
}

/// `MPI_Publish_name`.
pub fn publish_name(
    service_name: *const c_char,
    _info: Option<&Arc<Info>>,
    port_name: *const c_char,
) -> Result<()> {
    let (service, port) = (read_string("service_name", service_name)?, read_string("port_name", port_name)?);
    engine()?.publish_name(&service, &port)
}

/// `MPI_Unpublish_name`.
pub fn unpublish_name(
    service_name: *const c_char,
    _info: Option<&Arc<Info>>,
    port_name: *const c_char,
) -> Result<()> {
    let (service, port) = (read_string("service_name", service_name)?, read_string("port_name", port_name)?);
    engine()?.unpublish_name(&service, &port)
}

/// `MPI_Lookup_name`.
pub fn lookup_name(
    service_name: *const c_char,
    _info: Option<&Arc<Info>>,
    port_name: *mut c_char,
) -> Result<()> {
    let found = engine()?.look_up_name(&read_string("service_name", service_name)?)?;
    write_string("port_name", port_name, abi::MPI_MAX_PORT_NAME as usize, &found).map(drop)
}
