//! Communicators (MPI-5.0 §7.4, §7.6, §7.8).

use super::group::comparison;
use crate::abi;
use crate::arguments::{read_string, write_string, OutValue};
use crate::entry::engine;
use crate::handle::{Handle, COMMS};
use crate::handle_arguments::{InOut, Out};
use crate::memory_kinds::with_kinds;
use crate::objects::{Comm, Group, Info};
use crate::request::OutRequest;
use serried_engine::engine::agreed::Agreed;
use serried_engine::world::create::{self, Bridge, Copied, SplitType};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// The word by which callbacks know a communicator: its handle.
pub fn owner(comm: &Arc<Comm>) -> usize {
    COMMS.handle_of(comm).map_or(0, Handle::word)
}

/// Stores a communicator, or the null handle for those who got none.
pub fn put(place: &Out<Comm>, made: Option<Comm>) -> Result<()> {
    match made {
        Some(made) => place.put(Arc::new(made)),
        None => {
            place.put_null();
            Ok(())
        }
    }
}

/// `MPI_Comm_size`.
pub fn comm_size(comm: &Arc<Comm>, size: OutValue<c_int>) -> Result<()> {
    size.set(comm.size() as c_int);
    Ok(())
}

/// `MPI_Comm_rank`.
pub fn comm_rank(comm: &Arc<Comm>, rank: OutValue<c_int>) -> Result<()> {
    rank.set(comm.rank as c_int);
    Ok(())
}

/// `MPI_Comm_compare`.
pub fn comm_compare(comm1: &Arc<Comm>, comm2: &Arc<Comm>, result: OutValue<c_int>) -> Result<()> {
    result.set(comparison(comm1.compare(comm2)));
    Ok(())
}

/// `MPI_Comm_group`.
pub fn comm_group(comm: &Arc<Comm>, group: Out<Group>) -> Result<()> {
    group.put(comm.group.clone())
}

/// `MPI_Comm_test_inter`.
pub fn comm_test_inter(comm: &Arc<Comm>, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(comm.is_inter());
    Ok(())
}

/// `MPI_Comm_remote_size`.
pub fn comm_remote_size(comm: &Arc<Comm>, size: OutValue<c_int>) -> Result<()> {
    size.set(remote(comm)?.size() as c_int);
    Ok(())
}

/// `MPI_Comm_remote_group`.
pub fn comm_remote_group(comm: &Arc<Comm>, group: Out<Group>) -> Result<()> {
    group.put(remote(comm)?.clone())
}

fn remote(comm: &Comm) -> Result<&Arc<Group>> {
    comm.remote.as_ref().ok_or_else(|| {
        Error::new(Class::Comm, "argument comm is an intracommunicator, which has no remote group")
    })
}

/// `MPI_Comm_dup`.
pub fn comm_dup(comm: &Arc<Comm>, newcomm: Out<Comm>) -> Result<()> {
    comm_dup_with_info(comm, None, newcomm)
}

/// `MPI_Comm_dup_with_info`.
pub fn comm_dup_with_info(comm: &Arc<Comm>, info: Option<&Arc<Info>>, newcomm: Out<Comm>) -> Result<()> {
    newcomm.put(create::dup(engine()?, comm, copied(comm, info)?)?)
}

/// `MPI_Comm_idup`.
pub fn comm_idup(comm: &Arc<Comm>, newcomm: Out<Comm>, request: OutRequest) -> Result<()> {
    comm_idup_with_info(comm, None, newcomm, request)
}

/// `MPI_Comm_idup_with_info`.
pub fn comm_idup_with_info(
    comm: &Arc<Comm>,
    info: Option<&Arc<Info>>,
    newcomm: Out<Comm>,
    request: OutRequest,
) -> Result<()> {
    let engine = engine()?;
    let duplication = create::start_dup(engine, comm, copied(comm, info)?)?;
    let made = duplication.made();
    request.put(engine.start_pending(comm.context(), duplication)?);
    newcomm.put(made)
}

fn copied(comm: &Arc<Comm>, info: Option<&Arc<Info>>) -> Result<Copied> {
    let hints = info.map(|info| Info::clone(info)).unwrap_or_default();
    Ok(Copied { attributes: comm.attributes.copy_all(owner(comm))?, hints })
}

/// `MPI_Comm_create`.
pub fn comm_create(comm: &Arc<Comm>, group: &Arc<Group>, newcomm: Out<Comm>) -> Result<()> {
    let agreed = || vec![Agreed::group("group", group)];
    put(&newcomm, create::create(&engine()?.agreeing(&agreed), comm, group)?)
}

/// `MPI_Comm_create_group`.
pub fn comm_create_group(comm: &Arc<Comm>, group: &Arc<Group>, tag: i32, newcomm: Out<Comm>) -> Result<()> {
    put(&newcomm, create::create_group(engine()?, comm, group, tag)?)
}

/// `MPI_Comm_split`.
pub fn comm_split(comm: &Arc<Comm>, color: c_int, key: c_int, newcomm: Out<Comm>) -> Result<()> {
    let color = (color != abi::MPI_UNDEFINED).then_some(color);
    put(&newcomm, create::split(engine()?, comm, color, key)?)
}

