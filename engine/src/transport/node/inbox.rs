//! What a rank reads: its mailbox, and the express boxes that senders have opened.

use super::area::Area;
use super::express;
use super::mailbox;
use super::sizes::{BOXES, LINES};
use crate::sync::{AtomicU64, Ordering};
use crate::transport::{Arrival, Arrivals};

/// Packets of one ring before the others get their turn.
const TURN: u32 = 32;

/// How far a ring has been read.
#[derive(Debug)]
struct Reader<Ring> {
    ring: Ring,
    head: *const AtomicU64,
    position: u64,
    published: u64,
}

impl<Ring> Reader<Ring> {
    fn new(ring: Ring, head: &AtomicU64) -> Self {
        Reader { ring, head, position: 0, published: 0 }
    }

    /// So much has been read. The head is published only after `part` of the ring,
    /// so that senders' copies of it stay valid for long; `true` if it was.
    #[inline]
    fn advance(&mut self, length: u64, part: u64) -> bool {
        self.position += length;
        if self.position - self.published < part {
            return false;
        }
        self.published = self.position;
        // SAFETY: it lies in the node segment, which lives for ever.
        // head: paired with the senders' `fill`
        unsafe { &*self.head }.store(self.position, Ordering::SeqCst);
        true
    }
}

/// All that arrives at a rank. There must be only one per rank, ever.
#[derive(Debug)]
pub struct Inbox {
    area: Area,
    mailbox: Reader<mailbox::Ring>,
    boxes: Vec<Reader<express::Ring>>,
    /// Which ring is looked at first: 0 for the mailbox, else 1 + the box.
    turn: usize,
    in_a_row: u32,
}

// SAFETY: the heads lie in the node segment, which lives as long as the engine.
unsafe impl Send for Inbox {}

impl Inbox {
    /// The inbox of the rank at `area`.
    pub fn new(area: Area) -> Inbox {
        let mailbox = Reader::new(mailbox::Ring::new(area.mailbox()), &area.control().head.0);
        Inbox { area, mailbox, boxes: Vec::with_capacity(BOXES), turn: 0, in_a_row: 0 }
    }

    /// A sender says that it uses a box from now on.
    pub fn open(&mut self, number: usize) {
        let head = &self.area.control().boxes[number].0.head;
        self.boxes.push(Reader::new(express::Ring::new(self.area.express(number)), head));
    }

    /// The next packet, which stays until [`Inbox::advance`].
    #[inline(always)]
    pub fn peek(&mut self) -> Option<Arrival> {
        for _ in 0..=self.boxes.len() {
            let found = match self.turn {
                0 => self.mailbox.ring.arrived(self.mailbox.position),
                turn => self.boxes[turn - 1].ring.arrived(self.boxes[turn - 1].position),
            };
            if found.is_some() {
                return found;
            }
            self.next_turn();
        }
        None
    }

    #[inline]
    fn next_turn(&mut self) {
        self.in_a_row = 0;
        self.turn = if self.turn == self.boxes.len() { 0 } else { self.turn + 1 };
    }

    /// The packet that was looked at has been read. `true` if a sender waits for
    /// room and has to be woken.
    #[inline(always)]
    pub fn advance(&mut self, arrival: &Arrival) -> bool {
        let published = match self.turn {
            0 => self.mailbox.advance(1, LINES / 4),
            turn => {
                let reader = &mut self.boxes[turn - 1];
                let length = reader.ring.length(reader.position, arrival);
                reader.advance(length, express::PART)
            }
        };
        self.in_a_row += 1;
        if self.in_a_row >= TURN {
            self.next_turn();
        }
        published && self.somebody_waits()
    }

    /// Goes past the line of the mailbox that is next, if a sender has taken it that has failed since; `may_be_filled` says
    /// whether one that has not failed may be filling a line here. Whether it has, and whether a sender waits for room and
    /// has to be woken.
    pub fn skip_unfinished(&mut self, may_be_filled: impl FnOnce() -> bool) -> Option<bool> {
        let (ring, position) = (self.mailbox.ring, self.mailbox.position);
        // tail: paired with the senders' `fill`
        let is_taken = self.area.control().tail.0.load(Ordering::Acquire) > position;
        // Whoever has filled it has said so only afterwards: look once more.
        let is_left = is_taken
            && ring.arrived(position).is_none()
            && !may_be_filled()
            && ring.arrived(position).is_none();
        is_left.then(|| self.mailbox.advance(1, LINES / 4) && self.somebody_waits())
    }

    fn somebody_waits(&self) -> bool {
        let wanted = &self.area.control().room_wanted.0;
        wanted.load(Ordering::SeqCst) != 0 && wanted.swap(0, Ordering::SeqCst) != 0
    }

    /// Where the next packets will show.
    pub fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        let position = self.mailbox.position;
        arrivals.add(self.mailbox.ring.word(position), mailbox::lap(position));
        for reader in &self.boxes {
            arrivals.add(reader.ring.word(reader.position), 0);
        }
        arrivals
    }
}
