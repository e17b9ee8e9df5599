//! `serried agent`: what `serried run --hosts` starts on each host. It starts the ranks of its host and the agents behind
//! it, passes on everything that the launcher has to know, and does what the launcher orders.
//!
//! ```text
//! guard ── agent ── ranks, remote shells to other agents
//! ```
//!
//! It decides nothing, but for one thing: when it loses the launcher (the link has ended, or nothing has come over it
//! for long), it ends everything below it and goes.

mod answers;
mod here;
mod obedience;
mod outliving;
mod telling;

use super::across::agent_plan::AgentPlan;
use super::across::branches::below;
use super::across::crew::{self, Crew};
use super::across::link::{Broken, Link};
use super::across::muster::Muster;
use super::across::orders::{Frame, News, Order, ALL};
use super::across::silence::{Finding, Silence, BEAT};
use super::descendants::{are_all, kill_all, reap_one, signal_all, Reaped};
use super::environment::on_this_host;
use super::guard::{self, Guard};
use super::plan::Prepared;
use super::rank_start::because;
use crate::system::signals::Signals;
use here::Here;
use serried_engine::job::{listen, Listeners, NodeCard};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Until there is a plan, the launcher may be silent for so long.
const START: Duration = Duration::from_secs(60);
/// How long to wait for the end of pipes when no process is left.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// From asking what is below to end until it is killed.
const LAST_SECOND: Duration = Duration::from_secs(1);
/// What does not end although it is killed is stuck inside the kernel.
const SWEEP: Duration = Duration::from_secs(5);
/// The status of an agent that could not do what it was told.
const FAILED: i32 = 1;

/// An agent.
pub(super) struct Agent {
    up: Link,
    crew: Crew,
    signals: Signals,
    guard: Guard,
    plan: Option<AgentPlan>,
    muster: Option<Muster>,
    listeners: Option<Listeners>,
    /// The ranks, once they have been started.
    here: Option<Here>,
    no_children_since: Option<Instant>,
    next_beat: Instant,
    /// The launcher has said that it will be silent.
    is_paused: bool,
    /// Nothing is left of the ranks of this host, and that has been told.
    is_done: bool,
    /// The launcher does not need it any more; the status of the job.
    may_leave: Option<i32>,
    /// What ranks of other agents share, too.
    shared: Option<Shared>,
    /// What a party of a meeting runs: the launcher does not know it as well.
    own: Option<Vec<Prepared>>,
    /// It is to go, with this status.
    goes: Option<i32>,
}

/// What the ranks of several agents of one machine have in common.
#[derive(Debug)]
pub struct Shared {
    /// The node segment.
    pub segment: OwnedFd,
    /// The line to who makes sockets for all of them.
    pub line: OwnedFd,
}

/// What a polled descriptor stands for.
#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Guard,
    Orders,
    Room,
    Crew(crew::Source),
    Here(here::Source),
}

/// Does the work of an agent over its standard streams; returns the exit status.
pub fn command(arguments: &[OsString]) -> i32 {
    let own = |number: &OsString| number.to_str().and_then(|number| number.parse().ok()).and_then(passed);
    let shared = match arguments {
        [] => Some(None),
        [segment, line] => own(segment).zip(own(line)).map(|(segment, line)| Some(Shared { segment, line })),
        _ => None,
    };
    let Some(shared) = shared.filter(|_| !super::descriptors::is_terminal(0)) else {
        eprintln!("serried: `serried agent` is run by `serried run --hosts` on each host, not by people");
        return super::USAGE_ERROR;
    };
    let agent = Signals::take(&[libc::SIGCHLD]).and_then(|signals| {
        let guard = guard::split(&signals, guard::Watched::StandardInput)?;
        let (from, to) = take_streams()?;
        Ok((signals, guard, from, to))
    });
    match agent {
        Ok((signals, guard, from, to)) => Agent { shared, ..Agent::new(to, from, signals, guard) }.run(),
        Err(cause) => {
            eprintln!("serried: the agent cannot start: {}", because(&cause));
            FAILED
        }
    }
}

/// Does the work of an agent for the leader of a meeting; returns the exit status of the job.
pub(super) fn belong(
    stream: UnixStream,
    shared: Shared,
    programs: Vec<Prepared>,
    signals: Signals,
    guard: Guard,
) -> i32 {
    match stream.try_clone() {
        Ok(copy) => {
            let (shared, own) = (Some(shared), Some(programs));
            Agent { shared, own, ..Agent::new(copy.into(), stream.into(), signals, guard) }.run()
        }
        Err(cause) => super::complain(&format!("no link to the leader: {}", because(&cause)), FAILED),
    }
}

/// A descriptor that was passed to this process, to be its own.
fn passed(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: a plain system call; what is open was passed to this process by its launcher, to be its own.
    unsafe {
        let is_open = number >= 3 && libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) == 0;
        is_open.then(|| OwnedFd::from_raw_fd(number))
    }
}

