//! Where new packets will show, for a thread that looks for them without the engine's lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// Places that one rank looks at, at most.
pub const PLACES: usize = 10;

/// Places to look for new packets without the engine's lock.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    count: usize,
    words: [(*const AtomicU64, u32); PLACES],
}

// SAFETY: the words are atomic, and by `add` they live as long as the engine.
unsafe impl Send for Arrivals {}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals { count: 0, words: [(std::ptr::null(), 0); PLACES] }
    }
}

impl Arrivals {
    /// One more place: a word that lives as long as the engine, and what its upper half will
    /// be; 0 if it is the whole word that will not be zero.
    pub(crate) fn add(&mut self, word: &AtomicU64, expected: u32) {
        self.words[self.count] = (word, expected);
        self.count += 1;
    }

    /// Whether a packet is there.
    #[inline]
    pub fn any(&self) -> bool {
        let there = |&(word, expected): &(*const AtomicU64, u32)| {
            // SAFETY: see `Send` above.
            let word = unsafe { &*word }.load(Ordering::Acquire);
            if expected == 0 {
                word != 0
            } else {
                (word >> 32) as u32 == expected
            }
        };
        self.words[..self.count].iter().any(there)
    }
}
