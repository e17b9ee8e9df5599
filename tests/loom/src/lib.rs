//! The engine's own sources of mailbox, express boxes, doorbell, withdrawals, long blocks, shared-out work and locks, compiled
//! over atomics and memory whose every interleaving loom tries: what they use of
//! the engine (`crate::sync`, `crate::transport`, `super::area`,
//! `super::packet`) stands for twins here. The rings are two lines and 64 bytes
//! large, so that they come round at once.
//!
//! Not checked: `progress/barrier.rs`, where the kernel issues one side's
//! barrier; loom has no such thing.

#![allow(dead_code)] // not all of the engine's sources is used

pub mod area;
pub mod onesided;
pub mod barrier;
pub mod clock;
pub mod knock;
pub mod progress;
pub mod packet;
pub mod sync;
pub mod transport;

#[path = "../../../engine/src/progress/doorbell.rs"]
pub mod doorbell;
#[path = "../../../engine/src/transport/node/express.rs"]
pub mod express;
#[path = "../../../engine/src/transport/node/inbox.rs"]
pub mod inbox;
#[path = "../../../engine/src/transport/node/mailbox.rs"]
pub mod mailbox;
#[path = "../../../engine/src/collective/node/protocol/claim.rs"]
pub mod claim;
#[path = "../../../engine/src/transport/node/sizes.rs"]
pub mod sizes;
#[path = "../../../engine/src/transport/node/overtake_word.rs"]
pub mod overtake_word;
#[path = "../../../engine/src/transport/node/withdrawals.rs"]
pub mod withdrawals;

/// Tries all interleavings with at most `preemptions`.
pub fn every_interleaving(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(preemptions));
    model.check(check);
}
