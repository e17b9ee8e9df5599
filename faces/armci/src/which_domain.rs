//! What programs ask about domains. Their kind is always the same, and not looked at.

use super::world_of_armci::world;
use crate::common::entry::Call;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;

/// `armci_domain_nprocs`.
pub fn ranks(_: &Call, _kind: c_int, id: c_int) -> Result<c_int> {
    world(|world| Ok(world.domains.ranks_of(id, world.comm.rank)?.len() as c_int))?
}

/// `armci_domain_count`.
pub fn count(_: &Call, _kind: c_int) -> Result<c_int> {
    world(|world| world.domains.count() as c_int)
}

/// `armci_domain_my_id`.
pub fn mine(_: &Call, _kind: c_int) -> Result<c_int> {
    world(|world| world.domains.of(world.comm.rank) as c_int)
}

/// `armci_domain_id`.
pub fn of_rank(_: &Call, _kind: c_int, proc: c_int) -> Result<c_int> {
    world(|world| Ok(world.domains.of(world.check_rank("glob_proc_id", proc)?) as c_int))?
}

/// `armci_domain_glob_proc_id`: a rank of a domain.
pub fn rank_in(_: &Call, _kind: c_int, id: c_int, local: c_int) -> Result<c_int> {
    world(|world| {
        let ranks = world.domains.ranks_of(id, world.comm.rank)?;
        let found = u32::try_from(local).ok().filter(|&local| local < ranks.len() as u32);
        found.map(|local| (ranks.start + local) as c_int).ok_or_else(|| {
            let sentence =
                format!("argument loc_proc_id is {local}, but the domain has {} ranks", ranks.len());
            Error::new(Class::Rank, sentence)
        })
    })?
}

/// `armci_domain_same_id`, `ARMCI_Same_node`: whether a rank is in one's own domain.
pub fn is_mine(_: &Call, proc: c_int) -> Result<c_int> {
    world(|world| {
        let rank = world.check_rank("proc", proc)?;
        Ok(c_int::from(world.domains.of(rank) == world.domains.of(world.comm.rank)))
    })?
}
