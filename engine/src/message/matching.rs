//! Matching: which receive gets which message (MPI-5.0 §3.5).
//!
//! Each context has two queues in order of arrival: receives that wait for a
//! message, and messages that wait for a receive. At most one of the two has
//! entries that match each other. Few messages are looked through one by one;
//! many are found by what is asked for (`many`).

use super::many::Many;
use super::unexpected::Unexpected;
use super::wire::Envelope;
use super::{ANY_SOURCE, ANY_TAG};
use crate::memory;
use std::collections::{HashMap, VecDeque};

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// Rank of the sender in its group, or any.
    pub source: i32,
    /// Its tag, or any.
    pub tag: i32,
    /// The receive.
    pub request: u32,
    /// The block that it goes to; null if the request knows where it goes.
    pub target: *mut u8,
    /// Bytes of the block.
    pub room: u64,
}

// SAFETY: the block belongs to the program, which leaves it alone until the
// receive is complete, whichever of its threads completes it.
unsafe impl Send for Posted {}

impl Posted {
    /// A receive whose request knows where the message goes.
    pub fn new(wanted: Envelope, request: u32) -> Posted {
        Posted { source: wanted.source, tag: wanted.tag, request, target: std::ptr::null_mut(), room: 0 }
    }

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

/// From so many messages on they are many.
const MANY: usize = 64;
/// Having been more than these was a burst.
const BURST: usize = 8192;

#[derive(Debug, Default)]
struct Queues {
    posted: VecDeque<Posted>,
    /// Few messages; empty while they are many.
    unexpected: VecDeque<Unexpected>,
    many: Option<Box<Many>>,
}

impl Queues {
    fn keep(&mut self, message: Unexpected) {
        if let Some(many) = &mut self.many {
            return many.push(message);
        }
        self.unexpected.push_back(message);
        if self.unexpected.len() == MANY {
            let mut many = Box::new(Many::default());
            self.unexpected.drain(..).for_each(|message| many.push(message));
            self.many = Some(many);
        }
    }

    #[inline]
    fn place(&self, wanted: Envelope) -> Option<usize> {
        let posted = Posted::new(wanted, 0);
        self.unexpected.iter().position(|message| posted.accepts(message.source, message.tag))
    }

    fn peek(&self, wanted: Envelope) -> Option<&Unexpected> {
        match &self.many {
            Some(many) => many.first(wanted.source, wanted.tag),
            None => self.unexpected.get(self.place(wanted)?),
        }
    }

    #[inline]
    fn take(&mut self, wanted: Envelope) -> Option<Unexpected> {
        if self.many.is_some() {
            return self.take_from_many(wanted);
        }
        self.unexpected.remove(self.place(wanted)?)
    }

    #[cold]
    fn take_from_many(&mut self, wanted: Envelope) -> Option<Unexpected> {
        let many = self.many.as_mut()?;
        let message = many.take(wanted.source, wanted.tag);
        if many.is_empty() {
            let burst = many.most() > BURST;
            self.many = None;
            if burst {
                memory::give_back();
            }
        }
        message
    }

    /// Takes the first message that `is_it`.
    fn remove(&mut self, is_it: &impl Fn(&Unexpected) -> bool) -> Option<Unexpected> {
        if let Some(many) = &mut self.many {
            let message = many.remove_first(is_it);
            if many.is_empty() {
                self.many = None;
            }
            return message;
        }
        let place = self.unexpected.iter().position(is_it)?;
        self.unexpected.remove(place)
    }

    fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty() && self.many.is_none()
    }
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
    #[inline(always)]
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
    pub fn take_posted(&mut self, envelope: Envelope) -> Option<Posted> {
        let posted = &mut self.queues(envelope.context).posted;
        if posted.front()?.accepts(envelope.source, envelope.tag) {
            return posted.pop_front();
        }
        let place = posted.iter().position(|posted| posted.accepts(envelope.source, envelope.tag))?;
        posted.remove(place)
    }

