//! The mailbox: a ring of cache lines that many ranks fill and one empties.
//!
//! # Ownership
//! 1. A sender takes line `p` by moving `tail` from `p` to `p + 1`; it may do so
//!    only while `p - head < LINES`.
//! 2. The line is the sender's until it writes the line's first word, whose upper
//!    half is then the lap of `p` plus one. That store publishes the rest.
//! 3. A line whose first word carries the expected lap is the owner's, which
//!    reads it and counts it in `head`; published `head` gives it to senders.
//!
//! A silent peer costs nothing: there is one ring per rank, whoever sends.

use super::area::{Area, LINES};
use crate::transport::{Arrivals, Packet};
use std::sync::atomic::{AtomicU64, Ordering};

/// The head is published after this many lines, so that senders' copies of it
/// stay valid for long and its line moves seldom.
const PUBLISH_EVERY: u64 = 64;

/// A sender's memory of a peer's head.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderView {
    head: u64,
}

/// Puts a packet into the mailbox of `area`; `false` if it is full.
#[inline]
pub fn push(area: &Area, view: &mut SenderView, packet: &Packet) -> bool {
    let control = area.control();
    let mut position = control.tail.0.load(Ordering::Relaxed);
    loop {
        if position.wrapping_sub(view.head) >= LINES {
            view.head = control.head.0.load(Ordering::SeqCst); // head: paired with `Reader::publish`
            if position.wrapping_sub(view.head) >= LINES {
                return false;
            }
        }
        let next = position + 1;
        match control.tail.0.compare_exchange_weak(position, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => position = now,
        }
    }
    let line = area.line(position);
    // SAFETY: rule 1 makes bytes 8..64 of the line ours until rule 2.
    unsafe {
        std::ptr::copy_nonoverlapping((packet as *const Packet).cast::<u8>().add(8), line.add(8), 56);
    }
    let word = (lap(position) as u64) << 32 | (packet.length as u64) << 8 | packet.kind as u64;
    // SAFETY: the first word of a line is only ever used as an atomic.
    let first = unsafe { &*line.cast::<AtomicU64>() };
    // line: paired with `Reader::pop`. SeqCst, because the caller next asks
    // whether the owner sleeps (see `Doorbell`).
    first.swap(word, Ordering::SeqCst);
    true
}

#[inline]
fn lap(position: u64) -> u32 {
    (position / LINES) as u32 + 1
}

/// The owner's end.
#[derive(Debug)]
pub struct Reader {
    area: Area,
    position: u64,
    published: u64,
}

impl Reader {
    /// The reader of `area`, which must be the only one ever.
    pub fn new(area: Area) -> Reader {
        Reader { area, position: 0, published: 0 }
    }

    /// Where the next packet will show.
    pub fn arrivals(&self) -> Arrivals {
        Arrivals { word: self.area.line(self.position).cast::<AtomicU64>(), expected: lap(self.position) }
    }

    /// The next packet, if it is there.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let line = self.area.line(self.position);
        // SAFETY: the first word of a line is only ever used as an atomic.
        let word = unsafe { &*line.cast::<AtomicU64>() }.load(Ordering::Acquire); // line: paired with `push`
        if (word >> 32) as u32 != lap(self.position) {
            return None;
        }
        let mut packet = Packet::new(word as u8, [0; 2]);
        packet.length = (word >> 8) as u8;
        // SAFETY: rule 3: the line is ours now; both sides have 56 bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(line.add(8), (&mut packet as *mut Packet).cast::<u8>().add(8), 56);
        }
        self.position += 1;
        Some(packet)
    }

    /// Tells senders what was read, once enough was; `true` if a sender waits
    /// for room and has to be woken.
    #[inline]
    pub fn publish(&mut self) -> bool {
        if self.position - self.published < PUBLISH_EVERY {
            return false;
        }
        self.published = self.position;
        let control = self.area.control();
        control.head.0.store(self.position, Ordering::SeqCst); // head: paired with `push`
        control.room_wanted.0.load(Ordering::SeqCst) != 0
            && control.room_wanted.0.swap(0, Ordering::SeqCst) != 0
    }
}
