//! The part of one rank in a broadcast to a group.

use super::pieces::Pieces;
use super::repair::{Answer, Repair};
use super::{Group, Halves, Said, Shared, Tree, RUNS};
use crate::clock;
use crate::collective::port::{Data, Port, Ticket};
use crate::collective::schedule::Stage;
use crate::datatype::{Basic, Datatype};
use crate::lock_order::{self, Level};
use crate::transport::multicast::Piece;
use crate::{Class, Error, Result};
use std::collections::VecDeque;

/// A note: all bytes of the broadcast, and the half window that has been sent.
/// An acknowledgement: pieces of the half window that were lost, and at how many ranks, perhaps with [`WAITS`].
type Words = Box<[u64; 2]>;

/// Of the last acknowledgement: the child waits for one note more.
const WAITS: u64 = 1 << 32;

/// What comes from a neighbour in the tree, again and again.
struct Line {
    peer: u32,
    words: Words,
    ticket: Option<Ticket>,
    /// So many have come.
    come: u32,
}

impl Line {
    fn of(peer: u32) -> Line {
        Line { peer, words: Box::default(), ticket: None, come: 0 }
    }

    /// Asks for the next one.
    fn want(&mut self, port: &mut dyn Port, tag: i32) -> Result<()> {
        if self.ticket.is_none() {
            self.ticket = Some(port.receive(self.peer, tag, &as_data(&self.words))?);
        }
        Ok(())
    }

    /// The next one, if it has come.
    fn next(&mut self, port: &mut dyn Port, tag: i32) -> Result<Option<[u64; 2]>> {
        self.want(port, tag)?;
        let Some(ticket) = self.ticket else { return Ok(None) };
        if !port.done(ticket).inspect_err(|_| self.ticket = None)? {
            return Ok(None);
        }
        (self.ticket, self.come) = (None, self.come + 1);
        Ok(Some(*self.words))
    }
}

/// A child: what it has acknowledged.
struct Child {
    line: Line,
    lost: Vec<[u64; 2]>,
}

/// The part of a rank, and how far it is.
pub struct Relay {
    group: Shared,
    epoch: u32,
    tree: Tree,
    /// Where the data are: the program's, or `longer`.
    address: *mut u8,
    /// The program's.
    own: (*mut u8, u64),
    longer: Option<Vec<u8>>,
    halves: Halves,
    pieces: Pieces,
    repair: Repair,
    /// By half window: pieces that this rank had to ask for.
    repaired: Vec<u64>,
    from_parent: Option<Line>,
    children: Vec<Child>,
    /// The next piece that the root sends.
    next: u32,
    /// Half windows that have been sent, as the children have been told.
    noted: u32,
    /// Half windows that all below this rank have, as its parent was told, or as the root has learned.
    confirmed: u32,
    /// Some pieces were missing when all notes had come: the parent sends one more when this rank has all.
    waits: bool,
    sends: Vec<(Ticket, Words)>,
    unsaid: VecDeque<(u32, Said)>,
    is_timed: bool,
    failure: Option<Error>,
}

// SAFETY: the raw address is of a buffer that the program lends to the operation until it is done, from whichever
// thread it is advanced; `advance` takes `&mut self`.
unsafe impl Send for Relay {}

impl Relay {
    /// Of round `epoch` of a group, with the data where they lie without gaps.
    pub fn new(group: Shared, epoch: u32, tree: Tree, data: &Data) -> Relay {
        let is_root = tree.parent.is_none();
        let halves = {
            let mut group = lock_order::lock(&group, Level::GROUP);
            group.begin(epoch);
            group.halves(data.bytes())
        };
        let child = |&peer: &u32| Child { line: Line::of(peer), lost: Vec::new() };
        Relay {
            epoch,
            address: data.address,
            own: (data.address, data.bytes()),
            longer: None,
            halves,
            pieces: Pieces::new(halves.pieces(), is_root),
            repair: Repair::new(tree.children.len(), halves.pieces(), is_root),
            repaired: vec![0; halves.number() as usize],
            from_parent: tree.parent.map(Line::of),
            children: tree.children.iter().map(child).collect(),
            next: 0,
            noted: 0,
            confirmed: 0,
            waits: false,
            sends: Vec::new(),
            unsaid: VecDeque::new(),
            is_timed: false,
            failure: None,
            group,
            tree,
        }
    }

