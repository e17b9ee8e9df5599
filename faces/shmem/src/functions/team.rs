//! Teams, contexts and sessions (OpenSHMEM 1.6 chapters 9.4, 9.5).

use super::setup::store;
use crate::common::entry::Call;
use crate::shmem::handles::*;
use crate::shmem::state::shmem;
use serried_engine::world::{create, Communicator, Group};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_long};
use std::sync::Arc;

/// `SHMEM_TEAM_NUM_CONTEXTS`.
const NUM_CONTEXTS: c_long = 1;

/// `shmem_team_my_pe`: -1 for the invalid team.
pub fn team_my_pe(call: &Call, handle: shmem_team_t) -> Result<c_int> {
    match handle == SHMEM_TEAM_INVALID {
        true => Ok(-1),
        false => Ok(team(call, "team", handle)?.communicator.rank as c_int),
    }
}

/// `shmem_team_n_pes`: -1 for the invalid team.
pub fn team_n_pes(call: &Call, handle: shmem_team_t) -> Result<c_int> {
    match handle == SHMEM_TEAM_INVALID {
        true => Ok(-1),
        false => Ok(team(call, "team", handle)?.communicator.size() as c_int),
    }
}

/// `shmem_team_get_config`.
pub fn team_get_config(
    call: &Call,
    handle: shmem_team_t,
    config_mask: c_long,
    config: *mut shmem_team_config_t,
) -> Result<()> {
    let team = valid(call, "team", handle)?;
    if config_mask & NUM_CONTEXTS != 0 {
        if config.is_null() {
            return Err(Error::new(
                Class::Buffer,
                "argument config is a null pointer, but config_mask asks for it",
            ));
        }
        store(config, team.config);
    }
    Ok(())
}

/// `shmem_team_translate_pe`: -1 where there is none.
pub fn team_translate_pe(
    call: &Call,
    src_team: shmem_team_t,
    src_pe: c_int,
    dest_team: shmem_team_t,
) -> Result<c_int> {
    if src_team == SHMEM_TEAM_INVALID || dest_team == SHMEM_TEAM_INVALID {
        return Ok(-1);
    }
    let from = &team(call, "src_team", src_team)?.communicator.group;
    let to = &team(call, "dest_team", dest_team)?.communicator.group;
    let number = u32::try_from(src_pe).ok().filter(|&pe| pe < from.size());
    let found = number.and_then(|pe| to.rank_of(from.job_rank(pe)));
    Ok(found.map_or(-1, |pe| pe as c_int))
}

/// A team that is not the invalid one, of a call that then says no.
fn valid<'call>(call: &'call Call, name: &str, handle: shmem_team_t) -> Result<&'call Arc<Team>> {
    match handle == SHMEM_TEAM_INVALID {
        true => Err(not_of_the_invalid()),
        false => team(call, name, handle),
    }
}

fn config_of(config: *const shmem_team_config_t, mask: c_long) -> shmem_team_config_t {
    match config.is_null() || mask & NUM_CONTEXTS == 0 {
        true => shmem_team_config_t::default(),
        // SAFETY: the program's.
        false => unsafe { *config },
    }
}

/// A team of some members of a communicator, by their ranks there; all its members call. The invalid team for others.
fn make(parent: &Arc<Communicator>, members: Vec<u32>, config: shmem_team_config_t) -> Result<shmem_team_t> {
    let engine = shmem()?.engine;
    let group = Arc::new(Group::new(members.into_iter().map(|one| parent.group.job_rank(one).0).collect()));
    match create::create(engine, parent, &group)? {
        Some(made) => TEAMS.put(Arc::new(Team { communicator: Arc::new(made), config })),
        None => Ok(SHMEM_TEAM_INVALID),
    }
}

/// `shmem_team_split_strided`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn team_split_strided(
    call: &Call,
    parent_team: shmem_team_t,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const shmem_team_config_t,
    config_mask: c_long,
    new_team: *mut shmem_team_t,
) -> Result<()> {
    store(new_team, SHMEM_TEAM_INVALID);
    let parent = valid(call, "parent_team", parent_team)?.communicator.clone();
    let all = i64::from(parent.size());
    let last = i64::from(start) + (i64::from(size) - 1) * i64::from(stride);
    let is_inside = |pe: i64| (0..all).contains(&pe);
    if size < 1 || !is_inside(start.into()) || !is_inside(last) || stride == 0 && size > 1 {
        let sentence = format!(
            "start {start}, stride {stride} and size {size} name no PEs of a team of {all}, each of them once"
        );
        return Err(Error::new(Class::Group, sentence));
    }
    let members = (0..i64::from(size)).map(|number| (i64::from(start) + number * i64::from(stride)) as u32);
    let made = make(&parent, members.collect(), config_of(config, config_mask))?;
    store(new_team, made);
    Ok(())
}

