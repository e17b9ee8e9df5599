//! The short way: a block of memory and a packet, with nothing made in between.
//!
//! What a rank does most often takes and gives plain words: they stay in
//! registers, where structures would be stored and loaded again at every step,
//! which costs more than the message.

use super::matching;
use super::wire::{Envelope, INLINE};
use super::work::Work;
use crate::core::Core;
use crate::observe::page::{add, Counters};
use crate::request::RequestId;
use crate::transport::{Arrival, Letter, Packets, INLINE_BYTES};
use crate::{JobRank, Result};

/// Looks for a packet without a pause between them: some microseconds.
const EAGER_LOOKS: u32 = 400;

/// What the status of a message tells that was received whole.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Rank of the sender in its group.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Length.
    pub bytes: u64,
}

impl Core {
    /// Sends a block of at most `LONG_LETTER_BYTES` bytes in a packet; `false` if
    /// that is not possible now, or not the way.
    #[inline(always)]
    pub(crate) fn send_now(
        &mut self,
        peer: JobRank,
        envelope: Envelope,
        address: *const u8,
        bytes: usize,
    ) -> Result<bool> {
        if self.others_wait(peer) || (bytes > INLINE_BYTES && !self.transport.takes_letter(peer, bytes)?) {
            return Ok(false);
        }
        // SAFETY: the program lends the buffer for the time of the call.
        let payload = unsafe { slice(address, bytes) };
        let letter = Letter { kind: INLINE, header: envelope.header(), payload };
        let sent = self.transport.push(peer, &letter)?;
        if sent {
            self.flows.sent(peer, bytes as u64);
        }
        Ok(sent)
    }

    /// Receives a message in a packet into a block with room for `room` bytes, if
    /// it is the next to arrive: looks for it at most `looks` times, the first of
    /// them without a pause. `None`, and nothing is changed, if something else
    /// came or nothing.
    #[inline(always)]
    pub(crate) fn take_letter(
        &mut self,
        wanted: Envelope,
        target: *mut u8,
        room: u64,
        looks: u32,
    ) -> Option<Taken> {
        let arrival = self.look_for_packet(looks)?;
        let Envelope { context, source, tag } = Envelope::of(arrival.header);
        let bytes = u64::from(arrival.bytes);
        let fits = arrival.kind == INLINE && wanted.fits(bytes, room) && context == wanted.context;
        if !fits || !matching::accepts(wanted.source, wanted.tag, source, tag) {
            return None;
        }
        // SAFETY: the program lends the buffer, and the message fits.
        unsafe { arrival.copy_to(target, bytes as usize) };
        self.transport.advance(&arrival);
        count_received(self.counters, bytes);
        Some(Taken { source, tag, bytes })
    }

    /// Looks for the next packet at most `looks` times, the first of them without a pause. It stays where it is.
    #[inline(always)]
    pub(super) fn look_for_packet(&mut self, looks: u32) -> Option<Arrival> {
        for look in 0..looks {
            if let Some(arrival) = self.transport.peek() {
                return Some(arrival);
            }
            if look > EAGER_LOOKS {
                std::hint::spin_loop();
            }
        }
        None
    }

    /// A request for a message that came at once.
    #[inline(always)]
    pub(crate) fn taken(&mut self, taken: Taken) -> Result<RequestId> {
        let request = self.requests.insert(Work::Nothing)?;
        self.requests.complete_posted(request, taken.source, taken.tag, taken.bytes);
        self.epoch += 1;
        Ok(self.requests.id(request))
    }
}

#[inline(always)]
pub(super) fn count_received(counters: &Counters, bytes: u64) {
    add(&counters.messages_received, 1);
    add(&counters.bytes_received, bytes);
}

/// The bytes of a block; an empty one may be anywhere.
///
/// # Safety
/// The block must be readable for the time of the call.
#[inline(always)]
unsafe fn slice<'a>(address: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts(address, bytes) }
}
