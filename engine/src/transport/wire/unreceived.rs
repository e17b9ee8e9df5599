//! What goes to a peer: frames that have not been sent, and those that it has not said it has received.
//!
//! Frames stand in pieces: short ones one behind the other, a long payload in a piece of its own. A connection
//! takes bytes from the cursor on. If it breaks, the cursor goes back to the first frame that the peer has not
//! received. No system call is made here.

use crate::transport::network::framing::{Head, HEAD_BYTES};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Short frames stand together in pieces up to this length.
const PIECE_BYTES: usize = 4 << 10;
/// Parts that are handed over at a time.
pub const PARTS: usize = 16;

#[derive(Debug)]
struct Piece {
    /// Short frames, or the head of a long one.
    bytes: Vec<u8>,
    /// The payload of a long one and its length, which may be less than that of the box.
    payload: Option<(Box<[u8]>, usize)>,
    /// Its frames.
    frames: u64,
}

impl Piece {
    fn len(&self) -> usize {
        self.bytes.len() + self.payload.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    /// What is left of it from an offset on: of its bytes, and of its payload.
    fn rest(&self, offset: usize) -> [&[u8]; 2] {
        let inner = self.bytes.len();
        let payload = self.payload.as_ref().map_or(&[][..], |(payload, bytes)| &payload[..*bytes]);
        [&self.bytes[offset.min(inner)..], &payload[offset.saturating_sub(inner)..]]
    }

    /// Where frame `number` of it begins, counted from 0.
    fn place_of(&self, number: u64) -> usize {
        (0..number).fold(0, |at, _| {
            let head = self.bytes[at..].first_chunk().and_then(Head::read).expect("a head of our own");
            at + HEAD_BYTES + head.bytes as usize
        })
    }
}

/// The frames to a peer.
#[derive(Debug, Default)]
pub struct Outgoing {
    pieces: VecDeque<Piece>,
    /// Frames before those in the first piece.
    before: u64,
    /// Frames that the peer has said it has received.
    received: u64,
    /// Frames so far.
    next: u64,
    /// The piece from which the connection goes on, and where in it.
    cursor: (usize, usize),
    unsent: usize,
    kept: usize,
}

impl Outgoing {
    /// Bytes that no connection has taken yet.
    pub fn unsent(&self) -> usize {
        self.unsent
    }

    /// Bytes that are kept here, sent or not.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Frames so far, sent or not.
    pub fn frames(&self) -> u64 {
        self.next
    }

    /// Numbered frames that the peer has not said it has received.
    #[cfg(test)]
    pub fn in_doubt(&self) -> u64 {
        self.next - self.received
    }

    /// Adds a frame of which a connection has taken the beginning already, when it had taken all before.
    pub fn add_taken(&mut self, head: &Head, payload: Box<[u8]>, taken: usize) {
        debug_assert!(self.unsent == 0);
        self.add_long(head, payload);
        self.taken(taken);
    }

    /// Adds a frame whose payload is copied.
    pub fn add(&mut self, head: &Head, payload: &[u8]) {
        let bytes = HEAD_BYTES + payload.len();
        let has_room = |piece: &Piece| piece.payload.is_none() && piece.bytes.len() + bytes <= PIECE_BYTES;
        if !self.pieces.back().is_some_and(has_room) {
            self.pieces.push_back(Piece { bytes: Vec::new(), payload: None, frames: 0 });
        }
        let piece = self.pieces.back_mut().expect("one was added");
        piece.bytes.extend_from_slice(&head.write());
        piece.bytes.extend_from_slice(payload);
        piece.frames += 1;
        self.count(bytes);
    }

    /// Adds a frame with a payload of its own; as long as its head says.
    pub fn add_long(&mut self, head: &Head, payload: Box<[u8]>) {
        let bytes = head.bytes as usize;
        let piece = Piece { bytes: head.write().to_vec(), payload: Some((payload, bytes)), frames: 1 };
        self.pieces.push_back(piece);
        self.count(HEAD_BYTES + bytes);
    }

    fn count(&mut self, bytes: usize) {
        self.next += 1;
        self.unsent += bytes;
        self.kept += bytes;
    }

