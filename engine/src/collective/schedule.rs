//! A collective operation of one rank, written down as a list of steps.
//!
//! The same schedule serves the blocking, the nonblocking and the persistent
//! form of an operation. It starts messages, waits for them, copies and
//! reduces; it never blocks: [`Schedule::advance`] does what can be done now.
//! Code of the program (a user's reduction) is never run inside `advance`, as
//! locks of the engine may be held there: it is handed out as a [`UserCall`].
//!
//! After a failed step the messages that are left still go, so that no other
//! rank hangs, but without bytes: who gets one that way fails as well, for it expects some.
//! What is local is left out, and the end reports the failure.

use super::port::{Data, Port, Ticket};
use super::temporary::Temporary;
use crate::datatype::Datatype;
use crate::reduce::{Exact, Operator};
use crate::{Error, Result};
use std::sync::Arc;

/// What one step does.
enum Step {
    /// Starts a send.
    Send { peer: u32, data: Data },
    /// Starts a receive.
    Receive { peer: u32, data: Data },
    /// Waits for all messages started so far.
    Wait,
    /// Copies items; the types may differ where their signatures agree.
    Copy { from: Data, to: Data },
    /// `inout = input ∘ inout`, item by item.
    Reduce { operator: Arc<Operator>, input: *const u8, inout: Data },
    /// `result` is the exact sum of the operands.
    Sum { exact: Exact, operands: Vec<*const u8>, result: Data },
    /// What goes to whom is found out on the way.
    Stage(Box<dyn Stage>),
}

/// A part of an operation that finds out on the way what goes to whom.
pub trait Stage: Send {
    /// Tickets of its messages that are on their way.
    fn on_the_way(&self) -> Vec<Ticket>;

    /// Does what can be done now; whether it is done.
    ///
    /// # Errors
    /// Its failure; it is over then.
    fn advance(&mut self, port: &mut dyn Port, tag: i32) -> Result<bool>;
}

/// How far a schedule has come.
pub enum Advance {
    /// It waits for messages, or for a user's function that is being run.
    Pending,
    /// It is done, and may be reset.
    Done,
    /// Run this with no lock held, then say [`Schedule::called_back`] and
    /// advance again.
    Call(UserCall),
}

/// A call of a user's reduction that a schedule is waiting for.
pub struct UserCall {
    operator: Arc<Operator>,
    input: *const u8,
    inout: *mut u8,
    count: u64,
    datatype: Arc<Datatype>,
}

impl UserCall {
    /// Runs the user's function.
    ///
    /// # Safety
    /// The schedule that handed this out must still exist, and the buffers of
    /// its operation must still be valid.
    pub unsafe fn run(&self) {
        // SAFETY: the caller keeps the buffers; the schedule waits for us.
        unsafe { self.operator.apply(self.input, self.inout, self.count, &self.datatype) }
    }
}

/// The steps of one rank, and how far it is through them.
///
/// The buffers of the program that the steps name must stay valid while it
/// runs. It must not be dropped while messages of it are on their way.
#[derive(Default)]
pub struct Schedule {
    steps: Vec<Step>,
    temporaries: Vec<Temporary>,
    next: usize,
    on_the_way: Vec<Ticket>,
    calling: bool,
    failure: Option<Error>,
}

// SAFETY: the raw addresses are of buffers that the program lends to the
// operation until it is done, from whichever thread it is advanced, and of
// temporaries that the schedule owns; `advance` takes `&mut self`.
unsafe impl Send for Schedule {}

impl Schedule {
    /// Tickets of messages that are on their way.
    pub fn on_the_way(&self) -> impl Iterator<Item = Ticket> + '_ {
        let of_stage = match self.steps.get(self.next) {
            Some(Step::Stage(stage)) => stage.on_the_way(),
            _ => Vec::new(),
        };
        self.on_the_way.iter().copied().chain(of_stage)
    }
}

/// Making a schedule.
impl Schedule {
    /// A schedule of no steps, which is done at once.
    pub fn new() -> Schedule {
        Schedule::default()
    }

    /// Starts sending `data` to `peer`.
    pub fn send(&mut self, peer: u32, data: Data) {
        self.steps.push(Step::Send { peer, data });
    }

    /// Starts receiving `data` from `peer`.
    pub fn receive(&mut self, peer: u32, data: Data) {
        self.steps.push(Step::Receive { peer, data });
    }

    /// Waits for all messages started so far.
    pub fn wait(&mut self) {
        self.steps.push(Step::Wait);
    }

