//! How the server of a node runs: its turns, and how it sleeps between them.

use super::desk::{At, Desk};
use super::ending::Ending;
use super::mail::{Mail, Sort};
use super::{NodeServer, ServerWords};
use crate::engine::Engine;
use crate::job::node_segment::SERVER_LANE;
use crate::lock_order::{self, Level};
use crate::onesided::server::{law, Event, Fault, Grid, Server, Topology};
use crate::onesided::MOST_BYTES;
use crate::progress::lock::EngineLock;
use crate::progress::Sleeper;
use crate::transport::{network, Arrivals, Routed};
use crate::{Class, Error, Result};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Nanoseconds after which a server looks that has nothing to do, and one that waits for room on a link.
const LONG: u64 = 10_000_000_000;
const SOON: u64 = 1_000_000;

/// The server, in the process whose thread it is.
pub struct Here {
    state: Mutex<State>,
    /// Its way to the memory of the node's ranks.
    pub reach: EngineLock<Routed>,
    sleeper: Sleeper,
    arrivals: Arrivals,
    /// It passes on what is for others.
    pub passes_on: bool,
    /// What it has heard of failures of ranks.
    news: AtomicU32,
}

// SAFETY: the words and what is asked behind `arrivals` are made to be looked at by any thread.
unsafe impl Sync for Here {}

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
        let passes_on = grid.extents().len() > 1;
        let settings = law::settings_within(&grid, law::BUDGET, MOST_BYTES);
        let protocol = Server::new(node, grid, settings);
        let desk = Desk::new(Mail::new(network, node));
        let reach = EngineLock::new(reach, Level::REACH, true);
        let state = Mutex::new(State { protocol, desk, ending: Ending::new(node, nodes) });
        Ok(Some(Here { state, reach, sleeper, arrivals, passes_on, news: AtomicU32::new(0) }))
    }

    /// Does all there is to do, unless another thread is at it.
    pub fn try_turn(&self, engine: &Engine, server: &NodeServer) -> bool {
        let guard = match self.state.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let held = lock_order::enter(Level::SERVER);
        let is_waiting = self.turn(guard, engine, server);
        drop(held);
        // What is left is the thread's to do: this one may go on with something else.
        if is_waiting || self.arrivals.any() {
            server.words.doorbell.ring();
        }
        true
    }

    /// All that there is to do; whether something waits for room on a link.
    fn turn(&self, mut state: MutexGuard<'_, State>, engine: &Engine, server: &NodeServer) -> bool {
        let State { protocol, desk, ending } = &mut *state;
        let mut at = At { desk, engine, server };
        let news = engine.news();
        if self.news.swap(news, Ordering::Relaxed) != news {
            at.forget_failed();
        }
        loop {
            let mut is_more = at.take_wishes();
            if server.words.turned.swap(0, Ordering::SeqCst) != 0 {
                at.let_in();
            }
            while let Some(asked) = at.desk.next.pop_front() {
                step(protocol, Event::Asked(asked), &mut at);
            }
            while let Some((from, sort, message)) = at.desk.mail.next() {
                is_more = true;
                match sort {
                    Sort::Protocol => step(protocol, Event::Arrived { from, message: &message }, &mut at),
                    Sort::End(word) => at.hear(ending, word),
                }
            }
            while let Some(node) = at.desk.mail.next_lost(|rank| engine.node_of(rank)) {
                step(protocol, Event::NodeGone(node), &mut at);
            }
            at.desk.mail.push_waiting();
            if !is_more && at.desk.next.is_empty() {
                break;
            }
        }
        step(protocol, Event::Polled, &mut at);
        at.desk.mail.is_waiting()
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
    /// The thread.
    pub(super) fn run_server(&self) {
        let Some(server) = self.server.get() else { return };
        let Some(here) = &server.here else { return };
        loop {
            let is_waiting = {
                let state = here.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let _held = lock_order::enter(Level::SERVER);
                here.turn(state, self, server)
            };
            let limit = if is_waiting { SOON } else { LONG };
            let has_work = || {
                let words = server.words;
                words.any_asks(self.job.node.local_ranks())
                    || words.turned.load(Ordering::SeqCst) != 0
                    || here.arrivals.any()
                    || here.news.load(Ordering::Relaxed) != self.news()
            };
            here.sleeper.sleep_unless(&server.words.doorbell, has_work, limit);
        }
    }
}
