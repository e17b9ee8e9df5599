//! The life and death of ranks: what the supervisor does when a process ends.

use super::across::orders::Order;
use super::descendants::Child;
use super::ending::Reason;
use super::rank::Life;
use super::report::{self, Scene};
use super::spawn::{Failure as StartFailure, STEP_DIRECTORY, STEP_EXECUTE};
use super::spawned_job::Spawned;
use super::supervisor::Supervisor;
use super::verdict::{judge, Cause, Ended, Failure, Stage};
use super::watch::Finding;
use super::{descriptors, last_calls, memory_events};
use crate::system::{monotonic_now, process_numbers, programs, signals};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long a rank may be missed by others in MPI.
const MISSED: Duration = Duration::from_millis(500);

impl Supervisor {
    /// How far a rank has come in MPI.
    pub(super) fn stage(&self, rank: u32) -> Stage {
        // Ranks show which CPUs they may use when they have claimed their pages.
        let all_claimed = self.job.node.all_affinities_shown();
        Stage::of(self.job.node.page(rank), self.pmi.stage(rank), all_claimed)
    }

    /// A process below us has ended: a rank, or something a rank left behind.
    pub(super) fn process_ended(&mut self, Child { process, status, cpu }: Child) {
        self.take_failures();
        if self.agents.is_some() {
            return; // ranks are processes of other hosts
        }
        let Some(index) = self.ranks.iter().position(|rank| rank.is_process(process)) else { return };
        let rank = index as u32;
        let ended = Ended::from_wait(status);
        if let Some(successor) = self.ranks[index].successor(self.job.node.page(rank), process, ended) {
            self.ranks[index].life = Life::Continued(successor);
            return;
        }
        self.job.node.page(rank).counters.cpu_nanoseconds.store(cpu.as_nanos() as u64, Relaxed);
        self.hear_pmi_out(rank);
        self.hear_out(rank);
        self.rank_ended(rank, ended);
    }

    /// A rank has ended.
    pub(super) fn rank_ended(&mut self, rank: u32, ended: Ended) {
        self.ranks[rank as usize].life = Life::Ended;
        if self.job.node.failure_of(rank).is_some() {
            return; // its host was given up, and that has been told
        }
        if let Some(failure) = judge(rank, ended, self.stage(rank)) {
            if self.goes_on_without(&failure) {
                return;
            }
            self.first_bad.get_or_insert(failure.status());
            self.fail(failure);
        }
    }

    /// Ends the job because of a rank, and says why, unless it is ending
    /// already.
    pub(super) fn fail(&mut self, failure: Failure) {
        if self.ending.is_some() {
            return;
        }
        // A single rank that writes to our own output meets a reader that has had enough by itself.
        let is_ours = self.agents.is_none() && failure.cause == Cause::Killed(libc::SIGPIPE);
        if is_ours && [1, 2].into_iter().any(descriptors::has_no_reader) {
            return self.end(Reason::OutputClosed);
        }
        if failure.cause == Cause::End(0) {
            return self.end(Reason::Failure(failure)); // as the program wants it
        }
        let text = self.story(&failure);
        self.tell(&text);
        self.end(Reason::Failure(failure));
    }

    /// What has happened to a rank, for people.
    pub(super) fn story(&self, failure: &Failure) -> String {
        let stage = self.stage(failure.rank);
        let program = self.plan.program_of(failure.rank);
        let others = self.ranks.iter().enumerate().filter(|(index, _)| *index != failure.rank as usize);
        let scene = Scene {
            process: self.ranks[failure.rank as usize].process,
            host: self.plan.host_of(failure.rank),
            program: program.name(),
            stage,
            last_call: match failure.cause {
                Cause::Abort(_) | Cause::End(_) | Cause::Error(_) | Cause::NoInit => None,
                _ => report::call(&self.job.node, failure.rank, stage, monotonic_now()),
            },
            calls_before: match stage {
                Stage::Inside => last_calls::before(&self.job.node, failure.rank),
                _ => String::new(),
            },
            out_of_memory: match &self.agents {
                Some(agents) => agents.out_of_memory,
                None => memory_events::kills().unwrap_or(0) > self.memory_kills,
            },
            others: others.filter(|(_, rank)| rank.life != Life::Ended).count(),
            has_survivors: self.job.node.failure_of(failure.rank).is_some(),
        };
        let mut text = report::failure(failure, &scene);
        if self.agents.is_none() && (stage == Stage::Starting || scene.out_of_memory) {
            text.push_str(&crate::doctor::short());
        }
        text
    }

    /// Says what went wrong, also in the report.
    pub(super) fn tell(&mut self, text: &str) {
        self.say(text);
        self.told.push_str(text);
    }

    /// Begins to end the job.
    pub(super) fn end(&mut self, reason: Reason) {
        self.job.node.ending().store(1, Relaxed);
        self.begin_to_end(reason);
    }

    /// The time that the user allowed is over.
    pub(super) fn time_is_over(&mut self) {
        let allowed = self.plan.options.timeout.unwrap_or_default().as_secs_f64();
        let mut text =
            format!("serried: the job has not ended within {allowed} s (--timeout); it is ended\n");
        let now = monotonic_now();
        for (index, rank) in self.ranks.iter().enumerate().filter(|(_, rank)| rank.life != Life::Ended) {
            let call = report::call(&self.job.node, index as u32, self.stage(index as u32), now);
            let on = self.on_host(index as u32);
            text += &format!(
                "  rank {index} (process {}{on}): {}\n",
                rank.process,
                call.unwrap_or("still runs".into())
            );
        }
        match self.ranks.iter().filter(|rank| rank.process == 0).count() {
            0 => {}
            left => text += &format!("  {left} of {} ranks had not been started yet\n", self.plan.size),
        }
        self.tell(&text);
        self.end(Reason::Timeout);
    }

