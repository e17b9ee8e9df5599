//! Where the engine has the barriers, and locks over them.

pub use super::barrier;

#[path = "../../../engine/src/progress/changes.rs"]
pub mod changes;
#[path = "../../../engine/src/progress/sleeping_lock.rs"]
pub mod sleeping_lock;
