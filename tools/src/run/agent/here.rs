//! The ranks of a host, as its agent has them.

use super::super::across::agent_plan::AgentPlan;
use super::super::across::orders::News;
use super::super::binding::{self, Bind};
use super::super::descendants::Child;
use super::super::descriptors::{self, never_block, pipe};
use super::super::memory_events;
use super::super::rank::{Life, Rank};
use super::super::rank_start::{self, said, Place};
use super::super::spawn::{Failure as StartFailure, Inheritance};
use super::super::verdict::Ended;
use super::answers::Asked;
use super::{Agent, Shared};
use crate::system::topology;
use crate::why::sources::Sources;
use serried_engine::job::switchboard::Switchboard;
use serried_engine::job::{birth, Listeners, NodeCard, NodeSegment, NodeTable, NodeView};
use serried_engine::observe::mirror::Told;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Output that may be on its way to the launcher.
pub const WINDOW: usize = 256 << 10;

/// The ranks of this host.
pub struct Here {
    /// The segment that they share.
    pub node: NodeSegment,
    /// Where they get sockets, and the line to who makes them, unless that is this agent.
    pub switchboard: Switchboard,
    line: Option<OwnedFd>,
    /// The same segment for who asks them.
    pub view: NodeView,
    /// The table of nodes, unless the ranks of all nodes share the segment.
    pub table: Option<NodeTable>,
    /// Their numbers in the job, ascending.
    pub numbers: Vec<u32>,
    /// The ranks.
    pub ranks: Vec<Rank>,
    /// Where they write.
    pub taps: Vec<Tap>,
    /// Where processes tell that they could not execute their program.
    pub failures: Option<OwnedFd>,
    /// The standard input of rank 0, if it is here.
    pub input: Option<OwnedFd>,
    /// What it has not read of it.
    pub typed: Vec<u8>,
    /// Whether there will be no more.
    pub input_ended: bool,
    /// How much output may go to the launcher.
    pub credit: usize,
    /// How many jobs of these ranks it knows of.
    pub spawned_told: u32,
    /// What the launcher knows of their pages.
    pub told: Vec<Told>,
    /// Whether it knows the names of calls.
    pub names_told: bool,
    /// What it has asked them.
    pub asked: Vec<Asked>,
    /// Source lines of their programs.
    pub sources: Sources,
    /// The CPUs of each rank, if they are bound.
    pub places: Option<Vec<Vec<usize>>>,
    /// What the out-of-memory killer had done before.
    pub memory_kills: u64,
}

/// A stream of a rank.
pub struct Tap {
    /// The rank, by its number on this host.
    pub local_rank: usize,
    /// Whether it is standard error.
    pub error: bool,
    /// Where it comes out; `None` once it has ended.
    pub pipe: Option<OwnedFd>,
}

/// What a polled descriptor of them stands for.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// A process may not have been able to execute its program.
    Failures,
    /// A rank wants a socket.
    Switchboard,
    /// A rank speaks over PMI.
    Socket(usize),
    /// A rank writes.
    Tap(usize),
    /// Rank 0 reads.
    Input,
}

impl Here {
    /// Starts the ranks of the node of this plan.
    ///
    /// # Errors
    /// A sentence; ranks already started are below this process then.
    pub fn start(
        plan: &AgentPlan,
        listeners: &Listeners,
        cards: &[NodeCard],
        shared: Option<Shared>,
        mask: &libc::sigset_t,
    ) -> Result<Here, String> {
        let told = |error: serried_engine::Error| error.message().to_owned();
        let open_files = descriptors::raise_limit();
        let numbers = plan.map.ranks_of(plan.node());
        let (node, line, table) = match shared {
            Some(Shared { segment, line }) => (NodeSegment::open(segment).map_err(told)?, Some(line), None),
            None => {
                let node = NodeSegment::create_part(numbers.len() as u32).map_err(told)?;
                (node, None, Some(table_for(plan, cards).map_err(told)?))
            }
        };
        let view = NodeView::open(node.descriptor(), true).map_err(told)?;
        if plan.goes_on {
            node.go_on_without_ranks();
        }
        let (failures, report) = pipe().map_err(said("a pipe"))?;
        never_block(&failures);
        let inheritance = Inheritance { mask, open_files: open_files.as_ref() };
        let mut here = Here {
            node,
            view,
            switchboard: Switchboard::open().map_err(said("a socket"))?,
            line,
            table,
            ranks: Vec::with_capacity(numbers.len()),
            taps: Vec::new(),
            failures: Some(failures),
            input: None,
            typed: Vec::new(),
            input_ended: false,
            credit: WINDOW,
            spawned_told: 0,
            told: numbers.iter().map(|_| Told::default()).collect(),
            names_told: false,
            asked: Vec::new(),
            sources: Sources::default(),
            memory_kills: memory_events::kills().unwrap_or(0),
            places: None,
            numbers,
        };
        here.places = match plan.bind {
            Bind::None => None,
            bind => binding::places(bind, plan.order, here.numbers.len(), &topology::read()),
        };
        let birth = match &plan.birth[..] {
            [] => None,
            bytes => Some(birth::file_of(bytes).map_err(told)?),
        };
        let descent: Vec<RawFd> = birth.iter().map(AsRawFd::as_raw_fd).collect();
        let table = here.table.iter().map(|table| table.descriptor().as_raw_fd());
        let others: Vec<RawFd> = table.chain(listeners.sockets.iter().map(AsRawFd::as_raw_fd)).collect();
        for local in 0..here.numbers.len() {
            here.start_rank(plan, local, (&others, &descent), report.as_raw_fd(), inheritance)?;
        }
        Ok(here)
    }

