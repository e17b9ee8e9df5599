//! Frames out and in: what connections take, and what they bring.

use super::intake::{Next, Place};
use super::link::{Link, State};
use super::{Came, Wire};
use crate::transport::network::framing::{Head, Sort, ASK_BYTES, HEAD_BYTES};
use crate::transport::network::{kept_payload, LEAVE};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Every so many looks all connections are asked, and not only the one that has brought something last.
const LOOKS: u32 = 4;
/// A rank that leaves waits for peers to take what is for them as long as some of it goes within this time.
const PATIENCE: Duration = Duration::from_secs(10);

impl Wire {
    /// Receives until there is a packet for the rank, or nothing more. What is the transport's own is done on the
    /// way.
    pub(super) fn take_in(&mut self) {
        while self.current.is_none() {
            self.current = self.to_self.pop_front().or_else(|| self.next());
            if self.current.is_none() && !self.receive() {
                self.at_rest();
                return;
            }
        }
        self.ready.packets.store(1, Ordering::Release);
    }

    /// The next packet in the intake.
    fn next(&mut self) -> Option<Came> {
        loop {
            let index = self.source;
            let Some(Link { state: State::Up(connection), .. }) = self.links.get_mut(index) else {
                self.intake.clear();
                return None;
            };
            match self.intake.next(&mut connection.unfinished) {
                Next::Frame(head, place) => {
                    if let Some(came) = self.came(index, head, place) {
                        return Some(came);
                    }
                }
                Next::Data(head, place, bytes) => {
                    let [number, offset] = head.header;
                    if !self.fetches.is_due(number, offset, head.bytes) {
                        self.is_broken(index);
                        return None;
                    }
                    self.links[index].outgoing.told(head.received);
                    self.take_data(number, place, bytes);
                }
                Next::Nothing => return None,
                Next::Nonsense => {
                    self.is_broken(index);
                    return None;
                }
            }
        }
    }

    /// A frame has come: it is counted, and if it is a packet, handed on.
    fn came(&mut self, index: usize, head: Head, place: Place) -> Option<Came> {
        match (head.sort, &place) {
            (Sort::Resume, _) => {
                self.is_told_of_node(index, head.header[1]);
                self.may_resume(index, head.header[0]);
                return None;
            }
            (Sort::Ask, Place::At(place)) => {
                let asked = self.intake.bytes(*place, ASK_BYTES).to_vec();
                self.is_asked(index, &head, &asked);
                return None;
            }
            _ => {}
        }
        let link = &mut self.links[index];
        link.outgoing.told(head.received);
        if head.sort.is_numbered() && link.count(HEAD_BYTES + head.bytes as usize) {
            self.say(index);
        }
        let link = &mut self.links[index];
        match head.sort {
            Sort::Packet | Sort::Long | Sort::Awaited => {
                Some(Came { source: link.peer, head, place, is_retained: false })
            }
            Sort::Own => {
                link.credits.tells(head.word());
                None
            }
            Sort::Ack | Sort::Resume | Sort::Ask | Sort::Data => None,
        }
    }

    /// Receives from one connection that has something: mostly it is the one that has brought something last.
    /// Whether anything has come.
    fn receive(&mut self) -> bool {
        if let Some(&index) = self.opened.first() {
            return self.receive_from(index);
        }
        if !self.patience.is_time(self.ready.questions.asked()) {
            return false;
        }
        if let Some(hot) = self.hot.filter(|_| !self.patience.is_one_of(LOOKS)) {
            return self.receive_from(hot);
        }
        self.hear_of_connections();
        if self.readable.is_empty() {
            self.look_at_all();
        }
        while let Some(index) = self.readable.pop_front() {
            if self.receive_from(index) {
                return true;
            }
        }
        false
    }

    fn receive_from(&mut self, index: usize) -> bool {
        let Some(Link { state: State::Up(connection), .. }) = self.links.get_mut(index) else { return false };
        let number = connection.unfinished.data.map_or(0, |(number, _)| number);
        let direct = connection.unfinished.data.and_then(|(number, left)| self.fetches.places(number, left));
        let direct = direct.as_deref().unwrap_or_default();
        match self.intake.receive(&mut connection.pipe, &mut connection.unfinished, direct) {
            Ok(Some(went)) => {
                self.note_opened(index);
                self.links[index].is_heard();
                (self.source, self.hot) = (index, Some(index));
                self.patience.found();
                if went > 0 {
                    self.data_came(number, went);
                }
                true
            }
            Ok(None) => false,
            Err(_) => {
                self.is_broken(index);
                false
            }
        }
    }

