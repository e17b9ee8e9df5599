//! The settings with which the engine starts: those of the environment, and what
//! somebody in this process has chosen before the start (tools, by MPI_T).

use serried_engine::settings::Settings;
use serried_engine::transport::Means;
use serried_engine::Result;
use std::sync::{Mutex, PoisonError};

/// What has been chosen; `None`: as the environment says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen {
    /// Bytes that may be copied aside.
    pub memory: Option<u64>,
    /// The best means of copying.
    pub copy: Option<Means>,
}

static CHOSEN: Mutex<Chosen> = Mutex::new(Chosen { memory: None, copy: None });

/// Changes what has been chosen. It counts if the engine has not started.
pub fn choose(change: impl FnOnce(&mut Chosen)) {
    change(&mut CHOSEN.lock().unwrap_or_else(PoisonError::into_inner));
}

/// The settings of the engine.
///
/// # Errors
/// `Arg` for a value of the environment that means nothing.
pub fn current() -> Result<Settings> {
    let found = Settings::read(|name| std::env::var(name).ok())?;
    let chosen = *CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Settings {
        memory: chosen.memory.unwrap_or(found.memory),
        copy: chosen.copy.unwrap_or(found.copy),
        ..found
    })
}
