//! Beginning and end: the first `shmem_init` opens symmetric memory, the last `shmem_finalize` closes it.

use super::environment;
use super::handles::{shmem_team_config_t, Team, CONTEXTS, SHMEM_TEAM_SHARED, SHMEM_TEAM_WORLD, TEAMS};
use super::state::{shmem, Shmem, CURRENT, SHMEM};
use crate::LIBRARY;
use serried_engine::world::{create, BootstrapChannel, Communicator, ErrorHandler, Group};
use serried_engine::Result;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// How often it has been begun, and what was ended last: threads that are late may still look at it.
static USES: Mutex<(u32, Option<Box<Shmem>>)> = Mutex::new((0, None));

/// Begins one more use.
///
/// # Errors
/// What the engine says when it cannot start; `NoMem` without room for a heap.
pub fn begin() -> Result<()> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    if uses.0 == 0 {
        let settings = environment::read()?;
        let engine = SHMEM.acquire(&LIBRARY)?;
        let symmetric = match engine.open_symmetric(settings.symmetric_size) {
            Ok(symmetric) => symmetric,
            Err(error) => {
                SHMEM.release()?;
                return Err(error);
            }
        };
        let shmem = Box::into_raw(Box::new(Shmem { engine, symmetric }));
        CURRENT.store(shmem, Ordering::Release);
        uses.1 = None;
        // SAFETY: just made.
        install_teams(unsafe { &*shmem })?;
        environment::tell(&settings, engine);
    }
    uses.0 += 1;
    Ok(())
}

/// Ends one use. A program that has ended all, and ends one more, is let be: others do so, and programs rely on it.
///
/// # Errors
/// `Other` when it has not begun; what progress reports.
pub fn end() -> Result<()> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    if uses.1.is_some() {
        return Ok(());
    }
    let shmem = shmem()?;
    if uses.0 > 1 {
        uses.0 -= 1;
        return Ok(());
    }
    super::functions::active_set::forget();
    shmem.engine.close_symmetric(&shmem.symmetric)?;
    withdraw_teams();
    let ended = CURRENT.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: what `begin` has made, once.
    *uses = (0, Some(unsafe { Box::from_raw(ended) }));
    SHMEM.release()
}

fn install_teams(shmem: &Shmem) -> Result<()> {
    let world = shmem.symmetric.world();
    let team = |communicator| Arc::new(Team { communicator, config: shmem_team_config_t::default() });
    TEAMS.put_predefined(SHMEM_TEAM_WORLD, team(world.clone()));
    TEAMS.put_predefined(SHMEM_TEAM_SHARED, team(shared(shmem)?));
    Ok(())
}

/// The PEs of this node, if all of them reach each other's heaps by loads and stores, for so the standard defines this team
/// (OpenSHMEM 1.6 chapter 7); else this PE alone.
fn shared(shmem: &Shmem) -> Result<Arc<Communicator>> {
    let of = |ranks| -> Result<Arc<Communicator>> {
        let (group, handler) = (Arc::new(Group::new(ranks)), Arc::new(ErrorHandler::Fatal));
        let channel: &dyn BootstrapChannel = shmem.engine;
        create::create_from_group(channel, &group, "serried: PEs that share memory", handler).map(Arc::new)
    };
    let near = of(shmem.engine.near_ranks())?;
    let alone = !shmem.engine.share_heaps(&shmem.symmetric, &near)?;
    let members = if alone { of(vec![shmem.engine.rank()])? } else { near };
    members.set_name("SHMEM_TEAM_SHARED");
    Ok(members)
}

fn withdraw_teams() {
    TEAMS.withdraw(SHMEM_TEAM_WORLD);
    TEAMS.withdraw(SHMEM_TEAM_SHARED);
    TEAMS.clear();
    CONTEXTS.clear();
}