/// Takes standard input and output for the link, so that nothing else writes there.
fn take_streams() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let take = |descriptor: i32| {
        // SAFETY: plain system calls; the new descriptor is nobody else's.
        unsafe {
            let taken = super::descriptors::check(libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3))?;
            super::descriptors::check(libc::dup2(null.as_raw_fd(), descriptor))?;
            Ok::<OwnedFd, std::io::Error>(OwnedFd::from_raw_fd(taken))
        }
    };
    Ok((take(0)?, take(1)?))
}

impl Agent {
    fn new(to: OwnedFd, from: OwnedFd, signals: Signals, guard: Guard) -> Agent {
        let now = Instant::now();
        Agent {
            up: Link::new(to, from, Silence::new(START, now)),
            crew: Crew::nobody(),
            signals,
            guard,
            plan: None,
            muster: None,
            listeners: None,
            here: None,
            no_children_since: None,
            next_beat: now + BEAT,
            is_paused: false,
            is_done: false,
            may_leave: None,
            shared: None,
            own: None,
            goes: None,
        }
    }

    fn run(mut self) -> i32 {
        loop {
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
            self.pass_news_on();
            if let Some(status) = self.goes {
                return self.leave(status);
            }
            if let Some(status) = self.may_leave.filter(|_| self.is_done && self.crew.is_over()) {
                let status = if self.own.is_some() { status } else { 0 };
                return self.leave(status);
            }
        }
    }

    fn interests(&self) -> (Vec<libc::pollfd>, Vec<Source>) {
        let (mut entries, mut sources) = (Vec::new(), Vec::new());
        let mut add = |descriptor: i32, events: i16, source: Source| {
            entries.push(libc::pollfd { fd: descriptor, events, revents: 0 });
            sources.push(source);
        };
        add(self.signals.descriptor(), libc::POLLIN, Source::Signals);
        add(self.guard.descriptor().as_raw_fd(), libc::POLLIN, Source::Guard);
        if let Some(from) = self.up.reads() {
            add(from, libc::POLLIN, Source::Orders);
        }
        if let Some(to) = self.up.writes() {
            add(to, libc::POLLOUT, Source::Room);
        }
        self.crew.interests(&mut |descriptor, events, source| add(descriptor, events, Source::Crew(source)));
        if let Some(here) = &self.here {
            here.interests(&mut |descriptor, events, source| add(descriptor, events, Source::Here(source)));
        }
        (entries, sources)
    }

    fn serve(&mut self, source: Source) {
        match source {
            Source::Signals => while self.signals.next().is_some() {},
            Source::Guard => match self.guard.next() {
                Some(passed) if crate::system::signals::asks_to_end(passed.signal) => {
                    eprintln!("serried: the agent received {}", crate::system::signals::name(passed.signal));
                    self.goes = Some(128 + passed.signal);
                }
                Some(_) => {}
                None => self.goes = Some(128 + libc::SIGKILL),
            },
            Source::Orders => self.listen(),
            Source::Room => self.up.write(),
            Source::Crew(source) => self.crew.serve(source),
            Source::Here(source) => self.serve_here(source),
        }
    }

    /// Takes orders.
    fn listen(&mut self) {
        let read = self.up.read();
        let broken = loop {
            match self.up.next() {
                Ok(Some(frame)) => self.take(&frame),
                Ok(None) => break read.err(),
                Err(broken) => break Some(broken),
            }
        };
        match broken {
            None => {}
            Some(Broken::Closed) => {
                if self.own.is_some() && !self.is_done {
                    eprintln!("serried: the party that leads the job has gone; its ranks here are ended");
                }
                self.goes = Some(FAILED);
            }
            Some(Broken::Version(_) | Broken::Nonsense) => {
                // The launcher sees the same, and says it better.
                self.goes = Some(FAILED);
            }
        }
    }

    fn take(&mut self, frame: &Frame) {
        let own = self.plan.as_ref().map(AgentPlan::node);
        let is_mine = own.is_none_or(|node| node == frame.node) || frame.node == ALL;
        if own.is_some() && (!is_mine || frame.node == ALL) {
            self.crew.pass(frame);
        }
        if is_mine {
            match Order::read(frame) {
                Ok(order) => self.obey(order),
                Err(_) => self.goes = Some(FAILED),
            }
        }
    }

    /// Says something to the launcher.
    fn tell(&mut self, news: &News) {
        let node = self.plan.as_ref().map_or(0, AgentPlan::node);
        self.up.send(&news.frame(node));
    }

    /// Passes on what the agents behind this one say.
    fn pass_news_on(&mut self) {
        for frame in self.crew.take_news() {
            match News::read(&frame) {
                Ok(News::Ready(cards)) => self.are_ready(cards),
                _ => self.up.send(&frame),
            }
        }
    }

    /// These nodes are there; when all behind this one are, that is told.
    fn are_ready(&mut self, cards: Vec<NodeCard>) {
        if let Some(cards) = self.muster.as_mut().and_then(|muster| muster.take(cards)) {
            self.tell(&News::Ready(cards));
        }
    }