/// `shmem_team_split_2d`: rows of `xrange` members, and columns.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn team_split_2d(
    call: &Call,
    parent_team: shmem_team_t,
    xrange: c_int,
    xaxis_config: *const shmem_team_config_t,
    xaxis_mask: c_long,
    xaxis_team: *mut shmem_team_t,
    yaxis_config: *const shmem_team_config_t,
    yaxis_mask: c_long,
    yaxis_team: *mut shmem_team_t,
) -> Result<()> {
    store(xaxis_team, SHMEM_TEAM_INVALID);
    store(yaxis_team, SHMEM_TEAM_INVALID);
    let parent = valid(call, "parent_team", parent_team)?.communicator.clone();
    let size = parent.size();
    let Some(width) = u32::try_from(xrange).ok().filter(|&width| width > 0).map(|width| width.min(size))
    else {
        return Err(Error::new(Class::Arg, format!("argument xrange is {xrange}; it must be positive")));
    };
    let (row, column) = (parent.rank / width, parent.rank % width);
    let among = |same: &dyn Fn(u32) -> bool| (0..size).filter(|&pe| same(pe)).collect();
    store(xaxis_team, make(&parent, among(&|pe| pe / width == row), config_of(xaxis_config, xaxis_mask))?);
    store(yaxis_team, make(&parent, among(&|pe| pe % width == column), config_of(yaxis_config, yaxis_mask))?);
    Ok(())
}

/// `shmem_team_destroy`.
pub fn team_destroy(_call: &Call, handle: shmem_team_t) -> Result<()> {
    if handle == SHMEM_TEAM_INVALID {
        return Ok(());
    }
    TEAMS.take("team", handle)?.communicator.free();
    Ok(())
}

/// `shmem_ctx_create`.
pub fn ctx_create(call: &Call, options: c_long, ctx: *mut shmem_ctx_t) -> Result<()> {
    team_create_ctx(call, SHMEM_TEAM_WORLD, options, ctx)
}

/// `shmem_team_create_ctx`.
pub fn team_create_ctx(
    call: &Call,
    handle: shmem_team_t,
    _options: c_long,
    ctx: *mut shmem_ctx_t,
) -> Result<()> {
    store(ctx, SHMEM_CTX_INVALID);
    let team = valid(call, "team", handle)?.clone();
    store(ctx, CONTEXTS.put(Arc::new(Context { team }))?);
    Ok(())
}

/// `shmem_ctx_destroy`: all that was begun on it is done.
pub fn ctx_destroy(_call: &Call, ctx: shmem_ctx_t) -> Result<()> {
    if ctx == SHMEM_CTX_INVALID {
        return Ok(());
    }
    if ctx == SHMEM_CTX_DEFAULT {
        let sentence = "argument ctx is SHMEM_CTX_DEFAULT, which cannot be destroyed";
        return Err(Error::new(Class::Comm, sentence));
    }
    shmem()?.engine.quiet()?;
    CONTEXTS.take("ctx", ctx).map(drop)
}

/// `shmem_ctx_get_team`.
pub fn ctx_get_team(call: &Call, ctx: shmem_ctx_t, handle: *mut shmem_team_t) -> Result<()> {
    store(handle, SHMEM_TEAM_INVALID);
    match ctx {
        SHMEM_CTX_INVALID => return Err(not_of_the_invalid()),
        SHMEM_CTX_DEFAULT => {
            store(handle, SHMEM_TEAM_WORLD);
            return Ok(());
        }
        _ => {}
    }
    let context = CONTEXTS.get(call, ctx).ok_or_else(|| CONTEXTS.no_object("ctx", ctx))?;
    let found = TEAMS.handle_of(&context.team);
    store(
        handle,
        found.ok_or_else(|| Error::new(Class::Comm, "the team of the context has been destroyed"))?,
    );
    Ok(())
}

/// `shmem_ctx_session_start`: hints, of which there is nothing to make.
pub fn ctx_session_start(
    call: &Call,
    ctx: shmem_ctx_t,
    _options: c_long,
    _config: *const shmem_ctx_session_config_t,
    _config_mask: c_long,
) -> Result<()> {
    ctx_session_stop(call, ctx)
}

/// `shmem_ctx_session_stop`.
pub fn ctx_session_stop(call: &Call, ctx: shmem_ctx_t) -> Result<()> {
    let is_one = [SHMEM_CTX_INVALID, SHMEM_CTX_DEFAULT].contains(&ctx) || CONTEXTS.get(call, ctx).is_some();
    match is_one {
        true => shmem().map(|_| ()),
        false => Err(CONTEXTS.no_object("ctx", ctx)),
    }
}
