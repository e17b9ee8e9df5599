//! The one shared segment that the ranks of a job on a node have in common.
//!
//! Made by the launcher (`serried run`) or, under a launcher that does not know
//! us, by the first rank on the node. It is sparse: what nobody touches costs
//! nothing.
//!
//! ```text
//! Header (4 KiB) | names of calls (64 KiB) | universe (`universe`) | part of local rank 0 | part of 1 | … | traffic of rank 0 | …
//! part of a rank:    Page | transport area (TRANSPORT_BYTES) | blocks of communicators (BLOCKS_BYTES)
//!                    | report (REPORT_BYTES) | ledger of collective calls (`observe::ledger`) | `agreements` | server
//! traffic of a rank: a row of `observe::flow`, in whole pages
//! ```
//!
//! The file goes on beyond what all map: with the windows of the ranks (see
//! `memory::window`), unless a limit on the size of files forbids it.

use super::revocations::{self, Heard};
use super::switchboard::Line;
use super::{agreements, universe};
use crate::memory::segment::{self, Segment};
use crate::memory::window::{layout, policy};
use crate::observe::delays::Account;
use crate::observe::flow::{row_bytes, Flow, Sent};
use crate::observe::inquiry::Report;
use crate::observe::ledger::{self, Ledger};
use crate::observe::{Page, State};
use crate::tuning;
use crate::{Class, Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = u64::from_le_bytes(*b"serried1");
const VERSION: u32 = 26;
const HEADER_BYTES: usize = 4096;
const NAME_BYTES: usize = 40;
const NAMES_BYTES: usize = 65536;
const _: () = assert!(universe::AT == HEADER_BYTES + NAMES_BYTES);
/// How many call names the segment holds.
pub const NAMES: usize = NAMES_BYTES / NAME_BYTES;
/// A name, in words that several ranks may write at once.
type Name = [AtomicU64; NAME_BYTES / 8];
const PAGE_BYTES: usize = size_of::<Page>();
/// Bytes that the node transport has for each lane of a rank (address space, not memory).
pub const LANE_BYTES: usize = (4 << 20) + (128 << 10);
/// Bytes that the node transport has for each rank.
pub const TRANSPORT_BYTES: usize = LANES * LANE_BYTES + SERVER_LANE_BYTES;
/// Lanes that a rank may have: parts of its transport that share nothing.
pub const LANES: usize = 4;
/// One more lane, by which the servers of nodes talk.
pub const SERVER_LANE: usize = LANES;
/// All of them.
pub const ALL_LANES: usize = LANES + 1;
const SERVER_LANE_BYTES: usize = 128 << 10;
/// Bytes of each rank for what it asks the server of its node, and for that server's words if it has it.
pub(super) const SERVER_BYTES: usize = 4096;
/// Bytes of each rank for the blocks of communicators that it leads (address
/// space as well).
pub const BLOCKS_BYTES: usize = 4 << 20;
/// Bytes of each rank for its description of itself (address space as well).
pub const REPORT_BYTES: usize = 64 << 10;
/// A multiple of the 64 KiB that Linux maps together when one of their pages is
/// touched: so the ranks map the same pages of a part.
const PART_BYTES: usize = (SERVER_AT + SERVER_BYTES).next_multiple_of(64 << 10);
pub(super) const SERVER_AT: usize = AGREEMENTS_AT + agreements::BYTES;
const REPORT_AT: usize = PAGE_BYTES + TRANSPORT_BYTES + BLOCKS_BYTES;
const LEDGER_AT: usize = REPORT_AT + REPORT_BYTES;
pub(super) const AGREEMENTS_AT: usize = (LEDGER_AT + ledger::BYTES).next_multiple_of(4096);

#[repr(C)]
pub(super) struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    local_ranks: AtomicU32,
    /// 0: no names; 1: they are there.
    names_ready: AtomicU32,
    /// Set by the launcher when the job is to end; ranks leave their waits.
    ending: AtomicU32,
    /// Ranks on the node that have shown which CPUs they may use (never decreases).
    pub(super) shown: AtomicU32,
    /// How often a rank has shown that, for the first time or anew.
    pub(super) affinities: AtomicU32,
    /// Ranks that have failed, where the job goes on without them. The launcher writes it.
    pub(super) failures: AtomicU32,
    /// When the last of them has.
    pub(super) last_failure: AtomicU64,
    /// How many communicators were revoked.
    pub(super) revocations: AtomicU32,
    /// Changes with each of both.
    pub(super) news: AtomicU32,
    /// Agreements of ranks of several nodes that were decided. The agent writes it.
    pub(super) decisions: AtomicU32,
    /// 1: the job goes on without ranks that fail. The launcher writes it before it starts any.
    pub(super) goes_on: AtomicU32,
    /// What sleeping has cost, where there is a bound.
    pub(super) delays: Account,
    /// Where one way of moving bytes takes over from another.
    pub(super) crossovers: tuning::OfNode,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// The mapped node segment.
#[derive(Debug)]
pub struct NodeSegment {
    pub(super) segment: Segment,
    local_ranks: u32,
    /// Whether the file has windows.
    windows: bool,
    /// How this process asks its launcher for sockets that other ranks find, too.
    line: Option<Line>,
    pub(super) heard: Heard,
}

impl NodeSegment {
    /// Makes the segment for `local_ranks` ranks; pass its descriptor on.
    ///
    /// # Errors
    /// `NoMem` when the system refuses the memory.
    pub fn create(local_ranks: u32) -> Result<NodeSegment> {
        NodeSegment::create_named(c"serried-node", local_ranks)
    }

    /// The same for a part of a job of which another process may have a mirror: observers can tell.
    ///
    /// # Errors
    /// As above.
    pub fn create_part(local_ranks: u32) -> Result<NodeSegment> {
        NodeSegment::create_named(c"serried-node-part", local_ranks)
    }

    fn create_named(name: &std::ffi::CStr, local_ranks: u32) -> Result<NodeSegment> {
        let bytes = mapped_bytes(local_ranks);
        let windows = local_ranks > 1 && policy::files_are_unlimited();
        let length =
            if windows { windows_at(local_ranks) + windows_bytes(local_ranks) } else { bytes as u64 };
        let segment = Segment::create(name, bytes, length)?;
        segment.reserve(0, HEADER_BYTES)?;
        segment.reserve(universe::AT, 4096)?;
        let node = NodeSegment { segment, local_ranks, windows, line: None, heard: Heard::default() };
        for rank in 0..local_ranks {
            node.segment.reserve(node.part(rank), Page::FIRST_BYTES)?;
            node.page(rank).identity.rank.store(rank, Ordering::Relaxed);
            node.page(rank).set_state(State::Unused);
        }
        let header = node.header();
        header.crossovers.write(&tuning::file::of_this_machine()?);
        header.version.store(VERSION, Ordering::Relaxed);
        header.local_ranks.store(local_ranks, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(node)
    }

    /// Maps a segment that another process made.
    ///
    /// # Errors
    /// `Intern` when the descriptor is something else or of another version.
    pub fn open(descriptor: OwnedFd) -> Result<NodeSegment> {
        let foreign = || {
            Error::new(
                Class::Intern,
                "the descriptor passed by the launcher is no node segment of this version of Serried",
            )
        };
        let local_ranks = look_at(descriptor.as_fd()).map_err(|_| foreign())?;
        let (mapped, length) = (mapped_bytes(local_ranks), segment::length(descriptor.as_fd())?);
        let windows = length == windows_at(local_ranks) + windows_bytes(local_ranks);
        if !windows && length != mapped as u64 {
            return Err(foreign());
        }
        let segment = Segment::map(descriptor, mapped)?;
        Ok(NodeSegment { segment, local_ranks, windows, line: None, heard: Heard::default() })
    }

    /// The same, for a rank that has a line to its launcher.
    #[must_use]
    pub fn with_line(self, line: Option<Line>) -> NodeSegment {
        NodeSegment { line, ..self }
    }

    /// The line of this process to its launcher.
    pub fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// Where the windows begin in the file behind the descriptor; `None`:
    /// there are none.
    pub fn windows(&self) -> Option<(RawFd, u64)> {
        self.windows.then(|| (self.descriptor().as_raw_fd(), windows_at(self.local_ranks)))
    }

    /// Where the windows of a node segment of so many ranks begin in its file; `None`: it has none.
    pub fn windows_behind(file: BorrowedFd<'_>, local_ranks: u32) -> Option<u64> {
        let at = windows_at(local_ranks);
        (segment::length(file).ok()? >= at + windows_bytes(local_ranks)).then_some(at)
    }

    /// How many ranks of the job this node has.
    pub fn local_ranks(&self) -> u32 {
        self.local_ranks
    }

    /// The descriptor of the segment, to pass on.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.segment.descriptor()
    }

    /// The page of a local rank.
    ///
    /// # Panics
    /// If `local_rank` is not below [`NodeSegment::local_ranks`].
    pub fn page(&self, local_rank: u32) -> &Page {
        // SAFETY: `part` is page aligned and inside the mapping, which lives as
        // long as `self`; every bit pattern is a valid `Page` of atomics.
        unsafe { &*self.segment.base().add(self.part(local_rank)).cast::<Page>() }
    }

    /// Bytes from the page of a local rank to that of the next.
    pub const fn pages_apart() -> usize {
        PART_BYTES
    }

    /// Reserves the rest of the page of a local rank, for records of its threads.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_threads(&self, local_rank: u32) -> Result<()> {
        let rest = PAGE_BYTES - Page::FIRST_BYTES;
        self.segment.reserve(self.part(local_rank) + Page::FIRST_BYTES, rest)
    }

    /// Maps the page of a local rank once more, over `target`.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn map_page(&self, local_rank: u32, target: &'static Page) -> Result<()> {
        let address = std::ptr::from_ref(target).cast_mut().cast();
        // SAFETY: a page is whole pages of memory, all of it atomics, and lives for ever.
        unsafe { self.segment.map_over(self.part(local_rank), PAGE_BYTES, address) }
    }

    /// Address of the transport area of a local rank ([`TRANSPORT_BYTES`] long, 4 KiB aligned), valid as long as `self`.
    pub fn transport_area(&self, local_rank: u32) -> *mut u8 {
        // SAFETY: inside the mapping, by the layout above.
        unsafe { self.segment.base().add(self.part(local_rank) + PAGE_BYTES) }
    }

    /// Reserves `[offset, offset + bytes)` of the transport area of a rank before it is touched.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_transport(&self, local_rank: u32, offset: usize, bytes: usize) -> Result<()> {
        assert!(offset + bytes <= TRANSPORT_BYTES);
        self.segment.reserve(self.part(local_rank) + PAGE_BYTES + offset, bytes)
    }

    /// Address of the blocks area of a local rank ([`BLOCKS_BYTES`] long, 4 KiB aligned), valid as long as `self`.
    pub fn blocks_area(&self, local_rank: u32) -> *mut u8 {
        // SAFETY: inside the mapping, by the layout above.
        unsafe { self.segment.base().add(self.part(local_rank) + PAGE_BYTES + TRANSPORT_BYTES) }
    }

    /// Reserves `[offset, offset + bytes)` of the blocks area of a rank before it is touched.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_blocks(&self, local_rank: u32, offset: usize, bytes: usize) -> Result<()> {
        assert!(offset + bytes <= BLOCKS_BYTES);
        self.segment.reserve(self.part(local_rank) + PAGE_BYTES + TRANSPORT_BYTES + offset, bytes)
    }

    /// Gives such bytes back to the system; they read as zero afterwards.
    ///
    /// # Errors
    /// `NoMem` when the system refuses.
    pub fn give_back_blocks(&self, local_rank: u32, offset: usize, bytes: usize) -> Result<()> {
        assert!(offset + bytes <= BLOCKS_BYTES);
        self.segment.give_back(self.part(local_rank) + PAGE_BYTES + TRANSPORT_BYTES + offset, bytes)
    }

    /// Reserves the row of traffic of a rank before it is touched.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_flows(&self, local_rank: u32) -> Result<()> {
        self.segment.reserve(flows_at(self.local_ranks, local_rank), row_bytes(self.local_ranks))?;
        self.page(local_rank).counters.has_row.store(1, Ordering::Release);
        Ok(())
    }

    /// The row of traffic of a rank, an entry for each rank of the node; empty while it
    /// is not reserved.
    pub fn flows(&self, local_rank: u32) -> &[Flow] {
        // SAFETY: the mapping has all the segment.
        unsafe { flows_in(self.segment.base(), self.local_ranks, local_rank, self.page(local_rank)) }
    }

    /// What a local rank has sent.
    pub fn sent(&self, local_rank: u32) -> Sent {
        Sent::by(&self.page(local_rank).counters.unrowed, self.flows(local_rank))
    }

    /// The report area of a local rank: reading costs no memory.
    pub fn report(&self, local_rank: u32) -> Report<'_> {
        // SAFETY: the part lies in the mapping, which lives as long as `self`.
        unsafe { report_in(self.segment.base().add(self.part(local_rank))) }
    }

    /// The ledger of a local rank: reading costs no memory.
    pub fn ledger(&self, local_rank: u32) -> Ledger<'_> {
        // SAFETY: inside the mapping, by the layout above, which lives as long as
        // `self`; page aligned.
        unsafe { Ledger::new(self.segment.base().add(self.part(local_rank) + LEDGER_AT)) }
    }

    /// Reserves the ledger of a rank before it is written.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_ledger(&self, local_rank: u32) -> Result<()> {
        self.segment.reserve(self.part(local_rank) + LEDGER_AT, ledger::BYTES)
    }

    /// Reserves the report area of a rank, or the first so many bytes of it, before it is written.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_report(&self, local_rank: u32, bytes: usize) -> Result<()> {
        self.segment.reserve(self.part(local_rank) + REPORT_AT, bytes.min(REPORT_BYTES))
    }

    /// Writes the table of call names (index 0 is "no call"), as far as it is not there. Ranks that come at the same time
    /// all write it, the same words: none waits for another, which may be stopped or killed.
    ///
    /// # Errors
    /// `NoMem` when the table's pages cannot be reserved.
    pub fn publish_names(&self, names: &[&str]) -> Result<()> {
        let ready = &self.header().names_ready;
        if ready.load(Ordering::Relaxed) == 1 {
            return Ok(());
        }
        self.segment.reserve(HEADER_BYTES, NAMES_BYTES)?;
        // SAFETY: the mapping has all the segment, and lives as long as `self`.
        let table = unsafe { names_at(self.segment.base()) };
        for (entry, name) in table.iter().zip(names) {
            let mut bytes = [0; NAME_BYTES];
            let length = name.len().min(NAME_BYTES - 1);
            bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
            for (word, bytes) in entry.iter().zip(bytes.chunks_exact(8)) {
                word.store(u64::from_ne_bytes(bytes.try_into().expect("8 bytes")), Ordering::Relaxed);
            }
        }
        ready.store(1, Ordering::Release); // names-ready: paired with `name_in`
        Ok(())
    }

    /// The name of a call by its index; `None` before names are published.
    pub fn name(&self, index: u32) -> Option<String> {
        // SAFETY: the mapping has all the segment.
        unsafe { name_in(self.segment.base(), index) }
    }

    /// Not 0 once the launcher has decided to end the job.
    pub fn ending(&self) -> &AtomicU32 {
        &self.header().ending
    }

    /// How many jobs that were started by these ranks, or by those, have not ended.
    pub fn spawned_jobs(&self) -> u32 {
        // SAFETY: the mapping has all the segment.
        unsafe { universe::running_in(self.segment.base()) }
    }

    pub(super) fn part(&self, local_rank: u32) -> usize {
        assert!(local_rank < self.local_ranks, "local rank {local_rank} of {}", self.local_ranks);
        part_at(local_rank)
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping begins with the header and lives as long as
        // `self`; every bit pattern is a valid `Header` of atomics.
        unsafe { &*self.segment.base().cast::<Header>() }
    }
}