    /// Where a rank is, in words, if not all are on this machine.
    fn on_host(&self, rank: u32) -> String {
        match self.agents {
            Some(_) => format!(" on {}", self.plan.host_of(rank)),
            None => String::new(),
        }
    }

    /// Tells of ranks that cannot go on.
    pub(super) fn look_for_deadlock(&mut self, now: Instant) {
        let Some(mut watch) = self.watch.take().filter(|_| self.ending.is_none()) else { return };
        let ended = |rank: u32| self.ranks[rank as usize].life == Life::Ended;
        let who = |rank: u32| {
            let page = self.job.node.page(rank);
            let process = process_numbers::process(page).unwrap_or(page.identity.pid.load(Relaxed));
            format!("process {process}{}, {}", self.on_host(rank), self.plan.program_of(rank).name())
        };
        let finding = watch.tick(now, monotonic_now(), &ended, &who);
        self.watch = Some(watch);
        match finding {
            Some(Finding::Tell(text)) => self.tell(&text),
            Some(Finding::End) => self.end(Reason::Deadlock),
            None => {}
        }
    }

    /// Whether a rank has ended well without MPI while others are in MPI and
    /// so may wait for it for ever.
    pub(super) fn someone_stayed_outside(&self) -> bool {
        self.missing_rank().is_some() && self.ending.is_none()
    }

    fn missing_rank(&self) -> Option<u32> {
        let gone = |rank: &u32| {
            self.ranks[*rank as usize].life == Life::Ended && self.stage(*rank) == Stage::Outside
        };
        let missed = (0..self.plan.size).find(gone)?;
        let someone_waits = (0..self.plan.size)
            .any(|rank| self.ranks[rank as usize].life != Life::Ended && self.stage(rank).takes_part());
        // Programs that never use MPI end one by one without harm; look again
        // as long as somebody is left who might.
        let someone_left = self.ranks.iter().any(|rank| rank.life != Life::Ended);
        (someone_waits || someone_left).then_some(missed)
    }

    /// Ends the job when a rank has been missed for a while.
    pub(super) fn look_for_missed_rank(&mut self, now: Instant) {
        if self.ending.is_some() {
            return;
        }
        let waits =
            |rank: u32| self.ranks[rank as usize].life != Life::Ended && self.stage(rank).takes_part();
        let Some(rank) = self.missing_rank().filter(|_| (0..self.plan.size).any(waits)) else {
            self.missed_since = None;
            return;
        };
        if now.duration_since(*self.missed_since.get_or_insert(now)) >= MISSED {
            let failure = Failure { rank, cause: Cause::NoInit, patient: false };
            self.first_bad.get_or_insert(failure.status());
            self.fail(failure);
        }
    }

    /// Reads what children report that could not execute their program; the
    /// pipe ends when all have executed it.
    pub(super) fn take_failures(&mut self) {
        let Some(pipe) = &self.job.failures else { return };
        let mut record = [0; std::mem::size_of::<StartFailure>()];
        match descriptors::read(pipe.as_raw_fd(), &mut record) {
            Ok(0) => {
                self.job.failures = None;
                self.all_run();
            }
            Ok(count) if count == record.len() => {
                // SAFETY: the record was written whole by `spawn`, from plain data of this type and size.
                let failure: StartFailure = unsafe { std::ptr::read_unaligned(record.as_ptr().cast()) };
                self.cannot_start(failure);
            }
            _ => {}
        }
    }

    /// All ranks execute their programs, which the rank is told that has started the job.
    pub(super) fn all_run(&mut self) {
        self.plan.spawned.iter_mut().filter(|_| self.ending.is_none()).for_each(Spawned::all_run);
    }

    /// The process of a rank could not execute its program.
    pub(super) fn cannot_start(&mut self, failure: StartFailure) {
        if self.ending.is_some() {
            return;
        }
        let program = self.plan.program_of(failure.rank);
        let path = format!("{}{}", program.path.to_string_lossy(), self.on_host(failure.rank));
        let reason = std::io::Error::from_raw_os_error(failure.code);
        let text = match failure.step {
            STEP_EXECUTE => {
                format!("serried: cannot start {path}: {}\n", programs::exec_failure(failure.code))
            }
            STEP_DIRECTORY => format!("serried: cannot enter the directory (-wdir) of {path}: {reason}\n"),
            _ => format!("serried: cannot set up the streams of {path}: {reason}\n"),
        };
        match &mut self.plan.spawned {
            Some(spawned) => spawned.answer(text.trim_start_matches("serried: ")),
            None => self.say(&text),
        }
        self.end(Reason::CannotStart);
    }

    /// Passes a signal on to the ranks that still run.
    pub(super) fn pass_on(&mut self, signal: i32) {
        self.order_all(&Order::Signal(signal));
        self.targets().into_iter().for_each(|target| signals::send(target, signal));
    }

    /// The process groups (negative) of the ranks that still run, or their
    /// processes.
    pub(super) fn targets(&self) -> Vec<i32> {
        if self.agents.is_some() {
            return Vec::new();
        }
        let sign = if self.job.shares_terminal { 1 } else { -1 };
        let running = self.ranks.iter().filter(|rank| rank.life != Life::Ended);
        running.map(|rank| sign * rank.process).collect()
    }
}