    /// The same, but only if it is the one posted first and its block is right for
    /// the message (`Envelope::fits`).
    #[inline(always)]
    pub fn take_first_block(&mut self, envelope: Envelope, bytes: u64) -> Option<Posted> {
        let posted = &mut self.queues(envelope.context).posted;
        let first = posted.front()?;
        let fits = !first.target.is_null() && envelope.fits(bytes, first.room);
        if fits && first.accepts(envelope.source, envelope.tag) {
            return posted.pop_front();
        }
        None
    }

    /// Whether no receive waits in the context that was asked for last.
    #[inline]
    pub fn none_waits_there(&self) -> bool {
        self.last.is_none_or(|(_, place)| self.queues[place].posted.is_empty())
    }

    /// Adds a receive.
    #[inline(always)]
    pub fn post(&mut self, context: u64, receive: Posted) {
        self.queues(context).posted.push_back(receive);
    }

    /// Withdraws a receive; `false` if it has been matched already.
    pub fn withdraw(&mut self, context: u64, request: u32) -> bool {
        let posted = &mut self.queues(context).posted;
        let place = posted.iter().position(|posted| posted.request == request);
        place.is_some_and(|place| posted.remove(place).is_some())
    }

    /// Withdraws all receives of a context that `are_they`; their requests.
    pub fn withdraw_those(&mut self, context: u64, are_they: impl Fn(&Posted) -> bool) -> Vec<u32> {
        let Some(&place) = self.places.get(&context) else { return Vec::new() };
        let posted = &mut self.queues[place].posted;
        let requests = posted.iter().filter(|one| are_they(one)).map(|one| one.request).collect();
        posted.retain(|one| !are_they(one));
        requests
    }

    /// Adds a message that nobody has asked for.
    pub fn keep(&mut self, context: u64, message: Unexpected) {
        self.queues(context).keep(message);
        self.unexpected += 1;
    }

    /// Takes the first message that a receive accepts.
    #[inline]
    pub fn take_unexpected(&mut self, wanted: Envelope) -> Option<Unexpected> {
        if self.unexpected == 0 {
            return None;
        }
        let message = self.queues(wanted.context).take(wanted)?;
        self.unexpected -= 1;
        Some(message)
    }

    /// Takes the first message in any context that `is_it`.
    pub fn remove_unexpected(&mut self, is_it: impl Fn(&Unexpected) -> bool) -> Option<Unexpected> {
        let message = self.queues.iter_mut().find_map(|queues| queues.remove(&is_it))?;
        self.unexpected -= 1;
        Some(message)
    }

