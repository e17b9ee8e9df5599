//! The loop that waits: the only one, for whatever is waited for.

use super::reason::Reason;
use super::Engine;
use crate::clock;
use crate::core::Core;
use crate::job::node_segment::LANES;
use crate::message::later::Watched;
use crate::observe::page::add_together;
use crate::progress::lock::EngineLock;
use crate::progress::wait::Pace;
use crate::progress::Crowd;
use crate::transport::{Arrivals, Packets};
use crate::Result;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// Nanoseconds after which a lane is looked at again in which another thread was busy, or while a rank has just failed.
const SOON: u64 = 1_000_000;

/// What a wait looks at beside the mailbox.
pub(super) trait Beside {
    /// Whether it has come.
    fn holds(&self) -> bool;
    /// Tells those who can make it come that this rank is about to sleep; it
    /// looks once more then.
    fn lie_down(&self) {}
    /// The sleep is over.
    fn get_up(&self) {}
    /// Nanoseconds that a sleep lasts at most.
    fn longest(&self) -> u64 {
        Pace::LONGEST_SLEEP
    }
    /// How often to look before the core is offered to others, where ranks may
    /// have to share cores.
    fn looks(&self, crowd: &Crowd) -> u32 {
        Pace::looks(crowd)
    }
}

/// Nothing beside the mailbox.
struct Nothing;

impl Beside for Nothing {
    #[inline]
    fn holds(&self) -> bool {
        false
    }
}

/// One wait.
struct Waiting<'a> {
    pace: Pace,
    reason: Reason<'a>,
    /// The last question of an observer that this thread has answered, or 0.
    answered: u64,
}

/// What one look into a lane has brought.
#[allow(clippy::large_enum_variant)] // taken apart where it is made
enum Looked<T> {
    /// What was waited for.
    Ready(T),
    /// Something had to run with no lock held: look again.
    Again,
    /// Nothing: where something will show, and the epoch.
    Nothing(Arrivals, u64, Watched),
}

