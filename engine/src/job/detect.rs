//! Who started this process?
//!
//! | what the environment holds | launcher |
//! |---|---|
//! | `SERRIED_NODE_SEGMENT` that belongs to this `PMI_FD` | `serried run` |
//! | `PMI_FD` (an open socket), `PMI_RANK`, `PMI_SIZE` | PMI-1 (Hydra, Slurm's pmi2) |
//! | `PMI_PORT`, `PMI_ID` | PMI-1 over TCP |
//! | `PMIX_NAMESPACE`, `PMIX_RANK`, `PMIX_SERVER_URI…` | PMIx (prterun, Slurm's pmix) |
//! | Open MPI's or Slurm's variables for several ranks | nobody answers: an error |
//! | none of these | no launcher: a job of one rank |
//!
//! A job announced with one rank only is never refused: there is nothing to
//! split.

use crate::{Class, Error, Result};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Looks up an environment variable.
pub type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The launcher found, with what is needed to talk to it.
#[derive(Debug)]
pub enum Launcher {
    /// `serried run`.
    Own {
        /// The node segment.
        segment: OwnedFd,
        /// The line to who makes sockets for all ranks of the node ([`switchboard`](super::switchboard)).
        line: Option<OwnedFd>,
        /// What belongs to it where there are several nodes.
        others: Option<Others>,
        /// If another job has started this one: the segment of the first job, and how this one came about.
        descent: Option<Inherited>,
        /// The launcher's PMI-1 socket.
        pmi: OwnedFd,
        /// Rank of this process.
        rank: u32,
        /// Ranks in the job.
        size: u32,
    },
    /// A PMI-1 server.
    Pmi1(Pmi1Contact),
    /// A PMIx server, which its client library finds.
    Pmix,
    /// Nobody.
    None,
}

/// What our launcher leaves to the ranks of a job on several nodes.
#[derive(Debug)]
pub struct Others {
    /// The table of nodes.
    pub table: OwnedFd,
    /// The sockets at which this node listens.
    pub listeners: Vec<OwnedFd>,
}

/// What our launcher leaves to the ranks of a job that another one has started.
#[derive(Debug)]
pub struct Inherited {
    /// The segment of the first job, unless this one is on several hosts.
    pub first: Option<OwnedFd>,
    /// How this one came about.
    pub birth: OwnedFd,
}

/// How to reach a PMI-1 server.
#[derive(Debug)]
pub enum Pmi1Contact {
    /// By an inherited socket.
    Socket {
        /// The socket.
        socket: OwnedFd,
        /// Rank of this process.
        rank: u32,
        /// Ranks in the job.
        size: u32,
    },
    /// By TCP.
    Address {
        /// `host:port`.
        address: String,
        /// The number by which the server knows this process.
        id: String,
    },
}

/// Finds the launcher of this process. Descriptors found are owned by the
/// result and closed on exec from then on.
///
/// # Errors
/// `Other` when a job of several ranks is announced and nobody answers.
pub fn detect(lookup: &Lookup) -> Result<Launcher> {
    Ok(match announced(lookup)? {
        Announced::Socket { pmi, inode, rank, size } => with_socket(lookup, rank, size, pmi, inode),
        Announced::Address { address, id } => Launcher::Pmi1(Pmi1Contact::Address { address, id }),
        Announced::Pmix => Launcher::Pmix,
        Announced::Nothing => Launcher::None,
    })
}

/// How many ranks the job will have that this process is of, as far as that can be
/// known before it starts. Leaves everything as it is.
pub fn announced_ranks(lookup: &Lookup) -> Option<u32> {
    match announced(lookup).ok()? {
        Announced::Socket { size, .. } => Some(size),
        Announced::Address { .. } => number(lookup, "PMI_SIZE"),
        Announced::Pmix => None,
        Announced::Nothing => Some(1),
    }
}

