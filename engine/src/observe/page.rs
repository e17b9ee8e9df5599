//! The rank's page.
//!
//! # Ownership
//! Every field is written by its rank alone (`pid` and `state` also by the
//! launcher, before the rank exists), with relaxed stores, and read by anyone.
//! A reader may see a call half written: fields are facts of their own, and a
//! reader that wants a coherent call reads [`Page::sequence`] before and after. Five fields
//! have other writers: observers write `inquiry.asked`, ranks that share CPUs count
//! themselves in `affinity.awake` and name themselves in `affinity.occupant`, and the launcher writes `identity.failed` and
//! `counters.cpu_nanoseconds`.

use super::affinity::Affinity;
use super::call::{Call, Record, THREADS};
use super::count::move_count;
use super::flow::{Flow, Sent};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

pub use super::count::{add, add_together, several_count, Share, OBSERVED};
pub use super::recorder::NONE;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// No process has attached to this page yet.
    Unused = 0,
    /// Attached and inside initialisation.
    Starting = 1,
    /// Initialised, not yet finalized.
    Running = 2,
    /// Has finalized: its end is no failure any more.
    Finalized = 3,
    /// Has called abort; `exit_code` says with what.
    Aborted = 4,
    /// Has ended the whole job in good order; `exit_code` is the job's status.
    Ended = 5,
}

impl State {
    fn from_raw(raw: u32) -> State {
        match raw {
            1 => State::Starting,
            2 => State::Running,
            3 => State::Finalized,
            4 => State::Aborted,
            5 => State::Ended,
            _ => State::Unused,
        }
    }
}

/// What a rank shows, at the beginning of its part of the node segment. Of this only the
/// first 4 KiB are memory, until threads have records of their own.
#[repr(C, align(4096))]
pub struct Page {
    /// Who this is.
    pub identity: Identity,
    /// How its calls go on.
    pub call: Call,
    /// What it has done.
    pub counters: Counters,
    /// What it has done with files.
    pub files: FileCounters,
    /// What it holds.
    pub memory: Memory,
    /// What observers ask it.
    pub inquiry: Inquiry,
    /// Where it may run.
    pub affinity: Affinity,
    /// Its calls.
    pub record: Record,
    /// Those of its threads, where they are apart.
    pub(super) threads: [Record; THREADS],
}

/// Of `Identity::lanes`.
const HAS_LANES: u32 = 1;
const HAS_SERVER: u32 = 2;
const MAY_HAVE_DEVICES: u32 = 4;

impl Page {
    /// Bytes of it that are memory at once.
    pub const FIRST_BYTES: usize = 4096;
}

/// Who this is; written once.
#[repr(C, align(64))]
pub struct Identity {
    /// Rank in the job.
    pub rank: AtomicU32,
    /// Process id in its own namespace, 0 before a process has attached.
    pub pid: AtomicU32,
    state: AtomicU32,
    /// The code given to abort.
    pub exit_code: AtomicI32,
    /// The core on which it last waited, by its number and one; 0: not known. Kept
    /// only while ranks share cores.
    pub core: AtomicU32,
    /// The rank for which it last waited, by its number and one; 0: nobody in particular. Kept as `core` is.
    pub partner: AtomicU32,
    /// Bits: it has lanes (see `engine::lanes`); it has the server of its node; it may meet memory of devices.
    pub lanes: AtomicU32,
    /// Address of its window (see `memory::window`), 0 while nothing is shared.
    pub window: AtomicU64,
    /// Not 0: it has failed, as so manieth of the node, and the job goes on without it. The launcher writes it.
    pub failed: AtomicU32,
    /// Not 0: this is a mirror, and the process is one of another host.
    pub elsewhere: AtomicU32,
    /// The namespace in which `pid` is its number, as the kernel numbers them; 0: not known.
    pub namespace: AtomicU64,
}

/// Questions of observers. Any observer writes `asked`, the rank `answered`.
#[repr(C, align(64))]
pub struct Inquiry {
    /// Number of the last question (see `observe::inquiry`).
    pub asked: AtomicU64,
    /// Number of the last one that was answered.
    pub answered: AtomicU64,
}

/// Totals since the start; each only grows.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Counters {
    /// What went to peers, and came from them, while there was no memory for the row
    /// of traffic, which counts it otherwise (see `observe::flow`).
    pub unrowed: Flow,
    /// 1 once the row has memory.
    pub has_row: AtomicU32,
    /// Payload bytes of messages that were sent in other ways than in packets.
    pub bytes_not_inline: AtomicU64,
    /// Messages received (matched and delivered).
    pub messages_received: AtomicU64,
    /// Payload bytes received.
    pub bytes_received: AtomicU64,
    /// Bytes that moved through the sender's cells (two copies).
    pub bytes_cells: AtomicU64,
    /// Bytes that moved by cross-memory copy (one copy).
    pub bytes_cross_memory: AtomicU64,
    /// Bytes that moved by reading the sender's memory file (one copy).
    pub bytes_memory_file: AtomicU64,
    /// Bytes that moved by a directly mapped peer (one copy, no system call).
    pub bytes_direct: AtomicU64,
    /// Times that this rank went to sleep.
    pub sleeps: AtomicU64,
    /// Times that it was rung while it slept.
    pub rung: AtomicU64,
    /// Nanoseconds from these rings until it was awake.
    pub late_nanoseconds: AtomicU64,
    /// CPU time of its process, of all threads and of children that it has waited for. Whoever started it writes this when it has ended.
    pub cpu_nanoseconds: AtomicU64,
    /// Nanoseconds spent in waits that outlasted their first spin.
    pub waiting_nanoseconds: AtomicU64,
    /// Messages in the unexpected queue now.
    pub unexpected_now: AtomicU64,
    /// The most that `unexpected_now` has been.
    pub unexpected_peak: AtomicU64,
    /// Collective operations started.
    pub collectives: AtomicU64,
    /// Bytes that drivers of devices have copied.
    pub bytes_device: AtomicU64,
    /// Those of them that went straight from or to device memory of a peer.
    pub bytes_device_mapped: AtomicU64,
    /// Bytes of results of reductions that devices have computed.
    pub bytes_device_combined: AtomicU64,
}

