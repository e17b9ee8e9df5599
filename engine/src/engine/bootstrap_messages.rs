//! Small byte strings between ranks, for making communicators: messages in
//! contexts of their own.

use super::agreed::Agreed;
use super::check::Said;
use super::describe::note_wanted;
use super::reason::Reason;
use super::Engine;
use crate::job::hardware::{self, Place};
use crate::job::node_segment::LANES;
use crate::message::failed;
use crate::message::probe::Message;
use crate::message::{Buffer, Envelope, Mode};
use crate::observe::ledger::Call;
use crate::world::calls::{Begun, NO_ROOT};
use crate::world::{BootstrapChannel, Communicator, Contexts, Group, Line};
use crate::{Class, Error, JobRank, Result};
use std::cell::RefCell;
use std::sync::Arc;

fn envelope(line: &Line, source: u32) -> Envelope {
    Envelope { context: line.context, source: source as i32, tag: line.tag }
}

impl Engine {
    /// As [`BootstrapChannel::begins`], with the arguments on which the members must agree.
    pub(super) fn begins_with(
        &self,
        communicator: &Communicator,
        arguments: &dyn Fn() -> Vec<Agreed>,
    ) -> Result<()> {
        communicator.groups().for_each(|group| self.note_dependence_on(group));
        self.may_begin(communicator)?;
        let call = Call { name: self.page.own().name(), operator: 0, root: NO_ROOT, bytes: 0 };
        communicator.calls.note(Begun { name: call.name, root: NO_ROOT, bytes: 0 });
        match self.checks {
            true => self.compare(communicator, call, Said::Arguments(&arguments())),
            false => Ok(()),
        }
    }

    /// As [`Engine::all_members_go_on`]; but a member that has failed lately may have ended this call before this process has
    /// begun it. Then the failure counts as one that comes after the beginning.
    fn may_begin(&self, communicator: &Communicator) -> Result<()> {
        let may_have_ended = || communicator.peers().size() > 0 && self.job.has_failed_lately();
        match self.all_members_go_on(communicator) {
            Err(error) if error.class() == Class::ProcFailed && may_have_ended() => {
                self.dependence(|begun| begun.failures = self.failures() - 1);
                Ok(())
            }
            outcome => outcome,
        }
    }
}

/// Byte strings as messages.
impl Engine {
    /// Sends a byte string, which may be used again at once.
    pub(super) fn send_bytes(&self, to: JobRank, envelope: Envelope, bytes: &[u8]) -> Result<()> {
        // The address is only read from: a buffered send.
        let buffer = Buffer::Dense { address: bytes.as_ptr().cast_mut(), bytes: bytes.len() as u64 };
        self.send(to, envelope, buffer, Mode::Buffered)
    }

    /// All of a message that has come.
    pub(super) fn bytes_in(&self, message: Message) -> Result<Vec<u8>> {
        let mut bytes = vec![0; message.status().bytes as usize];
        let buffer = Buffer::Dense { address: bytes.as_mut_ptr(), bytes: bytes.len() as u64 };
        let request = self.start_matched_receive(message, buffer)?;
        match self.wait(request)?.0.error {
            Some(error) => Err(error),
            None => Ok(bytes),
        }
    }
}

impl BootstrapChannel for Engine {
    fn contexts(&self) -> &Contexts {
        self.try_to_spread();
        &self.contexts
    }

    fn reach_beyond(&self) -> Result<()> {
        self.go_beyond()
    }

    fn reach_strangers(&self) -> Result<()> {
        self.strangers().map(drop)
    }

    fn node(&self) -> u32 {
        self.memory_number()
    }

    fn place(&self) -> Place {
        hardware::here()
    }

    fn begins(&self, communicator: &Communicator) -> Result<()> {
        self.begins_with(communicator, &Vec::new)
    }

    fn all_go_on(&self, group: &Arc<Group>) -> Result<()> {
        self.note_dependence_on(group);
        Engine::all_go_on(self, group)
    }

    fn others_take_part(&self) {
        let known = self.all_failures();
        self.dependence(|begun| _ = begun.others.get_or_insert(known));
    }

    fn nudge(&self, context: u64, ranks: &[JobRank]) -> Result<()> {
        self.nudge_those_left(context, ranks)
    }

    fn tell_others(&self, letters: Vec<(JobRank, Vec<u64>)>) -> Result<()> {
        self.send_letters(letters)
    }

