//! Broadcasts to groups: what peers say beside messages, and what makes them go on.
//!
//! The header of their packets is the context of the communicator, and the round of its group with one number more: of
//! [`ASK`] the rank that asks, of [`PIECE`] the number of the piece.

use super::wire::{AGAIN, ASK, PIECE};
use crate::collective::multicast::{Group, Heard, Said, Shared};
use crate::core::Core;
use crate::lock_order::{self, Level};
use crate::progress::sources::Source;
use crate::transport::{Arrival, Letter, Packets};
use crate::{JobRank, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use super::progress_sources::MULTICASTS;

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
    fn are_active(&self) -> bool {
        let each = self.0.values().filter_map(Weak::upgrade);
        each.into_iter().any(|group| lock_order::lock(&group, Level::GROUP).is_active())
    }
}

fn bytes_of(runs: &[(u32, u32)]) -> Vec<u8> {
    runs.iter().flat_map(|(first, number)| [first.to_ne_bytes(), number.to_ne_bytes()]).flatten().collect()
}

fn runs_in(payload: &[u8]) -> Vec<(u32, u32)> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    payload.chunks_exact(8).map(|run| (number(&run[..4]), number(&run[4..]))).collect()
}

impl Core {
    /// Says something in a round of a group; `false` if there is no room now.
    pub(super) fn say_in_group(
        &mut self,
        peer: JobRank,
        context: u64,
        epoch: u32,
        said: &Said,
    ) -> Result<bool> {
        if self.others_wait(peer) {
            return Ok(false);
        }
        let runs;
        let (kind, number, payload) = match said {
            Said::Ask(rank, wanted) => {
                runs = bytes_of(wanted);
                (ASK, *rank, &runs[..])
            }
            Said::Again => (AGAIN, 0, &[][..]),
            Said::Piece(piece, bytes) => (PIECE, *piece, &bytes[..]),
        };
        let header = [context, u64::from(epoch) << 32 | u64::from(number)];
        self.transport.push(peer, &Letter { kind, header, payload })
    }

    /// A round begins in a group of this lane.
    pub(crate) fn attend_to_groups(&mut self) {
        self.flags.raise(MULTICASTS);
    }
}

/// Looks for pieces while a round is under way.
pub struct Multicasts;

impl Source<Core> for Multicasts {
    fn go_on(&mut self, core: &mut Core) -> Result<bool> {
        if !core.groups.are_active() {
            return Ok(false);
        }
        // Pieces are no completions, by which collectives are known to have something to do.
        core.collectives_seen = core.epoch.wrapping_sub(1);
        core.advance_collectives();
        Ok(core.groups.are_active())
    }

    fn looks_before_sleep(&self) -> bool {
        true
    }
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