/// What the environment says, of a launcher that answers.
enum Announced {
    Socket { pmi: RawFd, inode: u64, rank: u32, size: u32 },
    Address { address: String, id: String },
    Pmix,
    Nothing,
}

fn announced(lookup: &Lookup) -> Result<Announced> {
    let size = number(lookup, "PMI_SIZE");
    if let (Some(rank), Some(size), Some(pmi)) = (number(lookup, "PMI_RANK"), size, number(lookup, "PMI_FD"))
    {
        let pmi = pmi as RawFd;
        if let Some(inode) = inode(pmi, libc::S_IFSOCK) {
            return Ok(Announced::Socket { pmi, inode, rank, size });
        }
    }
    if let (Some(address), Some(id)) = (lookup("PMI_PORT"), lookup("PMI_ID")) {
        return Ok(Announced::Address { address, id });
    }
    if let Some(size) = size.filter(|&size| size > 1) {
        return Err(gone(size, lookup("SERRIED_NODE_SEGMENT").is_some()));
    }
    if is_pmix(lookup)? {
        return Ok(Announced::Pmix);
    }
    refuse_open_mpi(lookup)?;
    refuse_slurm(lookup)?;
    Ok(Announced::Nothing)
}

fn number(lookup: &Lookup, name: &str) -> Option<u32> {
    lookup(name).and_then(|value| value.trim().parse().ok())
}

/// An open PMI socket: ours if the node segment left beside it names it (a
/// launcher started inside one of our ranks replaces the socket only).
fn with_socket(lookup: &Lookup, rank: u32, size: u32, pmi: RawFd, socket_inode: u64) -> Launcher {
    let ours = lookup("SERRIED_NODE_SEGMENT").and_then(|value| {
        let mut words = value.split(':');
        let mut first = words.next()?.split(',').map(|word| word.parse::<RawFd>());
        let (descriptor, line) = (first.next()?.ok()?, first.next().and_then(|one| one.ok()));
        let is_ours = words.next()?.parse() == Ok(socket_inode);
        let is_open = is_ours && inode(descriptor, libc::S_IFREG).is_some();
        let line = line.filter(|&line| inode(line, libc::S_IFSOCK).is_some());
        is_open.then(|| (descriptor, line, others(words.next()), descent(words.next())))
    });
    let socket = take(pmi);
    match ours {
        Some((segment, line, others, descent)) => {
            let (segment, line) = (take(segment), line.map(take));
            Launcher::Own { segment, line, others, descent, pmi: socket, rank, size }
        }
        None => Launcher::Pmi1(Pmi1Contact::Socket { socket, rank, size }),
    }
}

/// The descriptors in `table,listener,…`.
fn others(words: Option<&str>) -> Option<Others> {
    let descriptors: Option<Vec<RawFd>> = words?.split(',').map(|word| word.parse().ok()).collect();
    let descriptors = descriptors?;
    let (&table, listeners) = descriptors.split_first()?;
    let are_open = inode(table, libc::S_IFREG).is_some()
        && listeners.iter().all(|&listener| inode(listener, libc::S_IFSOCK).is_some());
    are_open.then(|| Others { table: take(table), listeners: listeners.iter().copied().map(take).collect() })
}

/// The descriptors in `segment,birth`, or `birth`.
fn descent(words: Option<&str>) -> Option<Inherited> {
    let descriptors: Option<Vec<RawFd>> = words?.split(',').map(|word| word.parse().ok()).collect();
    let descriptors = descriptors?;
    let (first, birth) = match descriptors[..] {
        [first, birth] => (Some(first), birth),
        [birth] => (None, birth),
        _ => return None,
    };
    let are_open = descriptors.iter().all(|&descriptor| inode(descriptor, libc::S_IFREG).is_some());
    are_open.then(|| Inherited { first: first.map(take), birth: take(birth) })
}

