//! The engine's own sources of a node's server, and worlds in which they run.

pub mod checker;
pub mod fabric;
pub mod lanes;
pub mod ledger;
pub mod program;
pub mod random;
pub mod reduction;
#[path = "../../../engine/src/onesided/server/mod.rs"]
pub mod server;
pub mod ways;
pub mod world;