const NAMES_OF_SPLIT: [&str; 5] = [
    "MPI_UNDEFINED",
    "MPI_COMM_TYPE_SHARED",
    "MPI_COMM_TYPE_HW_GUIDED",
    "MPI_COMM_TYPE_HW_UNGUIDED",
    "MPI_COMM_TYPE_RESOURCE_GUIDED",
];

/// `MPI_Comm_split_type`.
pub fn comm_split_type(
    comm: &Arc<Comm>,
    split_type: c_int,
    key: c_int,
    info: Option<&Arc<Info>>,
    newcomm: Out<Comm>,
) -> Result<()> {
    let (split_type, name) = match split_type {
        abi::MPI_UNDEFINED => (None, 0),
        abi::MPI_COMM_TYPE_SHARED => (Some(SplitType::Shared), 1),
        abi::MPI_COMM_TYPE_HW_GUIDED => (Some(SplitType::HardwareGuided), 2),
        abi::MPI_COMM_TYPE_HW_UNGUIDED => (Some(SplitType::HardwareUnguided), 3),
        abi::MPI_COMM_TYPE_RESOURCE_GUIDED => (Some(SplitType::ResourceGuided), 4),
        other => {
            return Err(Error::new(Class::Arg, format!("argument split_type ({other}) is no MPI_COMM_TYPE")))
        }
    };
    let info = info.map(|info| &**info);
    // A process that is in no part may say so anyhow (§7.4.2).
    let agreed = || vec![Agreed::choice("split_type", &NAMES_OF_SPLIT, name)];
    put(&newcomm, create::split_type(&engine()?.agreeing(&agreed), comm, split_type, key, info)?)
}

/// `MPI_Intercomm_create`.
pub fn intercomm_create(
    local_comm: &Arc<Comm>,
    local_leader: c_int,
    peer_comm: Option<&Arc<Comm>>,
    remote_leader: c_int,
    tag: i32,
    newintercomm: Out<Comm>,
) -> Result<()> {
    let bridge = peer_comm.map(|peer| Bridge { peer, remote_leader });
    let agreed = || vec![Agreed::number("local_leader", i64::from(local_leader))];
    let exchange = engine()?.agreeing(&agreed);
    let made = create::intercomm_create(&exchange, local_comm, local_leader, bridge, tag)?;
    newintercomm.put(Arc::new(made))
}

/// `MPI_Intercomm_merge`.
pub fn intercomm_merge(intercomm: &Arc<Comm>, high: c_int, newintracomm: Out<Comm>) -> Result<()> {
    let agreed = || vec![Agreed::flag("high", high != 0)];
    let exchange = engine()?.agreeing(&agreed);
    newintracomm.put(Arc::new(create::intercomm_merge(&exchange, intercomm, high != 0)?))
}

/// `MPI_Comm_free`: communication under way goes on (§7.4.3).
pub fn comm_free(comm: InOut<Comm>) -> Result<()> {
    let given = comm.handle();
    if [abi::MPI_COMM_WORLD, abi::MPI_COMM_SELF].contains(&given) {
        return Err(Error::new(Class::Comm, "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed"));
    }
    comm.get()?.attributes.delete_all(given.word())?;
    let freed = comm.take()?;
    freed.free();
    super::point_to_point::communicator_is_freed(&freed);
    let engine = engine()?;
    freed.contexts().for_each(|context| engine.retire(context));
    Ok(())
}

/// `MPI_Comm_set_name`.
pub fn comm_set_name(comm: &Arc<Comm>, comm_name: *const c_char) -> Result<()> {
    comm.set_name(&read_name("comm_name", comm_name)?);
    Ok(())
}

/// A name for an object, cut to the length that names have (§7.8).
pub fn read_name(argument: &str, text: *const c_char) -> Result<String> {
    let mut name = read_string(argument, text)?;
    let mut length = name.len().min(abi::MPI_MAX_OBJECT_NAME as usize - 1);
    while !name.is_char_boundary(length) {
        length -= 1;
    }
    name.truncate(length);
    Ok(name)
}

/// Stores the name of an object and how long it is.
pub fn write_name(argument: &str, place: *mut c_char, resultlen: OutValue<c_int>, name: &str) -> Result<()> {
    let length = write_string(argument, place, abi::MPI_MAX_OBJECT_NAME as usize, name)?;
    resultlen.set(length as c_int);
    Ok(())
}

/// `MPI_Comm_get_name`; the null handle has a name too (§7.8).
pub fn comm_get_name(
    comm: Option<&Arc<Comm>>,
    comm_name: *mut c_char,
    resultlen: OutValue<c_int>,
) -> Result<()> {
    let name = comm.map_or("MPI_COMM_NULL".to_owned(), |comm| comm.name());
    write_name("comm_name", comm_name, resultlen, &name)
}

/// `MPI_Comm_set_info`.
pub fn comm_set_info(comm: &Arc<Comm>, info: Option<&Arc<Info>>) -> Result<()> {
    if let Some(info) = info {
        comm.set_hints(info);
    }
    Ok(())
}

/// `MPI_Comm_get_info`.
pub fn comm_get_info(comm: &Arc<Comm>, info_used: Out<Info>) -> Result<()> {
    info_used.put(with_kinds(comm.hints())?)
}
