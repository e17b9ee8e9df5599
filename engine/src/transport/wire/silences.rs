//! Paths to peers that break while connections over them last: who does not answer is noticed within 3 s, and not when the
//! system gives a connection up, which may take a quarter of an hour.
//!
//! The porter looks at the connections that it has let go of, for a rank that computes or sleeps does not. One over which nothing
//! has been answered for a while is shut down: its lane makes another one, and nothing is lost. The launcher is told, once for
//! each peer, and told again when the peer answers.

use super::handshake::Identity;
use super::pipe::Pipe;
use super::tcp;
use crate::memory::socket_option::is_local;
use crate::JobRank;
use std::collections::{HashMap, HashSet};
use std::net::{Shutdown, TcpStream};
use std::sync::Weak;
use std::time::{Duration, Instant};

/// How often connections are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// A connection is silent if its peer's system has not answered for so long, at two looks in a row.
const SILENT: Duration = Duration::from_secs(2);
const LOOKS: u32 = 2;

/// The connections of a rank, and its peers that do not answer.
#[derive(Debug)]
pub struct Silences {
    watched: Vec<Watched>,
    /// The peers that have been connected to.
    met: HashSet<JobRank>,
    troubles: HashMap<JobRank, Trouble>,
    looks_at: Instant,
}

/// A connection; its lane may let go of it at any time.
#[derive(Debug)]
struct Watched {
    peer: JobRank,
    socket: Weak<TcpStream>,
    looks_in_vain: u32,
}

/// Of a peer that does not answer.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    /// The launcher has been asked to take it in hand, and whether it does.
    is_in_hand: Option<bool>,
}

impl Default for Silences {
    fn default() -> Silences {
        Silences {
            watched: Vec::new(),
            met: HashSet::new(),
            troubles: HashMap::new(),
            looks_at: Instant::now(),
        }
    }
}

impl Silences {
    /// When to look next, if there is anything to look at.
    pub fn looks_at(&self) -> Option<Instant> {
        (!self.watched.is_empty()).then_some(self.looks_at)
    }

    /// There is a connection to a peer.
    pub fn is_connected(&mut self, me: &Identity, peer: JobRank, pipe: &Pipe) {
        self.answers(me, peer);
        self.met.insert(peer);
        if !is_local(pipe.socket()) {
            self.looks_at = self.looks_at.max(Instant::now());
            self.watched.push(Watched { peer, socket: pipe.watched(), looks_in_vain: 0 });
        }
    }

    /// A peer could not be connected to; `nobody_listens` if its system says so. Whether the launcher has it in hand: not a peer
    /// that was never connected to, of which the rank itself says at which addresses nothing answers.
    pub fn has_failed(&mut self, me: &Identity, peer: JobRank, nobody_listens: bool) -> bool {
        if nobody_listens {
            self.answers(me, peer);
            return false;
        }
        self.met.contains(&peer) && self.does_not_answer(me, peer, Instant::now())
    }

    fn answers(&mut self, me: &Identity, peer: JobRank) {
        if self.troubles.remove(&peer).is_some_and(|trouble| trouble.is_in_hand == Some(true)) {
            me.directory.note_silence(peer, 0);
        }
    }

    fn does_not_answer(&mut self, me: &Identity, peer: JobRank, since: Instant) -> bool {
        let trouble = self.troubles.entry(peer).or_insert(Trouble { since, is_in_hand: None });
        let silent = trouble.since.elapsed();
        if silent < SILENT {
            return false;
        }
        let note = || me.directory.note_silence(peer, silent.as_millis().min(u32::MAX.into()) as u32);
        *trouble.is_in_hand.get_or_insert_with(note)
    }

    /// Looks at the connections, if it is time: those that are silent end.
    pub fn look(&mut self, me: &Identity) {
        let now = Instant::now();
        if self.watched.is_empty() || now < self.looks_at {
            return;
        }
        self.looks_at = now + LOOK;
        let mut silent = Vec::new();
        self.watched.retain_mut(|one| {
            let Some(socket) = one.socket.upgrade() else { return false };
            let unanswered = tcp::unanswered(&socket).filter(|&unanswered| unanswered >= SILENT);
            one.looks_in_vain = if unanswered.is_some() { one.looks_in_vain + 1 } else { 0 };
            let Some(unanswered) = unanswered.filter(|_| one.looks_in_vain >= LOOKS) else { return true };
            let _ = socket.shutdown(Shutdown::Both);
            silent.push((one.peer, now.checked_sub(unanswered).unwrap_or(now)));
            false
        });
        for (peer, since) in silent {
            self.does_not_answer(me, peer, since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::OfTests;
    use super::*;
    use crate::job::node_card::JobKey;
    use std::net::TcpListener;

    #[test]
    fn who_answers_is_left_alone_and_who_cannot_be_reached_is_in_nobodys_hand_without_a_launcher() {
        let directory = Box::leak(Box::new(OfTests::new(0, JobKey::random().unwrap())));
        let me = Identity { rank: JobRank(0), ranks: 2, directory, is_sealed: false };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let pipe = Pipe::new(socket, None);
        let mut silences = Silences::default();
        assert_eq!(silences.looks_at(), None, "a rank without connections has nothing to look at");
        silences.is_connected(&me, JobRank(1), &pipe);
        silences.look(&me);
        assert!(silences.looks_at().is_some_and(|at| at > Instant::now()));
        drop(pipe);
        silences.looks_at = Instant::now();
        silences.look(&me);
        assert_eq!(silences.looks_at(), None, "the connection is gone");
        assert!(!silences.has_failed(&me, JobRank(1), false));
        assert!(
            !silences.has_failed(&me, JobRank(1), true) && silences.troubles.is_empty(),
            "it answers: no"
        );
    }
}
