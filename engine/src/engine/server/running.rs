//! How the server of a node runs: its turns, and how it sleeps between them.

use super::desk::{At, Desk};
use super::ending::Ending;
use super::mail::{Came, Mail, Sort};
use super::{NodeServer, ServerWords};
use crate::clock;
use crate::engine::Engine;
use crate::job::node_segment::SERVER_LANE;
use crate::lock_order::{self, Level};
use crate::onesided::server::{law, Event, Fault, Grid, Server, Topology};
use crate::onesided::MOST_BYTES;
use crate::progress::lock::EngineLock;
use crate::progress::Sleeper;
use crate::transport::{network, Arrivals, Routed};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Nanoseconds after which a server looks that has nothing to do, and one that waits for room on a link.
const LONG: u64 = 10_000_000_000;
const SOON: u64 = 1_000_000;
/// The same while threads of its rank that wait do its work: it does not hear the network for so long. The first of its
/// naps, and the longest.
const NAP: u64 = 100_000;
const LONGEST_NAP: u64 = 400_000;
/// Messages with fewer nanoseconds between them follow each other closely.
const CLOSE: u64 = 200_000;

/// The server, in the process whose thread it is.
pub struct Here {
    state: Mutex<State>,
    /// Its way to the memory of the node's ranks.
    pub reach: EngineLock<Routed>,
    sleeper: Sleeper,
    arrivals: Arrivals,
    /// What it has heard of failures of ranks.
    news: AtomicU32,
    /// How often threads of its rank have done its work.
    turns: AtomicU32,
    /// The thread naps.
    naps: AtomicBool,
}

// SAFETY: the words and what is asked behind `arrivals` are made to be looked at by any thread.
unsafe impl Sync for Here {}

/// What a turn has been.
pub struct Turn {
    /// A message had come.
    has_heard: bool,
    /// Something waits for room on a link.
    is_waiting: bool,
}

struct State {
    protocol: Server<Grid>,
    desk: Desk,
    ending: Ending,
}

impl Here {
    /// Opens its way to the other nodes: of the `node`, in the grid of all.
    ///
    /// # Errors
    /// What the network says.
    pub fn open(
        engine: &Engine,
        (node, grid): (u32, Grid),
        words: &'static ServerWords,
    ) -> Result<Option<Here>> {
        let (reach, network) = engine.lanes.at(0).lock().transport.apart(SERVER_LANE)?;
        let Some(mut network) = network else { return Ok(None) };
        network.ring_at(&words.doorbell);
        let (sleeper, arrivals) = (Sleeper::default(), network.arrivals());
        if let Some(descriptor) = network.descriptor() {
            let attended = sleeper.attend(&words.doorbell, 0, descriptor);
            attended.map_err(|error| network::refused("a local socket", &error))?;
        }
        let nodes = grid.nodes();
        let settings = law::settings_within(&grid, law::BUDGET, MOST_BYTES);
        let protocol = Server::new(node, grid, settings);
        let desk = Desk::new(Mail::new(network, node));
        let reach = EngineLock::new(reach, Level::REACH, true);
        let state = Mutex::new(State { protocol, desk, ending: Ending::new(node, nodes) });
        let (news, turns, naps) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
        Ok(Some(Here { state, reach, sleeper, arrivals, news, turns, naps }))
    }

    /// Does what has arrived, for a thread of the rank that waits; whether there was anything.
    #[inline]
    pub fn look(&self, engine: &Engine, server: &NodeServer) -> bool {
        self.arrivals.any() && self.try_turn(engine, server).is_some_and(|turn| turn.has_heard)
    }

    /// No thread of the rank looks any more: the server's own listens to the network.
    pub fn leave_to_the_thread(&self, server: &NodeServer) {
        if self.naps.swap(false, Ordering::SeqCst) {
            server.words.doorbell.ring();
        }
    }