    /// The launcher has made a plan: starts the agents behind this one, and listens for other nodes.
    fn plan(&mut self, mut plan: AgentPlan) {
        self.up.silence = Silence::new(plan.patience * 2, Instant::now());
        let (node, ranks) = (plan.node(), plan.map.ranks_on(plan.node()));
        self.muster = Some(Muster::new(plan.nodes.clone()));
        let crew = Crew::start(&plan, below(&plan.nodes, plan.fanout), self.signals.before());
        let listeners = match self.shared {
            // Nobody comes over a network to ranks that share memory.
            Some(_) => Ok(Listeners { sockets: Vec::new(), port: 0, addresses: Vec::new() }),
            None => listen(address_of_launcher()),
        };
        if let Some(own) = self.own.clone() {
            plan.programs = own;
            let base = plan.map.ranks_of(node).first().copied().unwrap_or(0);
            plan.programs.iter_mut().for_each(|it| it.ranks = base + it.ranks.start..base + it.ranks.end);
        }
        // Others have got the plan as it was made.
        let own = std::env::vars_os().collect();
        for program in &mut plan.programs {
            program.environment = on_this_host(&program.environment, &own);
        }
        self.plan = Some(plan);
        match crew.and_then(|crew| Ok((crew, listeners.map_err(|error| error.message().to_owned())?))) {
            Ok((crew, listeners)) => {
                let addresses = listeners.addresses.clone();
                let card = NodeCard { node, ranks, port: listeners.port, addresses };
                (self.crew, self.listeners) = (crew, Some(listeners));
                self.are_ready(vec![card]);
            }
            Err(why) => self.refuse(&why),
        }
    }

    /// It cannot do what it was told.
    fn refuse(&mut self, why: &str) {
        self.tell(&News::Refused(why.to_owned()));
        self.goes = Some(FAILED);
    }

    fn patience(&self) -> i32 {
        let mut next = self.next_beat;
        let others = [self.crew.deadline(), self.here.as_ref().and_then(Here::deadline)];
        others.into_iter().flatten().for_each(|deadline| next = next.min(deadline));
        if self.here.as_ref().is_some_and(Here::have_ended) && !self.is_done {
            next = next.min(Instant::now() + LAST_WORDS / 5);
        }
        next.saturating_duration_since(Instant::now()).as_millis() as i32 + 1
    }

    fn tick(&mut self, now: Instant) {
        self.crew.tick(now);
        if now >= self.next_beat {
            self.next_beat = now + BEAT;
            if self.up.is_empty() {
                self.tell(&News::Alive);
            }
            self.tell_pages();
            let found = self.up.silence.look(now);
            if self.is_paused {
                self.up.silence.heard();
            } else if found == Some(Finding::GivenUp) {
                eprintln!(
                    "serried: the agent has not heard from the launcher for {:?}",
                    self.up.silence.silent()
                );
                self.goes = Some(FAILED);
            }
        }
        self.look_for_answers(now);
        self.look_for_the_end(now);
    }

    /// Tells, once, that nothing is left of the ranks of this host.
    fn look_for_the_end(&mut self, now: Instant) {
        let Some(here) = self.here.as_ref().filter(|here| here.have_ended() && !self.is_done) else { return };
        if !are_all(&self.crew.processes()) {
            self.no_children_since = None;
            return;
        }
        let since = *self.no_children_since.get_or_insert(now);
        if here.has_no_taps() || now.duration_since(since) >= LAST_WORDS {
            self.is_done = true;
            self.tell(&News::Done);
        }
    }

    fn reap(&mut self) {
        loop {
            match reap_one() {
                Reaped::One(child) if self.crew.reaped(child.process, child.status) => {}
                Reaped::One(child) => self.process_ended(child),
                Reaped::NotYet | Reaped::Nobody => return,
            }
        }
    }

    /// Ends everything below, says what is to be said, and goes.
    fn leave(mut self, status: i32) -> i32 {
        if !self.is_done {
            // Without their links the agents behind this one end too.
            self.crew = Crew::nobody();
            let targets = self.here.as_ref().map(Here::targets).unwrap_or_default();
            signal_all(libc::SIGTERM, &targets, &[]);
            let deadline = Instant::now() + LAST_SECOND;
            while Instant::now() < deadline && !matches!(reap_one(), Reaped::Nobody) {
                std::thread::sleep(Duration::from_millis(5));
            }
            kill_all(SWEEP, &targets);
        }
        let deadline = Instant::now() + SWEEP;
        while let Some(to) = self.up.writes().filter(|_| Instant::now() < deadline) {
            let mut entry = libc::pollfd { fd: to, events: libc::POLLOUT, revents: 0 };
            // SAFETY: `entry` is one valid pollfd.
            unsafe { libc::poll(&mut entry, 1, 100) };
            self.up.write();
        }
        status
    }
}

/// The address of this host that the launcher has used, where ssh tells it: its network is one that works.
fn address_of_launcher() -> Option<std::net::IpAddr> {
    std::env::var("SSH_CONNECTION").ok()?.split(' ').nth(2)?.parse().ok()
}
