//! The agents that this process has started, each by a remote shell, with the links to them.
//!
//! All that comes from them, and all that becomes of them, comes out as frames of news, in order: so the launcher and an
//! agent, which passes them on, see the same.

use super::agent_plan::AgentPlan;
use super::link::{Broken, Link};
use super::orders::{Frame, News, Order, ALL};
use super::silence::{Finding, Silence, BEAT};
use super::this_host::is_here;
use crate::run::descriptors;
use crate::run::verdict::Ended;
use crate::system::signals;
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A remote shell has so long until the agent answers.
const START: Duration = Duration::from_secs(60);
/// A remote shell whose agent has gone has so long to end.
const GOING: Duration = Duration::from_secs(3);
/// Of what a remote shell says on standard error, so much is kept.
const WORDS: usize = 4096;

/// The agents that this process has started.
#[derive(Debug)]
pub struct Crew {
    branches: Vec<Branch>,
    /// News that nobody has taken.
    news: Vec<Frame>,
    patience: Duration,
    next_beat: Instant,
}

/// An agent, and those that it starts.
#[derive(Debug)]
struct Branch {
    nodes: Range<u32>,
    host: String,
    command: String,
    link: Link,
    process: i32,
    /// How the remote shell has ended.
    ended: Option<Ended>,
    /// Its standard error.
    words: Option<OwnedFd>,
    said: Vec<u8>,
    /// The link has ended: since when, and how.
    broken: Option<(Instant, Broken)>,
    /// The agent has said that nothing is left below it.
    is_done: bool,
    /// Nothing more comes from it.
    is_over: bool,
}

/// A party of a meeting, which becomes an agent.
#[derive(Debug)]
pub struct Met {
    /// The name of its host.
    pub host: String,
    /// The way to it.
    pub stream: UnixStream,
}

/// What a polled descriptor of a crew stands for.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// News of this branch.
    News(usize),
    /// Room for orders to it.
    Room(usize),
    /// Its standard error.
    Words(usize),
}

impl Crew {
    /// Nobody.
    pub fn nobody() -> Crew {
        Crew { branches: Vec::new(), news: Vec::new(), patience: START, next_beat: Instant::now() }
    }

    /// Starts the agents for these parts of a plan, and tells them theirs. `mask` is the signal mask for what is
    /// started.
    ///
    /// # Errors
    /// A sentence: a remote shell cannot be started.
    pub fn start(plan: &AgentPlan, parts: Vec<Range<u32>>, mask: &libc::sigset_t) -> Result<Crew, String> {
        let mut crew = Crew { patience: plan.patience, ..Crew::nobody() };
        for part in parts {
            let plan = plan.part(part);
            let host = plan.hosts[0].clone();
            let words = match is_here(&host) {
                true => vec![plan.serried.clone().into(), "agent".into()],
                false => plan.shell.command(&host, &plan.serried),
            };
            let mut branch = Branch::start(plan.nodes.clone(), host, &words, [], mask)?;
            branch.link.send(&Order::Plan(plan.to_bytes()).frame(plan.node()));
            crew.branches.push(branch);
        }
        Ok(crew)
    }

    /// Takes on the parties that have met, by their nodes, and starts an agent for this one (`None`). All share the same
    /// descriptors; the programs of the plan are those of this one.
    ///
    /// # Errors
    /// A sentence.
    pub fn meet(
        plan: &AgentPlan,
        parties: Vec<Option<Met>>,
        shared: [RawFd; 2],
        mask: &libc::sigset_t,
    ) -> Result<Crew, String> {
        let mut crew = Crew { patience: plan.patience, ..Crew::nobody() };
        for (node, party) in plan.nodes.clone().zip(parties) {
            let part = plan.part(node..node + 1);
            let (mut branch, part) = match party {
                None => {
                    let mut words = vec![plan.serried.clone().into(), "agent".into()];
                    words.extend(shared.map(|one| one.to_string().into()));
                    (Branch::start(node..node + 1, part.hosts[0].clone(), &words, shared, mask)?, part)
                }
                Some(met) => (Branch::met(node..node + 1, met)?, AgentPlan { programs: Vec::new(), ..part }),
            };
            branch.link.send(&Order::Plan(part.to_bytes()).frame(node));
            crew.branches.push(branch);
        }
        Ok(crew)
    }

    /// Whether nothing more comes from anybody.
    pub fn is_over(&self) -> bool {
        self.branches.iter().all(|branch| branch.is_over) && self.news.is_empty()
    }

