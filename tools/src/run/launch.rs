//! Starting the ranks of a plan on this machine: the node segment, and for each rank its streams; `rank_start` does
//! the rest.

use super::descriptors::{self, never_block, pipe};
use super::options::{Label, OnFailure};
use super::outlets::{Outlets, OUTPUT};
use super::output::{Flow, Stream};
use super::patterns::expand;
use super::plan::Plan;
use super::rank_start::{self, said, Place, Started};
use super::spawn::Inheritance;
use super::spawned_job::Spawned;
use serried_engine::job::switchboard::Switchboard;
use serried_engine::job::NodeSegment;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A pipe from a rank.
#[derive(Debug)]
pub struct Tap {
    /// The rank that writes.
    pub rank: u32,
    /// Our end; `None` once it has ended.
    pub pipe: Option<OwnedFd>,
    /// What came through it.
    pub stream: Stream,
    /// Where that goes: its number among the outlets.
    pub outlet: usize,
}

/// A job that is running.
#[derive(Debug)]
pub struct Launched {
    /// The segment that its ranks share.
    pub node: NodeSegment,
    /// Where its ranks get sockets by which they find each other, whatever containers they are in.
    pub switchboard: Switchboard,
    /// Its ranks, as far as they have been started.
    pub ranks: Vec<Started>,
    /// Its output.
    pub taps: Vec<Tap>,
    /// Where that goes.
    pub outlets: Outlets,
    /// Where children report that they could not execute their program;
    /// `None` once all have.
    pub failures: Option<OwnedFd>,
    /// Where to write what the user types; `None`: rank 0 reads by itself.
    pub keyboard: Option<OwnedFd>,
    /// Whether rank 0 stays in the launcher's own process group, on its
    /// terminal.
    pub shares_terminal: bool,
}

/// Starts the ranks, one after the other, the first in any case, until the job is to end: where they
/// compute at once and are many more than the cores, starting all of them takes long.
///
/// # Errors
/// A sentence; ranks already started are below this process then.
pub fn launch(
    plan: &Plan,
    mask: &libc::sigset_t,
    mut is_to_end: impl FnMut() -> bool,
) -> Result<Launched, String> {
    let open_files = descriptors::raise_limit();
    let (failures, report) = pipe().map_err(said("a pipe"))?;
    never_block(&failures);
    let nothing = File::open("/dev/null").map_err(said("/dev/null"))?;
    let (stdin, keyboard) = standard_input(plan).map_err(said("a pipe"))?;
    let inheritance = Inheritance { mask, open_files: open_files.as_ref() };
    let mut launched = Launched {
        failures: Some(failures),
        keyboard,
        shares_terminal: plan.size == 1 && descriptors::is_terminal(0),
        ..Launched::without_ranks(plan)?
    };
    if plan.options.on_failure == OnFailure::Continue {
        launched.node.go_on_without_ranks();
    }
    for rank in 0..plan.size {
        if rank > 0 && is_to_end() {
            break;
        }
        let input =
            if rank == 0 { stdin.as_ref().map(AsRawFd::as_raw_fd) } else { Some(nothing.as_raw_fd()) };
        launched.start_rank(plan, rank, input, report.as_raw_fd(), inheritance)?;
    }
    Ok(launched)
}

/// What rank 0 reads: the launcher's own standard input, unless that is a
/// terminal which several ranks are kept away from.
fn standard_input(plan: &Plan) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
    if plan.size == 1 || !descriptors::is_terminal(0) {
        return Ok((None, None));
    }
    let (read_end, write_end) = pipe()?;
    never_block(&write_end);
    Ok((Some(read_end), Some(write_end)))
}

impl Launched {
    /// A job of which no rank has been started.
    ///
    /// # Errors
    /// A sentence.
    pub fn without_ranks(plan: &Plan) -> Result<Launched, String> {
        let size = plan.size;
        Ok(Launched {
            node: NodeSegment::create(size).map_err(|error| error.message().to_owned())?,
            switchboard: Switchboard::open().map_err(said("a socket"))?,
            ranks: Vec::with_capacity(size as usize),
            taps: Vec::new(),
            outlets: Outlets::new(plan.attempt > 0),
            failures: None,
            keyboard: None,
            shares_terminal: false,
        })
    }

    /// Where the streams of a rank on another host go.
    ///
    /// # Errors
    /// A sentence: a file cannot be opened.
    pub fn add_taps_of_elsewhere(&mut self, plan: &Plan, rank: u32) -> Result<(), String> {
        let (output, error) = (self.way(plan, rank, false)?, self.way(plan, rank, true)?);
        let together = output == error && plan.options.error_file.is_some();
        for way in [output, error].into_iter().take(if together { 1 } else { 2 }) {
            let own = Way { outlet: OUTPUT, label: Vec::new(), flow: Flow::Bytes };
            let Way { outlet, label, flow } = way.unwrap_or(own);
            self.taps.push(Tap { rank, pipe: None, stream: Stream::new(label, flow), outlet });
        }
        Ok(())
    }

