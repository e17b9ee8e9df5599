//! The locks of exposed memory.

#[path = "../../../engine/src/onesided/control.rs"]
pub mod control;
#[path = "../../../engine/src/onesided/fair_lock.rs"]
pub mod fair_lock;
#[path = "../../../engine/src/onesided/group_words.rs"]
pub mod group_words;

/// Twin of the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    Shared,
    Exclusive,
}
