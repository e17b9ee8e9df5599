//! Payloads that are too long for a packet.
//!
//! The sender's transport copies such a payload into memory of its own and makes a packet that stands for
//! it, which is pushed as any other. At the receiver the packet arrives with its payload, which can be
//! read until the packet is advanced over, or if it is retained, until it is released. What memory this
//! is, and how the payload comes from there to the receiver, only the transport knows.

use super::{Arrival, Packet, Reaches};
use crate::Result;

/// A payload to be sent, and the packet that shall bring it.
pub struct Load<'a> {
    /// What the packet means to the message room.
    pub kind: u8,
    /// 16 bytes that the message room reads at its arrival.
    pub header: [u64; 2],
    /// Bytes of the payload.
    pub bytes: usize,
    /// Whether the receiver has asked for it, and so gives its memory back soon. Such payloads have
    /// memory that no other takes: all other memory may lie with messages that wait behind them.
    pub is_awaited: bool,
    /// Where it comes from.
    pub source: Source<'a>,
}

/// Where a payload comes from.
pub enum Source<'a> {
    /// A block: it is copied in the way that is quickest between the two ranks.
    Block(*const u8),
    /// Whatever this writes to the address that it gets.
    Packed(&'a mut dyn FnMut(*mut u8)),
}

/// A payload whose packet has been advanced over. It has to be released, once.
#[derive(Clone, Copy, Debug)]
pub struct Retained {
    /// Where it is.
    pub payload: *const u8,
    /// Its length.
    pub bytes: u64,
    /// By what the transport knows it.
    pub(crate) token: u64,
}

// SAFETY: the payload lies in the transport's memory; whoever has the transport may read it.
unsafe impl Send for Retained {}
// SAFETY: as above.
unsafe impl Sync for Retained {}

/// Sending and keeping payloads that are too long for a packet.
pub trait Payloads: Reaches {
    /// The longest payload that [`Payloads::load`] takes.
    fn longest_payload(&self) -> usize;

    /// Copies a payload, and makes a packet that brings it to `peer` when it is pushed; `None` when
    /// there is no memory for it now.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    ///
    /// # Safety
    /// A block must be readable for `bytes` bytes; what packs must write no more.
    unsafe fn load(&mut self, peer: Self::Peer, load: Load<'_>) -> Result<Option<Packet>>;

    /// Sends a block at once, as [`Payloads::load`] and a push would do, behind a `head` of at most a line; `false`, and
    /// nothing is sent, where that is no quicker, or there is no room. The block may be used again when it returns.
    ///
    /// # Errors
    /// When the peer cannot be reached.
    ///
    /// # Safety
    /// The block must be readable for its bytes.
    unsafe fn push_block(
        &mut self,
        _peer: Self::Peer,
        _what: (u8, [u64; 2]),
        _head: &[u8],
        _block: (*const u8, usize),
    ) -> Result<bool> {
        Ok(false)
    }

    /// A packet will not be pushed: what it stands for is given back, if it does for anything.
    fn unload(&mut self, packet: &Packet);

    /// Asks to be woken when there is memory again; `true` if there is some already.
    fn want_load(&mut self) -> bool;

    /// The part of a long payload that begins at byte `at`: where it is, and how long. One that was
    /// [pushed](Payloads::push_block) at once may lie in several places, and its sender may still copy it: this waits a
    /// moment then. The payload is the `retained` one, or that of the packet looked at last; `all` is where it
    /// lies if it is in one place, and its length.
    ///
    /// # Errors
    /// The sender has died meanwhile.
    #[inline]
    fn part(
        &mut self,
        _retained: Option<&Retained>,
        all: (*const u8, usize),
        at: usize,
    ) -> Result<(*const u8, usize)> {
        Ok((all.0.wrapping_add(at), all.1 - at))
    }

    /// Keeps the payload of the packet that was looked at last and [is long](Arrival::is_long), beyond
    /// [`advance`](super::Packets::advance).
    fn retain(&mut self, arrival: &Arrival) -> Retained;

    /// A payload that was retained has been read.
    fn release(&mut self, retained: Retained);
}
