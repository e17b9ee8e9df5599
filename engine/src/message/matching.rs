//! Matching: which receive gets which message (MPI-5.0 §3.5).
//!
//! Each context has two queues in order of arrival: receives that wait for a
//! message, and messages that wait for a receive. At most one of the two has
//! entries that match each other.

use super::wire::{Envelope, InCell, Offer};
use super::{ANY_SOURCE, ANY_TAG};
use crate::transport::{Arrival, INLINE_BYTES};
use std::collections::{HashMap, VecDeque};

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
    /// A copy of what was in a packet.
    Short {
        /// Its length.
        bytes: u8,
        /// Its bytes.
        payload: [u8; INLINE_BYTES],
    },
    /// The same, longer.
    Kept(Box<[u8]>),
    /// In a cell of the sender.
    InCell(InCell),
    /// With the sender.
    Offer(Offer),
}

impl Found {
    /// Bytes of the message.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Found::Inline(arrival) => arrival.bytes as u64,
            Found::Short { bytes, .. } => *bytes as u64,
            Found::Kept(payload) => payload.len() as u64,
            Found::InCell(cell) => cell.bytes,
            Found::Offer(offer) => offer.bytes,
        }
    }

    /// As it can be kept until somebody asks for it.
    pub fn keep(self) -> Found {
        let Found::Inline(arrival) = self else { return self };
        let bytes = arrival.bytes as usize;
        if bytes <= INLINE_BYTES {
            let mut payload = [0; INLINE_BYTES];
            // SAFETY: the packet is being read and that long; it fits.
            unsafe { arrival.copy_to(payload.as_mut_ptr(), bytes) };
            return Found::Short { bytes: bytes as u8, payload };
        }
        let mut payload = vec![0; bytes].into_boxed_slice();
        // SAFETY: the packet is being read and that long.
        unsafe { arrival.copy_to(payload.as_mut_ptr(), bytes) };
        Found::Kept(payload)
    }
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    source: i32,
    tag: i32,
    request: u32,
}

impl Posted {
    #[inline]
    fn accepts(&self, source: i32, tag: i32) -> bool {
        accepts(self.source, self.tag, source, tag)
    }
}

/// Whether a receive from `wanted_source` with `wanted_tag` takes a message.
#[inline]
pub fn accepts(wanted_source: i32, wanted_tag: i32, source: i32, tag: i32) -> bool {
    (wanted_source == source || wanted_source == ANY_SOURCE) && (wanted_tag == tag || wanted_tag == ANY_TAG)
}

#[derive(Debug, Default)]
struct Queues {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Unexpected>,
}

/// The queues of all contexts.
#[derive(Debug, Default)]
pub struct Matching {
    queues: Vec<Queues>,
    places: HashMap<u64, usize>,
    free: Vec<usize>,
    /// The context asked for last: messages come in bursts of one context.
    last: Option<(u64, usize)>,
    unexpected: u64,
}

impl Matching {
    #[inline]
    fn queues(&mut self, context: u64) -> &mut Queues {
        let place = match self.last {
            Some((last, place)) if last == context => place,
            _ => self.find(context),
        };
        &mut self.queues[place]
    }

