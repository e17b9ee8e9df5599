//! Waiting until another rank changes memory of this one.

use crate::engine::reason::Reason;
use crate::engine::waiting::Beside;
use crate::engine::Engine;
use crate::progress::wait::Pace;
use crate::progress::watchers::{nap_after, Watchers};
use crate::symmetric::Symmetric;
use crate::transport::ExposedMemory;
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Looks before anything else is driven.
const LOOKS: u32 = 200;

impl Engine {
    /// Waits until memory of this rank is as `ready` wants it, whoever changes it; drives everything meanwhile.
    ///
    /// # Errors
    /// What progress reports.
    #[inline]
    pub fn watch(&self, symmetric: &Symmetric, ready: impl Fn() -> bool) -> Result<()> {
        self.watch_for(symmetric, Reason::Memory(None), ready)
    }

    /// Looks once, and drives everything if that was in vain: for programs that ask again and again.
    ///
    /// # Errors
    /// What progress reports.
    pub fn glance(&self, symmetric: &Symmetric, ready: impl Fn() -> bool) -> Result<bool> {
        if ready() {
            return Ok(true);
        }
        let is_ready = self.look(self.lane(symmetric.world.context()), |_| ready())?;
        if !is_ready {
            self.polled(Reason::Memory(None))?;
        }
        Ok(is_ready)
    }

    #[inline]
    pub(super) fn watch_for(
        &self,
        symmetric: &Symmetric,
        reason: Reason,
        ready: impl Fn() -> bool,
    ) -> Result<()> {
        let looks = if self.crowd.is_here() { 1 } else { LOOKS };
        for _ in 0..looks {
            if ready() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.watch_asleep(symmetric, reason, &ready)
    }

    #[inline(never)]
    fn watch_asleep(&self, symmetric: &Symmetric, reason: Reason, ready: &dyn Fn() -> bool) -> Result<()> {
        let bell = self.lanes.at(0).lock().transport.bell(JobRank(self.rank()));
        let watchers = bell.ok_or_else(|| Error::new(Class::Intern, "this rank has no bell"))?.watchers;
        self.crowd.wait_for(|| None);
        let beside = AtMemory {
            ready,
            watchers,
            asleep: AtomicBool::new(false),
            is_rung: AtomicBool::new(true),
            alone: !self.is_threaded(),
            began: Instant::now(),
        };
        let lane = self.lane(symmetric.world.context());
        self.wait_beside(lane, reason, &beside, |_| ready().then_some(()))
    }
}

/// A wait for a change of memory.
struct AtMemory<'a> {
    ready: &'a dyn Fn() -> bool,
    watchers: &'static Watchers,
    asleep: AtomicBool,
    /// A rank that makes a change rings.
    is_rung: AtomicBool,
    /// No other thread of this process stores there, which rings no bell.
    alone: bool,
    began: Instant,
}

impl Beside for AtMemory<'_> {
    fn holds(&self) -> bool {
        (self.ready)()
    }

    fn lie_down(&self) {
        if !self.asleep.swap(true, Ordering::Relaxed) {
            let is_rung = self.watchers.lie_down() && self.alone;
            self.is_rung.store(is_rung, Ordering::Relaxed);
        }
    }

    fn get_up(&self) {
        if self.asleep.swap(false, Ordering::Relaxed) {
            self.watchers.get_up();
        }
    }

    fn longest(&self) -> u64 {
        if self.is_rung.load(Ordering::Relaxed) {
            Pace::LONGEST_SLEEP
        } else {
            nap_after(self.began.elapsed().as_nanos() as u64).min(Pace::LONGEST_SLEEP)
        }
    }
}