    /// The thread naps while threads of the rank do its work: each message would wake it beside the thread that takes it.
    /// Each nap is twice as long as the one before.
    fn nap(&self, server: &NodeServer, is_asked: impl Fn() -> bool) {
        let (mut limit, mut is_left) = (NAP, true);
        while is_left && !is_asked() {
            let turns = self.turns.load(Ordering::Relaxed);
            self.naps.store(true, Ordering::SeqCst);
            server.words.doorbell.nap_unless(&is_asked, limit);
            is_left = self.naps.swap(false, Ordering::SeqCst) && self.turns.load(Ordering::Relaxed) != turns;
            limit = (2 * limit).min(LONGEST_NAP);
        }
    }

    /// The state, unless another thread has it.
    fn free_state(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does all there is to do, unless another thread is at it.
    pub fn try_turn(&self, engine: &Engine, server: &NodeServer) -> Option<Turn> {
        let guard = self.free_state()?;
        let held = lock_order::enter(Level::SERVER);
        let turn = self.turn(guard, engine, server);
        drop(held);
        self.turns.fetch_add(1, Ordering::Relaxed);
        // What is left is the thread's to do: this one may go on with something else. One that naps looks soon by itself.
        if turn.is_waiting || (self.arrivals.any() && !self.naps.load(Ordering::Relaxed)) {
            self.naps.store(false, Ordering::SeqCst);
            server.words.doorbell.ring();
        }
        Some(turn)
    }

    /// The same for the server's own thread; `None`: a thread of the rank is at it, and has taken what was asked for. Waiting for
    /// it would make it wake this one.
    fn turn_of_thread(
        &self,
        engine: &Engine,
        server: &NodeServer,
        is_asked: impl Fn() -> bool,
    ) -> Option<Turn> {
        let guard = match self.free_state() {
            Some(guard) => guard,
            None if !is_asked() => return None,
            None => self.state.lock().unwrap_or_else(PoisonError::into_inner),
        };
        let _held = lock_order::enter(Level::SERVER);
        Some(self.turn(guard, engine, server))
    }

    /// All that there is to do.
    fn turn(&self, mut state: MutexGuard<'_, State>, engine: &Engine, server: &NodeServer) -> Turn {
        let State { protocol, desk, ending } = &mut *state;
        let mut at = At { desk, engine, server };
        let news = engine.news();
        if self.news.swap(news, Ordering::Relaxed) != news {
            at.forget_failed();
        }
        let mut has_heard = false;
        loop {
            at.take_wishes();
            if server.words.turned.swap(0, Ordering::SeqCst) != 0 {
                at.let_in();
            }
            while let Some(asked) = at.desk.next.pop_front() {
                step(protocol, Event::Asked(asked), &mut at);
            }
            while let Some(came) = at.desk.mail.next() {
                has_heard = true;
                match came {
                    Came::Message(from, Sort::Protocol, message) => {
                        step(protocol, Event::Arrived { from, message: &message }, &mut at);
                    }
                    Came::Message(_, Sort::End(word), _) => at.hear(ending, word),
                    Came::Message(from, Sort::Returned, key) => at.is_returned(from, &key),
                    Came::Fetched(number, has_come) => {
                        if let Some((origin, ticket, data)) = at.fetched(number, has_come) {
                            let data = data.as_deref();
                            step(protocol, Event::Fetched { origin, ticket, data }, &mut at);
                        }
                    }
                }
            }
            while let Some(node) = at.desk.mail.next_lost(|rank| engine.node_of(rank)) {
                step(protocol, Event::NodeGone(node), &mut at);
                at.lose_blocks(node);
            }
            if at.desk.moves.kept.has_room_again() {
                step(protocol, Event::Room, &mut at);
            }
            at.desk.mail.push_waiting();
            if at.desk.next.is_empty() {
                break;
            }
        }
        step(protocol, Event::Polled, &mut at);
        Turn { has_heard, is_waiting: at.desk.mail.is_waiting() }
    }

    /// The ranks of this node do not need it any more.
    pub fn say_done(&self, engine: &Engine, server: &NodeServer) {
        let mut state = lock_order::lock(&self.state, Level::SERVER);
        let State { desk, ending, .. } = &mut *state;
        let words = ending.is_done();
        At { desk, engine, server }.say(ending, words);
        drop(state);
        server.words.doorbell.ring();
    }

    /// As [`network::Network::count_packets`]; `false`: a thread is at work.
    fn count_packets(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) -> bool {
        let state = self.state.try_lock();
        state.is_ok_and(|state| {
            state.desk.mail.count_packets(show);
            true
        })
    }

    /// The rank ends.
    pub fn leave(&self) {
        lock_order::lock(&self.state, Level::SERVER).desk.mail.leave();
    }
}

/// A message that makes no sense is of another version of this library: the job ends.
fn step(protocol: &mut Server<Grid>, event: Event<'_>, at: &mut At<'_>) {
    if let Err(Fault(what)) = protocol.step(event, at) {
        let error = Error::new(Class::Intern, format!("the server of node {}: {what}", protocol.here()));
        at.engine.abort(1, &error.to_string());
    }
}

impl Engine {
    /// A thread that waits does what has come for the server of its process; whether there was anything.
    #[inline]
    pub(in crate::engine) fn look_for_server(&self) -> bool {
        let Some(server) = self.server.get() else { return false };
        server.here.as_ref().is_some_and(|here| here.look(self, server))
    }