    #[cold]
    fn find(&mut self, context: u64) -> usize {
        let place = match self.places.get(&context) {
            Some(&place) => place,
            None => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.queues.push(Queues::default());
                    self.queues.len() - 1
                });
                self.places.insert(context, place);
                place
            }
        };
        self.last = Some((context, place));
        place
    }

    /// Takes the first posted receive that accepts a message that has arrived.
    #[inline]
    pub fn take_posted(&mut self, envelope: Envelope) -> Option<u32> {
        let posted = &mut self.queues(envelope.context).posted;
        if posted.front()?.accepts(envelope.source, envelope.tag) {
            return posted.pop_front().map(|posted| posted.request);
        }
        let place = posted.iter().position(|posted| posted.accepts(envelope.source, envelope.tag))?;
        posted.remove(place).map(|posted| posted.request)
    }

    /// Adds a receive.
    #[inline]
    pub fn post(&mut self, wanted: Envelope, request: u32) {
        self.queues(wanted.context).posted.push_back(Posted {
            source: wanted.source,
            tag: wanted.tag,
            request,
        });
    }

    /// Withdraws a receive; `false` if it has been matched already.
    pub fn withdraw(&mut self, context: u64, request: u32) -> bool {
        let posted = &mut self.queues(context).posted;
        let place = posted.iter().position(|posted| posted.request == request);
        place.is_some_and(|place| posted.remove(place).is_some())
    }

    /// Adds a message that nobody has asked for.
    pub fn keep(&mut self, context: u64, message: Unexpected) {
        self.queues(context).unexpected.push_back(message);
        self.unexpected += 1;
    }

    /// Takes the first message that a receive accepts.
    #[inline]
    pub fn take_unexpected(&mut self, wanted: Envelope) -> Option<Unexpected> {
        if self.unexpected == 0 {
            return None;
        }
        let place = self.place_unexpected(wanted)?;
        let queue = &mut self.queues(wanted.context).unexpected;
        let message = queue.remove(place);
        if queue.is_empty() && queue.capacity() > 64 {
            queue.shrink_to_fit(); // what a burst has used goes back
        }
        self.unexpected -= 1;
        message
    }

    /// The first message that a receive would accept.
    pub fn peek_unexpected(&mut self, wanted: Envelope) -> Option<&Unexpected> {
        let place = self.place_unexpected(wanted)?;
        self.queues(wanted.context).unexpected.get(place)
    }

    fn place_unexpected(&mut self, wanted: Envelope) -> Option<usize> {
        let posted = Posted { source: wanted.source, tag: wanted.tag, request: 0 };
        let queue = &self.queues(wanted.context).unexpected;
        queue.iter().position(|message| posted.accepts(message.source, message.tag))
    }

    /// Whether no receive of a context waits for a message.
    #[inline]
    pub fn none_posted(&mut self, context: u64) -> bool {
        self.queues(context).posted.is_empty()
    }

    /// Messages that nobody has asked for, in all contexts.
    pub fn unexpected(&self) -> u64 {
        self.unexpected
    }

    /// Forgets a context of which no message is left; one with messages stays,
    /// for they may still be asked for by receives that are under way.
    pub fn retire(&mut self, context: u64) {
        let Some(&place) = self.places.get(&context) else { return };
        let queues = &self.queues[place];
        if queues.posted.is_empty() && queues.unexpected.is_empty() {
            self.queues[place] = Queues::default();
            self.places.remove(&context);
            self.free.push(place);
            self.last = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: i32, tag: i32, byte: u8) -> Unexpected {
        Unexpected { source, tag, found: Found::Short { bytes: 1, payload: [byte; INLINE_BYTES] } }
    }

    fn envelope(source: i32, tag: i32) -> Envelope {
        Envelope { context: 9, source, tag }
    }

    fn byte(message: Unexpected) -> u8 {
        match message.found {
            Found::Short { payload, .. } => payload[0],
            _ => panic!("not inline"),
        }
    }

    #[test]
    fn messages_match_in_the_order_of_their_arrival() {
        let mut matching = Matching::default();
        for (source, tag, number) in [(0, 5, 1), (1, 5, 2), (0, 6, 3), (0, 5, 4)] {
            matching.keep(9, message(source, tag, number));
        }
        assert_eq!(byte(matching.take_unexpected(envelope(0, 6)).unwrap()), 3);
        assert_eq!(byte(matching.take_unexpected(envelope(ANY_SOURCE, 5)).unwrap()), 1);
        assert_eq!(byte(matching.take_unexpected(envelope(0, ANY_TAG)).unwrap()), 4);
        assert!(matching.take_unexpected(envelope(0, ANY_TAG)).is_none());
        assert_eq!(matching.unexpected(), 1);
        assert!(matching.take_unexpected(Envelope { context: 8, source: 1, tag: 5 }).is_none());
    }

    #[test]
    fn receives_match_in_the_order_of_their_posting_and_can_be_withdrawn() {
        let mut matching = Matching::default();
        matching.post(envelope(2, 7), 10);
        matching.post(envelope(ANY_SOURCE, ANY_TAG), 11);
        matching.post(envelope(2, 7), 12);
        assert_eq!(matching.take_posted(envelope(2, 7)), Some(10));
        assert!(matching.withdraw(9, 11));
        assert!(!matching.withdraw(9, 11));
        assert_eq!(matching.take_posted(envelope(3, 7)), None);
        assert_eq!(matching.take_posted(envelope(2, 7)), Some(12));
    }
}