    /// The remote shells that run.
    pub fn processes(&self) -> Vec<i32> {
        self.branches.iter().filter(|branch| branch.ended.is_none()).map(|branch| branch.process).collect()
    }

    /// Says something to the agent of a node, or to all.
    pub fn send(&mut self, node: u32, order: &Order) {
        self.pass(&order.frame(node));
    }

    /// Passes on a frame to whom it is for.
    pub fn pass(&mut self, frame: &Frame) {
        let is_meant = |branch: &&mut Branch| frame.node == ALL || branch.nodes.contains(&frame.node);
        self.branches.iter_mut().filter(is_meant).for_each(|branch| branch.link.send(frame));
    }

    /// Adds what is to be polled.
    pub fn interests(&self, add: &mut dyn FnMut(RawFd, i16, Source)) {
        for (index, branch) in self.branches.iter().enumerate() {
            if let Some(from) = branch.link.reads().filter(|_| branch.broken.is_none()) {
                add(from, libc::POLLIN, Source::News(index));
            }
            if let Some(to) = branch.link.writes() {
                add(to, libc::POLLOUT, Source::Room(index));
            }
            if let Some(words) = &branch.words {
                add(words.as_raw_fd(), libc::POLLIN, Source::Words(index));
            }
        }
    }

    /// Does what a descriptor is ready for.
    pub fn serve(&mut self, source: Source) {
        match source {
            Source::News(index) => self.listen(index),
            Source::Room(index) => self.branches[index].link.write(),
            Source::Words(index) => {
                self.branches[index].hear_words();
            }
        }
    }

    /// A child of this process has ended; returns whether it was one of the remote shells.
    pub fn reaped(&mut self, process: i32, status: i32) -> bool {
        let branch =
            self.branches.iter_mut().find(|branch| branch.process == process && branch.ended.is_none());
        if let Some(branch) = branch {
            branch.ended = Some(Ended::from_wait(status));
            return true;
        }
        false
    }

    /// Nobody waits for anybody any more.
    pub fn abandon(&mut self) {
        self.branches.iter_mut().for_each(|branch| {
            branch.link.close();
            branch.is_over = true;
        });
    }

    /// When [`Crew::tick`] has something to do next.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.is_over()).then_some(self.next_beat)
    }

    /// Looks at the clock: says that this end is there, looks for those who are silent, and for what has ended.
    pub fn tick(&mut self, now: Instant) {
        let beats = now >= self.next_beat;
        if beats {
            self.next_beat = now + BEAT;
        }
        for index in 0..self.branches.len() {
            let branch = &mut self.branches[index];
            if branch.is_over {
                continue;
            }
            if beats && branch.broken.is_none() {
                if branch.link.is_empty() {
                    branch.link.send(&Order::Alive.frame(branch.nodes.start));
                }
                let found = branch.link.silence.look(now);
                self.found(index, found);
            }
            self.look_at_end(index, now);
        }
    }

    /// Takes the news that have come.
    pub fn take_news(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.news)
    }

    fn listen(&mut self, index: usize) {
        let branch = &mut self.branches[index];
        let was_greeted = branch.link.is_greeted();
        let read = branch.link.read();
        if !was_greeted && branch.link.is_greeted() {
            branch.link.silence = Silence::new(self.patience, Instant::now());
        }
        let broken = loop {
            match branch.link.next() {
                Ok(Some(frame)) => {
                    branch.is_done |=
                        frame.node == branch.nodes.start && News::read(&frame) == Ok(News::Done);
                    if !News::is_alive(&frame) {
                        self.news.push(frame);
                    }
                }
                Ok(None) => break read.err(),
                Err(broken) => break Some(broken),
            }
        };
        if let Some(broken) = broken {
            branch.link.close();
            branch.broken.get_or_insert((Instant::now(), broken));
        }
    }

    fn found(&mut self, index: usize, found: Option<Finding>) {
        let branch = &mut self.branches[index];
        let how = match found {
            // Some shells take long to start; who cannot be reached says so.
            None | Some(Finding::Named | Finding::Back) if !branch.link.is_greeted() => return,
            None => return,
            Some(Finding::Back) => 0,
            Some(Finding::Named) => 1,
            Some(Finding::GivenUp) => 2,
        };
        self.news.push(
            News::Silent { first: branch.nodes.start, end: branch.nodes.end, how }.frame(branch.nodes.start),
        );
        if how == 2 {
            branch.link.close();
            branch.is_over = true;
            if branch.ended.is_none() {
                signals::send(branch.process, libc::SIGKILL);
            }
        }
    }

    /// Tells, once, that nothing more comes from a branch, and why.
    fn look_at_end(&mut self, index: usize, now: Instant) {
        let branch = &mut self.branches[index];
        let Some((since, _)) = &branch.broken else {
            // It has ended, and its output will too, unless somebody else holds it.
            return;
        };
        if branch.ended.is_none() {
            if now.duration_since(*since) >= GOING {
                signals::send(branch.process, libc::SIGKILL);
            }
            return;
        }
        while branch.words.is_some() && branch.hear_words() {}
        branch.is_over = true;
        branch.words = None;
        let why = branch.why();
        let news = News::Lost { first: branch.nodes.start, end: branch.nodes.end, why };
        self.news.push(news.frame(branch.nodes.start));
    }
}

