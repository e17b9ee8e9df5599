//! The loop that waits: the only one, for whatever is waited for.

use super::reason::Reason;
use super::Engine;
use crate::core::Core;
use crate::progress::wait::Pace;
use crate::progress::Crowd;
use crate::transport::Transport;
use crate::Result;
use std::sync::atomic::Ordering;

/// What a wait looks at beside the mailbox.
pub(super) trait Beside {
    /// Whether it has come.
    fn holds(&self) -> bool;
    /// Tells those who can make it come that this rank is about to sleep; it
    /// looks once more then.
    fn lie_down(&self);
    /// The sleep is over.
    fn get_up(&self);
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
    fn lie_down(&self) {}
    fn get_up(&self) {}
}

impl Engine {
    /// Drives everything until `ready` says so; `reason` is told to observers.
    ///
    /// # Errors
    /// A broken protocol; never the failure of an operation.
    #[inline]
    pub(crate) fn wait_until<T>(
        &self,
        reason: Reason,
        ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T> {
        self.wait_beside(reason, &Nothing, ready)
    }

    /// Drives everything until `ready` says so, and asks it again too whenever
    /// what is `beside` holds.
    ///
    /// # Errors
    /// As [`Engine::wait_until`].
    #[inline]
    pub(super) fn wait_beside<T>(
        &self,
        reason: Reason,
        beside: &impl Beside,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T> {
        let mut pace = Pace::new();
        let mut answered = 0;
        loop {
            let mut core = self.core.lock();
            self.drive(&mut core)?;
            if let Some(value) = ready(&mut core) {
                drop(core);
                pace.end(self.page);
                if answered != 0 {
                    self.withdraw();
                }
                return Ok(value);
            }
            if let Some(outside) = core.next_outside() {
                drop(core);
                self.run_outside(outside);
                continue;
            }
            let (arrivals, epoch, watched) = (core.transport.arrivals(), core.epoch, core.watched());
            drop(core);
            let come = || arrivals.any() || beside.holds() || watched.any();
            if pace.spin(&self.crowd, |crowd| beside.looks(crowd), come) {
                continue;
            }
            pace.begin_sleep(self.page);
            if let Some(question) = self.page.question().filter(|&question| question != answered) {
                if self.answer(question, pace.since(), reason) {
                    answered = question;
                }
                continue;
            }
            beside.lie_down();
            self.core.lock().lie_down();
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            let work = || {
                let mut core = self.core.lock();
                let changed = core.try_before_sleep() || core.epoch != epoch || !core.calls.is_empty();
                let asked = self.page.question().is_some_and(|question| question != answered);
                let come = core.transport.arrivals().any() || beside.holds() || !core.may_sleep();
                changed || come || asked
            };
            self.doorbell.sleep_unless(work, Some(Pace::LONGEST_SLEEP));
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            beside.get_up();
        }
    }
}
