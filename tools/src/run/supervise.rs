//! The launcher while its job runs: one loop, one thread, no timer but the
//! next deadline.

use super::across::crew;
use super::agents::Agents;
use super::descendants::{kill_all, reap_one, signal_all, Reaped};
use super::descriptors;
use super::ending::{Ending, Reason};
use super::options::OnFailure;
use super::rank::Life;
use super::restarts::Outcome;
use super::spawned_job::{Heard, Spawned};
use super::streams;
use super::supervisor::Supervisor;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// How long to wait for the end of pipes when no process is left.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often to look at what nobody announces.
const LOOK: Duration = Duration::from_millis(100);

/// What a polled descriptor stands for.
#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Guard,
    Failures,
    Switchboard,
    Socket(usize),
    Tap(usize),
    Sink(usize),
    Keyboard,
    Typed,
    Input,
    Crew(crew::Source),
    Parent,
}

impl Supervisor {
    /// Runs until nothing is left of the job.
    pub fn run(mut self) -> Outcome {
        for said in self.guard.take_heard() {
            self.follow(said);
        }
        while !self.is_over() {
            let (mut entries, sources) = self.interests();
            let patience = self.patience();
            // SAFETY: `entries` is a valid array of its length.
            unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, patience) };
            for (entry, source) in entries.iter().zip(sources) {
                if entry.revents != 0 {
                    self.serve(source);
                }
            }
            self.reap();
            self.tick(Instant::now());
        }
        self.write_to_the_end();
        let status = self.status();
        if let Some(spawned) = &mut self.plan.spawned {
            spawned.has_ended(self.plan.size, status == 0);
        }
        Outcome {
            status: if status == 0 && self.lost { streams::OUTPUT_LOST } else { status },
            reason: self.ending.map(|ending| ending.reason),
            has_failed: status != 0 && !self.asked_to_end,
            has_begun: self.agents.is_none_or(|agents| agents.has_begun),
            lost: self.lost_nodes,
            gave_up_at: self.gave_up_at,
            plan: self.plan,
            signals: self.signals,
            guard: self.guard,
        }
    }

    /// The exit status, as far as the ranks make it.
    pub(super) fn status(&self) -> i32 {
        self.ending.as_ref().and_then(Ending::status).or(self.first_bad).unwrap_or(0)
    }

    fn is_over(&self) -> bool {
        let quiet = self.no_children_since.is_some_and(|since| {
            self.job.taps.iter().all(|tap| tap.pipe.is_none()) || since.elapsed() > LAST_WORDS
        });
        let are_gone = self.agents.as_ref().is_none_or(|agents| agents.crew.is_over());
        quiet && are_gone && self.job.outlets.all().iter().all(|sink| sink.wants_to_write().is_none())
    }

    fn interests(&self) -> (Vec<libc::pollfd>, Vec<Source>) {
        let (mut entries, mut sources) = (Vec::new(), Vec::new());
        let mut add = |descriptor: i32, events: i16, source: Source| {
            entries.push(libc::pollfd { fd: descriptor, events, revents: 0 });
            sources.push(source);
        };
        add(self.signals.descriptor(), libc::POLLIN, Source::Signals);
        add(self.guard.descriptor().as_raw_fd(), libc::POLLIN, Source::Guard);
        add(self.job.switchboard.descriptor().as_raw_fd(), libc::POLLIN, Source::Switchboard);
        if let Some(failures) = &self.job.failures {
            add(failures.as_raw_fd(), libc::POLLIN, Source::Failures);
        }
        for (index, rank) in self.ranks.iter().enumerate() {
            if let Some(socket) = &rank.socket {
                add(socket.as_raw_fd(), libc::POLLIN, Source::Socket(index));
            }
        }
        for (index, tap) in self.job.taps.iter().enumerate() {
            let room = !self.job.outlets.all()[tap.outlet].is_full();
            if let Some(pipe) = tap.pipe.as_ref().filter(|_| room) {
                add(pipe.as_raw_fd(), libc::POLLIN, Source::Tap(index));
            }
        }
        for (index, sink) in self.job.outlets.all().iter().enumerate() {
            if let Some(descriptor) = sink.wants_to_write() {
                add(descriptor, libc::POLLOUT, Source::Sink(index));
            }
        }
        if let Some(pipe) = &self.job.keyboard {
            if !self.typed.is_empty() {
                add(pipe.as_raw_fd(), libc::POLLOUT, Source::Typed);
            } else if descriptors::is_in_foreground(0) {
                add(0, libc::POLLIN, Source::Keyboard);
            }
        }
        if self.wants_input() {
            add(0, libc::POLLIN, Source::Input);
        }
        if let Some(parent) = self.plan.spawned.as_ref().and_then(Spawned::descriptor) {
            add(parent, libc::POLLIN, Source::Parent);
        }
        if let Some(agents) = &self.agents {
            agents
                .crew
                .interests(&mut |descriptor, events, source| add(descriptor, events, Source::Crew(source)));
        }
        (entries, sources)
    }

    fn serve(&mut self, source: Source) {
        match source {
            Source::Signals => self.take_signals(),
            Source::Guard => self.listen_to_guard(),
            Source::Failures => self.take_failures(),
            Source::Switchboard => self.job.switchboard.serve(),
            Source::Socket(index) => self.listen(index as u32),
            Source::Tap(index) => self.read_tap(index),
            Source::Sink(index) => self.write_outlet(index),
            Source::Keyboard => self.read_keyboard(),
            Source::Typed => self.pass_typed(),
            Source::Input => self.pass_input(),
            Source::Crew(source) => self.serve_crew(source),
            Source::Parent => self.hear_parent(),
        }
    }

    fn patience(&self) -> i32 {
        let mut next: Option<Instant> = self.plan.options.timeout.map(|allowed| self.started + allowed);
        let mut at_latest = |time: Instant| next = Some(next.map_or(time, |known| known.min(time)));
        if let Some(ending) = &self.ending {
            at_latest(ending.deadline());
        }
        if let Some(deadline) = self.agents.as_ref().and_then(Agents::deadline) {
            at_latest(deadline);
        }
        for deadline in self.job.taps.iter().filter_map(|tap| tap.stream.deadline()) {
            at_latest(deadline);
        }
        let all_ended = self.ranks.iter().all(|rank| rank.life == Life::Ended);
        let in_background = self.job.keyboard.is_some() && !descriptors::is_in_foreground(0);
        if all_ended || in_background || self.someone_stayed_outside() {
            at_latest(Instant::now() + LOOK);
        }
        if let Some(watch) = self.watch.as_ref().filter(|_| self.ending.is_none()) {
            at_latest(watch.deadline());
        }
        match next {
            None => -1,
            Some(time) => time.saturating_duration_since(Instant::now()).as_millis() as i32 + 1,
        }
    }

    fn tick(&mut self, now: Instant) {
        let late = self.plan.options.timeout.is_some_and(|allowed| now >= self.started + allowed);
        if late && self.ending.is_none() {
            self.time_is_over();
        }
        self.tick_agents(now);
        self.look_for_missed_rank(now);
        self.look_for_deadlock(now);
        for (index, tap) in self.job.taps.iter_mut().enumerate() {
            tap.stream.tick(index, self.job.outlets.get(tap.outlet), now);
        }
        // Parties of a meeting are no children.
        let are_gone = self.agents.as_ref().is_none_or(|agents| agents.crew.is_over());
        if self.no_children_since.is_none() || !are_gone {
            let all_ended = self.ranks.iter().all(|rank| rank.life == Life::Ended);
            if all_ended && !self.spawned_jobs_run() {
                self.ending.get_or_insert_with(|| Ending::begin(Reason::Leftovers, now)).ranks_have_gone(now);
            }
            if let Some(signal) = self.ending.as_mut().and_then(|ending| ending.due(now)) {
                match self.agents {
                    Some(_) => self.sweep_agents(signal, now),
                    None => signal_all(signal, &self.targets(), &[]),
                }
            }
        }
    }

    /// Whether jobs that these ranks have started go on: they are no leftovers.
    fn spawned_jobs_run(&self) -> bool {
        let of_parent = self.plan.spawned.as_ref().is_some_and(Spawned::others_run);
        let elsewhere =
            self.agents.as_ref().is_some_and(|agents| agents.spawned.iter().any(|&jobs| jobs > 0));
        self.ending.is_none() && (of_parent || elsewhere || self.job.node.spawned_jobs() > 0)
    }

    /// The rank that has started this job lets it go, or has died.
    fn hear_parent(&mut self) {
        let heard = self.plan.spawned.as_mut().map(Spawned::hear);
        let goes_on = self.plan.options.on_failure == OnFailure::Continue;
        if heard == Some(Heard::HasDied) && self.ending.is_none() && !goes_on {
            self.tell("serried: the process that has started this job has died; the job is ended\n");
            self.end(Reason::ParentDied);
        }
    }

    fn reap(&mut self) {
        loop {
            match reap_one() {
                Reaped::One(child) => {
                    let is_shell = |agents: &mut Agents| agents.crew.reaped(child.process, child.status);
                    if !self.agents.as_mut().is_some_and(is_shell) {
                        self.process_ended(child);
                    }
                }
                Reaped::NotYet => return self.no_children_since = None,
                Reaped::Nobody => {
                    self.no_children_since.get_or_insert_with(Instant::now);
                    return;
                }
            }
        }
    }

    pub(super) fn guard_has_died(&self) -> ! {
        kill_all(Duration::from_secs(5), &self.targets());
        std::process::exit(128 + libc::SIGKILL)
    }
}