    /// Sends and receives, and waits for both; empty data make no message.
    pub fn exchange(&mut self, peer: u32, send: Data, receive: Data) {
        if receive.count > 0 {
            self.receive(peer, receive);
        }
        if send.count > 0 {
            self.send(peer, send);
        }
        self.wait();
    }

    /// Copies items, once all earlier local steps are done.
    pub fn copy(&mut self, from: Data, to: Data) {
        let same = from.address == to.address && Arc::ptr_eq(&from.datatype, &to.datatype);
        if from.bytes() > 0 && !same {
            self.steps.push(Step::Copy { from, to });
        }
    }

    /// Does a stage, once all earlier local steps are done. Such a schedule runs once.
    pub(super) fn stage(&mut self, stage: Box<dyn Stage>) {
        self.steps.push(Step::Stage(stage));
    }

    /// `inout = input ∘ inout`; the two must agree in count and datatype.
    pub fn reduce(&mut self, operator: &Arc<Operator>, input: &Data, inout: &Data) {
        debug_assert_eq!(input.count, inout.count);
        if inout.count > 0 {
            let (input, inout) = (input.address.cast_const(), inout.clone());
            self.steps.push(Step::Reduce { operator: operator.clone(), input, inout });
        }
    }

    /// `result` is the exact sum of some operands of as many items; it may be one of
    /// them.
    pub(super) fn sum(&mut self, exact: Exact, operands: &[Data], result: &Data) {
        debug_assert!(operands.iter().all(|operand| operand.count == result.count));
        if result.count > 0 {
            let operands = operands.iter().map(|operand| operand.address.cast_const()).collect();
            self.steps.push(Step::Sum { exact, operands, result: result.clone() });
        }
    }

    /// The same among other ranks: peer `p` is rank `ranks[p]`.
    pub fn between(mut self, ranks: &[u32]) -> Schedule {
        for step in &mut self.steps {
            if let Step::Send { peer, .. } | Step::Receive { peer, .. } = step {
                *peer = ranks[*peer as usize];
            }
        }
        self
    }

    /// Goes on with another schedule once this one is through.
    pub(super) fn append(&mut self, other: Schedule) {
        self.wait();
        self.steps.extend(other.steps);
        self.temporaries.extend(other.temporaries);
    }

    /// To whom its messages go, one by one.
    #[cfg(test)]
    pub(super) fn targets(&self) -> impl Iterator<Item = u32> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Send { peer, .. } => Some(*peer),
            _ => None,
        })
    }

    /// Owns these temporaries from now on.
    pub(super) fn keep(&mut self, temporaries: Vec<Temporary>) {
        self.temporaries.extend(temporaries);
    }

    /// A temporary buffer of `count` items, not initialised.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn temporary(&mut self, count: u64, datatype: &Arc<Datatype>) -> Result<Data> {
        let (temporary, data) = Temporary::new(count, datatype)?;
        self.temporaries.push(temporary);
        Ok(data)
    }

    /// A temporary buffer of `bytes` bytes of packed data, not initialised.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn packed(&mut self, bytes: u64) -> Result<Data> {
        let (temporary, data) = Temporary::packed(bytes)?;
        self.temporaries.push(temporary);
        Ok(data)
    }
}