    fn start_rank(
        &mut self,
        plan: &Plan,
        rank: u32,
        input: Option<RawFd>,
        report: RawFd,
        inheritance: Inheritance,
    ) -> Result<(), String> {
        let [output, error] = self.streams(plan, rank)?;
        let place = Place {
            rank,
            size: plan.size,
            local_rank: rank,
            local_size: plan.size,
            segment: self.node.descriptor().as_raw_fd(),
            line: self.line(plan),
            others: Vec::new(),
            descent: plan.spawned.as_ref().map(Spawned::inheritance).unwrap_or_default(),
            streams: [input, raw(&output), raw(&error)],
            cpus: plan.places.as_ref().map(|places| places[rank as usize].as_slice()),
            own_group: !self.shares_terminal,
        };
        self.ranks.push(rank_start::start(plan.program_of(rank), place, report, inheritance)?);
        Ok(())
    }

    /// The line that its ranks get: that of the job that has started this one, if that has one, so that both find each other.
    fn line(&self, plan: &Plan) -> RawFd {
        let inherited = plan.spawned.as_ref().and_then(Spawned::line);
        inherited.unwrap_or_else(|| self.switchboard.line().as_raw_fd())
    }

    /// What becomes a rank's standard output and error; `None`: our own. Where both go
    /// to one file, or those of a single rank to one place, they keep their order.
    fn streams(&mut self, plan: &Plan, rank: u32) -> Result<[Option<OwnedFd>; 2], String> {
        let ways = [self.way(plan, rank, false)?, self.way(plan, rank, true)?];
        let in_order = plan.size == 1 || plan.options.error_file.is_some();
        let together = ways[0] == ways[1] && in_order;
        let [output, error] = ways;
        let output = output.map(|way| self.tap(rank, way)).transpose().map_err(said("a pipe"))?;
        let error = match (&output, error) {
            (Some(output), _) if together => Some(output.try_clone()),
            (_, error) => error.map(|way| self.tap(rank, way)),
        };
        Ok([output, error.transpose().map_err(said("a pipe"))?])
    }

    /// Where a rank's standard output or error goes, and how; `None`: it has our own.
    fn way(&mut self, plan: &Plan, rank: u32, error: bool) -> Result<Option<Way>, String> {
        let options = &plan.options;
        if let Some(pattern) = if error { &options.error_file } else { &options.output_file } {
            let name = |number| expand(pattern, number, plan.size, plan.host_of(rank));
            let outlet = self.outlets.file(&name(rank)).map_err(said(&name(rank)))?;
            // Whether the names depend on the rank.
            let flow = if name(rank) == name(rank + 1) { Flow::Lines } else { Flow::Bytes };
            return Ok(Some(Way { outlet, label: Vec::new(), flow }));
        }
        let alone = plan.size == 1 && options.label == Label::None;
        // A program alone on a terminal, or before a pipe, needs nobody in between. Where there may be
        // no room for its output, it hardly ever looks, and we do.
        if alone && plan.across.is_none() && !descriptors::can_be_full(1 + i32::from(error)) {
            return Ok(None);
        }
        let flow = match (alone, rank) {
            (true, _) => Flow::Bytes,
            (_, 0) => Flow::Prompts,
            _ => Flow::Lines,
        };
        let outlet = if error { self.outlets.error } else { OUTPUT };
        Ok(Some(Way { outlet, label: label(plan, rank, error), flow }))
    }

    /// A pipe from a rank to an outlet: the end to write.
    fn tap(&mut self, rank: u32, way: Way) -> io::Result<OwnedFd> {
        let (read_end, write_end) = pipe()?;
        never_block(&read_end);
        let stream = Stream::new(way.label, way.flow);
        self.taps.push(Tap { rank, pipe: Some(read_end), stream, outlet: way.outlet });
        Ok(write_end)
    }
}

/// How a stream of a rank gets out.
#[derive(PartialEq)]
struct Way {
    outlet: usize,
    label: Vec<u8>,
    flow: Flow,
}

fn label(plan: &Plan, rank: u32, error: bool) -> Vec<u8> {
    let name = if error { "stderr" } else { "stdout" };
    match &plan.options.label {
        Label::None => String::new(),
        Label::Rank => format!("[{rank}] "),
        Label::Tag => format!("[1,{rank}]<{name}>: "),
        Label::Pattern(pattern) => expand(pattern, rank, plan.size, plan.host_of(rank)),
    }
    .into_bytes()
}

fn raw(descriptor: &Option<OwnedFd>) -> Option<RawFd> {
    descriptor.as_ref().map(AsRawFd::as_raw_fd)
}