/// Where the part of a rank begins: with its page.
pub(super) fn part_at(local_rank: u32) -> usize {
    revocations::AT + revocations::BYTES + local_rank as usize * PART_BYTES
}

/// The report area in the part of a rank.
///
/// # Safety
/// The part must be mapped, readable, as long as the report is used.
pub(super) unsafe fn report_in<'a>(part: *const u8) -> Report<'a> {
    // SAFETY: by the caller; every bit pattern is a valid atomic.
    Report::new(unsafe {
        std::slice::from_raw_parts(part.add(REPORT_AT).cast::<AtomicU64>(), REPORT_BYTES / 8)
    })
}

/// Bytes that every rank maps.
pub(super) fn mapped_bytes(local_ranks: u32) -> usize {
    flows_at(local_ranks, local_ranks)
}

/// Where the row of traffic of a rank begins.
fn flows_at(local_ranks: u32, local_rank: u32) -> usize {
    part_at(local_ranks) + local_rank as usize * row_bytes(local_ranks)
}

/// The row of traffic of the rank with this page, in the segment mapped at `base`.
///
/// # Safety
/// All of the segment must be mapped there, readable, as long as `'a`.
pub(super) unsafe fn flows_in<'a>(
    base: *const u8,
    local_ranks: u32,
    local_rank: u32,
    page: &Page,
) -> &'a [Flow] {
    assert!(local_rank < local_ranks, "local rank {local_rank} of {local_ranks}");
    if page.counters.has_row.load(Ordering::Acquire) == 0 {
        return &[];
    }
    // SAFETY: inside the mapping by the layout, page aligned; every bit pattern is
    // a valid `Flow` of atomics.
    unsafe {
        let row = base.add(flows_at(local_ranks, local_rank)).cast::<Flow>();
        std::slice::from_raw_parts(row, local_ranks as usize)
    }
}

