//! Starting the ranks of a plan: the node segment, and for each rank its PMI
//! socket, its streams and its process.

use super::descriptors::{self, never_block, pipe, socket_pair};
use super::environment::{self, Identity};
use super::options::Label;
use super::output::Stream;
use super::patterns::expand;
use super::plan::Plan;
use super::spawn::{self, Child, Inheritance};
use serried_engine::job::NodeSegment;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where a stream of the launcher comes out.
pub const OUTPUT: usize = 0;
/// As [`OUTPUT`], for standard error.
pub const ERROR: usize = 1;

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
    /// [`OUTPUT`] or [`ERROR`].
    pub sink: usize,
}

/// A job that is running.
#[derive(Debug)]
pub struct Launched {
    /// The segment that its ranks share.
    pub node: NodeSegment,
    /// Its ranks.
    pub ranks: Vec<Started>,
    /// Its output.
    pub taps: Vec<Tap>,
    /// Where children report that they could not execute their program;
    /// `None` once all have.
    pub failures: Option<OwnedFd>,
    /// Where to write what the user types; `None`: rank 0 reads by itself.
    pub keyboard: Option<OwnedFd>,
    /// Whether rank 0 stays in the launcher's own process group, on its
    /// terminal.
    pub shares_terminal: bool,
}

/// Starts everything.
///
/// # Errors
/// A sentence; ranks already started are below this process then.
pub fn launch(plan: &Plan, mask: &libc::sigset_t) -> Result<Launched, String> {
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
        failures: Some(failures),
        keyboard,
        shares_terminal: plan.size == 1 && descriptors::is_terminal(0),
    };
    let mut files = Files::default();
    for rank in 0..plan.size {
        let input =
            if rank == 0 { stdin.as_ref().map(AsRawFd::as_raw_fd) } else { Some(nothing.as_raw_fd()) };
        launched.start_rank(plan, rank, input, report.as_raw_fd(), inheritance, &mut files)?;
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
        files: &mut Files,
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
        };
        let own_environment = environment::of_rank(&identity);
        let output = self.output(plan, rank, OUTPUT, files)?;
        let error = self.output(plan, rank, ERROR, files)?;
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

    /// What becomes a rank's standard output or error; `None`: our own.
    fn output(
        &mut self,
        plan: &Plan,
        rank: u32,
        sink: usize,
        files: &mut Files,
    ) -> Result<Option<OwnedFd>, String> {
        let options = &plan.options;
        let pattern = if sink == OUTPUT { &options.output_file } else { &options.error_file };
        if let Some(pattern) = pattern {
            return files.open(&expand(pattern, rank, plan.size, &plan.host)).map(Some);
        }
        if plan.size == 1 && options.label == Label::None {
            return Ok(None);
        }
        let (read_end, write_end) = pipe().map_err(said("a pipe"))?;
        never_block(&read_end);
        let stream = Stream::new(label(plan, rank, sink), rank == 0);
        self.taps.push(Tap { rank, pipe: Some(read_end), stream, sink });
        Ok(Some(write_end))
    }
}

fn label(plan: &Plan, rank: u32, sink: usize) -> Vec<u8> {
    let name = if sink == OUTPUT { "stdout" } else { "stderr" };
    match &plan.options.label {
        Label::None => String::new(),
        Label::Rank => format!("[{rank}] "),
        Label::Tag => format!("[1,{rank}]<{name}>: "),
        Label::Pattern(pattern) => expand(pattern, rank, plan.size, &plan.host),
    }
    .into_bytes()
}

/// Files for output, each emptied once and then only added to, so that ranks
/// whose pattern names the same file do not overwrite one another.
#[derive(Default)]
struct Files {
    opened: HashSet<PathBuf>,
}

impl Files {
    fn open(&mut self, name: &str) -> Result<OwnedFd, String> {
        let fresh = self.opened.insert(PathBuf::from(name));
        if let Some(folder) = Path::new(name).parent().filter(|folder| !folder.exists()) {
            std::fs::create_dir_all(folder).map_err(said(&folder.display().to_string()))?;
        }
        let extra = if fresh { libc::O_TRUNC } else { 0 };
        let file = File::options().append(true).create(true).custom_flags(extra).open(name);
        file.map(OwnedFd::from).map_err(said(name))
    }
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
        Some(libc::EMFILE) => "; the launcher needs 3 for each rank and some more: raise `ulimit -n`",
        Some(libc::ENFILE) => "; the whole machine has too many open files",
        Some(libc::EAGAIN) => "; the limit on processes is reached: raise `ulimit -u`, or start fewer ranks",
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
