//! Express boxes: rings of one sender each.
//!
//! In a mailbox senders take turns by an atomic exchange, which on most
//! processors also waits until everything written before has left the core, and
//! a packet has one line. A sender that has sent a few packets to a peer
//! therefore takes one of the peer's boxes for itself, as long as there are any:
//! in a ring with one sender a packet is a few plain stores, takes as many bytes
//! as it needs, and several share a cache line. There are [`BOXES`] per rank, so
//! their memory does not grow with the peers; a peer that comes later stays with the
//! mailbox.
//!
//! # Which words are published
//! A packet is a word of 8 bytes, the header of 16, and the payload, filled up to
//! 8. A word that is not zero publishes its packet. Before a sender publishes one
//! it makes the word zero with which the next will begin. A packet never passes
//! the ring's end: where it would, the rest is skipped ([`SKIP`]). What is
//! published is the reader's, until it publishes a head beyond it.
//!
//! A reader that waits looks at the next word alone: if it asked for the lines behind
//! it too, it would take them away from the sender again and again while they are being written.
//!
//! # Order
//! The last packet that a sender puts into the mailbox says which box it has
//! taken ([`OPEN`]). The reader looks into a box only after it has read that, so
//! that the packets of one sender keep their order.

use super::area::Area;
use super::packet::{self, Memory, PAYLOAD_AT};
use super::sizes::{BOX_BYTES, LINE_BYTES};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::transport::{Arrival, Letter, LONG_LETTER_BYTES};

/// The reader says how far it is after so many bytes.
pub const PART: u64 = BOX_BYTES as u64 / if cfg!(loom) { 4 } else { 8 };
/// A packet passes in the worst case when it and what it skips before the ring's
/// end find room beside what the reader has not yet said that it has read.
const _: () = assert!(cfg!(loom) || 2 * length_for(LONG_LETTER_BYTES) + PART <= BOX_BYTES as u64);
/// Bytes of a packet that are asked for as soon as it is seen.
const FETCHED: u64 = 1024;
/// Packets to a peer after which a sender asks for a box.
pub const HOT: u32 = 16;
/// Kind of the packet that opens a box: header `[box, 0]`.
pub const OPEN: u8 = 0xff;
/// Kind of the packet that skips the bytes up to the ring's end.
pub const SKIP: u8 = 0xfe;

/// The bytes of a box; positions are counted for ever.
#[derive(Clone, Copy, Debug)]
pub struct Ring(Memory);

impl Ring {
    /// A ring in [`BOX_BYTES`] bytes of memory, zero at first.
    pub fn new(memory: Memory) -> Ring {
        Ring(memory)
    }

    /// Where a position lies; the mask keeps it inside the box.
    #[inline]
    fn place(self, position: u64) -> usize {
        position as usize & (BOX_BYTES - 1)
    }

    /// The word at a position.
    #[inline]
    pub fn word(&self, position: u64) -> &AtomicU64 {
        // SAFETY: positions are multiples of 8; at the time it can be the first
        // of a packet, a word is only used as an atomic.
        unsafe { self.0.word(self.place(position)) }
    }

    /// Bytes from a position to the ring's end.
    #[inline]
    pub fn left(self, position: u64) -> u64 {
        BOX_BYTES as u64 - (position & (BOX_BYTES as u64 - 1))
    }

    /// The packet at a position, if it is there.
    #[inline(always)]
    pub fn arrived(self, position: u64) -> Option<Arrival> {
        // line: paired with `NodeTransport::push`
        let word = self.word(position).load(Ordering::Acquire);
        (word != 0).then(|| {
            let place = self.place(position);
            // SAFETY: a published packet is the reader's.
            let arrival = unsafe { self.0.read(place, word) };
            // What is copied somewhat later comes meanwhile.
            self.0.fetch(place, 64, length_for(arrival.bytes as usize).min(FETCHED));
            arrival
        })
    }

