//! Answering observers: the threads that wait describe what they wait for, each
//! its own stack, and the last of them writes the answer of the rank.
//!
//! No lock of the engine is held while stacks are taken, and nothing here waits
//! for another thread.

use super::describe::Describer;
use super::reason::Reason;
use super::Engine;
use crate::clock;
use crate::observe::description::{Description, Need, Thread};
use crate::observe::inquiry::wants_stack;
use crate::observe::page::add;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// Failed polls that are looked at before a rank says that it polls.
const POLLS: u32 = 64;
/// Nanoseconds after which fewer will do.
const POLLING: u64 = 20_000_000;
/// Nanoseconds between two polls of a loop that does nothing else.
const TIGHT: u64 = 20_000;

/// An answer that is being made.
#[derive(Default)]
pub(super) struct Answer {
    number: u64,
    threads: Vec<Thread>,
    polls: Polls,
}

/// What a rank that polls asks for.
#[derive(Default)]
struct Polls {
    seen: u32,
    began: u64,
    last: u64,
    ways: Vec<Vec<Need>>,
}

impl Engine {
    /// One of the threads that wait answers question `number`; `false` if something
    /// has come that it has to look at first.
    #[cold]
    pub(super) fn answer(&self, number: u64, since: u64, reason: Reason) -> bool {
        let mut thread = Thread { number: this_thread(), since, ..Thread::default() };
        self.look_at_stack(number, &mut thread);
        let lanes = self.lanes.lock();
        if lanes.iter().any(|core| core.transport_has_something()) {
            return false;
        }
        let mut describer = Describer::new(&lanes, self);
        thread.ways = describer.ways(reason);
        let mut answer = self.open(number);
        answer.threads.retain(|known| known.number != thread.number);
        answer.threads.push(thread);
        if answer.threads.len() as u32 == self.page.call.waiters.load(Ordering::SeqCst) {
            let threads = std::mem::take(&mut answer.threads);
            self.publish(number, describer.describe(threads));
        }
        true
    }

    /// A thread that has taken part waits no more.
    #[cold]
    pub(super) fn withdraw(&self) {
        let number = this_thread();
        self.answers().threads.retain(|known| known.number != number);
    }

    /// What was asked for is not there. A rank that calls such functions only is
    /// as stuck as one that waits.
    #[inline]
    pub(super) fn polled(&self, reason: Reason) {
        add(&self.page.own().idle_polls, 1);
        if let Some(number) = self.page.question() {
            self.answer_polling(number, reason);
        }
    }

    #[cold]
    fn answer_polling(&self, number: u64, reason: Reason) {
        if self.page.call.waiters.load(Ordering::SeqCst) > 0 {
            return;
        }
        let now = clock::nanoseconds();
        let lanes = self.lanes.lock();
        let mut describer = Describer::new(&lanes, self);
        let ways = describer.ways(reason);
        let mut answer = self.open(number);
        let polls = &mut answer.polls;
        if polls.seen == 0 || now - polls.last > TIGHT {
            *polls = Polls { began: now, ..Polls::default() };
        }
        polls.seen += 1;
        for way in ways {
            if !polls.ways.contains(&way) {
                polls.ways.push(way);
            }
        }
        let enough = polls.seen >= POLLS || now - polls.began > POLLING;
        polls.last = clock::nanoseconds();
        if !enough || lanes.iter().any(|core| core.transport_has_something()) {
            return;
        }
        let mut thread =
            Thread { number: this_thread(), ways: std::mem::take(&mut polls.ways), ..Thread::default() };
        *polls = Polls::default();
        drop(answer);
        let mut description = describer.describe(Vec::new());
        drop(lanes);
        description.polls = true;
        self.look_at_stack(number, &mut thread);
        description.threads.push(thread);
        self.publish(number, description);
    }

    fn look_at_stack(&self, number: u64, thread: &mut Thread) {
        if wants_stack(number) {
            let stack = super::stack::of_this_thread();
            (thread.addresses, thread.python) = (stack.native, stack.python);
        }
        let name = self.page.own().current().and_then(|call| self.job.node.name(call.name));
        thread.call = name.unwrap_or_default();
    }

    /// The answer to a question; what was collected for another one is dropped.
    fn open(&self, number: u64) -> MutexGuard<'_, Answer> {
        let mut answer = self.answers();
        if answer.number != number {
            *answer = Answer { number, ..Answer::default() };
        }
        answer
    }

    fn answers(&self) -> MutexGuard<'_, Answer> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, number: u64, description: Description) {
        if self.job.node.reserve_report(self.job.local_rank).is_ok() {
            self.job.node.report(self.job.local_rank).write(number, &description.to_string());
        }
        self.page.inquiry.answered.store(number, Ordering::Release);
    }
}

fn this_thread() -> u32 {
    // SAFETY: asks for a number only.
    unsafe { libc::gettid() as u32 }
}