/// Whether a PMIx server has started this process. A job of one rank needs none of its services.
///
/// # Errors
/// `Other` where the server is not named.
fn is_pmix(lookup: &Lookup) -> Result<bool> {
    let alone = lookup("OMPI_COMM_WORLD_SIZE").or_else(|| slurm_tasks(lookup)).as_deref() == Some("1");
    let has_server = ["", "2", "21", "3", "4", "41"]
        .iter()
        .any(|version| lookup(&format!("PMIX_SERVER_URI{version}")).is_some());
    if alone || lookup("PMIX_NAMESPACE").is_none() || lookup("PMIX_RANK").is_none() {
        return Ok(false);
    }
    match has_server {
        true => Ok(true),
        false => Err(Error::new(
            Class::Other,
            "PMIX_NAMESPACE and PMIX_RANK announce a rank of a job, but no variable PMIX_SERVER_URI… says where its PMIx \
             server is; start the program with `serried run -n N`, or by the launcher itself (prterun, srun --mpi=pmix)",
        )),
    }
}

fn refuse_open_mpi(lookup: &Lookup) -> Result<()> {
    match lookup("OMPI_COMM_WORLD_SIZE").and_then(|value| value.parse::<u32>().ok()) {
        Some(size) if size > 1 => Err(Error::new(
            Class::Other,
            format!(
                "Open MPI's launcher announces {size} ranks (OMPI_COMM_WORLD_SIZE), but Serried cannot talk to it; \
                 start the program with `serried run -n {size}`"
            ),
        )),
        _ => Ok(()),
    }
}

/// Slurm's variables are inherited by everything below a job. They announce
/// several ranks except in the two places where Slurm itself starts a single
/// process: a batch script, and the shell of an allocation.
fn refuse_slurm(lookup: &Lookup) -> Result<()> {
    let tasks = slurm_tasks(lookup).and_then(|value| value.parse::<u32>().ok()).unwrap_or(1);
    let step = lookup("SLURM_STEP_ID").or_else(|| lookup("SLURM_STEPID"));
    const RESERVED_STEPS: u32 = 0xffff_fff0; // batch, external and interactive steps
    let single_process = match step.and_then(|value| value.parse::<u32>().ok()) {
        Some(step) => step >= RESERVED_STEPS,
        None if lookup("ENVIRONMENT").as_deref() == Some("BATCH") => true,
        None => lookup("SLURM_JOB_ID").is_some() && lookup("SLURM_PROCID").is_none(),
    };
    if tasks <= 1 || single_process {
        return Ok(());
    }
    Err(Error::new(
        Class::Other,
        format!(
            "Slurm announces {tasks} ranks, but no PMI server answers, so every rank would be rank 0 of 1; start the \
             program with `srun --mpi=pmi2` or `srun --mpi=pmix`, or with `serried run -n {tasks}` inside the allocation"
        ),
    ))
}

fn slurm_tasks(lookup: &Lookup) -> Option<String> {
    ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"].iter().find_map(|name| lookup(name))
}

fn gone(size: u32, ours: bool) -> Error {
    let launcher = if ours { "serried run" } else { "the launcher" };
    Error::new(
        Class::Other,
        format!(
            "PMI_SIZE announces {size} ranks, but the connection to {launcher} (PMI_FD) is closed; was an MPI program \
             started from within a rank, or does a wrapper close descriptors? To run it on its own, start it with \
             `serried run -n 1`"
        ),
    )
}

/// The inode behind an open descriptor of the wanted kind.
fn inode(descriptor: RawFd, kind: libc::mode_t) -> Option<u64> {
    // SAFETY: an all-zero `stat` is a valid value to be overwritten.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is a valid place for the result; a bad descriptor is an error, not a fault.
    let known = unsafe { libc::fstat(descriptor, &mut status) } == 0;
    (known && status.st_mode & libc::S_IFMT == kind).then_some(status.st_ino)
}

/// Takes over a descriptor that the launcher left for this process.
fn take(descriptor: RawFd) -> OwnedFd {
    // SAFETY: plain system call; the descriptor is open (see `inode`).
    unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: open, and left by the launcher for this library alone.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}
