//! Connections come and go: the porter is asked for them, and they are taken from it; when they break, there are new ones.

use super::link::{Aside, Connection, Link, State, Use};
use super::pipe::Pipe;
use super::porter::Outcome;
use super::Wire;
use crate::transport::network::framing::{Head, Sort};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// A rank waits so long before it tries again to connect.
const PAUSE: Duration = Duration::from_millis(50);

impl Wire {
    /// There is something to be sent.
    pub(super) fn go_on(&mut self, index: usize) {
        match self.links[index].state {
            State::Up(_) => self.flush(index),
            // One that is gone, or forgotten, is asked for by nobody.
            State::Idle if self.links[index].failed_since.is_some() || self.links[index].credits.leaves() => {
            }
            State::Idle => self.connect(index, Duration::ZERO),
            State::Asked => {}
        }
    }

    /// Asks for a connection.
    fn connect(&mut self, index: usize, after: Duration) {
        let link = &mut self.links[index];
        link.state = State::Asked;
        self.porter.connect(link.peer, self.lane, Instant::now() + after);
        if !self.unconnected.contains(&index) {
            self.unconnected.push(index);
        }
    }

    /// Takes connections that there are, and asks again for those that there are not.
    pub(super) fn hear_of_connections(&mut self) {
        if !self.porter.has_for(self.lane) {
            return;
        }
        for outcome in self.porter.take(self.lane) {
            self.hear_of(outcome);
        }
        let links = &self.links;
        self.unconnected.retain(|&index| matches!(links[index].state, State::Asked));
    }

    pub(super) fn hear_of(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Connected(peer, pipe, is_mine) => {
                let (is_lower, index) = (self.is_lower_than(peer), self.link_to(peer));
                if self.links[index].is_parted {
                    return;
                }
                match self.links[index].use_of(is_lower, is_mine) {
                    Use::Now => self.take_connection(index, pipe, is_mine),
                    Use::Aside { is_of_lower } => {
                        self.set_aside(index, Aside { pipe, is_mine, is_of_lower });
                    }
                }
            }
            Outcome::Failed(peer, nobody_listens, is_in_hand) => {
                let index = self.link_to(peer);
                if let State::Asked = self.links[index].state {
                    // Where the job goes on without ranks that fail, its launcher says who has.
                    let goes_on = !peer.is_foreign() && self.porter.me().directory.goes_on();
                    let link = &mut self.links[index];
                    match is_in_hand && link.was_up {
                        true => link.is_reached(),
                        false if goes_on => {}
                        false => link.is_out_of_reach(nobody_listens, self.loses_at_once),
                    }
                    self.connect(index, PAUSE);
                }
            }
            Outcome::Unlike(peer) => {
                let index = self.link_to(peer);
                let link = &mut self.links[index];
                if let State::Idle | State::Asked = link.state {
                    // Nobody is asked any more.
                    (link.state, link.is_unlike) = (State::Asked, true);
                    if !self.unconnected.contains(&index) {
                        self.unconnected.push(index);
                    }
                }
            }
        }
    }

    /// Keeps a connection that is not in use. What is said over that of the lower rank is waited for: if its owner uses
    /// it, so does its peer.
    fn set_aside(&mut self, index: usize, aside: Aside) {
        if !aside.is_of_lower || self.ready.set.add(aside.pipe.socket().as_raw_fd(), index as u64).is_ok() {
            self.links[index].aside = Some(aside);
        }
    }

    /// Takes a connection that stood aside, if the peer uses it.
    pub(super) fn take_if_in_use(&mut self, index: usize) {
        if let Some(aside) = self.links[index].aside_in_use() {
            self.take_aside(index, aside);
        }
    }

    fn take_aside(&mut self, index: usize, aside: Aside) {
        // It is added again with all others; where it was not in the set, this fails.
        let _ = self.ready.set.remove(aside.pipe.socket().as_raw_fd());
        self.take_connection(index, aside.pipe, aside.is_mine);
    }

    fn take_connection(&mut self, index: usize, mut pipe: Pipe, is_mine: bool) {
        let link = &mut self.links[index];
        if self.source == index {
            // What is left there came over the last connection, and will come again.
            self.intake.clear();
        }
        let resume = Head::bare(Sort::Resume, 0, [link.received, pipe.tells(self.own_node)]).write();
        let sent = pipe.begin(&resume, self.own_node);
        let added = self.ready.set.add(pipe.socket().as_raw_fd(), index as u64);
        // A peer to which nothing was ever sent has received nothing.
        let has_begun = sent.is_ok_and(|bytes| bytes == resume.len());
        link.state = State::Up(Connection::new(pipe, is_mine, !link.was_up && has_begun));
        link.serving.clear();
        (link.aside, link.was_up) = (None, true);
        link.is_reached();
        self.note_opened(index);
        if added.is_err() {
            return self.is_broken(index);
        }
        // A peer that has left takes nothing more. What it has sent may still be read; its end shows there.
        self.readable.push_back(index);
        if has_begun {
            self.ask_again(index);
            self.flush(index);
        }
    }

    /// A peer has said how many frames it has received over connections before this one.
    pub(super) fn may_resume(&mut self, index: usize, received: u64) {
        let Link { state: State::Up(connection), outgoing, .. } = &mut self.links[index] else { return };
        if !std::mem::replace(&mut connection.may_send, true) {
            match outgoing.begin_again(received) {
                true => self.flush(index),
                false => self.is_broken(index),
            }
        }
    }

    /// A connection has come to its end. If the peer has not taken leave, there has to be a new one: whether the peer
    /// is there shows then. Of two ranks the lower one begins.
    pub(super) fn is_broken(&mut self, index: usize) {
        if self.source == index {
            self.intake.clear();
        }
        if self.hot == Some(index) {
            self.hot = None;
        }
        let is_lower = self.is_lower_than(self.links[index].peer);
        let link = &mut self.links[index];
        link.state = State::Idle;
        // The peer will ask again.
        link.serving.clear();
        self.note_opened(index);
        let link = &mut self.links[index];
        if let Some(aside) = link.aside.take() {
            self.take_aside(index, aside);
        } else if !link.credits.leaves() && link.failed_since.is_none() {
            let after = if is_lower { Duration::ZERO } else { PAUSE };
            self.connect(index, after);
        }
    }
}

impl Link {
    /// Bytes for a peer that its system does not have yet. Without a connection, what it has not said that it has
    /// received may be lost.
    pub(super) fn not_with_the_peer(&self) -> usize {
        match &self.state {
            State::Up(connection) if connection.may_send => {
                self.outgoing.unsent() + connection.pipe.unconfirmed()
            }
            _ if self.credits.leaves() || self.is_lost() => 0,
            _ => self.outgoing.kept(),
        }
    }
}
