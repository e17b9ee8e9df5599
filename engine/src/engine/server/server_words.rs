//! What a rank and the server of its node share: who asks for something, and what.
//!
//! # Ownership
//! `newest` is a rank's own list of what it asks for, the newest first, each with the address of the one before: the rank
//! adds to it, and the server takes all of it at once. So a rank that dies or is stopped at any moment leaves nothing
//! half done that others wait for. A rank sets its bit in `asking` after that, and rings then; the server clears the
//! bit before it takes the list.

use crate::job::NodeSegment;
use crate::progress::Doorbell;
use crate::LocalRank;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Ranks of a node that a server can serve.
pub const MOST_RANKS: usize = 16_384;

/// The words of a rank. Zero: nothing is asked for.
#[repr(C, align(64))]
pub struct ServerWords {
    /// Of the rank that has the server: where that sleeps.
    pub doorbell: Doorbell,
    /// Of that rank: how many members of exposures the server serves,
    pub members: AtomicU32,
    /// how many wait for locks of those,
    pub queued: AtomicU32,
    /// not 0: the turns of such a lock have changed,
    pub turned: AtomicU32,
    /// not 0: no node needs it any more, as one that passes on,
    pub may_end: AtomicU32,
    /// and a bit for each rank that asks for something.
    asking: [AtomicU64; MOST_RANKS / 64],
    /// What this rank asks for: an address in its process, or 0.
    newest: AtomicU64,
    /// Not 0: the server cannot reach this rank's memory.
    pub refused: AtomicU32,
}

const _: () = assert!(size_of::<ServerWords>() <= 4096);

impl ServerWords {
    /// The words of a rank of the node; their memory must have been reserved.
    pub fn of(node: &'static NodeSegment, rank: LocalRank) -> &'static ServerWords {
        // SAFETY: the area is as long, 4 KiB aligned, lives for ever, and is made of atomics, for which zeros are a
        // value.
        unsafe { &*node.server_area(rank.0).cast::<ServerWords>() }
    }

    /// Adds something to the list of this rank; `link` writes the address of the one before into it.
    pub fn add(&self, address: u64, link: impl Fn(u64)) {
        let mut before = self.newest.load(Ordering::Relaxed);
        loop {
            link(before);
            // asked: paired with `take`
            match self.newest.compare_exchange(before, address, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }

    /// Takes all of this rank's list: the newest.
    pub fn take(&self) -> u64 {
        self.newest.swap(0, Ordering::SeqCst) // asked: paired with `add`
    }

    /// A rank asks for something: for the words of the one that has the server.
    pub fn show(&self, rank: LocalRank) {
        self.asking[rank.0 as usize / 64].fetch_or(1 << (rank.0 % 64), Ordering::SeqCst);
    }

    /// Whether one does, among so many ranks.
    pub fn any_asks(&self, ranks: u32) -> bool {
        self.asking[..ranks.div_ceil(64) as usize].iter().any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// Ranks that ask for something, which are not shown any more.
    pub fn take_asking(&self, ranks: u32) -> Vec<LocalRank> {
        let mut found = Vec::new();
        for (place, word) in self.asking[..ranks.div_ceil(64) as usize].iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let bits = word.swap(0, Ordering::SeqCst);
            let set = (0..64).filter(|bit| bits >> bit & 1 == 1);
            found.extend(set.map(|bit| LocalRank(place as u32 * 64 + bit)));
        }
        found
    }
}