    fn start_rank(
        &mut self,
        plan: &AgentPlan,
        local: usize,
        (others, descent): (&[RawFd], &[RawFd]),
        report: RawFd,
        inheritance: Inheritance,
    ) -> Result<(), String> {
        let rank = self.numbers[local];
        let program = plan.programs.iter().find(|program| program.ranks.contains(&rank));
        let program = program.ok_or_else(|| format!("rank {rank} has no program"))?;
        let input = self.input_of(rank).map_err(said("the standard input of a rank"))?;
        let output = self.tap(local, false).map_err(said("a pipe"))?;
        let error = match plan.together {
            true => output.try_clone(),
            false => self.tap(local, true),
        };
        let error = error.map_err(said("a pipe"))?;
        let place = Place {
            descent: descent.to_vec(),
            rank,
            size: plan.map.size(),
            local_rank: self.page_of(local),
            local_size: self.node.local_ranks(),
            segment: self.node.descriptor().as_raw_fd(),
            line: self.line.as_ref().map_or(self.switchboard.line().as_raw_fd(), AsRawFd::as_raw_fd),
            others: others.to_vec(),
            streams: [Some(input.as_raw_fd()), Some(output.as_raw_fd()), Some(error.as_raw_fd())],
            cpus: self.places.as_ref().map(|places| places[local].as_slice()),
            own_group: true,
        };
        let started = rank_start::start(program, place, report, inheritance)?;
        self.ranks.push(Rank::new(started.process, started.socket));
        Ok(())
    }

    /// What a rank reads: rank 0 what the launcher is given, the others nothing.
    fn input_of(&mut self, rank: u32) -> io::Result<OwnedFd> {
        if rank != 0 {
            return Ok(File::open("/dev/null")?.into());
        }
        let (read_end, write_end) = pipe()?;
        never_block(&write_end);
        self.input = Some(write_end);
        Ok(read_end)
    }

    /// A pipe from a rank: the end to write.
    fn tap(&mut self, local_rank: usize, error: bool) -> io::Result<OwnedFd> {
        let (read_end, write_end) = pipe()?;
        never_block(&read_end);
        self.taps.push(Tap { local_rank, error, pipe: Some(read_end) });
        Ok(write_end)
    }

    /// The number of a rank of this host in the segment.
    pub fn page_of(&self, local: usize) -> u32 {
        if self.is_shared() {
            self.numbers[local]
        } else {
            local as u32
        }
    }

    /// Whether ranks of other agents have the segment too; then the launcher sees their pages by itself.
    pub fn is_shared(&self) -> bool {
        self.table.is_none()
    }

    /// Adds what is to be polled.
    pub fn interests(&self, add: &mut dyn FnMut(RawFd, i16, Source)) {
        add(self.switchboard.descriptor().as_raw_fd(), libc::POLLIN, Source::Switchboard);
        if let Some(failures) = &self.failures {
            add(failures.as_raw_fd(), libc::POLLIN, Source::Failures);
        }
        for (index, rank) in self.ranks.iter().enumerate() {
            if let Some(socket) = &rank.socket {
                add(socket.as_raw_fd(), libc::POLLIN, Source::Socket(index));
            }
        }
        for (index, tap) in self.taps.iter().enumerate().filter(|_| self.credit > 0) {
            if let Some(pipe) = &tap.pipe {
                add(pipe.as_raw_fd(), libc::POLLIN, Source::Tap(index));
            }
        }
        if let Some(input) = self.input.as_ref().filter(|_| !self.typed.is_empty()) {
            add(input.as_raw_fd(), libc::POLLOUT, Source::Input);
        }
    }

    /// When something is to be looked at next.
    pub fn deadline(&self) -> Option<Instant> {
        self.asked.iter().map(|asked| asked.look_at).min()
    }

