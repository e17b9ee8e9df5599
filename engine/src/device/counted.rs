//! Bytes that drivers have copied and devices computed, counted where the rank shows them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// The counters of this rank.
struct Counters {
    all: &'static AtomicU64,
    mapped: &'static AtomicU64,
    combined: &'static AtomicU64,
}

static COUNTERS: OnceLock<Counters> = OnceLock::new();

/// From now on all bytes are counted in `all`, those from and to mapped memory of peers also in `mapped`, and those that
/// devices have computed in `combined`.
pub fn count_in(all: &'static AtomicU64, mapped: &'static AtomicU64, combined: &'static AtomicU64) {
    let _ = COUNTERS.set(Counters { all, mapped, combined });
}

/// So many bytes have been copied.
pub(super) fn copied(bytes: u64) {
    if let Some(counters) = COUNTERS.get() {
        counters.all.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// So many of these were a peer's.
pub fn mapped(bytes: u64) {
    if let Some(counters) = COUNTERS.get() {
        counters.mapped.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A device has computed so many.
pub(super) fn combined(bytes: u64) {
    if let Some(counters) = COUNTERS.get() {
        counters.combined.fetch_add(bytes, Ordering::Relaxed);
    }
}
