//! Locks of members on other nodes (MPI-5.0 §12.5.3). `MPI_Win_lock` need not wait for the lock, so nothing is sent then: it is
//! asked for with the first requests that are made under it, and given back with the last ones. An epoch of a few short operations
//! takes one way there and back.
//!
//! If others have the lock, the target's server does nothing of what came with it, and says so. When it is granted, the
//! requests are sent again. Until then everything else of the line is held, so all is done in the order of the calls. Whatever
//! does not go by the line waits for the lock first ([`Engine::have_lock`]).

use super::lines::{Key, Line, LineLock};
use crate::engine::Engine;
use crate::onesided::{Exposure, Lock, Servant, Taking};
use crate::Result;
use std::sync::atomic::Ordering;

impl Engine {
    /// Whether a lock of a member goes with what is done under it: nothing of that is done by this process itself.
    pub(super) fn locks_later(&self, exposure: &Exposure, member: u32) -> bool {
        exposure.is_spread
            && exposure.peers[member as usize].is_none()
            && self.servant_of(exposure, member).node.is_some()
    }

    /// A lock is wanted for what a member is asked for next.
    pub(super) fn want_lock(&self, exposure: &Exposure, kind: Lock, member: u32) {
        let mut lines = self.deferred_lines();
        lines.line(self.servant_of(exposure, member)).lock = Some(LineLock::Wanted(kind));
        self.count_lines(&lines);
    }

    /// A member is accessed whose lock is one of all members': it is wanted now, if it was not before.
    #[inline]
    pub(super) fn want_lock_of_all(&self, exposure: &Exposure, member: u32) {
        if exposure.is_spread && exposure.epochs.lacks_lock(member) && self.locks_later(exposure, member) {
            let mut lines = self.deferred_lines();
            if exposure.epochs.lacks_lock(member) {
                lines.line(self.servant_of(exposure, member)).lock = Some(LineLock::Wanted(Lock::Shared));
                exposure.epochs.ask_for_lock(member);
                self.count_lines(&lines);
            }
        }
    }

    /// It is given back after that. `all`: so are those of all members, which need not hear of it if they were asked for nothing.
    pub(super) fn give_lock_later(
        &self,
        exposure: &Exposure,
        (kind, member): (Lock, u32),
        all: bool,
    ) -> Result<()> {
        let servant = self.servant_of(exposure, member);
        let mut lines = self.deferred_lines();
        let line = lines.line(servant);
        let is_unused = match line.lock {
            Some(LineLock::NotHad(_)) => true,
            Some(LineLock::Wanted(_)) => all && line.held.is_none(),
            _ => false,
        };
        if is_unused {
            (line.lock, line.held) = (None, None);
        } else {
            lines.held(servant).locking.give = Some(kind);
            self.send_held(&mut lines, servant)?;
        }
        self.count_lines(&lines);
        Ok(())
    }

    /// Waits until a lock that is wanted is held, for what does not go by a line.
    ///
    /// # Errors
    /// Why it cannot be had; what progress reports.
    pub(super) fn have_lock(&self, key: Key) -> Result<()> {
        if !self.has_deferred() {
            return Ok(());
        }
        self.have_wanted(|&other| other == key)?;
        self.deferred_lines().check_lock(key)
    }

    /// Waits for all locks that are wanted, before one more is. So this process has locks in the order in which the program asks for
    /// them: where all do so in one order, none waits in a circle. Locks that cannot be had are told of by what needs them.
    ///
    /// # Errors
    /// What progress reports.
    pub(super) fn have_locks(&self) -> Result<()> {
        if self.deferred.all_locked.load(Ordering::Relaxed) > 0 {
            for exposure in self.unfreed_exposures() {
                (0..exposure.size()).for_each(|member| self.want_lock_of_all(&exposure, member));
            }
        }
        match self.has_deferred() {
            true => self.have_wanted(|_| true),
            false => Ok(()),
        }
    }

    fn have_wanted(&self, is_meant: impl Fn(&Key) -> bool) -> Result<()> {
        loop {
            let mut lines = self.deferred_lines();
            let is_wanted = |line: &Line| matches!(line.lock, Some(LineLock::Wanted(_)));
            let meant = lines.of.iter().filter(|(key, line)| is_meant(key) && is_wanted(line));
            let wanted: Vec<Servant> = meant.map(|(_, line)| line.servant).collect();
            for servant in wanted {
                lines.held(servant);
                self.send_held(&mut lines, servant)?;
            }
            self.reap_all(&mut lines);
            let awaited = lines.of.iter().find(|(key, line)| is_meant(key) && line.awaits_lock());
            let first = awaited.and_then(|(_, line)| line.sent.front()).map(|sent| sent.0.clone());
            drop(lines);
            match first {
                Some(first) => self.await_server(&first)?,
                None => return Ok(()),
            }
        }
    }

    /// The locks of all members are held, as far as those are accessed; or not any more.
    pub(super) fn count_locks_of_all(&self, exposure: &Exposure, more: bool) {
        match (exposure.is_spread, more) {
            (false, _) => {}
            (true, true) => drop(self.deferred.all_locked.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(self.deferred.all_locked.fetch_sub(1, Ordering::Relaxed)),
        }
    }

    /// The first message of a line, which has asked for a lock, has ended: takes what it brings. Bytes that are under way no more,
    /// and those that are now.
    pub(super) fn end_of_asking(&self, line: &mut Line) -> Result<(usize, usize)> {
        let Some((under_way, mut message)) = line.sent.pop_front() else { return Ok((0, 0)) };
        let (less, mut more) = (message.bytes + message.answer, 0);
        let leaves_now = matches!(line.lock.take(), Some(LineLock::AskedFor(true)));
        let failed = match self.outcome(&under_way) {
            // It has been waited for: nothing was done yet.
            Some(Ok([])) => {
                message.locking.take = None;
                message.body = under_way.body().to_vec();
                if !message.is_empty || message.locking.give.is_some() {
                    more += self.send_message(line, message)?;
                }
                None
            }
            Some(Ok([taking, told @ ..])) => {
                let is_done = *taking == Taking::Done as u8 && message.deliver(told);
                (!is_done).then(|| super::refused(line.servant.member))
            }
            Some(Err(error)) => {
                let held = line.held.take();
                let is_over = held.iter().chain([&message]).any(|message| message.locking.give.is_some());
                line.lock = (!is_over).then(|| LineLock::NotHad(error.clone()));
                Some(error)
            }
            None => None,
        };
        line.failed = line.failed.take().or(failed);
        self.deferred.taken.fetch_add(1, Ordering::SeqCst);
        if leaves_now {
            more += self.send_line(line)?;
        }
        Ok((less, more))
    }
}