    fn hear_others(&self) -> Result<()> {
        Engine::hear_others(self)
    }

    fn post(&self, line: &Line, peer: u32, bytes: &[u8]) -> Result<()> {
        self.send_bytes(line.peers.job_rank(peer), envelope(line, line.rank), bytes)
    }

    fn take(&self, line: &Line, peer: u32) -> Result<Option<Vec<u8>>> {
        let wanted = envelope(line, peer);
        let Some(message) = self.look(self.lane(wanted.context), |core| core.take_message(wanted))?? else {
            note_wanted(wanted, line.peers.job_rank(peer));
            return self.line_goes_on(line, peer).map(|()| None);
        };
        self.bytes_in(message).map(Some)
    }

    fn wait_until(&self, done: &mut dyn FnMut() -> Result<bool>) -> Result<()> {
        let failures = self.dependence(|begun| begun.failures);
        self.wait_despite_failures(&mut || {
            if done()? {
                return Ok(true);
            }
            // Whom a rank waits for that has not failed may have given it up because of one that has, but does not do so at once.
            let is_over = self.failures() != failures && !self.job.has_failed_lately();
            match is_over.then(|| self.failure_that_matters()).flatten() {
                Some(error) => Err(error),
                None => Ok(false),
            }
        })
    }
}

/// Whom a call depends on that makes a communicator.
struct Dependence {
    /// The call: its number, which is odd.
    call: u64,
    /// How many failures were known when it began.
    failures: u32,
    /// Those that take part.
    groups: Vec<Arc<Group>>,
    /// Others do too, since so many failures were known (a mark).
    others: Option<u64>,
}

thread_local! {
    /// Of the call that this thread is in, and that has begun.
    static BEGUN: RefCell<Dependence> =
        const { RefCell::new(Dependence { call: 0, failures: 0, groups: Vec::new(), others: None }) };
}

/// A rank that failed after a call had begun, and before a wait of it, may have been noticed by others only, who have given up.
/// Only those that take part in the call matter.
impl Engine {
    /// What is known of the call that this thread is in; of one that has not begun: that it depends on anybody, from now on.
    fn dependence<T>(&self, look: impl FnOnce(&mut Dependence) -> T) -> T {
        let call = self.page.own().sequence();
        BEGUN.with_borrow_mut(|begun| {
            if begun.call != call || call.is_multiple_of(2) {
                *begun = Dependence { call, failures: self.failures(), groups: Vec::new(), others: None };
            }
            look(begun)
        })
    }

    /// The members of a group take part in the call.
    fn note_dependence_on(&self, group: &Arc<Group>) {
        self.dependence(|begun| {
            if !begun.groups.iter().any(|one| Arc::ptr_eq(one, group)) {
                begun.groups.push(group.clone());
            }
        });
    }

    /// The error that names the first who has failed of those that take part.
    fn failure_that_matters(&self) -> Option<Error> {
        let failed = self.failed();
        let matters = |mark: u64, rank: JobRank| {
            self.dependence(|begun| {
                begun.others.is_some_and(|known| mark > known)
                    || begun.groups.is_empty()
                    || begun.groups.iter().any(|group| group.rank_of(rank).is_some())
            })
        };
        failed.into_iter().find(|&(mark, rank)| matters(mark, rank)).map(|(_, rank)| failed::failed(rank))
    }
}

impl Engine {
    /// As [`BootstrapChannel::wait_until`], for what goes on although ranks fail.
    pub(super) fn wait_despite_failures(&self, done: &mut dyn FnMut() -> Result<bool>) -> Result<()> {
        self.wait_for_more(Reason::BootstrapChannel, done)
    }

    /// The same for something else that comes as messages.
    pub(super) fn wait_for_more(&self, reason: Reason, done: &mut dyn FnMut() -> Result<bool>) -> Result<()> {
        loop {
            let mut epochs = [0; LANES];
            for (lane, epoch) in self.lanes.each().zip(&mut epochs) {
                *epoch = self.look(lane, |core| core.epoch)?;
            }
            if done()? {
                return Ok(());
            }
            // Everything that `done` waits for comes as a message, which moves the epoch of a lane.
            self.wait_across(reason, |core| (core.epoch != epochs[core.lane()]).then_some(()))?;
        }
    }
}