    /// As [`network::Network::count_packets`], of the server in this process; `false`: a thread is at work there.
    pub(in crate::engine) fn count_packets_of_server(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) -> bool {
        let here = self.server.get().and_then(|server| server.here.as_ref());
        here.is_none_or(|here| here.count_packets(show))
    }

    /// A thread that has waited sleeps now.
    pub(in crate::engine) fn leave_to_server(&self) {
        if let Some(server) = self.server.get() {
            if let Some(here) = &server.here {
                here.leave_to_the_thread(server);
            }
        }
    }

    /// The thread.
    pub(super) fn run_server(&self) {
        let Some(server) = self.server.get() else { return };
        let Some(here) = &server.here else { return };
        let is_asked = || {
            let words = server.words;
            words.any_asks(self.job.node.local_ranks())
                || words.turned.load(Ordering::SeqCst) != 0
                || here.news.load(Ordering::Relaxed) != self.news()
        };
        let has_work = || is_asked() || here.arrivals.any();
        let (mut seen, mut heard) = (0, 0);
        loop {
            let turn = here.turn_of_thread(self, server, is_asked);
            let turns = here.turns.load(Ordering::Relaxed);
            let has_help = || turns != seen && !self.crowd.can_be();
            match turn {
                Some(turn) if !has_help() && !self.leaves_to_rank(&turn, &mut heard) => {
                    let limit = if turn.is_waiting { SOON } else { LONG };
                    here.sleeper.sleep_unless(&server.words.doorbell, has_work, limit);
                }
                // The thread counts as helped until there is no turn during a whole nap.
                _ => {
                    here.nap(server, is_asked);
                    seen = turns;
                }
            }
        }
    }

    /// Whether the rank of this server had better take what comes next: messages follow each other closely, and the rank
    /// waits, or sleeps in a wait, so that its core is free for them. It is woken. `heard`: when the last message has come.
    /// Not where ranks may share cores.
    fn leaves_to_rank(&self, turn: &Turn, heard: &mut u64) -> bool {
        if !turn.has_heard || turn.is_waiting {
            return false;
        }
        let now = clock::nanoseconds();
        let is_close = now - std::mem::replace(heard, now) < CLOSE;
        let leaves = is_close && self.page.call.is_in_wait() && !self.crowd.can_be();
        if leaves {
            self.doorbell.ring();
        }
        leaves
    }
}
