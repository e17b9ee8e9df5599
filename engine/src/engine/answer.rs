//! Answering observers: the threads that wait describe what they wait for, each
//! its own stack, and the last of them writes the answer of the rank.
//!
//! No lock of the engine is held while stacks are taken, and nothing here waits
//! for another thread.

use super::describe::Describer;
use super::reason::Reason;
use super::{unseen, Engine};
use crate::clock;
use crate::job::node_segment::REPORT_BYTES;
use crate::lock_order::{self, Level, Ordered};
use crate::memory::system_calls::thread_number;
use crate::observe::description::{Description, Need, Thread};
use crate::observe::inquiry::{has_wish, Wish};
use crate::observe::page::{add, OBSERVED};
use std::sync::atomic::Ordering;

/// Memory for what a rank leaves behind.
const LAST_WORDS: usize = 4096;
/// Failed polls that are looked at before a rank says that it polls.
const POLLS: u32 = 64;
/// Nanoseconds after which fewer will do.
const POLLING: u64 = 20_000_000;
/// Nanoseconds between two polls of a loop that does nothing else.
const TIGHT: u64 = 20_000;
/// The same as the first two for a loop that does something else in between, if it is asked for.
const NAPS: u32 = 3;
const NAPPING: u64 = 2_000_000_000;
/// Different things asked for that are told; with more, nobody says what it waits for.
const WAYS: usize = 256;

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
    /// Something else was done in between.
    naps: bool,
    ways: Vec<Vec<Need>>,
}

impl Engine {
    /// One of the threads that wait answers question `number`; `false` if something
    /// has come that it has to look at first.
    #[cold]
    pub(super) fn answer(&self, number: u64, since: u64, reason: Reason) -> bool {
        let mut thread = Thread { number: thread_number(), since, ..Thread::default() };
        self.look_at_stack(number, &mut thread);
        let lanes = self.lanes.lock();
        let has_come = matches!(reason, Reason::Block(me, until) if me.control_block().holds(until));
        if has_come || lanes.iter().any(|core| core.transport_has_something()) {
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
        let number = thread_number();
        self.answers().threads.retain(|known| known.number != number);
    }

    /// A call has asked for something that is not there. A rank that makes only such calls is as
    /// stuck as one that waits. Where ranks share cores it gives its core up now and then, as a wait does: else it keeps
    /// the core for a whole turn of the scheduler while the rank that it asks for has none.
    ///
    /// # Errors
    /// As [`Engine::look_for_failures`].
    #[inline]
    pub(super) fn polled(&self, reason: Reason) -> crate::Result<()> {
        add(&self.page.own().idle_polls, 1);
        self.send_all_held()?;
        if self.crowd.can_be() && self.is_turn_over(reason) {
            self.crowd.in_vain();
            // SAFETY: no memory is involved.
            unsafe { libc::sched_yield() };
        }
        if let Some(number) = self.page.question() {
            self.answer_polling(number, reason);
        }
        self.look_for_failures(reason)
    }

    /// Whether a rank that asks for this in vain offers its core to others.
    fn is_turn_over(&self, reason: Reason) -> bool {
        self.poll_turn.is_over(self.crowd.partner(), &self.page.counters, || {
            let peer = || {
                let Reason::Id(id) = reason else { return None };
                let core = self.lane_of(id).lock();
                core.requests.check(id).ok().and_then(|request| core.peer_of(request))
            };
            self.crowd.wait_for(|| self.page_of(peer()?));
        })
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
        let nap = polls.seen > 0 && now - polls.last > TIGHT;
        if polls.seen == 0 || nap && !has_wish(number, Wish::PATIENCE) {
            *polls = Polls { began: now, ..Polls::default() };
        } else {
            polls.naps |= nap;
        }
        polls.seen += 1;
        for way in ways {
            if polls.ways.len() < WAYS && !polls.ways.contains(&way) {
                polls.ways.push(way);
            }
        }
        let enough = match polls.naps {
            false => polls.seen >= POLLS || now - polls.began > POLLING,
            true => polls.seen >= NAPS && now - polls.began > NAPPING,
        };
        polls.last = clock::nanoseconds();
        if !enough || lanes.iter().any(|core| core.transport_has_something()) {
            return;
        }
        let mut thread =
            Thread { number: thread_number(), ways: std::mem::take(&mut polls.ways), ..Thread::default() };
        let naps = std::mem::take(polls).naps;
        drop(answer);
        let mut description = describer.describe(Vec::new());
        drop(lanes);
        (description.polls, description.naps) = (true, naps);
        description.unknown |= thread.ways.len() == WAYS;
        let ends_it = [unseen::handlers(), unseen::shared_memory()].into_iter().flatten();
        description.free.extend(ends_it.map(|what| format!("its loop may be ended by {what}")));
        self.look_at_stack(number, &mut thread);
        description.threads.push(thread);
        self.publish(number, description);
    }

    fn look_at_stack(&self, number: u64, thread: &mut Thread) {
        if has_wish(number, Wish::STACK) {
            let stack = super::stack::of_this_thread();
            (thread.addresses, thread.python) = (stack.native, stack.python);
        }
        let name = self.page.own().current().and_then(|call| self.job.node.name(call.name));
        thread.call = name.unwrap_or_default();
    }

    /// The answer to a question; what was collected for another one is dropped.
    fn open(&self, number: u64) -> Ordered<'_, Answer> {
        let mut answer = self.answers();
        if answer.number != number {
            *answer = Answer { number, ..Answer::default() };
        }
        answer
    }

    fn answers(&self) -> Ordered<'_, Answer> {
        lock_order::lock(&self.answers, Level::ANSWERS)
    }

    /// Leaves for observers how far this rank has come: it will not answer any more.
    pub(super) fn leave_word(&self) {
        if OBSERVED && self.size() > 1 {
            let lanes = self.lanes.lock();
            let description = Describer::new(&lanes, self).last_words();
            self.write(self.page.inquiry.answered.load(Ordering::Relaxed), &description, LAST_WORDS);
        }
    }

    fn publish(&self, number: u64, description: Description) {
        self.write(number, &description, REPORT_BYTES);
        self.page.inquiry.answered.store(number, Ordering::Release);
    }

    fn write(&self, number: u64, description: &Description, bytes: usize) {
        let (node, me) = (&self.job.node, self.job.local_rank);
        if node.reserve_report(me, bytes).is_ok() {
            node.report(me).first(bytes).write(number, &description.to_string());
        }
    }
}
