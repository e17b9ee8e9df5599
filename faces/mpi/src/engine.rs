//! The engine of this process (a stand-in until the engine's own has landed).

use serried_engine::job::Job;
use serried_engine::observe::Page;
use serried_engine::Result;

/// A job of what the launcher says.
pub struct Engine {
    job: Job,
}
