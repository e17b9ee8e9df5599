//! Jobs that know each other: a universe.
//!
//! A process that starts others, or lets others connect, is in a universe, and so are those. It lies in the node
//! segment of the first job, of which further jobs inherit the descriptor. It has a number for each process, which
//! is never used again; says which of them listen; and has the open ports and the published names. It is
//! sparse: a job that stays alone never touches it.
//!
//! They are on one machine, and connect by local sockets, whatever containers they are in (`switchboard`).
//!
//! Numbers begin with those of the first job, which are its ranks. What a process calls a process of another job is
//! this number with [`JobRank::FOREIGN`] added.

use super::node_card::{hexadecimal, JobKey, NodeCard, NodeDirectory};
use super::port_name::PORT_BYTES;
use super::process_name::mark_of;
use super::switchboard::{self, Line};
use crate::memory::segment::Segment;
use crate::memory::system_calls;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Ports that can be open at a time, and names that can be published.
pub const PORTS: usize = 512;
/// See [`PORTS`].
pub const NAMES: usize = 128;
/// Bytes of a service name.
pub const SERVICE_BYTES: usize = 256;
/// Processes that a universe can have in its life.
pub const PROCESSES: usize = JobRank::FOREIGN as usize;

/// Of [`Memory::listening`]: it does so, where all find it that have the same line to a launcher.
const FOUND_BY_LINE: u32 = 1;
/// It does so, in its own network namespace.
const FOUND_NEARBY: u32 = 2;
/// The job of the process has ended, and the process has not left before.
const GONE: u32 = 3;
/// It has left in good order: its end is no failure. Beside one of the others, for a process that comes back.
const LEFT: u32 = 1 << 31;

/// What lies in the node segment of the first job. Zero is the right initial value of each word.
#[repr(C)]
pub struct Memory {
    /// The secret: each word is drawn by the process that comes first.
    key: [AtomicU64; 4],
    /// The next number; 0: nobody has been here.
    next: AtomicU32,
    /// Jobs that were started by others and have not ended.
    running: AtomicU32,
    /// Counts ports that were opened.
    opened: AtomicU64,
    /// The serial numbers of open ports; 0: free.
    pub(super) ports: [AtomicU64; PORTS],
    pub(super) names: [Published; NAMES],
    /// Whether each process listens, or has left.
    listening: [AtomicU32; PROCESSES],
}

/// A published name.
#[repr(C)]
pub struct Published {
    /// 0: free; 1: its owner writes it; 2: it can be read.
    pub(super) state: AtomicU64,
    pub(super) service: [AtomicU64; SERVICE_BYTES / 8],
    pub(super) port: [AtomicU64; PORT_BYTES.div_ceil(8)],
}

/// Where it begins in a node segment.
pub const AT: usize = 4096 + 65536;
/// Bytes of the universe in a node segment: whole pages, and such that what follows begins as if it were not there.
pub const BYTES: usize = std::mem::size_of::<Memory>().next_multiple_of(64 << 10);
/// What is reserved before anything is touched.
const FIRST_BYTES: usize = std::mem::offset_of!(Memory, listening);
const PAGE: usize = 4096;

/// The universe as a process sees it.
pub struct Universe {
    segment: Segment,
    /// The number of rank 0 of this job.
    base: u32,
    /// The number of this process.
    own: u32,
    listener: UnixListener,
    line: Option<Line>,
}

/// Joins the universe in the first job's node segment as rank `rank` of a job of `size` ranks that begin at number
/// `base`, and listens, if possible by the `line`. The first job begins at 0.
///
/// # Errors
/// `NoMem`; what the system says to listening.
pub fn join(first: OwnedFd, base: u32, rank: u32, size: u32, line: Option<Line>) -> Result<Universe> {
    let segment = Segment::map(first, AT + BYTES)?;
    segment.reserve(AT, FIRST_BYTES)?;
    let own = base + rank;
    let place = std::mem::offset_of!(Memory, listening) + 4 * own as usize;
    segment.reserve(AT + place / PAGE * PAGE, PAGE)?;
    let memory = memory_in(&segment);
    for word in &memory.key {
        let _ = word.compare_exchange(0, random_word(), Ordering::SeqCst, Ordering::SeqCst);
    }
    let refused = |error: std::io::Error| {
        Error::new(Class::Other, format!("this process cannot listen for those of other jobs: {error}"))
    };
    let name = socket_name(&key_in(memory), own);
    let (listener, is_by_line) = switchboard::listen(line.as_ref(), &name).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let _ = memory.next.compare_exchange(0, size, Ordering::SeqCst, Ordering::SeqCst);
    let found = if is_by_line { FOUND_BY_LINE } else { FOUND_NEARBY };
    memory.listening[own as usize].store(found, Ordering::SeqCst);
    Ok(Universe { segment, base, own, listener, line })
}