    /// Whether all streams of ranks have ended.
    pub fn has_no_taps(&self) -> bool {
        self.taps.iter().all(|tap| tap.pipe.is_none())
    }

    /// Whether all ranks have ended.
    pub fn have_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.life == Life::Ended)
    }

    /// The process groups (negative) of the ranks that still run.
    pub fn targets(&self) -> Vec<i32> {
        self.ranks.iter().filter(|rank| rank.life != Life::Ended).map(|rank| -rank.process).collect()
    }

    /// The number on this host of a rank of the job.
    pub fn local(&self, rank: u32) -> Option<usize> {
        self.numbers.binary_search(&rank).ok()
    }
}

/// The table of nodes, with their cards.
fn table_for(plan: &AgentPlan, cards: &[NodeCard]) -> serried_engine::Result<NodeTable> {
    let table = NodeTable::create(plan.node(), &plan.map, &plan.key)?;
    cards.iter().try_for_each(|card| table.keep(card))?;
    if plan.goes_on {
        table.go_on_without_ranks();
    }
    Ok(table)
}

impl Agent {
    /// All nodes are there: starts the ranks.
    pub(super) fn begin(&mut self, cards: &[NodeCard]) {
        let (Some(plan), Some(listeners)) = (&self.plan, &self.listeners) else { return };
        if self.here.is_some() {
            return;
        }
        match Here::start(plan, listeners, cards, self.shared.take(), self.signals.before()) {
            Ok(here) => {
                let started: Vec<News> = here
                    .numbers
                    .iter()
                    .zip(&here.ranks)
                    .map(|(&rank, known)| News::Started { rank, process: known.process as u32 })
                    .collect();
                self.here = Some(here);
                started.iter().for_each(|news| self.tell(news));
                self.report_bindings();
            }
            Err(why) => self.refuse(&why),
        }
        // The listeners stay, so that whoever talks to a rank that has not come, or has gone, waits until the launcher
        // says why.
    }

    fn report_bindings(&mut self) {
        let (Some(plan), Some(here)) = (&self.plan, &self.here) else { return };
        let (places, host) = (&here.places, &plan.hosts[0]);
        let mut text = String::new();
        if plan.bind != Bind::None && places.is_none() {
            text = binding::too_many(here.numbers.len(), Some(host));
        }
        if plan.report_bindings {
            text += &binding::report(places.as_deref(), &here.numbers, Some(host));
        }
        if !text.is_empty() {
            self.tell(&News::Say(text));
        }
    }

    pub(super) fn serve_here(&mut self, source: Source) {
        match source {
            Source::Failures => self.take_failures(),
            Source::Switchboard => self.here.iter().for_each(|here| here.switchboard.serve()),
            Source::Socket(index) => self.hear(index),
            Source::Tap(index) => drop(self.read_tap(index)),
            Source::Input => self.pass_typed(),
        }
    }

    /// Reads what processes tell that could not execute their program.
    fn take_failures(&mut self) {
        let Some(here) = &mut self.here else { return };
        let Some(pipe) = &here.failures else { return };
        let mut record = [0; std::mem::size_of::<StartFailure>()];
        match descriptors::read(pipe.as_raw_fd(), &mut record) {
            Ok(0) => {
                here.failures = None;
                self.tell(&News::Executed);
            }
            Ok(count) if count == record.len() => {
                // SAFETY: the record was written whole by `spawn`, from plain data of this type and size.
                let failure: StartFailure = unsafe { std::ptr::read_unaligned(record.as_ptr().cast()) };
                self.tell(&News::CannotStart(failure));
            }
            _ => {}
        }
    }

    /// A process below has ended: a rank, or something a rank left behind.
    pub(super) fn process_ended(&mut self, Child { process, status, cpu }: Child) {
        self.take_failures();
        self.tell_spawned();
        let Some(here) = &mut self.here else { return };
        let Some(index) = here.ranks.iter().position(|rank| rank.is_process(process)) else { return };
        let rank = here.numbers[index];
        let page = here.node.page(here.page_of(index));
        if let Some(successor) = here.ranks[index].successor(page, process, Ended::from_wait(status)) {
            here.ranks[index].life = Life::Continued(successor);
            return self.tell(&News::Continued { rank, process: successor as u32 });
        }
        here.ranks[index].life = Life::Ended;
        page.counters.cpu_nanoseconds.store(cpu.as_nanos() as u64, Relaxed);
        self.hear(index);
        self.hear_out(index);
        self.tell_page(index);
        let Some(here) = &mut self.here else { return };
        here.ranks[index].socket = None;
        let out_of_memory = memory_events::kills().unwrap_or(0) > here.memory_kills;
        self.tell(&News::Ended { rank, status, out_of_memory });
    }
}
