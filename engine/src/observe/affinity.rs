//! What a rank shows of the CPUs that it may use, so that the ranks of its node can tell
//! which of them share CPUs (`progress::crowd`).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Words of a set of CPUs.
const WORDS: usize = 16;

/// Where a rank may run. The rank alone writes it, all but `awake` and `occupant`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Affinity {
    /// The CPUs that it may use; none before the rank has shown them.
    cpus: [AtomicU64; WORDS],
    /// CPUs that the quota of its cgroup is enough for; 0: there is none.
    quota: AtomicU32,
    /// CPUs of the ranks with which this one has to share them; 0: it need not share.
    shared: AtomicU32,
    /// Ranks that are awake, of those that share CPUs and of which this is the first. All
    /// of them write it.
    pub awake: Line<AtomicU32>,
    /// The rank that was seen last on the core with this page's number, by its own number and one (`progress::whereabouts`). Any
    /// of the ranks that share cores writes it.
    pub occupant: Line<AtomicU32>,
}

/// A value on a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line<T>(pub T);

impl Affinity {
    /// Shows the CPUs that the rank may use, and its quota if there is one.
    pub fn show(&self, cpus: &[u64; WORDS], quota: Option<u32>) {
        self.cpus.iter().zip(cpus).for_each(|(shown, &word)| shown.store(word, Relaxed));
        self.quota.store(quota.unwrap_or(0), Relaxed);
    }

    /// The CPUs that the rank has shown.
    pub fn cpus(&self) -> [u64; WORDS] {
        std::array::from_fn(|word| self.cpus[word].load(Relaxed))
    }

    /// The quota that it has shown.
    pub fn quota(&self) -> Option<u32> {
        Some(self.quota.load(Relaxed)).filter(|&quota| quota != 0)
    }

    /// How many CPUs the rank shares with other ranks, more than there are CPUs; `None`: each
    /// of those who use its CPUs can have one.
    #[inline]
    pub fn shared(&self) -> Option<u32> {
        Some(self.shared.load(Relaxed)).filter(|&cpus| cpus != 0)
    }

    /// Says so.
    pub fn share(&self, cpus: Option<u32>) {
        self.shared.store(cpus.unwrap_or(0), Relaxed);
    }
}
