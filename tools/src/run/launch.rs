//! Starting the ranks of a plan: the node segment, and for each rank its PMI
//! socket, its streams and its process.

use super::descriptors::{self, never_block, pipe, socket_pair};
use super::environment::{self, Identity};
use super::options::Label;
use super::outlets::{Outlets, OUTPUT};
use super::output::{Flow, Stream};
use super::patterns::expand;
use super::plan::Plan;
use super::spawn::{self, Child, Inheritance};
use serried_engine::job::NodeSegment;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A rank that has been started.
#[derive(Debug)]
pub struct Started {
    /// Its process.
    pub process: i32,
    /// Our end of its PMI socket.
    pub socket: OwnedFd,
}

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
    let node = NodeSegment::create(plan.size).map_err(|error| error.message().to_owned())?;
    let (failures, report) = pipe().map_err(said("a pipe"))?;
    never_block(&failures);
    let nothing = File::open("/dev/null").map_err(said("/dev/null"))?;
    let (stdin, keyboard) = standard_input(plan).map_err(said("a pipe"))?;
    let inheritance = Inheritance { mask, open_files: open_files.as_ref() };
    let mut launched = Launched {
        node,
        ranks: Vec::with_capacity(plan.size as usize),
        taps: Vec::new(),
        outlets: Outlets::new(),
        failures: Some(failures),
        keyboard,
        shares_terminal: plan.size == 1 && descriptors::is_terminal(0),
    };
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
    fn start_rank(
        &mut self,
        plan: &Plan,
        rank: u32,
        input: Option<RawFd>,
        report: RawFd,
        inheritance: Inheritance,
    ) -> Result<(), String> {
        let program = plan.program_of(rank);
        let (socket, theirs) = socket_pair().map_err(said("a socket"))?;
        never_block(&socket);
        let identity = Identity {
            rank,
            size: plan.size,
            pmi: theirs.as_raw_fd(),
            pmi_inode: descriptors::identity(theirs.as_raw_fd()).map_or(0, |(_, inode)| inode),
            segment: self.node.descriptor().as_raw_fd(),
            open_mpi: program.open_mpi,
        };
        let own_environment = environment::of_rank(&identity);
        let [output, error] = self.streams(plan, rank)?;
        let place = plan.places.as_ref().map(|places| cpu_set(&places[rank as usize]));
        let child = Child {
            path: &program.path,
            arguments: &program.arguments,
            environment: [&program.environment, &own_environment],
            directory: program.directory.as_ref(),
            streams: [input, raw(&output), raw(&error)],
            inherited: [identity.pmi, identity.segment],
            place: place.as_ref(),
            own_group: !self.shares_terminal,
            report,
            rank,
        };
        let process = spawn::spawn(&child, inheritance)
            .map_err(|cause| format!("cannot start rank {rank}: {}", because(&cause)))?;
        self.ranks.push(Started { process, socket });
        Ok(())
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
            let name = |rank| expand(pattern, rank, plan.size, &plan.host);
            let outlet = self.outlets.file(&name(rank)).map_err(said(&name(rank)))?;
            // Whether the names depend on the rank.
            let flow = if name(rank) == name(rank + 1) { Flow::Lines } else { Flow::Bytes };
            return Ok(Some(Way { outlet, label: Vec::new(), flow }));
        }
        let alone = plan.size == 1 && options.label == Label::None;
        // A program alone on a terminal, or before a pipe, needs nobody in between. Where there may be
        // no room for its output, it hardly ever looks, and we do.
        if alone && !descriptors::can_be_full(1 + i32::from(error)) {
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
        Label::Pattern(pattern) => expand(pattern, rank, plan.size, &plan.host),
    }
    .into_bytes()
}

fn raw(descriptor: &Option<OwnedFd>) -> Option<RawFd> {
    descriptor.as_ref().map(AsRawFd::as_raw_fd)
}

fn said(what: &str) -> impl Fn(io::Error) -> String + '_ {
    move |cause| format!("cannot open {what}: {}", because(&cause))
}

/// The cause, and what to do about it where that is a limit.
pub fn because(cause: &io::Error) -> String {
    let hint = match cause.raw_os_error() {
        Some(libc::EMFILE) => {
            "; the launcher needs 3 for each rank, 5 if its output goes to files, and some more: raise `ulimit -n`"
        }
        Some(libc::ENFILE) => "; the whole machine has too many open files",
        Some(libc::EAGAIN) => "; the limit on processes is reached: raise `ulimit -u`, or start fewer ranks",
        Some(libc::EFBIG) => "; the limit on the size of files is reached: raise `ulimit -f`",
        Some(libc::ENOMEM) => "; there is too little memory, or address space (`ulimit -v`)",
        _ => "",
    };
    format!("{cause}{hint}")
}

fn cpu_set(cpus: &[usize]) -> libc::cpu_set_t {
    // SAFETY: an all-zero set is valid and empty; CPU_SET checks its index.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        set
    }
}
