//! A sample of a long message tells where its lines lie, and so which way it had better come.
//!
//! The receiver could read it where it is, which is one copy. But lines that the sender has just written lie in the cache
//! of its core: to fetch them takes longer than to copy them, and the sender has to fetch them back when it writes next.
//! Then it is quicker when the sender copies them into cells, which both cores find in the common cache
//! (`transport/node/long_block.rs`), while the receiver copies them out.
//!
//! So the receiver copies the first of the message twice. The second time all lines are in its own cache. [Decision
//! 39](../../../docs/decisions/0039-a-sample-chooses-the-way.md) has the figures.
//!
//! Memory that it has not mapped it reads through the kernel, a page at a time. Two copies through cells are quicker than
//! that, wherever the lines lie ([decision 47](../../../docs/decisions/0047-staged-until-mapped.md)).

use super::wire::Offer;
use super::work::Work;
use crate::clock::ticks;
use crate::core::Core;
use crate::transport::OfferedMemory;
use crate::tuning::crossovers::{EAGER_BLOCK, STAGED_UNLESS_MAPPED};
use crate::{JobRank, LocalRank, Result};

/// Bytes of the sample: more than fits the first cache twice.
const SAMPLE_BYTES: u64 = 32 << 10;
/// Bytes of a page at least.
const PAGE: u64 = 4 << 10;
/// The lines are far if the first time takes more than so many times the second time.
const FAR: u64 = 2;
/// Looks whether a sender waits that has just offered its message: less than a microsecond.
const LOOKS: u32 = 64;

/// Messages of a peer that are read without another sample after one whose lines were at hand.
const SPARED: u8 = 3;
/// Peers that are told apart.
const PEERS: usize = 16;

/// How many messages are still spared a sample, by peer.
#[derive(Debug, Default)]
pub struct Samples([u8; PEERS]);

impl Samples {
    /// Whether the next message of a peer is read without a sample.
    fn spares(&mut self, peer: JobRank) -> bool {
        let left = &mut self.0[peer.0 as usize % PEERS];
        let is_spared = *left > 0;
        *left = left.saturating_sub(1);
        is_spared
    }

    /// What a sample has shown.
    fn note(&mut self, peer: JobRank, is_far: bool) {
        self.0[peer.0 as usize % PEERS] = if is_far { 0 } else { SPARED };
    }
}

impl Core {
    /// Whether the sender had better copy an offered message that could be read where it is. It does so only while it waits:
    /// nobody depends on a sender that computes.
    ///
    /// # Errors
    /// When it cannot be read after all.
    pub(super) fn had_better_come_in_parts(&mut self, index: u32, offer: &Offer, taken: u64) -> Result<bool> {
        if !EAGER_BLOCK.is_passed_by(taken) || offer.peer == self.rank || self.shares_cpus() {
            return Ok(false);
        }
        let Some(sender) = self.job.local(offer.peer) else { return Ok(false) };
        let Work::Receive(receive) = &self.requests[index].work else { return Ok(false) };
        let Some(target) = receive.buffer.dense() else { return Ok(false) };
        // Where the first whole page begins: one that has other data, too, may not be mapped here.
        let memory = offer.memory();
        let offset = memory.address.wrapping_neg() % PAGE;
        let sample = memory.part(offset, SAMPLE_BYTES);
        if self.transport.direct(offer.peer, sample).is_none() {
            return Ok(!STAGED_UNLESS_MAPPED.is_passed_by(taken) && self.waits_soon(sender));
        }
        if self.samples.spares(offer.peer) {
            return Ok(false);
        }
        let piece = [(target as usize + offset as usize, SAMPLE_BYTES as usize)];
        let mut take = || {
            let begin = ticks();
            // SAFETY: near the beginning of the buffer that the program lends, which is longer.
            unsafe { self.transport.read(offer.peer, sample, &piece)? };
            Ok(ticks() - begin)
        };
        let (first, again) = (take()?, take()?);
        let is_far = first > FAR * again;
        self.samples.note(offer.peer, is_far);
        Ok(is_far && self.waits_soon(sender))
    }

    /// Whether a sender waits for its message to be taken, or comes to do so at once.
    fn waits_soon(&self, sender: LocalRank) -> bool {
        let call = &self.job.node.page(sender.0).call;
        (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            call.is_in_wait()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_messages_are_spared_a_sample_after_one_that_was_near() {
        let (mut samples, peer) = (Samples::default(), JobRank(5));
        assert!(!samples.spares(peer));
        samples.note(peer, false);
        assert!((0..SPARED).all(|_| samples.spares(peer)) && !samples.spares(peer));
        samples.note(peer, false);
        assert!(!samples.spares(JobRank(6)) && samples.spares(peer));
        samples.note(peer, true);
        assert!(!samples.spares(peer));
    }
}