    /// What a sealed connection has opened does not show at its descriptor: the lane has to come back for it.
    pub(super) fn note_opened(&mut self, index: usize) {
        let has_opened =
            matches!(&self.links[index].state, State::Up(connection) if connection.pipe.has_opened());
        if has_opened || !self.opened.is_empty() {
            self.opened.retain(|&one| one != index);
            self.opened.extend(has_opened.then_some(index));
            self.ready.opened.store(self.opened.len() as u32, Ordering::Release);
        }
    }

    /// Asks all descriptors, and sends where there is room.
    fn look_at_all(&mut self) {
        for ready in self.ready.set.ready() {
            if ready.name == super::multicasting::NAME {
                // Whoever attends to the group reads there.
                continue;
            }
            let index = ready.name as usize;
            if ready.can_read {
                self.take_if_in_use(index);
                self.readable.push_back(index);
            }
            if ready.can_write {
                self.flush(index);
            }
        }
    }

    /// There is nothing to read now: time to tell peers what they should know.
    fn at_rest(&mut self) {
        for index in std::mem::take(&mut self.owing) {
            self.links[index].is_owing = false;
            self.tell(index);
        }
    }

    /// A peer has to be told something when there is time.
    pub(super) fn owes(&mut self, index: usize) {
        if !std::mem::replace(&mut self.links[index].is_owing, true) {
            self.owing.push(index);
        }
    }

    /// Tells a peer what it should know of this rank.
    pub(super) fn tell(&mut self, index: usize) {
        let link = &mut self.links[index];
        let mut tells = false;
        while let Some(word) = link.credits.next_to_tell(self.takes_long) {
            let head = link.telling(Head::own(word));
            link.outgoing.add(&head, &[]);
            tells = true;
        }
        if tells {
            self.go_on(index);
        } else if link.owes_word() {
            self.say(index);
        }
    }

    /// Tells a peer how much has been received.
    fn say(&mut self, index: usize) {
        let link = &mut self.links[index];
        let head = link.telling(Head::bare(Sort::Ack, 0, [0; 2]));
        // Without a connection the next one begins with it.
        if let State::Up(connection) = &mut link.state {
            connection.urgent.extend(head.write());
            self.flush(index);
        }
    }

    /// Takes leave of all peers, and waits until their systems have what is for them.
    pub(super) fn take_leave(&mut self) {
        for index in 0..self.links.len() {
            let link = &mut self.links[index];
            if link.was_up || link.outgoing.unsent() > 0 {
                let head = link.telling(Head::own(LEAVE));
                link.outgoing.add(&head, &[]);
                self.go_on(index);
            }
        }
        let (mut before, mut since) = (usize::MAX, Instant::now());
        let mut kept = VecDeque::new();
        loop {
            self.take_in_and_keep(&mut kept);
            self.part_with_the_failed();
            let left: usize = self.links.iter().map(Link::not_with_the_peer).sum();
            if left != before {
                (before, since) = (left, Instant::now());
            }
            if left == 0 || since.elapsed() >= PATIENCE {
                break;
            }
            (0..self.links.len()).for_each(|index| self.flush(index));
            std::thread::sleep(Duration::from_micros(50));
        }
        self.ready.packets.store(kept.len() as u64, Ordering::Release);
        self.to_self = kept;
    }

    /// Takes all in that there is. Packets stand before what peers say of themselves, and a rank that leaves does not read
    /// them: they are kept for the case that it comes back.
    fn take_in_and_keep(&mut self, kept: &mut VecDeque<Came>) {
        self.take_in();
        while let Some(came) = self.current.take() {
            let place = match came.place {
                Place::At(place) => {
                    Place::Owned(kept_payload::copy(self.intake.bytes(place, came.head.bytes as usize)))
                }
                owned => owned,
            };
            kept.push_back(Came { place, ..came });
            self.take_in();
        }
    }
}