impl Branch {
    fn start<const KEPT: usize>(
        nodes: Range<u32>,
        host: String,
        words: &[OsString],
        kept: [RawFd; KEPT],
        mask: &libc::sigset_t,
    ) -> Result<Branch, String> {
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let command = shown.join(" ");
        let mask = *mask;
        let launcher = std::process::id() as i32;
        let mut shell = Command::new(&words[0]);
        shell.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: only system calls between fork and exec, on plain values.
        unsafe {
            shell.pre_exec(move || {
                // A key on the terminal is for the launcher, which tells the agents.
                libc::setsid();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
                for one in kept {
                    libc::fcntl(one, libc::F_SETFD, 0);
                }
                match libc::getppid() == launcher {
                    true => Ok(()),
                    false => Err(io::ErrorKind::Interrupted.into()),
                }
            });
        }
        let cannot = |cause: io::Error| format!("cannot start an agent on {host}: {command}: {cause}");
        let mut child = shell.spawn().map_err(cannot)?;
        let (Some(to), Some(from), Some(words)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three are pipes")
        };
        let words = OwnedFd::from(words);
        descriptors::never_block(&words);
        Ok(Branch {
            nodes,
            host,
            command,
            link: Link::new(to.into(), from.into(), Silence::new(START, Instant::now())),
            process: child.id() as i32,
            ended: None,
            words: Some(words),
            said: Vec::new(),
            broken: None,
            is_done: false,
            is_over: false,
        })
    }

    /// An agent that another launcher becomes.
    fn met(nodes: Range<u32>, met: Met) -> Result<Branch, String> {
        let copy = met.stream.try_clone();
        let copy = copy.map_err(|cause| format!("no link to the party on {}: {cause}", met.host))?;
        let silence = Silence::new(START, Instant::now());
        Ok(Branch {
            nodes,
            host: met.host,
            command: String::new(),
            link: Link::new(copy.into(), met.stream.into(), silence),
            process: 0,
            ended: Some(Ended::Exited(0)),
            words: None,
            said: Vec::new(),
            broken: None,
            is_done: false,
            is_over: false,
        })
    }

    /// Reads standard error; returns whether there was something.
    fn hear_words(&mut self) -> bool {
        let Some(words) = &self.words else { return false };
        let mut buffer = [0; 4096];
        match descriptors::read(words.as_raw_fd(), &mut buffer) {
            Ok(count) if count > 0 => {
                self.said.extend_from_slice(&buffer[..count]);
                let too_long = self.said.len().saturating_sub(WORDS);
                self.said.drain(..too_long);
                true
            }
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                false
            }
            _ => {
                self.words = None;
                false
            }
        }
    }

    /// Why it has ended, for people; empty if all was done.
    fn why(&self) -> String {
        let (host, command) = (&self.host, &self.command);
        let said = String::from_utf8_lossy(&self.said);
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = if said.is_empty() { String::new() } else { format!(":\n    {}", said.join("\n    ")) };
        let how = match self.ended {
            Some(Ended::Exited(status)) => format!("ended with status {status}"),
            Some(Ended::Killed(signal)) => format!("was killed by {}", signals::name(signal)),
            None => "has gone".into(),
        };
        match &self.broken {
            Some((_, Broken::Version(other))) => format!(
                "{host} has another version of Serried ({other}) than this machine (serried {})",
                env!("CARGO_PKG_VERSION")
            ),
            Some((_, Broken::Nonsense)) => {
                format!("what comes from {host} is not from an agent of Serried; {command} {how}{said}")
            }
            _ if self.is_done => String::new(),
            _ if command.is_empty() => format!("the party on {host} has gone"),
            _ if self.link.is_greeted() => {
                format!("the agent on {host} has ended too early: {command} {how}{said}")
            }
            _ => format!("no agent could be started on {host}: {command} {how}{said}"),
        }
    }
}
