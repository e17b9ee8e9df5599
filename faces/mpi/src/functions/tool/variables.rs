//! The performance variables: names, classes, and how each is read from the
//! rank's page.

use super::enumeration::{Enumeration, STATES};
use crate::abi;
use crate::common::engine;
use serried_engine::observe::events::UNEXPECTED_SINCE;
use serried_engine::observe::flow::Sent;
use serried_engine::observe::page::Page;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What kind of value a variable has (§15.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One of a set of words, always valid.
    State,
    /// How much there is now, always valid.
    Level,
    /// A number that stays.
    Size,
    /// The most that there has been since a handle started.
    Peak,
    /// How often something has happened since a handle started.
    Counter,
    /// A sum over what has happened since a handle started.
    Sum,
    /// Nanoseconds since a handle started.
    Timer,
}

/// A variable.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its class.
    pub class: Class,
    /// What it is.
    pub description: &'static str,
    /// Reads what is now.
    read: Source,
}

enum Source {
    Counter(fn(&Page) -> &AtomicU64),
    Derived(fn(Sent, &Page) -> u64),
    State,
    Ranks,
}

impl Class {
    /// Its number in this ABI.
    pub fn number(self) -> c_int {
        match self {
            Class::State => abi::MPI_T_PVAR_CLASS_STATE,
            Class::Level => abi::MPI_T_PVAR_CLASS_LEVEL,
            Class::Size => abi::MPI_T_PVAR_CLASS_SIZE,
            Class::Peak => abi::MPI_T_PVAR_CLASS_HIGHWATERMARK,
            Class::Counter => abi::MPI_T_PVAR_CLASS_COUNTER,
            Class::Sum => abi::MPI_T_PVAR_CLASS_AGGREGATE,
            Class::Timer => abi::MPI_T_PVAR_CLASS_TIMER,
        }
    }

    /// Whether it is valid always, and cannot be started, stopped or written;
    /// all others can, in one step with reading.
    pub fn is_continuous(self) -> bool {
        matches!(self, Class::State | Class::Level | Class::Size)
    }
}

impl Variable {
    /// What it is now, since the rank began; 0 before MPI starts.
    pub fn now(&self) -> u64 {
        match self.read {
            Source::State => engine::page().map_or(0, |page| page.state() as u64),
            Source::Ranks => engine::size(),
            Source::Derived(read) => engine::page().map_or(0, |page| read(engine::sent(), page)),
            Source::Counter(field) => engine::counted().map_or(0, |page| field(page).load(Relaxed)),
        }
    }

    /// Words for its values.
    pub fn words(&self) -> Option<&'static Enumeration> {
        (self.class == Class::State).then_some(&STATES)
    }

    /// The type of its values.
    pub fn datatype(&self) -> abi::Handle {
        match self.class {
            Class::State => abi::MPI_INT,
            _ => abi::MPI_UNSIGNED_LONG_LONG,
        }
    }
}

/// The level under the one high-water mark, and the mark since it was set last.
pub fn level_and_peak() -> (u64, u64) {
    let level = engine::page().map_or(0, |page| page.counters.unexpected_now.load(Relaxed));
    (level, UNEXPECTED_SINCE.load(Relaxed).max(level))
}

/// Starts the mark anew.
pub fn set_peak(level: u64) {
    UNEXPECTED_SINCE.store(level, Relaxed);
}

const fn counter(
    name: &'static str,
    class: Class,
    description: &'static str,
    field: fn(&Page) -> &AtomicU64,
) -> Variable {
    Variable { name, class, description, read: Source::Counter(field) }
}

const fn derived(
    name: &'static str,
    class: Class,
    description: &'static str,
    read: fn(Sent, &Page) -> u64,
) -> Variable {
    Variable { name, class, description, read: Source::Derived(read) }
}

/// All of them.
pub static VARIABLES: [Variable; 27] = [
    Variable {
        name: "state",
        class: Class::State,
        description: "how far this rank has come",
        read: Source::State,
    },
    Variable { name: "ranks", class: Class::Size, description: "ranks in the job", read: Source::Ranks },
    derived("messages_sent", Class::Counter, "messages sent, of any size", |sent, _| sent.messages),
    derived("bytes_sent", Class::Sum, "payload bytes sent", |sent, _| sent.bytes),
    counter("messages_received", Class::Counter, "messages received", |page| {
        &page.counters.messages_received
    }),
    counter("bytes_received", Class::Sum, "payload bytes received", |page| &page.counters.bytes_received),
    derived("bytes_inline", Class::Sum, "bytes that moved inside packets", Sent::bytes_inline),
    counter("bytes_cells", Class::Sum, "bytes that moved through cells: two copies", |page| {
        &page.counters.bytes_cells
    }),
    counter(
        "bytes_cross_memory",
        Class::Sum,
        "bytes that the kernel copied between ranks: one copy",
        |page| &page.counters.bytes_cross_memory,
    ),
    counter(
        "bytes_memory_file",
        Class::Sum,
        "bytes read from a descriptor of the sender's memory: one copy",
        |page| &page.counters.bytes_memory_file,
    ),
    counter(
        "bytes_direct",
        Class::Sum,
        "bytes read from mapped memory of the sender: one copy, no system call",
        |page| &page.counters.bytes_direct,
    ),
    counter(
        "bytes_device",
        Class::Sum,
        "bytes that the drivers of devices copied: to and from host memory that stands for buffers, and windows",
        |page| &page.counters.bytes_device,
    ),
    counter(
        "bytes_device_mapped",
        Class::Sum,
        "those of them that went straight from or to device memory of another rank: one copy",
        |page| &page.counters.bytes_device_mapped,
    ),
    counter(
        "bytes_device_combined",
        Class::Sum,
        "bytes of results of reductions that devices computed: what is not there was computed by the processor",
        |page| &page.counters.bytes_device_combined,
    ),
    counter("sleeps", Class::Counter, "times that this rank went to sleep", |page| &page.counters.sleeps),
    counter("waiting_nanoseconds", Class::Timer, "nanoseconds in waits that became sleeps", |page| {
        &page.counters.waiting_nanoseconds
    }),
    counter("unexpected_messages", Class::Level, "messages here that nobody has asked for yet", |page| {
        &page.counters.unexpected_now
    }),
    counter("unexpected_messages_peak", Class::Peak, "the most of them at a time", |page| {
        &page.counters.unexpected_peak
    }),
    counter(
        "bytes_kept",
        Class::Level,
        "bytes of such messages that came in packets and are kept here",
        |page| &page.memory.kept,
    ),
    counter(
        "bytes_aside",
        Class::Level,
        "bytes of messages copied aside because their receivers have no room",
        |page| &page.memory.aside,
    ),
    derived(
        "idle_polls",
        Class::Counter,
        "calls such as MPI_Test and MPI_Iprobe that found nothing",
        |_, page| page.idle_polls(),
    ),
    counter("collectives", Class::Counter, "collective operations started", |page| {
        &page.counters.collectives
    }),
    counter("file_bytes_read", Class::Sum, "bytes read from files", |page| &page.files.bytes_read),
    counter("file_bytes_written", Class::Sum, "bytes written to files", |page| &page.files.bytes_written),
    counter("file_reads", Class::Counter, "calls of file systems that read", |page| &page.files.reads),
    counter("file_writes", Class::Counter, "calls of file systems that write", |page| &page.files.writes),
    counter("file_nanoseconds", Class::Timer, "nanoseconds in calls of file systems", |page| {
        &page.files.nanoseconds
    }),
];