    /// What a connection shall take next, as it lies in memory: how many parts of the list; none if nothing is left.
    pub fn parts<'a>(&'a self, list: &mut [IoSlice<'a>; PARTS]) -> usize {
        let (first, offset) = self.cursor;
        let pieces = self.pieces.iter().enumerate().skip(first);
        let rest = pieces.flat_map(|(index, piece)| piece.rest(if index == first { offset } else { 0 }));
        let places = rest.filter(|part| !part.is_empty()).zip(list);
        places.map(|(part, place)| *place = IoSlice::new(part)).count()
    }

    /// Whether the connection has taken whole frames so far.
    pub fn is_between_frames(&self) -> bool {
        let (index, offset) = self.cursor;
        let Some(piece) = self.pieces.get(index).filter(|_| offset > 0) else { return true };
        if piece.payload.is_some() {
            return offset == piece.len();
        }
        let mut at = 0;
        while at < offset {
            let head = piece.bytes[at..].first_chunk().and_then(Head::read).expect("a head of our own");
            at += HEAD_BYTES + head.bytes as usize;
        }
        at == offset
    }

    /// A connection has taken so many bytes.
    pub fn taken(&mut self, mut bytes: usize) {
        self.unsent -= bytes;
        while let Some(piece) = self.pieces.get(self.cursor.0) {
            let step = bytes.min(piece.len() - self.cursor.1);
            bytes -= step;
            self.cursor.1 += step;
            // The last piece may still grow.
            if self.cursor.1 < piece.len() || self.cursor.0 + 1 == self.pieces.len() {
                break;
            }
            self.cursor = (self.cursor.0 + 1, 0);
        }
        self.forget();
    }

    /// The peer has received numbered frames up to one whose number ends so. What cannot be is left alone.
    pub fn told(&mut self, received: u16) {
        let more = u64::from(received.wrapping_sub(self.received as u16));
        if more != 0 && self.received + more <= self.next {
            self.received += more;
            self.forget();
        }
    }

    /// Gives back what the peer has, and no connection is taking.
    fn forget(&mut self) {
        while let Some(first) = self.pieces.front() {
            let is_taken = self.cursor.0 > 0 || self.cursor.1 == first.len();
            let is_spare = first.len() == 0 && self.pieces.len() == 1;
            if !is_taken || is_spare || self.before + first.frames > self.received {
                break;
            }
            self.before += first.frames;
            self.kept -= first.len();
            self.cursor = if self.cursor.0 == 0 { (0, 0) } else { (self.cursor.0 - 1, self.cursor.1) };
            let gone = self.pieces.pop_front();
            if let Some(Piece { mut bytes, payload: None, .. }) = gone.filter(|_| self.pieces.is_empty()) {
                // The next short frame finds it.
                bytes.clear();
                self.pieces.push_back(Piece { bytes, payload: None, frames: 0 });
            }
        }
    }