    /// The first message that a receive would accept.
    pub fn peek_unexpected(&mut self, wanted: Envelope) -> Option<&Unexpected> {
        self.queues(wanted.context).peek(wanted)
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

    /// The first receives that wait for a message, each with its context.
    pub fn posted(&self, most: usize) -> impl Iterator<Item = (u64, &Posted)> {
        let of = move |(&context, &place): (&u64, &usize)| {
            self.queues[place].posted.iter().take(most).map(move |posted| (context, posted))
        };
        self.places.iter().flat_map(of).take(most)
    }

    /// The receive of a request that waits for a message in a context.
    pub fn posted_for(&self, context: u64, request: u32) -> Option<&Posted> {
        let queues = &self.queues[*self.places.get(&context)?];
        queues.posted.iter().find(|posted| posted.request == request)
    }

    /// The first messages that nobody has asked for, and their bytes.
    pub fn heads(&self, most: usize) -> Vec<(Envelope, u64)> {
        let told = |context: u64, message: &Unexpected| {
            (Envelope { context, source: message.source, tag: message.tag }, message.found.bytes())
        };
        let each = self.places.iter().flat_map(|(&context, &place)| {
            let queues = &self.queues[place];
            let many = queues.many.iter().flat_map(|many| many.in_order());
            queues.unexpected.iter().chain(many).take(most).map(move |message| told(context, message))
        });
        each.take(most).collect()
    }

    /// Forgets a context of which no message is left; one with messages stays,
    /// for they may still be asked for by receives that are under way.
    pub fn retire(&mut self, context: u64) {
        let Some(&place) = self.places.get(&context) else { return };
        let queues = &self.queues[place];
        if queues.is_empty() {
            self.queues[place] = Queues::default();
            self.places.remove(&context);
            self.free.push(place);
            self.last = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unexpected::Found;
    use super::*;
    use crate::transport::INLINE_BYTES;

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
    fn only_messages_between_programs_may_be_shorter_than_a_block() {
        let mut room = [0u8; 40];
        for (context, takes) in [(8, true), (9, false)] {
            let mut matching = Matching::default();
            let block = Posted { request: 1, source: 0, tag: 5, target: room.as_mut_ptr(), room: 40 };
            matching.post(context, block);
            let letter = Envelope { context, source: 0, tag: 5 };
            assert!(matching.take_first_block(letter, 41).is_none());
            assert_eq!(matching.take_first_block(letter, 4).is_some(), takes);
            assert_eq!(matching.take_first_block(letter, 40).is_some(), !takes);
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

    /// As the rule says it: the first in order of arrival that is accepted.
    fn naive(all: &mut Vec<(i32, i32, u8)>, source: i32, tag: i32) -> Option<u8> {
        let place = all.iter().position(|&(from, with, _)| {
            (source == ANY_SOURCE || source == from) && (tag == ANY_TAG || tag == with)
        })?;
        Some(all.remove(place).2)
    }

    #[test]
    fn many_messages_match_as_few_do() {
        let mut matching = Matching::default();
        let mut all = Vec::new();
        let mut random = 1u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            (random >> 16) % below
        };
        for step in 0..20_000u32 {
            // Three phases of each: more come, then more go.
            if next(10) < if step / 3000 % 2 == 0 { 7 } else { 3 } {
                let (source, tag) = (next(5) as i32, next(7) as i32);
                matching.keep(9, message(source, tag, step as u8));
                all.push((source, tag, step as u8));
            } else if next(8) == 0 {
                // One of some number is withdrawn.
                let number = next(64) as u8;
                let place = all.iter().position(|message| message.2 == number);
                let is_it = |message: &Unexpected| byte(message.clone()) == number;
                let removed = matching.remove_unexpected(is_it).map(byte);
                assert_eq!(removed, place.map(|place| all.remove(place).2));
            } else {
                let source = if next(3) == 0 { ANY_SOURCE } else { next(5) as i32 };
                let tag = if next(3) == 0 { ANY_TAG } else { next(7) as i32 };
                let peeked = matching.peek_unexpected(envelope(source, tag)).cloned().map(byte);
                let taken = matching.take_unexpected(envelope(source, tag)).map(byte);
                assert_eq!(taken, naive(&mut all, source, tag));
                assert_eq!(taken, peeked);
            }
            assert_eq!(matching.unexpected(), all.len() as u64);
        }
    }

    #[test]
    fn receives_match_in_the_order_of_their_posting_and_can_be_withdrawn() {
        let mut matching = Matching::default();
        for (wanted, request) in [((2, 7), 10), ((ANY_SOURCE, ANY_TAG), 11), ((2, 7), 12)] {
            let wanted = envelope(wanted.0, wanted.1);
            matching.post(wanted.context, Posted::new(wanted, request));
        }
        let take = |matching: &mut Matching, found| matching.take_posted(found).map(|posted| posted.request);
        assert_eq!(take(&mut matching, envelope(2, 7)), Some(10));
        assert!(matching.withdraw(9, 11));
        assert!(!matching.withdraw(9, 11));
        assert_eq!(take(&mut matching, envelope(3, 7)), None);
        assert_eq!(take(&mut matching, envelope(2, 7)), Some(12));
    }
}
