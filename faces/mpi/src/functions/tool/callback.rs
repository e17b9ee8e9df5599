//! What tools have registered for events: functions, and the handles that have them.
//!
//! Callbacks run where no lock is held (`listening`), so a callback of any
//! safety may be called; the one that promises least is taken.

use super::Raw;
use crate::abi;
use crate::objects::Info;
use serried_engine::observe::events::Kind;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `MPI_T_event_cb_function`
pub type Tell = unsafe extern "C" fn(Raw, Raw, c_int, *mut c_void);
/// `MPI_T_event_free_cb_function`
pub type Freed = unsafe extern "C" fn(Raw, c_int, *mut c_void);
/// `MPI_T_event_dropped_cb_function`
pub type Dropped = unsafe extern "C" fn(i64, Raw, c_int, c_int, *mut c_void);

/// The levels of safety, weakest first.
pub const LEVELS: [c_int; 4] = [
    abi::MPI_T_CB_REQUIRE_NONE,
    abi::MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    abi::MPI_T_CB_REQUIRE_THREAD_SAFE,
    abi::MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// A callback of one level.
#[derive(Clone)]
pub struct Callback {
    /// The function.
    pub function: Tell,
    /// What it gets.
    pub user_data: *mut c_void,
    /// Its hints.
    pub info: Arc<Info>,
}

/// What is to be done when a handle has been freed and no callback of it runs.
#[derive(Clone, Copy)]
pub struct Farewell {
    /// The function, if there is one.
    pub function: Option<Freed>,
    /// What it gets.
    pub user_data: *mut c_void,
}

/// What an event handle stands for.
pub struct Registration {
    /// What it is about.
    pub kind: Kind,
    /// Its hints.
    pub info: Arc<Info>,
    /// By level.
    pub callbacks: [Option<Callback>; 4],
    /// Is told how many events were lost.
    pub dropped: Option<Dropped>,
    /// Callbacks that are running.
    pub running: u32,
    /// Set once it has been freed.
    pub farewell: Option<Farewell>,
}

impl Registration {
    /// The callback that promises least; none once the handle has been freed.
    pub fn callback(&self) -> Option<Callback> {
        let first = self.callbacks.iter().flatten().next();
        first.filter(|_| self.farewell.is_none()).cloned()
    }
}
