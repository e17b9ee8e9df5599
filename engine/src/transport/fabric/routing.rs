//! Long payloads and memory of peers, over the fabric or the wire: by whichever the peer is reached.

use super::fabric_partner::Way;
use super::fabric_port::{Loaded, Port};
use super::inbound::Place;
use super::message_buffers::BEFORE_PAYLOAD;
use super::{Fabric, InHand};
use crate::transport::network::framing::{Head, Sort, LONGEST};
use crate::transport::network::kept_payload;
use crate::transport::{
    AccessDescriptor, Arrival, Letter, Load, Packet, Payloads, RemoteMemory, Retained, Source, Told,
    OWN_KINDS,
};
use crate::{JobRank, Result};

/// Of the token of a retained payload: it came over the fabric.
const OVER_FABRIC: u64 = 1 << 62;

impl Port {
    /// As [`Payloads::load`].
    ///
    /// # Safety
    /// The same.
    unsafe fn load(&mut self, index: usize, load: Load<'_>) -> Option<Packet> {
        let Load { kind, header, bytes, is_awaited, source } = load;
        let sort = if is_awaited { Sort::Awaited } else { Sort::Long };
        let head = Head { bytes: bytes as u32, ..Head::bare(sort, kind, header) };
        let claim = head.claim();
        if !self.partners[index].credits.has_room(claim) {
            self.progress();
        }
        let has_room = self.partners[index].credits.has_room(claim);
        let buffer = match has_room {
            true => self.buffers.take(&self.endpoint, BEFORE_PAYLOAD + bytes).ok(),
            false => None,
        };
        let Some(buffer) = buffer else {
            self.loads.refused = Some((self.partners[index].rank, claim));
            return None;
        };
        let place = self.buffers.bytes(buffer)[BEFORE_PAYLOAD..].as_mut_ptr();
        match source {
            // SAFETY: the block is readable for so many bytes, by the caller, and the buffer has room for them.
            Source::Block(block) => unsafe { place.copy_from_nonoverlapping(block, bytes) },
            Source::Packed(pack) => pack(place),
        }
        self.partners[index].credits.loaded(claim);
        Some(self.loads.add(Loaded { partner: index, head, buffer }))
    }

    /// As [`Payloads::push_block`].
    ///
    /// # Safety
    /// The same.
    unsafe fn push_block(
        &mut self,
        index: usize,
        head: Head,
        (block, bytes): (*const u8, usize),
    ) -> Result<bool> {
        if bytes > LONGEST || !self.partners[index].credits.has_room(head.claim()) {
            return Ok(false);
        }
        // SAFETY: by the caller.
        let block = unsafe { std::slice::from_raw_parts(block, bytes) };
        let is_sent = self.send(index, head, block)?;
        if is_sent {
            self.partners[index].credits.loaded(head.claim());
        }
        Ok(is_sent)
    }

    /// As [`Payloads::retain`].
    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let came = self.inbound.first_mut().expect("the packet that was looked at last");
        came.is_retained = true;
        let is_counted = came.head.sort == Sort::Long;
        let index = came.partner.map_or(0, |index| index as u64);
        let payload = match &mut came.place {
            Place::Owned(payload) => std::mem::take(payload),
            Place::Received(..) => {
                // SAFETY: it stays in the buffer until it is advanced over.
                kept_payload::copy(unsafe {
                    std::slice::from_raw_parts(arrival.payload(), arrival.bytes as usize)
                })
            }
        };
        let token = OVER_FABRIC | index << 1 | u64::from(is_counted);
        kept_payload::retain(payload, u64::from(arrival.bytes), token)
    }

    fn release(&mut self, retained: &Retained) {
        // SAFETY: `retain` has made it, and it is released once.
        unsafe { kept_payload::free(retained) };
        if retained.token & 1 != 0 {
            self.let_go(((retained.token & !OVER_FABRIC) >> 1) as usize, retained.bytes);
        }
    }
}

impl Port {
    /// Sends the payload for which a packet stands.
    pub(super) fn push_loaded(&mut self, index: usize, letter: &Letter<'_>) -> Result<bool> {
        let Some(loaded) = self.loads.take(letter) else { return Ok(true) };
        let Loaded { head, buffer, .. } = loaded;
        let went = self.send_buffer(index, head, buffer)?;
        match went {
            true => self.partners[index].credits.went(head.claim()),
            false => self.loads.put_back(letter, loaded),
        }
        Ok(went)
    }
}

impl Fabric {
    /// Whether it stands for a payload that was loaded for the wire, before the peer was known on the fabric.
    pub(super) fn is_early(&self, letter: &Letter<'_>) -> bool {
        !self.early_loads.is_empty()
            && number_of(letter).is_some_and(|number| self.early_loads.contains_key(&number))
    }

    /// Sends such a payload.
    pub(super) fn push_early(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        let went = self.wire.push(peer, letter)?;
        if went {
            self.is_early_no_more(letter);
        }
        Ok(went)
    }

