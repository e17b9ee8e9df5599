//! Broadcasts to groups: what is said beside messages, and what makes them go on.

use super::groups::bytes_of;
use super::progress_sources::MULTICASTS;
use super::wire::{AGAIN, ASK, PIECE};
use crate::collective::multicast::Said;
use crate::core::Core;
use crate::transport::{Letter, Packets};
use crate::{JobRank, Result};

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

    /// Looks for pieces while a round is under way; whether one is.
    pub(super) fn go_on_in_groups(&mut self) -> bool {
        if !self.groups.are_active() {
            return false;
        }
        // Pieces are no completions, by which collectives are known to have something to do.
        self.collectives_seen = self.epoch.wrapping_sub(1);
        self.advance_collectives();
        self.groups.are_active()
    }
}
