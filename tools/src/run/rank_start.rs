//! Starting one rank: its PMI socket, its environment, its process.

use super::descriptors::{self, never_block, socket_pair};
use super::environment::{self, Identity};
use super::plan::Prepared;
use super::spawn::{self, Child, Inheritance};
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

/// Which rank it is, and what it gets.
#[derive(Debug)]
pub struct Place<'a> {
    /// Rank in the job.
    pub rank: u32,
    /// Ranks of the job.
    pub size: u32,
    /// Its number among the ranks of this host.
    pub local_rank: u32,
    /// Ranks of this host.
    pub local_size: u32,
    /// The descriptor of the node segment.
    pub segment: RawFd,
    /// The descriptor by which it gets sockets of who has made that.
    pub line: RawFd,
    /// Descriptors that it gets where there are several hosts.
    pub others: Vec<RawFd>,
    /// Descriptors that it gets if another job has started its own.
    pub descent: Vec<RawFd>,
    /// What becomes descriptor 0, 1 and 2; `None`: our own.
    pub streams: [Option<RawFd>; 3],
    /// The CPUs that it is bound to.
    pub cpus: Option<&'a [usize]>,
    /// Whether it leads a process group of its own.
    pub own_group: bool,
}

/// Starts a rank; `report` is where its process tells that it cannot execute the program.
///
/// # Errors
/// A sentence.
pub fn start(
    program: &Prepared,
    place: Place,
    report: RawFd,
    inheritance: Inheritance,
) -> Result<Started, String> {
    let (socket, theirs) = socket_pair().map_err(said("a socket"))?;
    never_block(&socket);
    let pmi = theirs.as_raw_fd();
    let mut inherited = vec![pmi, place.segment, place.line];
    inherited.extend(&place.others);
    inherited.extend(&place.descent);
    let identity = Identity {
        rank: place.rank,
        size: place.size,
        local_rank: place.local_rank,
        local_size: place.local_size,
        pmi,
        pmi_inode: descriptors::identity(pmi).map_or(0, |(_, inode)| inode),
        segment: place.segment,
        line: place.line,
        others: place.others,
        descent: place.descent,
        open_mpi: program.open_mpi,
    };
    let mut own_environment = environment::of_rank(&identity);
    let is_bound = place.cpus.is_some();
    own_environment.extend(environment::share_of_cpus(&program.environment, place.local_size, is_bound));
    own_environment.extend(environment::lines_at_once(&program.environment, place.size));
    let cpus = place.cpus.map(cpu_set);
    let child = Child {
        path: &program.path,
        arguments: &program.arguments,
        environment: [&program.environment, &own_environment],
        directory: program.directory.as_ref(),
        streams: place.streams,
        inherited: &inherited,
        place: cpus.as_ref(),
        own_group: place.own_group,
        report,
        rank: place.rank,
    };
    let process = spawn::spawn(&child, inheritance)
        .map_err(|cause| format!("cannot start rank {}: {}", place.rank, because(&cause)))?;
    Ok(Started { process, socket })
}

/// What could not be opened, in words.
pub fn said(what: &str) -> impl Fn(io::Error) -> String + '_ {
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