    /// A payload that was loaded for the wire has been sent, or will not be.
    fn is_early_no_more(&mut self, letter: &Letter<'_>) {
        let index = number_of(letter).and_then(|number| self.early_loads.remove(&number));
        if let (Some(index), Some(port)) = (index, &mut self.port) {
            port.partners[index].wire_loads -= 1;
        }
    }
}

/// The number of the payload for which a packet of the wire's stands, if it does for one.
fn number_of(letter: &Letter<'_>) -> Option<u32> {
    let bytes = letter.payload.try_into().ok().filter(|_| letter.kind == OWN_KINDS)?;
    Some(u32::from_ne_bytes(bytes))
}

impl Payloads for Fabric {
    fn longest_payload(&self) -> usize {
        LONGEST.min(self.wire.longest_payload())
    }

    unsafe fn load(&mut self, peer: JobRank, load: Load<'_>) -> Result<Option<Packet>> {
        if let Some((port, index)) = self.fabric_to(peer)? {
            // SAFETY: by the caller.
            let loaded = unsafe { port.load(index, load) };
            self.is_fabric_full = loaded.is_none();
            return Ok(loaded);
        }
        self.is_fabric_full = false;
        // SAFETY: by the caller.
        let loaded = unsafe { self.wire.load(peer, load)? };
        if let (Some(port), Some(packet), true) = (&mut self.port, &loaded, peer != self.me) {
            let index = port.partner(peer);
            if let (Way::Early, Some(number)) = (port.partners[index].way, number_of(&packet.letter())) {
                port.partners[index].wire_loads += 1;
                self.early_loads.insert(number, index);
            }
        }
        Ok(loaded)
    }

    unsafe fn push_block(
        &mut self,
        peer: JobRank,
        (kind, header): (u8, [u64; 2]),
        before: &[u8],
        block: (*const u8, usize),
    ) -> Result<bool> {
        match self.fabric_to(peer)? {
            Some(_) if !before.is_empty() => Ok(false),
            Some((port, index)) => {
                let head = Head { bytes: block.1 as u32, ..Head::bare(Sort::Long, kind, header) };
                // SAFETY: by the caller.
                unsafe { port.push_block(index, head, block) }
            }
            // SAFETY: by the caller.
            None => unsafe { self.wire.push_block(peer, (kind, header), before, block) },
        }
    }

    fn unload(&mut self, packet: &Packet) {
        self.wire.unload(packet);
        self.is_early_no_more(&packet.letter());
        if let Some(port) = &mut self.port {
            if let Some(Loaded { partner, head, buffer }) = port.loads.take(&packet.letter()) {
                port.buffers.give(buffer);
                port.partners[partner].credits.unloaded(head.claim());
            }
        }
    }

    /// If the fabric was full, it is what is waited for.
    fn want_load(&mut self) -> bool {
        match &mut self.port {
            Some(port) if self.is_fabric_full => port.loads.refused.is_none_or(|(peer, claim)| {
                let index = port.partner(peer);
                port.partners[index].credits.has_room(claim)
            }),
            _ => self.wire.want_load(),
        }
    }

    fn retain(&mut self, arrival: &Arrival) -> Retained {
        match &mut self.port {
            Some(port) if self.in_hand == InHand::Fabric => port.retain(arrival),
            _ => self.wire.retain(arrival),
        }
    }

    fn release(&mut self, retained: Retained) {
        match &mut self.port {
            Some(port) if retained.token & OVER_FABRIC != 0 => port.release(&retained),
            _ => self.wire.release(retained),
        }
    }
}

impl Fabric {
    /// The port, and the number of a peer there, if packets to it go over the fabric, or may some day.
    fn port_of(&mut self, peer: JobRank) -> Option<(&mut Port, usize)> {
        let port = self.port.as_mut().filter(|_| peer != self.me)?;
        let index = port.partner(peer);
        (port.partners[index].way != Way::Wire).then_some((port, index))
    }
}

/// Memory is registered with the transport over which its peer hears of it. Before a peer has changed over none is.
impl RemoteMemory for Fabric {
    fn register(&mut self, peer: JobRank, address: *const u8, bytes: u64) -> AccessDescriptor {
        if let Ok(Some((port, _))) = self.fabric_to(peer) {
            return port.offer(address, bytes);
        }
        match self.port_of(peer) {
            Some(_) => AccessDescriptor::unreachable(bytes),
            None => self.wire.register(peer, address, bytes),
        }
    }

    fn unregister(&mut self, peer: JobRank, memory: AccessDescriptor) {
        match self.port_of(peer) {
            Some((port, _)) => port.withdraw_memory(memory),
            None => self.wire.unregister(peer, memory),
        }
    }

    unsafe fn fetch(
        &mut self,
        peer: JobRank,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
        told: Told,
    ) -> Result<()> {
        match self.port_of(peer) {
            // SAFETY: by the caller.
            Some((port, index)) => unsafe { port.fetch(index, memory, pieces, told) },
            // SAFETY: by the caller.
            None => unsafe { self.wire.fetch(peer, memory, pieces, told) },
        }
    }

    fn forget_fetches(&mut self, peer: JobRank, is_meant: &dyn Fn(&Told) -> bool) {
        self.wire.forget_fetches(peer, is_meant);
    }
}