/// The table of call names in the segment mapped at `base`.
///
/// # Safety
/// All of the segment must be mapped there, readable, as long as `'a`, and reserved for who
/// writes.
unsafe fn names_at<'a>(base: *const u8) -> &'a [Name; NAMES] {
    // SAFETY: by the caller; the table lies behind the header, in whole words, and every bit
    // pattern is a valid atomic.
    unsafe { &*base.add(HEADER_BYTES).cast() }
}

/// The name of a call in the segment mapped at `base`; `None` before names are
/// published.
///
/// # Safety
/// All of the segment must be mapped there, readable.
pub(super) unsafe fn name_in(base: *const u8, index: u32) -> Option<String> {
    // SAFETY: by the caller; every bit pattern is a valid `Header` of atomics.
    let header = unsafe { &*base.cast::<Header>() };
    // names-ready: paired with `publish_names`
    if header.names_ready.load(Ordering::Acquire) != 1 {
        return None;
    }
    // SAFETY: by the caller.
    let entry = unsafe { names_at(base) }.get(index as usize)?;
    let bytes: Vec<u8> = entry.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
    (length > 0).then(|| String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn windows_at(local_ranks: u32) -> u64 {
    mapped_bytes(local_ranks).next_multiple_of(layout::HUGE) as u64
}

fn windows_bytes(local_ranks: u32) -> u64 {
    local_ranks as u64 * layout::WINDOW_BYTES as u64
}

/// Why a file is no node segment for this version of Serried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It is something else, or not made up yet.
    Foreign,
    /// It is one of another layout, which has this number.
    Version(u32),
}

/// For how many ranks a segment is, if it is one.
///
/// # Errors
/// What it is instead.
pub fn look_at(descriptor: BorrowedFd) -> std::result::Result<u32, Unfit> {
    let mut bytes = [0u8; std::mem::size_of::<Header>()];
    // SAFETY: a system call on a descriptor of ours, into a valid buffer.
    let got = unsafe { libc::pread(descriptor.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    if got != bytes.len() as isize || bytes[..8] != MAGIC.to_ne_bytes() {
        return Err(Unfit::Foreign);
    }
    match (number(8), number(12)) {
        (VERSION, local_ranks @ 1..1_048_576) => Ok(local_ranks),
        (VERSION, _) => Err(Unfit::Foreign),
        (other, _) => Err(Unfit::Version(other)),
    }
}
