//! Peers that have failed, in a job that goes on without them: what they had sent is still read, and then nothing is left
//! of them here.
//!
//! The launcher alone says who has failed. A connection that has broken says nothing: it is made again until the
//! launcher has spoken.

use super::link::{Connection, Link, State};
use super::Wire;
use crate::transport::network::LEAVE;
use crate::JobRank;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// What a peer had sent before it failed may be on its way for so long, where no end of its connection comes.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// A connection that it had made, and has spoken over, may be in the hands of a porter for so long.
const CONNECTING: Duration = Duration::from_millis(50);

impl Link {
    /// How long after the failure something may come that the peer had sent: as long as there is a connection that has not come
    /// to its end, or there may be one that was never taken.
    fn may_bring_more_for(&self) -> Duration {
        match &self.state {
            State::Up(connection) if connection.has_not_ended() => LAST_WORDS,
            State::Idle | State::Asked if !self.was_up => CONNECTING,
            _ => Duration::ZERO,
        }
    }
}

impl Connection {
    /// Whether its end has not come yet. One that was made anew, when that of the peer had ended, is held by another rank of its
    /// node, which waits for a rank that does not come any more.
    fn has_not_ended(&self) -> bool {
        let is_silent =
            || self.pipe.socket().peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        self.has_spoken || self.pipe.has_opened() || !is_silent()
    }
}

impl Wire {
    /// A peer has failed. Whether all has been read that it had sent: nothing comes from it any more then.
    pub(super) fn has_heard_out(&mut self, index: usize) -> bool {
        let link = &mut self.links[index];
        let since = *link.failed_since.get_or_insert_with(Instant::now);
        if since.elapsed() < link.may_bring_more_for() {
            return false;
        }
        self.part_with(index);
        true
    }

    /// Whether a peer has failed, as the launcher says or other processes.
    pub(super) fn is_known_to_have_failed(&self, peer: JobRank) -> bool {
        let link = self.by_rank.get(&peer).map(|&index| &self.links[index as usize]);
        link.is_some_and(|link| link.failed_since.is_some()) || self.porter.me().directory.has_failed(peer)
    }

    /// Parts with those that have failed, as the launcher says or other processes, heard out or not.
    pub(super) fn part_with_the_failed(&mut self) {
        let directory = self.porter.me().directory;
        for index in 0..self.links.len() {
            let link = &mut self.links[index];
            if link.failed_since.is_some() || directory.has_failed(link.peer) {
                link.failed_since.get_or_insert_with(Instant::now);
                self.part_with(index);
            }
        }
    }

    fn part_with(&mut self, index: usize) {
        let link = &mut self.links[index];
        if link.is_parted {
            return;
        }
        link.is_parted = true;
        link.credits.tells(LEAVE);
        (link.state, link.aside) = (State::Idle, None);
        link.serving.clear();
        link.outgoing = Default::default();
        if self.source == index {
            self.intake.clear();
        }
        if self.hot == Some(index) {
            self.hot = None;
        }
        self.note_opened(index);
        self.unconnected.retain(|&one| one != index);
        self.fetches.drop_those_over(index);
    }
}
