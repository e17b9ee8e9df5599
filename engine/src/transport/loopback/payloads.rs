//! Long payloads: copied once, and sent in one frame.

use super::frame::{Frame, Head, Sort, LONGEST};
use super::Loopback;
use crate::transport::network::kept_payload::{self, room};
use crate::transport::{Arrival, Letter, Load, Packet, Payloads, Retained, Source, OWN_KINDS};
use crate::{JobRank, Result};
use std::collections::HashMap;

/// Kind of a packet that stands for a payload; its own payload is the payload's number.
pub const LOADED: u8 = OWN_KINDS;

/// Payloads that have been loaded and not sent.
#[derive(Debug, Default)]
pub struct Loads {
    by_number: HashMap<u32, (JobRank, Frame)>,
    last: u32,
    /// For what there was no room the last time.
    refused: Option<(JobRank, Sort, u64)>,
    /// Peers have to be told of what has been let go of, and there was no room.
    pub are_told_late: bool,
}

impl Loopback {
    /// Sends the payload for which a packet stands.
    pub(super) fn push_loaded(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        let number = number_of(letter.payload);
        let Some((_, frame)) = self.loads.by_number.remove(&number) else { return Ok(true) };
        let (head, bytes) = (frame.head, frame.bytes as usize);
        let sent = self.send(peer, head, &frame.payload[..bytes]);
        match sent {
            Ok(false) => drop(self.loads.by_number.insert(number, (peer, frame))),
            _ => self.peers[peer.index()].went(head.sort),
        }
        sent
    }

    /// A payload of `source` is not needed any more.
    pub(super) fn let_go(&mut self, source: JobRank, bytes: u64) {
        self.peers[source.index()].released.add(bytes);
        self.tell_one(source);
    }
}

impl Payloads for Loopback {
    fn longest_payload(&self) -> usize {
        LONGEST
    }

    unsafe fn load(&mut self, peer: JobRank, load: Load<'_>) -> Result<Option<Packet>> {
        let Load { kind, header, bytes, is_awaited, source } = load;
        let sort = if is_awaited { Sort::Awaited } else { Sort::Long };
        if !self.peers[peer.index()].has_room(sort, bytes as u64) {
            self.take_in();
            self.next();
            if !self.peers[peer.index()].has_room(sort, bytes as u64) {
                self.loads.refused = Some((peer, sort, bytes as u64));
                return Ok(None);
            }
        }
        let mut payload = vec![0; room(bytes)].into_boxed_slice();
        match source {
            // SAFETY: the block is readable for so many bytes, by the caller.
            Source::Block(block) => unsafe { block.copy_to_nonoverlapping(payload.as_mut_ptr(), bytes) },
            Source::Packed(pack) => pack(payload.as_mut_ptr()),
        }
        let head = Head { kind, sort, number: 0, header };
        self.loads.last = self.loads.last.wrapping_add(1);
        let number = self.loads.last;
        self.loads.by_number.insert(number, (peer, Frame { head, bytes: bytes as u32, payload }));
        self.peers[peer.index()].loaded(sort, bytes as u64);
        Ok(Some(Packet::with(LOADED, [0; 2], &number)))
    }

    fn unload(&mut self, packet: &Packet) {
        if packet.kind == LOADED {
            if let Some((peer, frame)) = self.loads.by_number.remove(&packet.read::<u32>()) {
                self.peers[peer.index()].unloaded(frame.head.sort, u64::from(frame.bytes));
            }
        }
    }

    fn want_load(&mut self) -> bool {
        let has_room = |(peer, sort, bytes): (JobRank, _, _)| self.peers[peer.index()].has_room(sort, bytes);
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

fn number_of(payload: &[u8]) -> u32 {
    u32::from_ne_bytes(payload.try_into().expect("the number of a payload"))
}
