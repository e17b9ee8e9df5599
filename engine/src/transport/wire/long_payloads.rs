//! Long payloads: copied once by their sender, and sent in one frame.

use super::framing::{Head, Sort, LONGEST};
use super::intake::{copy, room, Place};
use super::{Came, May, Payload, Wire};
use crate::transport::{Arrival, Letter, Load, Packet, Payloads, Retained, Source, OWN_KINDS};
use crate::{JobRank, Result};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// Kind of a packet that stands for a payload; its own payload is the payload's number.
pub const LOADED: u8 = OWN_KINDS;

/// Payloads that have been loaded and not sent.
#[derive(Debug, Default)]
pub struct Loads {
    by_number: HashMap<u32, Loaded>,
    last: u32,
    /// For what there was no room the last time.
    refused: Option<(JobRank, Sort, u64)>,
}

#[derive(Debug)]
struct Loaded {
    peer: JobRank,
    head: Head,
    payload: Box<[u8]>,
}

impl Wire {
    /// Sends the payload for which a packet stands.
    pub(super) fn push_loaded(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        let number = u32::from_ne_bytes(letter.payload.try_into().expect("the number of a payload"));
        let index = self.link_to(peer);
        let may = if peer == self.me() { May::Send } else { self.may_send(index)? };
        if may == May::Wait {
            return Ok(false);
        }
        let Some(Loaded { head, payload, .. }) = self.loads.by_number.remove(&number) else {
            return Ok(true);
        };
        self.links[index].credits.went(head.sort);
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

    fn credits(&mut self, peer: JobRank) -> &mut super::credits::Credits {
        let index = self.link_to(peer);
        &mut self.links[index].credits
    }

    /// A payload of `source` is not needed any more.
    pub(super) fn let_go(&mut self, source: JobRank, bytes: u64) {
        if source == self.me() {
            return self.credits(source).unloaded(Sort::Long, bytes);
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
        let sort = if is_awaited { Sort::Awaited } else { Sort::Long };
        if !self.credits(peer).has_room(sort, bytes as u64) {
            self.take_in();
            if !self.credits(peer).has_room(sort, bytes as u64) {
                self.loads.refused = Some((peer, sort, bytes as u64));
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
        let head = Head { bytes: bytes as u32, ..Head::bare(sort, kind, header) };
        self.loads.last = self.loads.last.wrapping_add(1);
        let number = self.loads.last;
        self.loads.by_number.insert(number, Loaded { peer, head, payload });
        self.credits(peer).loaded(sort, bytes as u64);
        Ok(Some(Packet::with(LOADED, [0; 2], &number)))
    }

    unsafe fn push_block(
        &mut self,
        peer: JobRank,
        (kind, header): (u8, [u64; 2]),
        (block, bytes): (*const u8, usize),
    ) -> Result<bool> {
        if peer == self.me() || bytes > LONGEST || !self.credits(peer).has_room(Sort::Long, bytes as u64) {
            return Ok(false);
        }
        let index = self.link_to(peer);
        if self.may_send(index)? != May::Send {
            return Ok(false);
        }
        let head = Head { bytes: bytes as u32, ..Head::bare(Sort::Long, kind, header) };
        // SAFETY: by the caller.
        let is_sent = unsafe { self.send_block(index, head, block) };
        if is_sent {
            self.credits(peer).loaded(Sort::Long, bytes as u64);
        }
        Ok(is_sent)
    }

    fn unload(&mut self, packet: &Packet) {
        if packet.kind == LOADED {
            if let Some(Loaded { peer, head, .. }) = self.loads.by_number.remove(&packet.read::<u32>()) {
                self.credits(peer).unloaded(head.sort, u64::from(head.bytes));
            }
        }
    }

    fn want_load(&mut self) -> bool {
        let refused = self.loads.refused;
        refused.is_none_or(|(peer, sort, bytes)| self.credits(peer).has_room(sort, bytes))
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
        Retained { payload: Box::into_raw(payload).cast::<u8>(), bytes: u64::from(arrival.bytes), token }
    }

    fn release(&mut self, retained: Retained) {
        let Retained { payload, bytes, token } = retained;
        let kept = std::ptr::slice_from_raw_parts_mut(payload.cast_mut(), room(bytes as usize));
        // SAFETY: `retain` has made it of a box of this length, and it is released once.
        drop(unsafe { Box::from_raw(kept) });
        if token & 1 != 0 {
            self.let_go(JobRank((token >> 1) as u32), bytes);
        }
    }
}
