//! Payloads that have been loaded and not sent: a packet stands for each, and has its number.

use super::Claim;
use crate::transport::{Letter, Packet};
use crate::JobRank;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers differ in all of them, since a rank may have several networks of one kind.
static LAST: AtomicU32 = AtomicU32::new(0);

/// Payloads of one sort.
#[derive(Debug)]
pub struct Loads<T> {
    /// The kind of the packets that stand for them.
    kind: u8,
    by_number: HashMap<u32, T>,
    /// For what there was no room the last time.
    pub refused: Option<(JobRank, Claim)>,
}

impl<T> Loads<T> {
    /// None yet; packets that stand for them are of this kind.
    pub fn new(kind: u8) -> Loads<T> {
        Loads { kind, by_number: HashMap::new(), refused: None }
    }

    /// Adds a payload. The packet that stands for it.
    pub fn add(&mut self, payload: T) -> Packet {
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        self.by_number.insert(number, payload);
        Packet::with(self.kind, [0; 2], &number)
    }

    /// Takes the payload for which a packet stands, if it does for one that is there.
    pub fn take(&mut self, letter: &Letter<'_>) -> Option<T> {
        if letter.kind != self.kind {
            return None;
        }
        let number = u32::from_ne_bytes(letter.payload.try_into().ok()?);
        self.by_number.remove(&number)
    }

    /// Puts a payload back that could not be sent.
    pub fn put_back(&mut self, letter: &Letter<'_>, payload: T) {
        if let Ok(number) = letter.payload.try_into() {
            self.by_number.insert(u32::from_ne_bytes(number), payload);
        }
    }
}
