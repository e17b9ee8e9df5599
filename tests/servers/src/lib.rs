//! The engine's own sources of a node's server, and worlds in which they run.

pub mod checker;
pub mod counting;
pub mod fabric;
pub mod lanes;
pub mod ledger;
pub mod peers;
pub mod program;
pub mod random;
pub mod reduction;
#[path = "../../../engine/src/onesided/server/mod.rs"]
pub mod server;
pub mod setting;
pub mod subject;
pub mod ways;
pub mod world;
