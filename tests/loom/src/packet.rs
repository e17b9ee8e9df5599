//! Twin of `transport/node/packet.rs`: memory in which loom watches who writes
//! and reads what, and packets that are all header.

use crate::sync::{AtomicU64, Ordering::Relaxed};
use crate::transport::{Arrival, Letter};
use loom::cell::UnsafeCell;

pub const PAYLOAD_AT: usize = 24;

/// Eight bytes of shared memory: a word that publishes, or plain data.
#[derive(Debug)]
struct Word {
    atomic: AtomicU64,
    /// A thread that uses the word as data holds it for that time.
    data: UnsafeCell<()>,
}

/// Some words, zero at first.
#[derive(Debug)]
pub struct Words(Vec<Word>);

impl Words {
    pub fn new(bytes: usize) -> Words {
        let zero = || Word { atomic: AtomicU64::new(0), data: UnsafeCell::new(()) };
        Words((0..bytes / 8).map(|_| zero()).collect())
    }

    pub fn memory(&self) -> Memory {
        Memory(self)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Memory(*const Words);

// SAFETY: the checks keep the words until all threads have ended.
unsafe impl Send for Memory {}

impl Memory {
    fn words(&self) -> &[Word] {
        // SAFETY: see `Send`.
        unsafe { &(*self.0).0 }
    }

    pub unsafe fn word(&self, place: usize) -> &AtomicU64 {
        &self.words()[place / 8].atomic
    }

    /// Data are stored in the atomics too, so that who takes data for a word
    /// that publishes gets what lies there.
    pub unsafe fn write(self, place: usize, letter: &Letter<'_>) {
        assert!(letter.payload.is_empty());
        for (word, value) in self.words()[place / 8 + 1..].iter().zip(letter.header) {
            word.data.with_mut(|_| word.atomic.store(value, Relaxed));
        }
    }

    pub unsafe fn read(self, place: usize, word: u64) -> Arrival {
        let data = |index: usize| {
            let word = &self.words()[place / 8 + index];
            word.data.with(|_| word.atomic.load(Relaxed))
        };
        // A packet that skips the ring's end has no header.
        let header = if word as u8 == crate::express::SKIP { [0; 2] } else { [data(1), data(2)] };
        Arrival { kind: word as u8, bytes: (word as u32) >> 8, header }
    }

    pub fn fetch(self, _place: usize, _begin: u64, _end: u64) {}

    pub fn claim(self, _place: usize, _begin: u64, _end: u64) {}

    pub fn hand_over(self, _place: usize, _begin: u64, _end: u64) {}
}

pub fn describe(letter: &Letter<'_>) -> u64 {
    (letter.payload.len() as u64) << 8 | letter.kind as u64
}
