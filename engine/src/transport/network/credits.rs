//! Long payloads that a peer has not asked for: how many may be on their way to it, and what two ranks tell each
//! other of them.

/// Kind of the word that says how many payloads the receiver has let go of, and their bytes, by its header.
const RELEASED: u8 = 1;
/// Kind of the word that says whether packets may have long payloads, by its header.
const TAKES_LONG: u8 = 2;
/// Kind of the word that says that its sender leaves: its end is no failure.
const LEAVES: u8 = 3;

/// Payloads that a peer has not asked for and not let go of, at most, and their bytes.
const EAGER: Payloads = Payloads { number: 64, bytes: 512 << 10 };
/// Payloads that a peer has asked for and that are still here, at most.
const AWAITED: u32 = 8;

/// What one rank tells another of itself: a kind, and two words that mean something by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// What it means.
    pub kind: u8,
    /// What is told.
    pub header: [u64; 2],
}

/// By which a rank takes leave.
pub const LEAVE: Word = Word { kind: LEAVES, header: [0; 2] };

/// A payload, as far as it takes somebody's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The receiver has asked for it.
    pub is_awaited: bool,
    /// Its length.
    pub bytes: u64,
}

/// Some payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Payloads {
    number: u64,
    bytes: u64,
}

impl Payloads {
    fn add(&mut self, bytes: u64) {
        (self.number, self.bytes) = (self.number + 1, self.bytes + bytes);
    }

    /// What a peer says of them may be wrong.
    fn take(&mut self, some: Payloads) {
        let Payloads { number, bytes } = *self;
        (self.number, self.bytes) = (number.saturating_sub(some.number), bytes.saturating_sub(some.bytes));
    }
}

/// What a rank knows of a peer's room, and the peer of its own.
#[derive(Debug)]
pub struct Credits {
    /// Payloads that the peer has not asked for, at most.
    most: Payloads,
    /// Payloads that it has not asked for, and has not let go of.
    eager: Payloads,
    /// Payloads that it has asked for, loaded and not sent.
    awaited: u32,
    /// Its payloads that are let go of here, of which it has not been told.
    released: Payloads,
    /// It takes packets with long payloads.
    takes_long: bool,
    /// What it was told last of that. A rank begins by taking them.
    told_long: bool,
    /// It has said that it leaves.
    leaves: bool,
    /// What it is told before all else.
    first: Option<Word>,
}

impl Default for Credits {
    fn default() -> Self {
        Credits {
            most: EAGER,
            eager: Payloads::default(),
            awaited: 0,
            released: Payloads::default(),
            takes_long: true,
            told_long: true,
            leaves: false,
            first: None,
        }
    }
}

impl Credits {
    /// Where so many payloads that nobody has asked for may be on their way, and so many bytes of them.
    pub fn within(number: u64, bytes: u64) -> Credits {
        Credits { most: Payloads { number, bytes }, ..Credits::default() }
    }

    /// Whether there is room for one more payload.
    pub fn has_room(&self, claim: Claim) -> bool {
        match claim.is_awaited {
            true => self.awaited < AWAITED,
            false => {
                self.eager.number < self.most.number && self.eager.bytes + claim.bytes <= self.most.bytes
            }
        }
    }

    /// A payload has been loaded.
    pub fn loaded(&mut self, claim: Claim) {
        match claim.is_awaited {
            true => self.awaited += 1,
            false => self.eager.add(claim.bytes),
        }
    }

    /// A payload has been handed over to be sent.
    pub fn went(&mut self, claim: Claim) {
        if claim.is_awaited {
            self.awaited -= 1;
        }
    }

    /// A payload that was loaded will not be sent.
    pub fn unloaded(&mut self, claim: Claim) {
        match claim.is_awaited {
            true => self.awaited -= 1,
            false => self.eager.take(Payloads { number: 1, bytes: claim.bytes }),
        }
    }

    /// A payload of the peer is not needed any more. Whether it should be told soon.
    pub fn release(&mut self, bytes: u64) -> bool {
        self.released.add(bytes);
        self.released.number >= self.most.number / 4 || self.released.bytes >= self.most.bytes / 4
    }

    /// Whether it takes packets with long payloads.
    pub fn takes_long(&self) -> bool {
        self.takes_long
    }

    /// Whether it has said that it leaves.
    pub fn leaves(&self) -> bool {
        self.leaves
    }

    /// The peer tells something.
    pub fn tells(&mut self, Word { kind, header }: Word) {
        match kind {
            RELEASED => self.eager.take(Payloads { number: header[0], bytes: header[1] }),
            TAKES_LONG => self.takes_long = header[0] != 0,
            LEAVES => self.leaves = true,
            _ => {}
        }
    }

    /// Whether it knows whether this rank takes packets with long payloads.
    pub fn knows(&self, takes_long: bool) -> bool {
        self.told_long == takes_long
    }

    /// It is told this before all else: also a word for which there was no room.
    pub fn tell_first(&mut self, word: Word) {
        self.first = Some(word);
    }

    /// The next thing to tell it, if there is something, which counts as told; `takes_long` is said of this rank.
    pub fn next_to_tell(&mut self, takes_long: bool) -> Option<Word> {
        if let Some(word) = self.first.take() {
            return Some(word);
        }
        if self.released.number > 0 {
            let Payloads { number, bytes } = std::mem::take(&mut self.released);
            return Some(Word { kind: RELEASED, header: [number, bytes] });
        }
        if self.told_long != takes_long {
            self.told_long = takes_long;
            return Some(Word { kind: TAKES_LONG, header: [u64::from(takes_long), 0] });
        }
        None
    }
}
