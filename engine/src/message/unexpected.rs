//! A message whose receive is not there yet: where it is, and how it is kept.

use super::wire::{self, Offer, Ticket, TICKET_BYTES, TICKET_LINE};
use crate::transport::{Arrival, Payloads, Retained, INLINE_BYTES};
use crate::JobRank;

/// A message that nobody has asked for yet.
#[derive(Clone, Debug)]
pub struct Unexpected {
    /// Rank of the sender in its group.
    pub source: i32,
    /// Its tag.
    pub tag: i32,
    /// Where it is.
    pub found: Found,
}

/// Where a message is when its receive is found.
#[derive(Clone, Debug)]
pub enum Found {
    /// In a packet that is being read: only until the packet's place is given back.
    Inline(Arrival),
    /// The same, and its sender waits until it has been taken.
    Awaited(Ticket, Arrival),
    /// A copy of what was in a packet.
    Short {
        /// Its length.
        bytes: u8,
        /// Its bytes.
        payload: [u8; INLINE_BYTES],
    },
    /// The same, longer.
    Kept(Box<[u8]>),
    /// The same, and its sender waits until it has been taken.
    KeptAwaited(Box<(Ticket, Box<[u8]>)>),
    /// The payload, longer than a packet, of one that is being read.
    Long(Arrival),
    /// The same of one that has been read.
    Retained(Retained),
    /// The same, and its sender waits until it has been taken.
    RetainedAwaited(Ticket, Retained),
    /// With the sender.
    Offer(Offer),
}

impl Found {
    /// The message that a packet brings or offers; `None` if it does neither.
    #[inline]
    pub fn of(arrival: &Arrival) -> Option<Found> {
        Some(match arrival.kind {
            wire::INLINE => Found::Inline(*arrival),
            wire::LONG => Found::Long(*arrival),
            wire::OFFER => Found::Offer(arrival.read()),
            wire::AWAITED => {
                let before = if arrival.is_long { TICKET_LINE } else { TICKET_BYTES };
                Found::Awaited(arrival.read(), arrival.behind(before))
            }
            _ => return None,
        })
    }

    /// Bytes of the message.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Found::Inline(arrival) | Found::Awaited(_, arrival) | Found::Long(arrival) => {
                arrival.bytes as u64
            }
            Found::Short { bytes, .. } => *bytes as u64,
            Found::Kept(_) | Found::KeptAwaited(_) => self.kept_bytes(),
            Found::Retained(retained) | Found::RetainedAwaited(_, retained) => retained.bytes,
            Found::Offer(offer) => offer.bytes,
        }
    }

    /// Bytes of a long payload before the message.
    #[inline]
    pub fn head(&self) -> usize {
        match self {
            Found::Awaited(..) | Found::RetainedAwaited(..) => TICKET_LINE,
            _ => 0,
        }
    }

    /// Memory of its own that its payload takes.
    pub fn kept_bytes(&self) -> u64 {
        match self {
            Found::Kept(payload) => payload.len() as u64,
            Found::KeptAwaited(awaited) => awaited.1.len() as u64,
            _ => 0,
        }
    }

    /// What its sender waits for, if it does.
    #[inline]
    pub fn ticket(&self) -> Option<Ticket> {
        match self {
            Found::Awaited(ticket, _) | Found::RetainedAwaited(ticket, _) => Some(*ticket),
            Found::KeptAwaited(awaited) => Some(awaited.0),
            _ => None,
        }
    }

    /// What its sender knows it by, if it can still be withdrawn.
    #[inline]
    pub fn offered(&self) -> Option<Ticket> {
        match self {
            Found::Offer(offer) => Some(Ticket { peer: offer.peer, request: offer.request }),
            other => other.ticket(),
        }
    }

    /// Notes who has sent it, of a message that the sender waits for.
    #[inline]
    pub fn is_from(&mut self, sender: JobRank) {
        match self {
            Found::Offer(offer) => offer.peer = sender,
            Found::Awaited(ticket, _) => ticket.peer = sender,
            _ => {}
        }
    }

    /// As it can be kept until somebody asks for it.
    pub fn keep(self, transport: &mut impl Payloads) -> Found {
        match self {
            Found::Long(arrival) => Found::Retained(transport.retain(&arrival)),
            Found::Inline(arrival) if arrival.bytes as usize <= INLINE_BYTES => {
                let (bytes, mut payload) = (arrival.bytes as usize, [0; INLINE_BYTES]);
                // SAFETY: the packet is being read and that long; it fits.
                unsafe { arrival.copy_to(payload.as_mut_ptr(), bytes) };
                Found::Short { bytes: bytes as u8, payload }
            }
            Found::Inline(arrival) => Found::Kept(payload_of(&arrival)),
            Found::Awaited(ticket, message) if message.is_long => {
                Found::RetainedAwaited(ticket, transport.retain(&message))
            }
            Found::Awaited(ticket, arrival) => Found::KeptAwaited(Box::new((ticket, payload_of(&arrival)))),
            other => other,
        }
    }
}

/// A copy of what is in a packet that is being read.
fn payload_of(arrival: &Arrival) -> Box<[u8]> {
    let bytes = arrival.bytes as usize;
    let mut payload = Box::new_uninit_slice(bytes);
    // SAFETY: the packet is being read and that long, and so all of the copy is written.
    unsafe {
        arrival.copy_to(payload.as_mut_ptr().cast(), bytes);
        payload.assume_init()
    }
}