/// The name of the socket at which a process listens. It says nothing of the secret.
fn socket_name(key: &JobKey, number: u32) -> String {
    let digest = key.digest(format!("process {number}").as_bytes());
    format!("serried-process-{}", hexadecimal(&digest[..16]))
}

/// A universe for a job of `size` ranks that is about to be started apart: what its ranks inherit, and its secret.
///
/// # Errors
/// `NoMem`.
pub fn found(size: u32) -> Result<(OwnedFd, JobKey)> {
    let segment = Segment::create(c"serried-universe", AT + BYTES, (AT + BYTES) as u64)?;
    segment.reserve(AT, FIRST_BYTES)?;
    let memory = memory_in(&segment);
    memory.key.iter().for_each(|word| word.store(random_word(), Ordering::SeqCst));
    memory.next.store(size, Ordering::SeqCst);
    memory.running.store(1, Ordering::SeqCst);
    let descriptor = segment.descriptor().try_clone_to_owned();
    let refused = |cause| Error::new(Class::NoMem, format!("no descriptor is left: {cause}"));
    Ok((descriptor.map_err(refused)?, key_in(memory)))
}

fn key_in(memory: &Memory) -> JobKey {
    let mut key = [0; 32];
    for (bytes, word) in key.chunks_exact_mut(8).zip(&memory.key) {
        bytes.copy_from_slice(&word.load(Ordering::SeqCst).to_ne_bytes());
    }
    JobKey(key)
}

fn random_word() -> u64 {
    let mut bytes = [0; 8];
    let got = system_calls::random(&mut bytes, 0);
    assert_eq!(got, 8, "the system has no random bytes");
    u64::from_ne_bytes(bytes) | 1
}

/// The universe as the launcher of a job sees it that a rank of another one has started.
#[derive(Debug)]
pub struct Registry(Segment);

impl Registry {
    /// From the node segment of the first job.
    ///
    /// # Errors
    /// `NoMem`; `Intern` for what is none.
    pub fn open(first: OwnedFd) -> Result<Registry> {
        Ok(Registry(Segment::map(first, AT + BYTES)?))
    }

    /// Its secret.
    pub fn key(&self) -> JobKey {
        key_in(memory_in(&self.0))
    }

    /// Counts a job that a rank starts apart.
    pub fn one_begins(&self) {
        memory_in(&self.0).running.fetch_add(1, Ordering::SeqCst);
    }

    /// A job that a rank has started apart has ended, or was not started.
    pub fn one_has_ended(&self) {
        memory_in(&self.0).running.fetch_sub(1, Ordering::SeqCst);
    }

    /// How many jobs that ranks have started have not ended.
    pub fn running(&self) -> u32 {
        memory_in(&self.0).running.load(Ordering::SeqCst)
    }

