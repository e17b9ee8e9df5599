//! Where new packets will show, for a thread that looks for them without the engine's lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// Places that one rank looks at, at most.
pub const PLACES: usize = 10;

/// What knows whether a packet is there, and is asked without the engine's lock, by any thread.
pub trait Ready: Sync + std::fmt::Debug {
    /// Whether one may be there.
    fn is_ready(&self) -> bool;
}

/// Places to look for new packets without the engine's lock.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    count: usize,
    words: [(*const AtomicU64, u32); PLACES],
    /// What is asked beside them.
    asked: Option<&'static dyn Ready>,
}

// SAFETY: the words are atomic, and by `add` they live as long as the engine.
unsafe impl Send for Arrivals {}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals { count: 0, words: [(std::ptr::null(), 0); PLACES], asked: None }
    }
}

impl Arrivals {
    /// One more place: a word that lives as long as the engine, and what its upper half will
    /// be; 0 if it is the whole word that will not be zero.
    pub(crate) fn add(&mut self, word: &AtomicU64, expected: u32) {
        self.words[self.count] = (word, expected);
        self.count += 1;
    }

    /// Something that has to be asked, for want of a word.
    pub(crate) fn ask(&mut self, ready: &'static dyn Ready) {
        self.asked = Some(ready);
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
        self.words[..self.count].iter().any(there) || self.asked.is_some_and(Ready::is_ready)
    }
}
