//! Long payloads: copied once by their sender, and sent in one frame.

use super::intake::Place;
use super::{Came, May, Payload, Wire};
use crate::transport::network::framing::{Head, Sort, LONGEST};
use crate::transport::network::kept_payload::{self, copy, room};
use crate::transport::network::{Claim, Credits};
use crate::transport::{Arrival, Letter, Load, Packet, Payloads, Retained, Source, OWN_KINDS};
use crate::{JobRank, Result};
use std::sync::atomic::Ordering;

/// Kind of a packet that stands for a payload; its own payload is the payload's number.
pub const LOADED: u8 = OWN_KINDS;

/// A payload that has been loaded and not sent.
#[derive(Debug)]
pub struct Loaded {
    peer: JobRank,
    head: Head,
    payload: Box<[u8]>,
}

impl Wire {
    /// Sends the payload for which a packet stands.
    pub(super) fn push_loaded(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        let index = self.link_to(peer);
        let may = if peer == self.me() { May::Send } else { self.may_send(index)? };
        if may == May::Wait {
            return Ok(false);
        }
        let Some(Loaded { head, payload, .. }) = self.loads.take(letter) else {
            return Ok(true);
        };
        self.links[index].credits.went(head.claim());
        match may {
            _ if peer == self.me() => self.keep_own(head, payload),
            May::Send => self.send(index, head, Payload::Owned(payload)),
            May::Wait | May::Lose => {}
        }
        Ok(true)
    }

    /// A packet to oneself.
    pub(super) fn keep_own(&mut self, head: Head, payload: Box<[u8]>) {
        let source = self.me();
        self.to_self.push_back(Came { source, head, place: Place::Owned(payload), is_retained: false });
        self.ready.packets.store(1, Ordering::Release);
    }

    fn credits(&mut self, peer: JobRank) -> &mut Credits {
        let index = self.link_to(peer);
        &mut self.links[index].credits
    }

    /// A payload of `source` is not needed any more.
    pub(super) fn let_go(&mut self, source: JobRank, bytes: u64) {
        if source == self.me() {
            return self.credits(source).unloaded(Claim { is_awaited: false, bytes });
        }
        let index = self.link_to(source);
        match self.links[index].credits.release(bytes) {
            true => self.tell(index),
            false => self.owes(index),
        }
    }
}

impl Payloads for Wire {
    fn longest_payload(&self) -> usize {
        LONGEST
    }

    unsafe fn load(&mut self, peer: JobRank, load: Load<'_>) -> Result<Option<Packet>> {
        let Load { kind, header, bytes, is_awaited, source } = load;
        let claim = Claim { is_awaited, bytes: bytes as u64 };
        if !self.credits(peer).has_room(claim) {
            self.take_in();
            if !self.credits(peer).has_room(claim) {
                self.loads.refused = Some((peer, claim));
                return Ok(None);
            }
        }
        let payload = match source {
            // SAFETY: the block is readable for so many bytes, by the caller.
            Source::Block(block) => copy(unsafe { std::slice::from_raw_parts(block, bytes) }),
            Source::Packed(pack) => {
                let mut payload = vec![0; room(bytes)].into_boxed_slice();
                pack(payload.as_mut_ptr());
                payload
            }
        };
        let sort = if is_awaited { Sort::Awaited } else { Sort::Long };
        let head = Head { bytes: bytes as u32, ..Head::bare(sort, kind, header) };
        self.credits(peer).loaded(claim);
        Ok(Some(self.loads.add(Loaded { peer, head, payload })))
    }

    unsafe fn push_block(
        &mut self,
        peer: JobRank,
        (kind, header): (u8, [u64; 2]),
        before: &[u8],
        (block, bytes): (*const u8, usize),
    ) -> Result<bool> {
        let head = Head { bytes: bytes as u32, ..Head::bare(Sort::Long, kind, header) };
        if !before.is_empty()
            || peer == self.me()
            || bytes > LONGEST
            || !self.credits(peer).has_room(head.claim())
        {
            return Ok(false);
        }
        let index = self.link_to(peer);
        if self.may_send(index)? != May::Send {
            return Ok(false);
        }
        // SAFETY: by the caller.
        let is_sent = unsafe { self.send_block(index, head, block) };
        if is_sent {
            self.credits(peer).loaded(head.claim());
        }
        Ok(is_sent)
    }

    fn unload(&mut self, packet: &Packet) {
        if let Some(Loaded { peer, head, .. }) = self.loads.take(&packet.letter()) {
            self.credits(peer).unloaded(head.claim());
        }
    }

    fn want_load(&mut self) -> bool {
        let refused = self.loads.refused;
        refused.is_none_or(|(peer, claim)| self.credits(peer).has_room(claim))
    }

    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let came = self.current.as_mut().expect("the packet that was looked at last");
        came.is_retained = true;
        let token = u64::from(came.source.0) << 1 | u64::from(came.head.sort == Sort::Long);
        let payload = match &mut came.place {
            Place::Owned(payload) => std::mem::take(payload),
            Place::At(_) => {
                // SAFETY: it stays in the buffer until it is advanced over.
                let here = unsafe { std::slice::from_raw_parts(arrival.payload, arrival.bytes as usize) };
                copy(here)
            }
        };
        kept_payload::retain(payload, u64::from(arrival.bytes), token)
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
