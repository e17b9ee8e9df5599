//! Requests of one-sided operations on other nodes: they are complete when what was asked for is there, and the origin of a
//! block that goes whole may be used again.

use super::lines::{Key, Message};
use crate::core::Core;
use crate::engine::Engine;
use crate::onesided::Exposure;
use crate::Result;
use std::sync::atomic::Ordering;

/// A message whose answer is awaited.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    key: Key,
    number: u64,
}

impl Engine {
    /// The newest message of a kind to a member that is not over.
    pub(super) fn newest(
        &self,
        exposure: &Exposure,
        member: u32,
        is_meant: impl Fn(&Message) -> bool,
    ) -> Option<Awaited> {
        if !self.has_deferred() {
            return None;
        }
        let key = (exposure.group().job_rank(member), exposure.communicator.context());
        let lines = self.deferred_lines();
        let line = lines.of.get(&key)?;
        let all = line.held.iter().chain(line.sent.iter().map(|sent| &sent.1));
        let number = all.filter(|message| is_meant(message)).map(|message| message.number).max()?;
        Some(Awaited { key, number })
    }

    /// Takes what has come, and has what is awaited leave; whether its answer is there.
    ///
    /// # Errors
    /// If something could not be done of what the member was asked for. Whoever settles is told too.
    pub(super) fn take_awaited(&self, Awaited { key, number }: Awaited) -> Result<bool> {
        let mut lines = self.deferred_lines();
        self.reap_all(&mut lines);
        let Some(line) = lines.of.get(&key) else { return Ok(true) };
        let is_held = line.held.as_ref().is_some_and(|held| held.number <= number);
        if is_held || line.sent.iter().any(|sent| sent.1.number <= number) {
            let servant = line.servant;
            if is_held {
                self.send_held(&mut lines, servant)?;
            }
            return Ok(false);
        }
        line.failed.clone().map_or(Ok(true), Err)
    }

    /// Whether an answer has come that nobody has taken.
    #[cold]
    pub(in crate::engine) fn answer_has_come(&self) -> bool {
        let lines = self.deferred_lines();
        lines.of.values().any(|line| line.sent.front().is_some_and(|sent| self.is_over(&sent.0)))
    }

    /// Whether requests of a lane that wait for answers may go on.
    #[inline]
    pub(in crate::engine) fn has_answers_for(&self, core: &Core) -> bool {
        core.awaits_answers()
            && (self.deferred.taken.load(Ordering::SeqCst) != core.answers_taken || self.answer_has_come())
    }

    /// They are polled if they may go on.
    pub(in crate::engine) fn look_for_answers(&self, core: &mut Core) {
        if self.has_answers_for(core) {
            core.answers_taken = self.deferred.taken.load(Ordering::SeqCst);
            core.epoch += 1;
        }
    }
}