/// Totals of files since the start, of what has gone to file systems and come from them; each only grows.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct FileCounters {
    /// Bytes read.
    pub bytes_read: AtomicU64,
    /// Bytes written.
    pub bytes_written: AtomicU64,
    /// Reads: calls of the file system's driver.
    pub reads: AtomicU64,
    /// Writes.
    pub writes: AtomicU64,
    /// Times that a file was brought to its device.
    pub syncs: AtomicU64,
    /// Nanoseconds in all of these, and in waiting for locks.
    pub nanoseconds: AtomicU64,
}

/// Memory that a rank holds for messages now, besides that of the segment.
#[repr(C, align(64))]
pub struct Memory {
    /// How much may be copied aside (`SERRIED_MEMORY`).
    pub limit: AtomicU64,
    /// Bytes of messages copied aside, whose receivers have no room for them.
    pub aside: AtomicU64,
    /// Bytes of messages that came in packets and that nobody has asked for.
    pub kept: AtomicU64,
}

impl Counters {
    /// Moves what a lane has counted by itself to the rank's counters.
    pub fn move_to(&self, all: &Counters) {
        fn sums(counters: &Counters) -> [&AtomicU64; 8] {
            [
                &counters.bytes_not_inline,
                &counters.messages_received,
                &counters.bytes_received,
                &counters.bytes_cells,
                &counters.bytes_cross_memory,
                &counters.bytes_memory_file,
                &counters.bytes_direct,
                &counters.collectives,
            ]
        }
        for (counter, sum) in sums(self).into_iter().zip(sums(all)) {
            move_count(counter, sum);
        }
    }
}

impl Page {
    /// Whether the process is one of another host, where its number means something else.
    pub fn is_mirror(&self) -> bool {
        self.identity.elsewhere.load(Relaxed) != 0
    }

    /// A page on which nothing stands.
    pub const fn blank() -> Page {
        // SAFETY: a page is made of atomics, for which zeros are a value.
        unsafe { std::mem::MaybeUninit::zeroed().assume_init() }
    }

    /// How far the rank has come.
    pub fn state(&self) -> State {
        State::from_raw(self.identity.state.load(Relaxed))
    }

    /// Says how far the rank has come.
    pub fn set_state(&self, state: State) {
        self.identity.state.store(state as u32, Relaxed);
    }

    /// Whether the rank has lanes.
    pub fn has_lanes(&self) -> bool {
        self.identity.lanes.load(Acquire) & HAS_LANES != 0 // lanes: paired with `show_lanes`
    }

    /// The rank has lanes from now on.
    pub fn show_lanes(&self) {
        self.identity.lanes.fetch_or(HAS_LANES, Release); // lanes: paired with `has_lanes`
    }

    /// Whether its process may meet memory of devices.
    pub fn may_have_devices(&self) -> bool {
        self.identity.lanes.load(Acquire) & MAY_HAVE_DEVICES != 0 // devices: paired with `show_devices`
    }

    /// It may, from its start on.
    pub fn show_devices(&self) {
        self.identity.lanes.fetch_or(MAY_HAVE_DEVICES, Release); // devices: paired with `may_have_devices`
    }

    /// Whether the server of its node is a thread of the rank.
    pub fn has_server(&self) -> bool {
        self.identity.lanes.load(Acquire) & HAS_SERVER != 0 // server: paired with `show_server`
    }

    /// It is, from now on.
    pub fn show_server(&self) {
        self.identity.lanes.fetch_or(HAS_SERVER, Release); // server: paired with `has_server`
    }

    /// Runs a copy of some length, so that who looks sees what time goes into.
    #[inline]
    pub fn copying<T>(&self, copy: impl FnOnce() -> T) -> T {
        self.call.copying.store(1, Relaxed);
        let copied = copy();
        self.call.copying.store(0, Relaxed);
        copied
    }
}

impl Sent {
    /// How many of the bytes moved inside packets.
    pub fn bytes_inline(self, page: &Page) -> u64 {
        self.bytes.saturating_sub(page.counters.bytes_not_inline.load(Relaxed))
    }
}

const _: () = assert!(std::mem::offset_of!(Page, threads) <= Page::FIRST_BYTES);