impl Engine {
    /// Drives everything until `ready` says so about a lane; `reason` is told to observers.
    ///
    /// # Errors
    /// A broken protocol; never the failure of an operation.
    #[inline]
    pub(crate) fn wait_until<T>(
        &self,
        lane: &EngineLock<Core>,
        reason: Reason,
        ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T> {
        self.wait_beside(lane, reason, &Nothing, ready)
    }

    /// Drives everything until `ready` says so, and asks it again too whenever
    /// what is `beside` holds.
    ///
    /// # Errors
    /// As [`Engine::wait_until`].
    #[inline]
    pub(super) fn wait_beside<T>(
        &self,
        lane: &EngineLock<Core>,
        reason: Reason,
        beside: &impl Beside,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T> {
        let _in_wait = self.page.call.begin_wait();
        let mut waiting = Waiting { pace: Pace::new(), reason, answered: 0 };
        'again: loop {
            let (arrivals, epoch, watched) = match self.look_into(lane, reason, &mut ready)? {
                Looked::Ready(value) => return Ok(self.end(waiting, value)),
                Looked::Again => continue,
                Looked::Nothing(arrivals, epoch, watched) => (arrivals, epoch, watched),
            };
            let shown = || arrivals.any() || beside.holds() || self.shows(&watched);
            let served = Cell::new(false);
            let come = || {
                let shows = shown();
                served.set(!shows && self.look_for_server());
                shows || served.get()
            };
            while waiting.pace.spin(&self.crowd, |crowd| beside.looks(crowd), come) {
                if !served.get() {
                    continue 'again;
                }
                // The server has done something, and the lane has nothing new.
                let value = ready(&mut lane.lock());
                if let Some(value) = value {
                    return Ok(self.end(waiting, value));
                }
            }
            self.send_all_held()?;
            self.nobody_is_lost(lane)?;
            self.look_for_failures(waiting.reason)?;
            let mine = lane.lock().lane();
            let busy = self.lanes.are_several() && self.serve_others(mine)?;
            self.sleep(&mut waiting, beside, (mine, busy), || lane.lock().epoch != epoch);
        }
    }

    /// As [`Engine::wait_until`], whichever lane `ready` says it about.
    ///
    /// # Errors
    /// As [`Engine::wait_until`].
    pub(super) fn wait_across<T>(
        &self,
        reason: Reason,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T> {
        if !self.lanes.are_several() {
            return self.wait_until(self.lanes.at(0), reason, ready);
        }
        let _in_wait = self.page.call.begin_wait();
        let mut waiting = Waiting { pace: Pace::new(), reason, answered: 0 };
        'again: loop {
            let mut shows: [(Arrivals, Watched); LANES] = Default::default();
            let mut epochs = [0; LANES];
            for (number, lane) in self.lanes.each().enumerate() {
                match self.look_into(lane, reason, &mut ready)? {
                    Looked::Ready(value) => return Ok(self.end(waiting, value)),
                    Looked::Again => continue 'again,
                    Looked::Nothing(arrivals, epoch, watched) => {
                        (shows[number], epochs[number]) = ((arrivals, watched), epoch);
                    }
                }
            }
            let shown = || shows.iter().any(|(arrivals, watched)| arrivals.any() || self.shows(watched));
            let come = || shown() || self.look_for_server();
            if waiting.pace.spin(&self.crowd, Pace::looks, come) {
                continue;
            }
            self.send_all_held()?;
            self.lanes.each().try_for_each(|lane| self.nobody_is_lost(lane))?;
            self.look_for_failures(waiting.reason)?;
            let changed = || self.lanes.each().zip(epochs).any(|(lane, epoch)| lane.lock().epoch != epoch);
            self.sleep(&mut waiting, &Nothing, (0, false), changed);
        }
    }

    /// Drives a lane and asks about it.
    #[inline(always)]
    fn look_into<T>(
        &self,
        lane: &EngineLock<Core>,
        reason: Reason,
        ready: &mut impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<Looked<T>> {
        let mut core = lane.lock();
        self.drive_for(reason.request().filter(|&request| core.has(request)), &mut core)?;
        if let Some(value) = ready(&mut core) {
            return Ok(Looked::Ready(value));
        }
        if let Some(outside) = core.next_outside().or_else(|| core.next_help()) {
            drop(core);
            self.run_outside(outside);
            return Ok(Looked::Again);
        }
        Ok(Looked::Nothing(core.transport.arrivals(), core.epoch, core.watched()))
    }

    /// Whether something can go on of what is watched.
    #[inline]
    fn shows(&self, watched: &Watched) -> bool {
        watched.any() || watched.answers && self.answer_has_come()
    }

    #[inline]
    fn end<T>(&self, waiting: Waiting, value: T) -> T {
        waiting.pace.end(&self.crowd, self.page);
        if waiting.answered != 0 {
            self.withdraw();
        }
        value
    }

    /// Sleeps until something comes for any lane, unless what is waited for has `changed`;
    /// or answers an observer; or does nothing, where sleeping is bounded.
    /// In lane `mine` nobody else is asked to look; a lane in which another thread is `busy`
    /// is looked at again soon.
    fn sleep(
        &self,
        waiting: &mut Waiting,
        beside: &impl Beside,
        (mine, busy): (usize, bool),
        changed: impl Fn() -> bool,
    ) {
        waiting.pace.has_spun(&self.crowd, self.page);
        let answered = waiting.answered;
        if let Some(question) = self.page.question().filter(|&question| question != answered) {
            if self.answer(question, waiting.pace.since(), waiting.reason) {
                waiting.answered = question;
            }
            return;
        }
        if !waiting.pace.begin_sleep(&self.crowd, self.page) {
            return;
        }
        beside.lie_down();
        self.leave_to_server();
        self.lanes.at(mine).lock().lie_down();
        let others = self.lanes.beside(mine).filter_map(EngineLock::try_lock);
        others.for_each(|mut core| core.lie_down());
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let work = || {
            let asked = self.page.question().is_some_and(|question| question != answered);
            // Each lane is looked at, whatever the others say: a sender that waits for room asks again.
            let mut wanted = self.is_wanted(&mut self.lanes.at(mine).lock());
            for lane in self.lanes.beside(mine) {
                wanted |= lane.try_lock().map_or(!busy, |mut core| self.is_wanted(&mut core));
            }
            wanted || changed() || beside.holds() || asked
        };
        let is_about_to_change =
            self.is_hearing_out.load(Ordering::Relaxed) || self.is_patient.load(Ordering::Relaxed);
        let is_soon = busy || is_about_to_change;
        let limit = if is_soon { SOON } else { beside.longest() };
        let slept = clock::nanoseconds();
        self.sleeper.sleep_unless(self.doorbell, work, limit);
        self.note_sleep(slept);
        if self.crowd.can_be() {
            self.crowd.whereabouts().show();
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        beside.get_up();
    }

    /// Notes what a sleep that began at `slept` has cost.
    fn note_sleep(&self, slept: u64) {
        let (rung, awake) = (self.doorbell.rung_at(), clock::nanoseconds());
        self.crowd.foreign_load().learn(slept, rung, awake);
        if (slept..awake).contains(&rung) {
            add_together(&self.page.counters.rung, 1);
            add_together(&self.page.counters.late_nanoseconds, awake - rung);
            self.crowd.slowdown().was_late(rung, awake);
        }
    }
}