    fn is_root(&self) -> bool {
        self.tree.parent.is_none()
    }

    /// The bytes of a piece.
    fn piece(&self, piece: u32) -> &[u8] {
        let (begin, bytes) = self.halves.place(piece);
        // SAFETY: the data have that many bytes: `adopt` sees to it where the root has more.
        unsafe { std::slice::from_raw_parts(self.address.add(begin as usize), bytes as usize) }
    }

    /// A piece has come; whether it is new.
    fn store(&mut self, piece: u32, bytes: &[u8]) -> bool {
        let (begin, expected) = self.halves.place(piece);
        if bytes.len() as u64 != expected || !self.pieces.add(piece) {
            return false;
        }
        // SAFETY: as in `piece`; a receiver's data may be written.
        unsafe {
            let target = self.address.add(begin as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        true
    }

    /// The root has other bytes than this rank expects, as ranks may that call in error: the broadcast is done with
    /// those of the root.
    fn adopt(&mut self, bytes: u64) {
        let (own, room) = self.own;
        if bytes > room {
            let message = format!(
                "the root broadcasts {bytes} bytes, and this rank has room for {room}; counts and types do not match"
            );
            self.fail(Error::new(Class::Truncate, message));
            let mut longer = vec![0; bytes as usize];
            // SAFETY: the program lends so many bytes, and `longer` has more.
            unsafe { std::ptr::copy_nonoverlapping(own, longer.as_mut_ptr(), room as usize) };
            self.address = longer.as_mut_ptr();
            self.longer = Some(longer);
        }
        self.halves.bytes = bytes;
        // What has come by now has the length that it has at the root.
        self.pieces = self.pieces.among(self.halves.pieces());
        self.repair.are_so_many(self.halves.pieces());
        self.repaired.resize(self.halves.number() as usize, 0);
    }

    fn fail(&mut self, failure: Error) {
        self.failure.get_or_insert(failure);
    }

    /// Sends two words to a neighbour.
    fn tell(&mut self, port: &mut dyn Port, tag: i32, peer: u32, words: [u64; 2]) -> Result<()> {
        let words = Box::new(words);
        let ticket = port.send(peer, tag, &as_data(&words))?;
        self.sends.push((ticket, words));
        Ok(())
    }

    fn tell_children(&mut self, port: &mut dyn Port, tag: i32, half: u32) -> Result<()> {
        let words = [self.halves.bytes, u64::from(half)];
        (0..self.children.len()).try_for_each(|child| self.tell(port, tag, self.tree.children[child], words))
    }

    /// What has come from the parent.
    fn hear_notes(&mut self, port: &mut dyn Port, tag: i32) -> Result<()> {
        loop {
            let expected = self.notes();
            let Some(line) = self.from_parent.as_mut().filter(|line| line.come < expected) else {
                return Ok(());
            };
            let Some([bytes, half]) = line.next(port, tag)? else { return Ok(()) };
            if bytes != self.halves.bytes {
                self.adopt(bytes);
            }
            let half = half as u32;
            if half < self.halves.number() {
                self.pieces.have_been_sent(self.halves.end(half));
                self.noted = half + 1;
                self.tell_children(port, tag, half)?;
            }
        }
    }

    /// How many notes come from the parent.
    fn notes(&self) -> u32 {
        self.halves.number() + u32::from(self.waits)
    }

    /// A rank that waits for nothing but pieces waits for one note more, so that it hears if its parent fails.
    fn wait_for_one_more(&mut self, port: &mut dyn Port, tag: i32) -> Result<()> {
        let number = self.halves.number();
        let is_last = self.confirmed < number && !self.pieces.are_all_here();
        match self.from_parent.as_mut().filter(|line| is_last && line.come == number) {
            Some(line) => {
                self.waits = true;
                line.want(port, tag)
            }
            None => Ok(()),
        }
    }

    /// What peers have said beside messages.
    fn hear(&mut self, group: &mut Group) {
        for said in group.take_heard() {
            match said {
                Said::Ask(rank, runs) => {
                    let child = self.tree.children.iter().position(|&child| child == rank);
                    let Some(child) = child else { continue };
                    runs.into_iter().for_each(|(first, number)| self.repair.ask(child, first, number));
                }
                Said::Again => self.pieces.were_sent_again(),
                Said::Piece(piece, bytes) => {
                    if self.store(piece, &bytes) {
                        self.repaired[self.halves.of(piece) as usize] += 1;
                        group.tally.repaired += 1;
                    }
                }
            }
        }
    }

    /// Asks the parent for what is lost.
    fn ask(&mut self) {
        let Some(parent) = self.tree.parent else { return };
        let runs = self.pieces.ask();
        let asks = runs.chunks(RUNS).map(|runs| (parent, Said::Ask(self.tree.me, runs.to_vec())));
        self.unsaid.extend(asks);
    }

    /// Answers the children.
    fn answer(&mut self, group: &mut Group) {
        let pieces = &self.pieces;
        let answers = self.repair.answers(|piece| pieces.has(piece));
        let mut again = false;
        for (piece, answer) in answers {
            match answer {
                Answer::To(child) => {
                    let said = Said::Piece(piece, self.piece(piece).into());
                    self.unsaid.push_back((self.tree.children[child as usize], said));
                }
                Answer::All => {
                    // Where there is no room it counts as lost: who has asked is told to ask again.
                    group.channel.send(&[Piece {
                        epoch: self.epoch,
                        index: piece,
                        bytes: self.piece(piece),
                    }]);
                    again = true;
                }
            }
        }
        if again {
            self.unsaid.extend(self.tree.children.iter().map(|&child| (child, Said::Again)));
        }
    }

    /// Says what is to be said, as far as there is room.
    fn say(&mut self, port: &mut dyn Port) -> Result<()> {
        while let Some((peer, said)) = self.unsaid.front() {
            if !port.say(*peer, self.epoch, said)? {
                return Ok(());
            }
            self.unsaid.pop_front();
        }
        Ok(())
    }

    /// The root sends what it may.
    fn send(&mut self, port: &mut dyn Port, tag: i32, group: &mut Group) -> Result<()> {
        let mut wait = 0;
        while self.next < self.halves.pieces() && self.halves.of(self.next) < self.confirmed + 2 {
            let end = self.halves.end(self.noted).min(self.next + AT_ONCE);
            let piece = |index| Piece { epoch: self.epoch, index, bytes: self.piece(index) };
            let pieces: Vec<Piece<'_>> = (self.next..end).map(piece).collect();
            let bytes = pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
            if let Err(nanoseconds) = group.pacing.take(clock::nanoseconds(), bytes) {
                wait = nanoseconds;
                break;
            }
            let gone = group.channel.send(&pieces) as u32;
            let are_all_gone = gone as usize == pieces.len();
            self.next += gone;
            if self.next == self.halves.end(self.noted) {
                let half = self.noted;
                self.noted += 1;
                self.tell_children(port, tag, half)?;
            }
            if !are_all_gone {
                wait = NO_ROOM;
                break;
            }
        }
        if wait > 0 || self.is_timed {
            group.channel.wake_after(wait);
            self.is_timed = wait > 0;
        }
        Ok(())
    }

    /// What the children have acknowledged, and what that means.
    fn hear_children(&mut self, port: &mut dyn Port, tag: i32, group: &mut Group) -> Result<()> {
        let number = self.halves.number();
        for child in 0..self.children.len() {
            let one = &mut self.children[child];
            while one.line.come < number {
                let Some([lost, ranks]) = one.line.next(port, tag)? else { break };
                one.lost.push([lost, ranks & !WAITS]);
                if ranks & WAITS != 0 {
                    let words = [self.halves.bytes, u64::from(number)];
                    self.tell(port, tag, self.tree.children[child], words)?;
                    break;
                }
            }
        }
        while self.confirmed < number
            && self.pieces.whole() >= self.halves.end(self.confirmed)
            && self.children.iter().all(|child| child.line.come > self.confirmed)
            && (!self.is_root() || self.noted > self.confirmed)
        {
            let half = self.confirmed as usize;
            let below = self.children.iter().filter_map(|child| child.lost.get(half));
            let [lost, ranks] =
                below.fold([self.repaired[half], 1], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
            let begin = if half == 0 { 0 } else { self.halves.end(self.confirmed - 1) };
            let pieces = u64::from(self.halves.end(self.confirmed) - begin);
            let waits = if self.waits && self.confirmed + 1 == number { WAITS } else { 0 };
            match self.tree.parent {
                Some(parent) => self.tell(port, tag, parent, [lost, ranks | waits])?,
                None => group.pacing.learn(pieces * (ranks - 1), lost),
            }
            self.confirmed += 1;
        }
        Ok(())
    }

    fn go_on(&mut self, port: &mut dyn Port, tag: i32, group: &mut Group) -> Result<()> {
        // The notes first: what they speak of is at the socket by now, if it comes.
        self.hear_notes(port, tag)?;
        self.hear(group);
        if !self.pieces.are_all_here() {
            group.receive(|piece, bytes| {
                self.store(piece, bytes);
                self.pieces.are_all_here()
            });
        }
        self.ask();
        if self.is_root() {
            self.send(port, tag, group)?;
        }
        self.answer(group);
        self.say(port)?;
        self.wait_for_one_more(port, tag)?;
        self.hear_children(port, tag, group)
    }

    fn is_done(&self) -> bool {
        self.confirmed >= self.halves.number()
            && self.from_parent.as_ref().is_none_or(|line| line.come >= self.notes())
    }
}

/// Pieces that are handed to the system together.
const AT_ONCE: u32 = 40;
/// Nanoseconds until a system that had no room is asked again.
const NO_ROOM: u64 = 100_000;

impl Stage for Relay {
    fn on_the_way(&self) -> Vec<Ticket> {
        let lines = self.from_parent.iter().chain(self.children.iter().map(|child| &child.line));
        let sends = self.sends.iter().map(|(ticket, _)| *ticket);
        lines.filter_map(|line| line.ticket).chain(sends).collect()
    }

    fn advance(&mut self, port: &mut dyn Port, tag: i32) -> Result<bool> {
        let group = self.group.clone();
        let mut group = lock_order::lock(&group, Level::GROUP);
        let is_known = |failure: &Option<Error>| failure.as_ref().is_some_and(Error::is_known_to_all);
        let mut is_broken = false;
        if !is_known(&self.failure) {
            if let Err(failure) = self.go_on(port, tag, &mut group) {
                is_broken = !failure.is_known_to_all();
                self.failure = Some(failure);
            }
        }
        self.sends.retain(|(ticket, _)| matches!(port.done(*ticket), Ok(false)));
        if is_broken {
            self.leave_words();
        } else if is_known(&self.failure) {
            self.let_go_of_lines(port);
        } else if !self.is_done() {
            return Ok(false);
        }
        if !self.on_the_way().is_empty() {
            return Ok(false);
        }
        group.tally.pieces += u64::from(self.halves.pieces());
        group.end();
        self.store_what_fits();
        self.failure.take().map_or(Ok(true), Err)
    }
}

impl Relay {
    /// After a failure that all know of: every receive ends with it.
    fn let_go_of_lines(&mut self, port: &mut dyn Port) {
        let lines = self.from_parent.iter_mut().chain(self.children.iter_mut().map(|child| &mut child.line));
        for line in lines {
            line.ticket = line.ticket.filter(|&ticket| matches!(port.done(ticket), Ok(false)));
        }
    }

    /// After any other failure nobody may ever send what is waited for: the words stay where they are, for messages
    /// that come all the same.
    fn leave_words(&mut self) {
        let lines =
            self.from_parent.take().into_iter().chain(self.children.drain(..).map(|child| child.line));
        let sends = self.sends.drain(..).map(|(_, words)| words);
        for words in lines.filter(|line| line.ticket.is_some()).map(|line| line.words).chain(sends) {
            Box::leak(words);
        }
    }

    /// Of a broadcast that is too long, what there is room for.
    fn store_what_fits(&mut self) {
        let (own, room) = self.own;
        if let Some(longer) = self.longer.take() {
            // SAFETY: the program lends so many bytes until the operation is done.
            unsafe { std::ptr::copy_nonoverlapping(longer.as_ptr(), own, longer.len().min(room as usize)) };
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let mut group = lock_order::lock(&self.group, Level::GROUP);
        if group.is_active() {
            group.end();
        }
    }
}

/// Two words as data of a message.
fn as_data(words: &[u64; 2]) -> Data {
    let address = words.as_ptr().cast_mut().cast();
    Data { address, count: 16, datatype: Datatype::shared(Basic::Packed).into() }
}
