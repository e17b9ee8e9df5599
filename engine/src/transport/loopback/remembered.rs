//! What a rank remembers of a peer, and the frames by which two ranks tell each other of themselves.

use super::frame::{Head, Sort};

/// Kind of the frame that says how many payloads the receiver has let go of, and their bytes, by its header.
pub const RELEASED: u8 = 1;
/// Kind of the frame that says whether packets may have long payloads, by its header.
pub const TAKES_LONG: u8 = 2;
/// Kind of the frame that says that its sender leaves: its end is no failure.
pub const LEAVES: u8 = 3;

/// Payloads that a peer has not asked for and not let go of, at most, and their bytes. A wire has room for
/// them at once.
const EAGER: Payloads = Payloads { number: 16, bytes: 128 << 10 };
/// Payloads that a peer has asked for and that are still here, at most.
const AWAITED: u32 = 8;

/// Some payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payloads {
    /// How many.
    pub number: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Payloads {
    /// One more.
    pub fn add(&mut self, bytes: u64) {
        (self.number, self.bytes) = (self.number + 1, self.bytes + bytes);
    }

    /// So many less; what a peer says of them may be wrong.
    fn take(&mut self, some: Payloads) {
        let Payloads { number, bytes } = *self;
        (self.number, self.bytes) = (number.saturating_sub(some.number), bytes.saturating_sub(some.bytes));
    }
}

/// What a rank remembers of a peer.
#[derive(Debug)]
pub struct Peer {
    /// Frames sent to it.
    pub sent: u32,
    /// Payloads that it has not asked for, and has not let go of.
    eager: Payloads,
    /// Payloads that it has asked for, loaded and not sent.
    awaited: u32,
    /// Its payloads that are let go of here, of which it has not been told.
    pub released: Payloads,
    /// It takes packets with long payloads.
    pub takes_long: bool,
    /// What it was told last of that. A rank begins by taking them.
    pub told_long: bool,
    /// It has sent something.
    pub is_known: bool,
    /// It has said that it leaves.
    pub leaves: bool,
    /// It is gone.
    pub is_gone: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Peer {
            sent: 0,
            eager: Payloads::default(),
            awaited: 0,
            released: Payloads::default(),
            takes_long: true,
            told_long: true,
            is_known: false,
            leaves: false,
            is_gone: false,
        }
    }
}

impl Peer {
    /// Whether there is room for one more payload of this sort and length.
    pub fn has_room(&self, sort: Sort, bytes: u64) -> bool {
        match sort {
            Sort::Awaited => self.awaited < AWAITED,
            _ => self.eager.number < EAGER.number && self.eager.bytes + bytes <= EAGER.bytes,
        }
    }

    /// A payload has been loaded.
    pub fn loaded(&mut self, sort: Sort, bytes: u64) {
        match sort {
            Sort::Awaited => self.awaited += 1,
            _ => self.eager.add(bytes),
        }
    }

    /// A payload has been sent. Its copy is gone; the peer has one now.
    pub fn went(&mut self, sort: Sort) {
        if sort == Sort::Awaited {
            self.awaited -= 1;
        }
    }

    /// A payload that was loaded will not be sent.
    pub fn unloaded(&mut self, sort: Sort, bytes: u64) {
        match sort {
            Sort::Awaited => self.awaited -= 1,
            _ => self.eager.take(Payloads { number: 1, bytes }),
        }
    }

    /// Reads a frame of the transport's own.
    pub fn tells(&mut self, head: &Head) {
        match head.kind {
            RELEASED => self.eager.take(Payloads { number: head.header[0], bytes: head.header[1] }),
            TAKES_LONG => self.takes_long = head.header[0] != 0,
            LEAVES => self.leaves = true,
            _ => {}
        }
    }

    /// The next thing to tell it, if there is something; `takes_long` is said of this rank.
    pub fn to_tell(&self, takes_long: bool) -> Option<Head> {
        let (kind, header) = match self.released {
            Payloads { number: 0, .. } if self.told_long == takes_long => return None,
            Payloads { number: 0, .. } => (TAKES_LONG, [u64::from(takes_long), 0]),
            Payloads { number, bytes } => (RELEASED, [number, bytes]),
        };
        Some(Head { kind, sort: Sort::Own, number: self.sent, header })
    }

    /// It has been told.
    pub fn told(&mut self, head: &Head) {
        match head.kind {
            RELEASED => self.released = Payloads::default(),
            _ => self.told_long = head.header[0] != 0,
        }
    }
}