/// Running a schedule.
impl Schedule {
    /// Does what can be done now. `tag` must be the same at every call until
    /// it is done, and the same at all ranks.
    ///
    /// # Errors
    /// At the end, the first failure of any step. The operation is over then.
    pub fn advance(&mut self, port: &mut dyn Port, tag: i32) -> Result<Advance> {
        if self.calling {
            return Ok(Advance::Pending);
        }
        loop {
            if !self.stage_is_over(port, tag) {
                return Ok(Advance::Pending);
            }
            let Some(step) = self.steps.get(self.next) else { break };
            match step {
                Step::Send { .. } | Step::Receive { .. } if self.is_over() => {}
                Step::Stage(_) => continue,
                Step::Send { peer, data } => {
                    let started = match self.failure {
                        None => port.send(*peer, tag, data),
                        Some(_) => port.send(*peer, tag, &Data::nothing()),
                    };
                    self.started(started);
                }
                Step::Receive { peer, data } => {
                    let started = port.receive(*peer, tag, data);
                    self.started(started);
                }
                Step::Wait => {
                    if !self.arrived(port) {
                        return Ok(Advance::Pending);
                    }
                }
                Step::Copy { .. } | Step::Reduce { .. } | Step::Sum { .. } if self.failure.is_some() => {}
                Step::Copy { from, to } => {
                    // SAFETY: the program lends its buffers until the operation
                    // is done; temporaries are ours.
                    unsafe { copy(from, to) };
                }
                Step::Sum { exact, operands, result } => {
                    // SAFETY: as for Copy.
                    unsafe { exact.sum(operands, result.address, result.count as usize) };
                }
                Step::Reduce { operator, input, inout } => {
                    if operator.is_user() {
                        self.calling = true;
                        return Ok(Advance::Call(user_call(operator, *input, inout)));
                    }
                    // SAFETY: as for Copy.
                    unsafe { operator.apply(*input, inout.address, inout.count, &inout.datatype) };
                }
            }
            self.next += 1;
        }
        if !self.arrived(port) {
            return Ok(Advance::Pending);
        }
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(Advance::Done),
        }
    }

    /// Does the first steps, as far as each can be done at once: short messages that go or come. Whether that was all.
    pub fn begin(&mut self, port: &mut dyn Port, tag: i32) -> bool {
        while let Some(step) = self.steps.get(self.next) {
            let is_done = match step {
                Step::Send { peer, data } => port.send_at_once(*peer, tag, data),
                Step::Receive { peer, data } => {
                    port.receive_at_once(*peer, tag, data, !self.sends_before_it_waits())
                }
                Step::Wait => true,
                Step::Copy { from, to } => {
                    // SAFETY: as in `advance`.
                    unsafe { copy(from, to) };
                    true
                }
                Step::Reduce { .. } | Step::Sum { .. } | Step::Stage(_) => false,
            };
            if !is_done {
                return false;
            }
            self.next += 1;
        }
        true
    }

    /// Whether somebody may wait for a message that is to be sent before the next wait.
    fn sends_before_it_waits(&self) -> bool {
        let mut steps = self.steps[self.next..].iter().take_while(|step| !matches!(step, Step::Wait));
        steps.any(|step| matches!(step, Step::Send { .. }))
    }

    /// Says that the [`UserCall`] that was handed out last has been run.
    pub fn called_back(&mut self) {
        debug_assert!(self.calling);
        self.calling = false;
        self.next += 1;
    }

    /// Makes a schedule that is done ready to run once more.
    pub fn reset(&mut self) {
        debug_assert!(self.on_the_way.is_empty() && !self.calling);
        self.next = 0;
        self.failure = None;
    }

    /// Advances the stage that is the next step, if it is one; `false` while it is not over.
    fn stage_is_over(&mut self, port: &mut dyn Port, tag: i32) -> bool {
        if let Some(Step::Stage(stage)) = self.steps.get_mut(self.next) {
            match stage.advance(port, tag) {
                Ok(false) => return false,
                Ok(true) => {}
                Err(failure) => self.fail(failure),
            }
            self.next += 1;
        }
        true
    }

    fn started(&mut self, ticket: Result<Ticket>) {
        match ticket {
            Ok(ticket) => self.on_the_way.push(ticket),
            Err(failure) => self.fail(failure),
        }
    }

    /// Whether all messages started so far are done.
    fn arrived(&mut self, port: &mut dyn Port) -> bool {
        let mut index = 0;
        while let Some(&ticket) = self.on_the_way.get(index) {
            match port.done(ticket) {
                Ok(false) => index += 1,
                Ok(true) => drop(self.on_the_way.swap_remove(index)),
                Err(failure) => {
                    self.on_the_way.swap_remove(index);
                    self.fail(failure);
                }
            }
        }
        self.on_the_way.is_empty()
    }

    /// Whether a member has failed, or has revoked the communicator. Then the others must not get messages that say
    /// that all is well so far; they hear of it by themselves. After every other failure messages without bytes tell them.
    fn is_over(&self) -> bool {
        self.failure.as_ref().is_some_and(Error::is_known_to_all)
    }

    /// Keeps the first failure for the end.
    fn fail(&mut self, failure: Error) {
        self.failure.get_or_insert(failure);
    }
}

fn user_call(operator: &Arc<Operator>, input: *const u8, inout: &Data) -> UserCall {
    UserCall {
        operator: operator.clone(),
        input,
        inout: inout.address,
        count: inout.count,
        datatype: Arc::clone(&inout.datatype),
    }
}

/// Copies `from` into `to`.
///
/// # Safety
/// Both must be valid memory of their shape, and not overlap.
pub(super) unsafe fn copy(from: &Data, to: &Data) {
    if let (Some((read, sent)), Some((write, room))) = (from.dense(), to.dense()) {
        if read != write {
            // SAFETY: passed on: so many bytes are there, and they do not overlap.
            unsafe { crate::memory::copy::plain(read, write, sent.min(room) as usize) };
        }
        return;
    }
    let source = (&**from.datatype, from.address.cast_const(), from.count);
    // SAFETY: passed on.
    unsafe { crate::datatype::copy(source, (&**to.datatype, to.address, to.count)) };
}
