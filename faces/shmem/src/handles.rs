//! Handles of teams and contexts.

#![allow(non_camel_case_types)] // names of the standard

use super::state::{shmem, Shmem};
use crate::common::entry::Call;
use crate::common::handles::{PointerHandle, Table};
use crate::common::page;
use serried_engine::engine::symmetric::Remote;
use serried_engine::observe::page::NONE;
use serried_engine::world::Communicator;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// `shmem_team_t`.
pub type shmem_team_t = PointerHandle;
/// `shmem_ctx_t`.
pub type shmem_ctx_t = PointerHandle;

/// `shmem_team_config_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct shmem_team_config_t {
    /// Contexts that the team may make at a time.
    pub num_contexts: c_int,
}

/// `shmem_ctx_session_config_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shmem_ctx_session_config_t {
    /// Operations of the session.
    pub total_ops: usize,
}

/// `SHMEM_TEAM_INVALID`.
pub const SHMEM_TEAM_INVALID: shmem_team_t = PointerHandle::new(0);
/// `SHMEM_TEAM_WORLD`.
pub const SHMEM_TEAM_WORLD: shmem_team_t = PointerHandle::new(1);
/// `SHMEM_TEAM_SHARED`.
pub const SHMEM_TEAM_SHARED: shmem_team_t = PointerHandle::new(2);
/// `SHMEM_CTX_INVALID`.
pub const SHMEM_CTX_INVALID: shmem_ctx_t = PointerHandle::new(0);
/// `SHMEM_CTX_DEFAULT`.
pub const SHMEM_CTX_DEFAULT: shmem_ctx_t = PointerHandle::new(1);

/// A team.
#[derive(Debug)]
pub struct Team {
    /// Its members, in a context of their own.
    pub communicator: Arc<Communicator>,
    /// As it was made.
    pub config: shmem_team_config_t,
}

/// A context: which PEs its operations name. All operations are done when they return, so there is nothing else to it.
#[derive(Debug)]
pub struct Context {
    /// The team.
    pub team: Arc<Team>,
}

/// Teams.
pub static TEAMS: Table<Team, PointerHandle> = Table::new(9, Class::Comm, "team", SHMEM_TEAM_INVALID);
/// Contexts.
pub static CONTEXTS: Table<Context, PointerHandle> =
    Table::new(10, Class::Comm, "context", SHMEM_CTX_INVALID);

/// The team of an argument.
///
/// # Errors
/// `Comm` when it is none.
pub fn team<'call>(call: &'call Call, name: &str, handle: shmem_team_t) -> Result<&'call Arc<Team>> {
    TEAMS.get(call, handle).ok_or_else(|| TEAMS.no_object(name, handle))
}

/// What a call says no with that gets the invalid team or context: its status alone, for that is no mistake.
pub fn not_of_the_invalid() -> Error {
    Error::new(Class::Comm, "")
}

impl Shmem {
    /// Symmetric memory of a PE of a context, at an address of this one.
    ///
    /// # Errors
    /// `Rank` when there is no such PE, `Comm` when there is no such context.
    #[inline(always)]
    pub fn remote(
        &self,
        call: &Call,
        ctx: shmem_ctx_t,
        (name, address): (&'static str, *const u8),
        pe: c_int,
    ) -> Result<Remote> {
        let pe = match ctx == SHMEM_CTX_DEFAULT {
            true if (pe as u32) < self.symmetric.size() => pe as u32,
            _ => pe_of(call, self, ctx, pe)?,
        };
        page::own().about(self.symmetric.world().context(), pe as i32, NONE, 0);
        Ok(Remote { name, address: address.cast_mut(), pe })
    }
}

#[inline(never)]
fn pe_of(call: &Call, shmem: &Shmem, ctx: shmem_ctx_t, pe: c_int) -> Result<u32> {
    if ctx == SHMEM_CTX_DEFAULT {
        return Err(no_pe("pe", pe, shmem.symmetric.size()));
    }
    let context = CONTEXTS.get(call, ctx).ok_or_else(|| CONTEXTS.no_object("ctx", ctx))?;
    let group = &context.team.communicator.group;
    match u32::try_from(pe) {
        Ok(pe) if pe < group.size() => Ok(group.job_rank(pe).0),
        _ => Err(no_pe("pe", pe, group.size())),
    }
}

/// What a call is told that names a PE that is not there.
#[cold]
pub fn no_pe(name: &str, pe: c_int, size: u32) -> Error {
    let sentence = match size {
        1 => format!("argument {name} is {pe}, but there is only PE 0"),
        _ => format!("argument {name} is {pe}, but the PEs are 0 to {}", size - 1),
    };
    Error::new(Class::Rank, sentence)
}

/// A PE of the whole program.
///
/// # Errors
/// `Rank` when it is none.
pub fn pe(name: &str, pe: c_int) -> Result<u32> {
    let size = shmem()?.symmetric.size();
    u32::try_from(pe).ok().filter(|&pe| pe < size).ok_or_else(|| no_pe(name, pe, size))
}