    /// A new connection begins behind the first `received` numbered frames, which the peer has.
    /// `false` if that cannot be.
    pub fn begin_again(&mut self, received: u64) -> bool {
        if received < self.received || received > self.next {
            return false;
        }
        // As if all had been taken: what the peer has is given back.
        self.cursor = (self.pieces.len(), 0);
        self.received = received;
        self.forget();
        let at = self.pieces.front().map_or(0, |piece| piece.place_of(received - self.before));
        self.cursor = (0, at);
        self.unsent = self.kept - at;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::network::framing::Sort;

    fn frame(number: u64) -> Head {
        Head { bytes: (number % 90) as u32, ..Head::bare(Sort::Packet, 3, [number, 0]) }
    }

    /// Adds frame `number`: a long one now and then.
    fn add(outgoing: &mut Outgoing, number: u64) {
        let head = frame(number);
        let payload = vec![number as u8; head.bytes as usize];
        match number % 7 {
            0 => outgoing.add_long(&head, [&payload[..], &[0; 9]].concat().into()),
            _ => outgoing.add(&head, &payload),
        }
    }

    /// A connection that has received some bytes.
    #[derive(Default)]
    struct Received(Vec<u8>);

    impl Received {
        /// Takes at most so many bytes.
        fn take(&mut self, outgoing: &mut Outgoing, mut most: usize) {
            let before = self.0.len();
            let mut list = [IoSlice::new(&[]); PARTS];
            let count = outgoing.parts(&mut list);
            for part in &list[..count] {
                let bytes = most.min(part.len());
                self.0.extend_from_slice(&part[..bytes]);
                most -= bytes;
            }
            outgoing.taken(self.0.len() - before);
        }

        /// The numbers of the frames that are whole, and whether each is what it should be.
        fn numbers(&self) -> Vec<u64> {
            let (mut at, mut numbers) = (0, Vec::new());
            while let Some(head) = self.0.get(at..at + HEAD_BYTES) {
                let head = Head::read(head.try_into().unwrap()).unwrap();
                let Some(payload) = self.0.get(at + HEAD_BYTES..at + HEAD_BYTES + head.bytes as usize) else {
                    break;
                };
                assert_eq!(head, frame(head.header[0]));
                assert!(payload.iter().all(|&byte| byte == head.header[0] as u8));
                numbers.push(head.header[0]);
                at += HEAD_BYTES + payload.len();
            }
            numbers
        }
    }

    #[test]
    fn frames_go_in_order_however_few_bytes_a_connection_takes() {
        for most in [1, 7, 100, 5000] {
            let (mut outgoing, mut received) = (Outgoing::default(), Received::default());
            for number in 0..500 {
                add(&mut outgoing, number);
                received.take(&mut outgoing, most);
                let numbers = received.numbers();
                let whole: usize =
                    numbers.iter().map(|&number| HEAD_BYTES + frame(number).bytes as usize).sum();
                assert_eq!(outgoing.is_between_frames(), whole == received.0.len(), "after frame {number}");
                outgoing.told(numbers.len() as u16);
            }
            while outgoing.unsent() > 0 {
                received.take(&mut outgoing, most);
            }
            outgoing.told(500);
            assert_eq!(received.numbers(), (0..500).collect::<Vec<_>>());
            assert_eq!((outgoing.kept(), outgoing.in_doubt()), (0, 0), "all is given back");
        }
    }

    #[test]
    fn what_a_peer_has_not_received_goes_again_and_nothing_else() {
        for broken_after in (0..40_000).step_by(777) {
            let mut outgoing = Outgoing::default();
            (0..600).for_each(|number| add(&mut outgoing, number));
            let mut first = Received::default();
            while first.0.len() < broken_after && outgoing.unsent() > 0 {
                let most = 500.min(broken_after - first.0.len());
                first.take(&mut outgoing, most);
                outgoing.told((first.numbers().len() / 2) as u16);
            }
            let count = first.numbers().len() as u64;
            assert!(outgoing.begin_again(count));
            let mut second = Received::default();
            while outgoing.unsent() > 0 {
                second.take(&mut outgoing, 4000);
            }
            assert_eq!(second.numbers(), (count..600).collect::<Vec<_>>(), "broken after {broken_after}");
            outgoing.told(600);
            assert_eq!(outgoing.kept(), 0);
        }
    }

    #[test]
    fn numbers_of_received_frames_that_cannot_be_are_left_alone() {
        let mut outgoing = Outgoing::default();
        (0..10).for_each(|number| add(&mut outgoing, number));
        Received::default().take(&mut outgoing, 100_000);
        outgoing.told(4);
        outgoing.told(3);
        outgoing.told(11);
        assert_eq!(outgoing.in_doubt(), 6);
        assert!(!outgoing.begin_again(3) && !outgoing.begin_again(11) && outgoing.begin_again(9));
        assert_eq!(outgoing.in_doubt(), 1);
    }

    #[test]
    fn the_count_of_received_frames_comes_round() {
        let (mut outgoing, mut received) = (Outgoing::default(), Received::default());
        for number in 0..200_000u64 {
            outgoing.add(&Head::bare(Sort::Own, 1, [0; 2]), &[]);
            received.0.clear();
            received.take(&mut outgoing, 100_000);
            outgoing.told((number + 1).saturating_sub(number % 100) as u16);
            assert!(outgoing.in_doubt() <= 100);
        }
    }
}
