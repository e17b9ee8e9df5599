//! The groups of a lane to which broadcasts go at once, and what peers say in them beside messages.
//!
//! The header of their packets is the context of the communicator, and the round of its group with one number more: of
//! [`ASK`] the rank that asks, of [`PIECE`](super::wire::PIECE) the number of the piece.

use super::wire::{AGAIN, ASK};
use crate::collective::multicast::{Group, Heard, Said, Shared};
use crate::lock_order::{self, Level};
use crate::transport::Arrival;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// The groups of a lane, by the contexts of their communicators, which own them.
#[derive(Debug, Default)]
pub struct Groups(HashMap<u64, Weak<Mutex<Group>>>);

impl Groups {
    /// A communicator has one from now on. Those of communicators that are gone go.
    pub fn add(&mut self, context: u64, group: &Shared) {
        self.0.retain(|_, group| group.strong_count() > 0);
        self.0.insert(context, Arc::downgrade(group));
    }

    /// A peer has said something; if the group is not there any more, it does not matter.
    pub fn hear(&self, arrival: &Arrival) {
        let [context, which] = arrival.header;
        let Some(group) = self.0.get(&context).and_then(Weak::upgrade) else { return };
        let (epoch, number) = ((which >> 32) as u32, which as u32);
        // SAFETY: the packet has that many bytes, and is not advanced over yet.
        let payload = unsafe { std::slice::from_raw_parts(arrival.payload(), arrival.bytes as usize) };
        let said = match arrival.kind {
            ASK => Said::Ask(number, runs_in(payload)),
            AGAIN => Said::Again,
            _ => Said::Piece(number, payload.into()),
        };
        lock_order::lock(&group, Level::GROUP).hear(Heard { epoch, said });
    }

    /// Whether a round of any is under way.
    pub fn are_active(&self) -> bool {
        let each = self.0.values().filter_map(Weak::upgrade);
        each.into_iter().any(|group| lock_order::lock(&group, Level::GROUP).is_active())
    }
}

/// Runs as bytes of a packet.
pub fn bytes_of(runs: &[(u32, u32)]) -> Vec<u8> {
    runs.iter().flat_map(|(first, number)| [first.to_ne_bytes(), number.to_ne_bytes()]).flatten().collect()
}

fn runs_in(payload: &[u8]) -> Vec<(u32, u32)> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    payload.chunks_exact(8).map(|run| (number(&run[..4]), number(&run[4..]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_as_bytes() {
        let runs = vec![(0, 1), (7, u32::MAX), (u32::MAX, 3)];
        assert_eq!(runs_in(&bytes_of(&runs)), runs);
        assert!(runs_in(&[1, 2, 3]).is_empty());
    }
}