    /// Says that the processes of a job have ended, for those that still want to reach them.
    pub fn has_ended(&self, base: u32, size: u32) {
        let place = std::mem::offset_of!(Memory, listening) + 4 * base as usize;
        let from = place / PAGE * PAGE;
        let bytes = (place + 4 * size as usize).next_multiple_of(PAGE) - from;
        let memory = memory_in(&self.0);
        if self.0.reserve(AT + from, bytes).is_ok() {
            let ended = memory.listening.iter().skip(base as usize).take(size as usize);
            let has_failed = |one: &AtomicU32| one.load(Ordering::SeqCst) & LEFT == 0;
            ended.filter(|one| has_failed(one)).for_each(|one| one.store(GONE, Ordering::SeqCst));
        }
        memory.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many jobs that were started by the ranks of a segment, or by those, have not ended.
///
/// # Safety
/// `base` must be the beginning of a mapped node segment, as long as it is used.
pub(super) unsafe fn running_in(base: *const u8) -> u32 {
    // SAFETY: by the caller; the universe lies there, 4 KiB aligned, and is made of atomics.
    let memory = unsafe { &*base.add(AT).cast::<Memory>() };
    memory.running.load(Ordering::SeqCst)
}

fn memory_in(segment: &Segment) -> &Memory {
    // SAFETY: the mapping has it, 4 KiB aligned, and lives as long as the segment; all of it is atomics.
    unsafe { &*segment.base().add(AT).cast::<Memory>() }
}

impl Universe {
    pub(super) fn memory(&self) -> &Memory {
        memory_in(&self.segment)
    }

    /// What this process is called in other jobs.
    pub fn own(&self) -> JobRank {
        JobRank(JobRank::FOREIGN | self.own)
    }

    fn own_word(&self) -> &AtomicU32 {
        &self.memory().listening[self.own as usize]
    }

    /// Whether all find this process that have its line.
    pub fn is_found_by_line(&self) -> bool {
        self.own_word().load(Ordering::SeqCst) & !LEFT == FOUND_BY_LINE
    }

    /// This process leaves in good order: whoever does not reach it from now on does not take it for one that has failed.
    pub fn leave(&self) {
        self.own_word().fetch_or(LEFT, Ordering::SeqCst);
    }

    /// It has left and takes part again.
    pub fn come_back(&self) {
        self.own_word().fetch_and(!LEFT, Ordering::SeqCst);
    }

    /// Whether a process has left in good order.
    pub fn has_left(&self, process: JobRank) -> bool {
        let word = self.memory().listening.get((process.0 & !JobRank::FOREIGN) as usize);
        word.is_some_and(|word| word.load(Ordering::SeqCst) & LEFT != 0)
    }

    /// The number of rank 0 of this job.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The descriptor to pass on to jobs that shall be in this universe.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.segment.descriptor()
    }

    /// A number by which universes are told apart. It says nothing of the secret.
    pub fn mark(&self) -> u64 {
        mark_of(&self.key())
    }

    /// Numbers for `size` processes of a job that is about to be started: the first of them. The job counts as
    /// running until [`Registry::has_ended`].
    ///
    /// # Errors
    /// `Spawn` when no numbers are left.
    pub fn number(&self, size: u32) -> Result<u32> {
        let next = &self.memory().next;
        let taken = next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |next| {
            next.checked_add(size).filter(|&end| end as usize <= PROCESSES)
        });
        let base = taken.map_err(|next| {
            let text = format!(
                "{size} processes cannot be started: {next} have been started by this job and its children, \
                 and {PROCESSES} can be"
            );
            Error::new(Class::Spawn, text)
        })?;
        self.memory().running.fetch_add(1, Ordering::SeqCst);
        Ok(base)
    }

    /// A job that was to be started was not.
    pub fn not_started(&self) {
        self.memory().running.fetch_sub(1, Ordering::SeqCst);
    }

    /// A number that no port has had.
    pub(super) fn next_port(&self) -> u64 {
        self.memory().opened.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl NodeDirectory for Universe {
    fn own_node(&self) -> u32 {
        self.own
    }

    fn nodes(&self) -> u32 {
        PROCESSES as u32
    }

    fn place_of(&self, rank: JobRank) -> (u32, LocalRank) {
        (rank.0 & !JobRank::FOREIGN, LocalRank(0))
    }

    fn card(&self, node: u32) -> Result<NodeCard> {
        Ok(NodeCard { node, ranks: 1, port: 0, addresses: Vec::new() })
    }

    fn connect_here(&self, rank: JobRank) -> Option<io::Result<OwnedFd>> {
        let number = rank.0 & !JobRank::FOREIGN;
        Some(match self.memory().listening.get(number as usize)?.load(Ordering::SeqCst) {
            0 => Err(io::ErrorKind::NotConnected.into()),
            GONE | LEFT.. => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => {
                switchboard::connect(self.line.as_ref(), &socket_name(&self.key(), number)).map(OwnedFd::from)
            }
        })
    }

    fn key(&self) -> JobKey {
        key_in(self.memory())
    }

    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.listener.as_fd()]
    }
}

impl std::fmt::Debug for Universe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Universe").field("base", &self.base).field("own", &self.own).finish_non_exhaustive()
    }
}
