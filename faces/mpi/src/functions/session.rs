//! Sessions (MPI-5.0 §11.3), and communicators without a parent (§7.4.2,
//! §7.6.2).

use super::errhandler::check;
use super::group::put as put_group;
use crate::abi;
use crate::arguments::{number, read_string, write_string, OutValue};
use crate::entry::engine;
use crate::handle_arguments::{InOut, Out};
use crate::memory_kinds::{self, with_kinds};
use crate::objects::{Comm, ErrorHandler, Group, Info, Session};
use crate::start::{acquire_engine, release_engine};
use serried_engine::world::create;
use serried_engine::world::errhandler::Subject;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// `MPI_Session_init`. Any level of thread support is granted; the info object
/// of the session says which.
pub fn session_init(
    info: Option<&Arc<Info>>,
    errhandler: &Arc<ErrorHandler>,
    session: Out<Session>,
) -> Result<()> {
    check(errhandler, Subject::Session)?;
    let engine = acquire_engine()?;
    let wanted = info.and_then(|info| info.get("thread_level"));
    let levels = ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"];
    let level = levels.into_iter().find(|level| wanted.as_deref() == Some(level));
    if level.is_none() {
        engine.set_threaded();
    }
    let known = Info::default();
    known.set("thread_level", level.unwrap_or("MPI_THREAD_MULTIPLE"))?;
    if let Some(kinds) = info.and_then(|info| info.get(memory_kinds::SUPPORTED)) {
        memory_kinds::ask(&kinds);
    }
    known.set("mpi_size", &engine.size().to_string())?;
    session.put(Arc::new(Session::new(engine.rank(), engine.size(), known, errhandler.clone())))
}

/// `MPI_Session_finalize`.
pub fn session_finalize(session: InOut<Session>) -> Result<()> {
    super::point_to_point::session_is_finalized(&session.take()?);
    release_engine()
}

/// `MPI_Session_get_info`.
pub fn session_get_info(session: &Arc<Session>, info_used: Out<Info>) -> Result<()> {
    info_used.put(with_kinds(session.info().clone())?)
}

/// `MPI_Session_get_num_psets`.
pub fn session_get_num_psets(
    session: &Arc<Session>,
    _info: Option<&Arc<Info>>,
    npset_names: OutValue<c_int>,
) -> Result<()> {
    npset_names.set(session.process_sets() as c_int);
    Ok(())
}

/// `MPI_Session_get_nth_pset`: `pset_len` counts the final 0; it goes in as the
/// room there is and comes out as the room that is needed.
pub fn session_get_nth_pset(
    session: &Arc<Session>,
    _info: Option<&Arc<Info>>,
    n: c_int,
    pset_len: OutValue<c_int>,
    pset_name: *mut c_char,
) -> Result<()> {
    let name = session.process_set(n)?;
    let capacity = number("pset_len", pset_len.get())?;
    if capacity > 0 {
        write_string("pset_name", pset_name, capacity, name)?;
    }
    pset_len.set(name.len() as c_int + 1);
    Ok(())
}

/// `MPI_Session_get_pset_info`.
pub fn session_get_pset_info(
    session: &Arc<Session>,
    pset_name: *const c_char,
    info: Out<Info>,
) -> Result<()> {
    info.put(Arc::new(session.process_set_info(&read_string("pset_name", pset_name)?)?))
}

/// `MPI_Group_from_session_pset`.
pub fn group_from_session_pset(
    session: &Arc<Session>,
    pset_name: *const c_char,
    newgroup: Out<Group>,
) -> Result<()> {
    put_group(&newgroup, session.group(&read_string("pset_name", pset_name)?)?)
}

/// `MPI_Comm_create_from_group`; the null communicator for the empty group.
pub fn comm_create_from_group(
    group: &Arc<Group>,
    stringtag: *const c_char,
    info: Option<&Arc<Info>>,
    errhandler: &Arc<ErrorHandler>,
    newcomm: Out<Comm>,
) -> Result<()> {
    check(errhandler, Subject::Communicator)?;
    let tag = read_tag(stringtag)?;
    if group.size() == 0 {
        newcomm.put_null();
        return Ok(());
    }
    let made = create::create_from_group(engine()?, group, &tag, errhandler.clone())?;
    finish(made, info, &newcomm)
}

/// `MPI_Intercomm_create_from_groups`; the null communicator for empty groups.
#[allow(clippy::too_many_arguments)] // as MPI has it
pub fn intercomm_create_from_groups(
    local_group: &Arc<Group>,
    local_leader: c_int,
    remote_group: &Arc<Group>,
    remote_leader: c_int,
    stringtag: *const c_char,
    info: Option<&Arc<Info>>,
    errhandler: &Arc<ErrorHandler>,
    newintercomm: Out<Comm>,
) -> Result<()> {
    check(errhandler, Subject::Communicator)?;
    let tag = read_tag(stringtag)?;
    if local_group.size() == 0 || remote_group.size() == 0 {
        newintercomm.put_null();
        return Ok(());
    }
    let (local, remote) = ((local_group, local_leader), (remote_group, remote_leader));
    let made = create::intercomm_create_from_groups(engine()?, local, remote, &tag, errhandler.clone())?;
    finish(made, info, &newintercomm)
}

fn finish(made: Comm, info: Option<&Arc<Info>>, place: &Out<Comm>) -> Result<()> {
    if let Some(info) = info {
        made.set_hints(info);
    }
    place.put(Arc::new(made))
}

fn read_tag(stringtag: *const c_char) -> Result<String> {
    let tag = read_string("stringtag", stringtag)?;
    let longest = abi::MPI_MAX_STRINGTAG_LEN as usize - 1;
    match tag.len() > longest {
        true => {
            let length = tag.len();
            Err(Error::new(
                Class::Arg,
                format!("argument stringtag has {length} bytes; at most {longest} are allowed"),
            ))
        }
        false => Ok(tag),
    }
}
