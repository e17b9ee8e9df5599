//! Lanes: the state of a rank in parts, so that threads which communicate in
//! different communicators do not meet.
//!
//! A lane is a [`Core`] with a lock of its own and, in the node segment, a mailbox,
//! express boxes and cells of its own: it talks with the same lane of other ranks. A
//! communicator belongs to a lane for ever, by its context; so do its requests, by
//! their index. All that is waited for in one place is the doorbell.
//!
//! The first lane is there always and has the world. The others are made when the
//! program says that several threads will call at once (`MPI_THREAD_MULTIPLE`), and
//! new communicators are spread over them once all ranks of the job have them.
//!
//! A thread that waits in a lane drives the others too: before it sleeps, and now and then while it
//! finds at once what it waits for. It skips a lane whose lock is taken, because the thread that
//! has taken it drives it. No thread waits for a lane's lock with another one in hand, except to
//! describe the rank, in the order of the lanes.

use super::{Core, Engine};
use crate::job::node_segment::LANES;
use crate::lock_order::Level;
use crate::message::progress_sources;
use crate::observe::page;
use crate::progress::lock::{EngineLock, Guard};
use crate::request::{self, RequestId};
use crate::transport::{network, Packets};
use crate::world::context;
use crate::Result;
use std::sync::OnceLock;

/// So many calls find what they want at once before other lanes are looked at.
const TURNS: u32 = 64;

/// The lanes of a rank.
pub(super) struct Lanes {
    first: EngineLock<Core>,
    others: OnceLock<Box<[EngineLock<Core>]>>,
}

impl Lanes {
    /// The first one only.
    pub fn new(first: Core) -> Lanes {
        Lanes { first: EngineLock::new(first, Level::lane(0), false), others: OnceLock::new() }
    }

    /// A lane by its number; the first one if it is not there.
    #[inline]
    pub fn at(&self, number: usize) -> &EngineLock<Core> {
        match number {
            0 => &self.first,
            _ => self.other(number),
        }
    }

    #[inline(never)]
    fn other(&self, number: usize) -> &EngineLock<Core> {
        self.others.get().and_then(|others| others.get(number - 1)).unwrap_or(&self.first)
    }

    /// All lanes.
    pub fn each(&self) -> impl Iterator<Item = &EngineLock<Core>> {
        std::iter::once(&self.first).chain(self.others.get().into_iter().flatten())
    }

    /// All lanes but one.
    pub fn beside(&self, mine: usize) -> impl Iterator<Item = &EngineLock<Core>> {
        self.each().enumerate().filter(move |&(number, _)| number != mine).map(|(_, lane)| lane)
    }

    /// All lanes, locked.
    pub fn lock(&self) -> Vec<Guard<'_, Core>> {
        self.each().map(EngineLock::lock).collect()
    }

    /// Whether there is more than one.
    #[inline]
    pub fn are_several(&self) -> bool {
        self.others.get().is_some()
    }
}

impl Engine {
    /// From now on several threads may call at once. Only before a second one does.
    pub fn set_threaded(&self) {
        self.share_lanes();
        if !self.lanes.are_several() && self.open_lanes().is_ok() {
            self.page.show_lanes();
        }
    }

    /// A second thread is about to use the lanes that there are.
    pub(super) fn share_lanes(&self) {
        page::several_count();
        self.lanes.first.set_threaded();
        if self.job.node.reserve_threads(self.job.local_rank).is_ok() {
            self.page.part_threads();
        }
    }

    /// Makes the other lanes; without memory for them all goes on in the first.
    fn open_lanes(&self) -> Result<()> {
        let mut first = self.lanes.first.lock();
        let beside = |number| {
            let mut core = first.beside(number, progress_sources::all())?;
            self.attend(&core)?;
            core.count_apart();
            Ok(EngineLock::new(core, Level::lane(number), true))
        };
        let others = (1..LANES).map(beside).collect::<Result<Box<[_]>>>()?;
        first.count_apart();
        let _ = self.lanes.others.set(others);
        Ok(())
    }