    /// Bytes that a packet takes which lies at a position.
    #[inline]
    pub fn length(self, position: u64, arrival: &Arrival) -> u64 {
        match arrival.kind {
            SKIP => self.left(position),
            _ => length_for(arrival.bytes as usize),
        }
    }
}

#[inline]
const fn length_for(bytes: usize) -> u64 {
    (PAYLOAD_AT + bytes).next_multiple_of(8) as u64
}

/// Where the line after that of a position begins.
#[inline]
const fn next_line(position: u64) -> u64 {
    (position | (LINE_BYTES as u64 - 1)) + 1
}

/// A sender's end of a box.
#[derive(Debug)]
pub struct Sender {
    ring: Ring,
    number: usize,
    position: u64,
    head: u64,
}

/// Takes a box of the rank at `area` for local rank `me`, if one is free.
pub fn take(area: &Area, me: u32) -> Option<Sender> {
    let boxes = &area.control().boxes;
    let free =
        |owner: &AtomicU32| owner.compare_exchange(0, me + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let number = boxes.iter().position(|entry| free(&entry.0.owner))?;
    Some(Sender { ring: Ring::new(area.express(number)), number, position: 0, head: 0 })
}

impl Sender {
    /// Which box it is.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Writes the next packet: the word to store, and what publishes it; `None`
    /// if there is no room.
    #[inline(always)]
    pub fn fill(&mut self, area: &Area, letter: &Letter<'_>) -> Option<(*const AtomicU64, u64)> {
        let length = length_for(letter.payload.len());
        if length > self.ring.left(self.position) {
            self.skip(area, length)?;
        }
        let (position, next) = (self.position, self.position + length);
        if !self.has_room(area, next) {
            return None;
        }
        self.ring.word(next).store(0, Ordering::Relaxed);
        // SAFETY: nobody else writes into this box, the reader is past these
        // bytes, and they do not pass the end.
        unsafe { self.ring.0.write(self.ring.place(position), letter) };
        self.position = next;
        Some((self.ring.word(position), packet::describe(letter)))
    }

    /// Puts the packet that was published last, of so many bytes, where its reader finds it soon, and asks for the lines of the
    /// next one: what lay there has been read a turn of the ring ago, and is in the reader's cache. The line at which
    /// the reader looks until then is left to it.
    ///
    /// Worth it where each side waits for the other; a sender of many packets in a row goes on in the lines that
    /// this takes away from it.
    #[inline(always)]
    pub fn hand_over(&self, bytes: usize) {
        let length = length_for(bytes);
        let (begin, end) = (self.position - length, self.position + length.min(FETCHED));
        self.ring.0.hand_over(self.ring.place(begin), next_line(begin) - begin, length);
        if end - self.head < BOX_BYTES as u64 && end - self.position < self.ring.left(self.position) {
            let place = self.ring.place(self.position);
            self.ring.0.claim(place, next_line(self.position) - self.position, end + 1 - self.position);
        }
    }

    /// Whether all before `next` is free, and the word there.
    #[inline(always)]
    fn has_room(&mut self, area: &Area, next: u64) -> bool {
        next - self.head < BOX_BYTES as u64 || self.has_got_room(area, next)
    }

    /// The same, after another look at what the reader has read.
    #[inline(never)]
    fn has_got_room(&mut self, area: &Area, next: u64) -> bool {
        // head: paired with `Inbox::advance`
        self.head = area.control().boxes[self.number].0.head.load(Ordering::SeqCst);
        next - self.head < BOX_BYTES as u64
    }

    /// Goes on at the ring's beginning, if the next packet fits there then.
    #[cold]
    fn skip(&mut self, area: &Area, length: u64) -> Option<()> {
        let next = self.position + self.ring.left(self.position);
        if !self.has_room(area, next + length) {
            return None;
        }
        self.ring.word(next).store(0, Ordering::Relaxed);
        self.ring.word(self.position).store(SKIP as u64, Ordering::Release); // line: paired with `arrived`
        self.position = next;
        Some(())
    }
}
