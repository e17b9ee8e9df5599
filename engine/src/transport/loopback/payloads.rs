//! Long payloads: copied once, and sent in one frame.

use super::frame::{Frame, Head, Sort, LONGEST};
use super::Loopback;
use crate::transport::network::kept_payload::{self, room};
use crate::transport::network::Claim;
use crate::transport::{Arrival, Letter, Load, Packet, Payloads, Retained, Source, OWN_KINDS};
use crate::{JobRank, Result};

/// Kind of a packet that stands for a payload; its own payload is the payload's number.
pub const LOADED: u8 = OWN_KINDS;

impl Loopback {
    /// Sends the payload for which a packet stands.
    pub(super) fn push_loaded(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        let Some((_, frame)) = self.loads.take(letter) else { return Ok(true) };
        let (head, bytes) = (frame.head, frame.bytes as usize);
        let sent = self.send(peer, head, &frame.payload[..bytes]);
        match sent {
            Ok(false) => self.loads.put_back(letter, (peer, frame)),
            _ => self.peers[peer.index()].credits.went(frame.claim()),
        }
        sent
    }

    /// A payload of `source` is not needed any more.
    pub(super) fn let_go(&mut self, source: JobRank, bytes: u64) {
        // It is told at once, however little that is.
        self.peers[source.index()].credits.release(bytes);
        self.tell_one(source);
    }
}

impl Payloads for Loopback {
    fn longest_payload(&self) -> usize {
        LONGEST
    }

    unsafe fn load(&mut self, peer: JobRank, load: Load<'_>) -> Result<Option<Packet>> {
        let Load { kind, header, bytes, is_awaited, source } = load;
        let claim = Claim { is_awaited, bytes: bytes as u64 };
        if !self.peers[peer.index()].credits.has_room(claim) {
            self.take_in();
            self.next();
            if !self.peers[peer.index()].credits.has_room(claim) {
                self.loads.refused = Some((peer, claim));
                return Ok(None);
            }
        }
        let mut payload = vec![0; room(bytes)].into_boxed_slice();
        match source {
            // SAFETY: the block is readable for so many bytes, by the caller.
            Source::Block(block) => unsafe { block.copy_to_nonoverlapping(payload.as_mut_ptr(), bytes) },
            Source::Packed(pack) => pack(payload.as_mut_ptr()),
        }
        let sort = if is_awaited { Sort::Awaited } else { Sort::Long };
        let head = Head { kind, sort, number: 0, header };
        self.peers[peer.index()].credits.loaded(claim);
        Ok(Some(self.loads.add((peer, Frame { head, bytes: bytes as u32, payload }))))
    }

    fn unload(&mut self, packet: &Packet) {
        if let Some((peer, frame)) = self.loads.take(&packet.letter()) {
            self.peers[peer.index()].credits.unloaded(frame.claim());
        }
    }

    fn want_load(&mut self) -> bool {
        let has_room = |(peer, claim): (JobRank, _)| self.peers[peer.index()].credits.has_room(claim);
        self.loads.refused.is_none_or(has_room)
    }

    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let (source, frame) = self.inbox.current().expect("the packet that was looked at last");
        let is_counted = frame.head.sort == Sort::Long;
        let token = u64::from(source.0) << 1 | u64::from(is_counted);
        kept_payload::retain(std::mem::take(&mut frame.payload), u64::from(arrival.bytes), token)
    }

    fn release(&mut self, retained: Retained) {
        // SAFETY: `retain` has made it, and it is released once.
        unsafe { kept_payload::free(&retained) };
        let Retained { bytes, token, .. } = retained;
        if token & 1 != 0 {
            self.let_go(JobRank((token >> 1) as u32), bytes);
        }
    }
}