    /// From now on a sleep ends when something comes for a lane over a network.
    ///
    /// # Errors
    /// What the system refuses.
    pub(super) fn attend(&self, core: &Core) -> Result<()> {
        let Some(descriptor) = core.transport.descriptor() else { return Ok(()) };
        let attended = self.sleeper.attend(self.doorbell, core.lane(), descriptor);
        attended.map_err(|error| network::refused("a local socket", &error))
    }

    /// Whether several threads may call at once.
    #[inline]
    pub fn is_threaded(&self) -> bool {
        self.lanes.first.is_threaded()
    }

    /// The lane of a context.
    #[inline]
    pub(super) fn lane(&self, context: u64) -> &EngineLock<Core> {
        self.lanes.at(context::lane(context))
    }

    /// The lane of a request.
    #[inline]
    pub(super) fn lane_of(&self, id: RequestId) -> &EngineLock<Core> {
        self.lanes.at(id.lane())
    }

    /// The lane of a request, by its index.
    #[inline]
    pub(super) fn lane_at(&self, request: u32) -> &EngineLock<Core> {
        self.lanes.at(request::lane_of(request))
    }

    /// New communicators are spread over the lanes as soon as all ranks have some.
    pub(super) fn try_to_spread(&self) {
        if self.lanes.are_several() && !self.contexts.are_spread() {
            let here = self.job.node.local_ranks();
            if here == self.job.size && (0..here).all(|rank| self.job.node.page(rank).has_lanes()) {
                self.contexts.spread();
            }
        }
    }

    /// A call has found what it wants in a lane: every now and then the others get their
    /// turn.
    #[inline]
    pub(super) fn turn(&self, core: &mut Core) {
        if self.is_turn_of_others(core) {
            // A waiting thread sees an error when it drives the lane itself.
            let _ = self.drive_others(core.lane());
        }
    }

    /// Whether a call has found so much in a lane that now the others get their turn.
    #[inline]
    pub(super) fn is_turn_of_others(&self, core: &mut Core) -> bool {
        core.turns = core.turns.wrapping_add(1);
        let is_turn = core.turns.is_multiple_of(TURNS);
        if is_turn {
            core.publish(self.flows);
        }
        is_turn
    }

    /// Adds what the lanes have counted apart to the counters of the rank.
    pub fn publish_counters(&self) {
        if self.lanes.are_several() {
            self.lanes.each().for_each(|lane| lane.lock().publish(self.flows));
        }
    }

    /// Progress in all other lanes but those that somebody is busy in: whether there
    /// are such.
    pub(super) fn drive_others(&self, mine: usize) -> Result<bool> {
        let mut busy = false;
        for lane in self.lanes.beside(mine) {
            match lane.try_lock() {
                Some(mut core) => self.drive(&mut core)?,
                None => busy = true,
            }
        }
        Ok(busy)
    }

    /// The same, and what has to run with no lock held.
    pub(super) fn serve_others(&self, mine: usize) -> Result<bool> {
        let busy = self.drive_others(mine)?;
        for lane in self.lanes.beside(mine) {
            loop {
                let Some(outside) = lane.try_lock().and_then(|mut core| core.next_outside()) else { break };
                self.run_outside(outside);
            }
            let help = lane.try_lock().and_then(|mut core| core.next_help());
            help.into_iter().for_each(|help| self.run_outside(help));
        }
        Ok(busy)
    }

    /// Whether there is something to do in a lane that nobody has done, after this rank
    /// has said that it sleeps.
    pub(super) fn is_wanted(&self, core: &mut Core) -> bool {
        core.publish(self.flows);
        core.try_before_sleep()
            || !core.calls.is_empty()
            || core.transport_has_something()
            || !core.may_sleep()
            || self.has_news_for(core)
            || self.has_answers_for(core)
    }
}
