//! A rank's page as plain numbers, read in one go.

use crate::system::process_numbers;
use serried_engine::observe::flow::Sent;
use serried_engine::observe::page::FileCounters;
use serried_engine::observe::{Page, State};
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Tries to read a call that does not change meanwhile. A rank that is so busy
/// calls something else by the time anyone reads this, whatever we do.
const TRIES: u32 = 4;

/// What a rank shows at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Rank in the job.
    pub rank: u32,
    /// Process id, 0 before the rank has started.
    pub process: i32,
    /// That is a process of another host.
    pub elsewhere: bool,
    /// How far it has come.
    pub state: State,
    /// What it gave to abort.
    pub exit_code: i32,
    /// Whether it is inside a call.
    pub inside: bool,
    /// Calls begun so far.
    pub calls: u64,
    /// The call it is in or was in last, to be named by the segment.
    pub call: u32,
    /// Whom that call is about, if it is about somebody.
    pub about: Option<About>,
    /// `CLOCK_MONOTONIC` nanoseconds since when it sleeps in a wait; 0: it does not.
    pub waiting_since: u64,
    /// What it has done so far.
    pub totals: Totals,
}

/// Whom a call is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct About {
    /// Context id of the communicator.
    pub communicator: u64,
    /// Rank in that communicator; `observe::page::NONE` if there is none.
    pub peer: i32,
    /// Tag; the same.
    pub tag: i32,
}

macro_rules! totals {
    ($($(#[$about:meta])* $name:ident),*) => {
        /// The counters of a page.
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct Totals {
            /// Messages sent.
            pub messages_sent: u64,
            /// Payload bytes sent.
            pub bytes_sent: u64,
            /// Bytes inside packets.
            pub bytes_inline: u64,
            /// What has gone to files and come from them.
            pub files: Files,
            $($(#[$about])* pub $name: u64),*
        }

        impl Totals {
            fn of(page: &Page, sent: Sent) -> Totals {
                Totals {
                    messages_sent: sent.messages,
                    bytes_sent: sent.bytes,
                    bytes_inline: sent.bytes_inline(page),
                    files: Files::of(&page.files),
                    $($name: get(&page.counters.$name)),*
                }
            }
        }
    };
}

/// What a rank has done with files.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Files {
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Calls of the file system that read.
    pub reads: u64,
    /// Calls that write.
    pub writes: u64,
    /// Calls that bring a file to its device.
    pub syncs: u64,
    /// Nanoseconds in these calls.
    pub nanoseconds: u64,
}

impl Files {
    fn of(counters: &FileCounters) -> Files {
        Files {
            bytes_read: get(&counters.bytes_read),
            bytes_written: get(&counters.bytes_written),
            reads: get(&counters.reads),
            writes: get(&counters.writes),
            syncs: get(&counters.syncs),
            nanoseconds: get(&counters.nanoseconds),
        }
    }
}

totals! {
    /// Messages received.
    messages_received,
    /// Payload bytes received.
    bytes_received,
    /// Bytes through cells.
    bytes_cells,
    /// Bytes copied by the kernel between processes.
    bytes_cross_memory,
    /// Bytes read from a memory file.
    bytes_memory_file,
    /// Bytes read from mapped memory.
    bytes_direct,
    /// Sleeps.
    sleeps,
    /// Nanoseconds in waits that are over.
    waiting_nanoseconds,
    /// Unexpected messages now.
    unexpected_now,
    /// The most of them.
    unexpected_peak,
    /// Collective operations.
    collectives,
    /// Bytes copied by drivers of devices.
    bytes_device,
    /// Those of them that were a peer's.
    bytes_device_mapped,
    /// Bytes of results that devices have computed.
    bytes_device_combined
}

impl Snapshot {
    /// Reads a page; `sent` is what its rank has sent.
    pub fn of(page: &Page, sent: Sent) -> Snapshot {
        let mut tries = TRIES;
        loop {
            let before = page.sequence();
            fence(Ordering::Acquire);
            let read = Snapshot::once(page, sent, before);
            fence(Ordering::Acquire);
            tries -= 1;
            if page.sequence() == before || tries == 0 {
                return read;
            }
        }
    }

    fn once(page: &Page, sent: Sent, sequence: u64) -> Snapshot {
        let here = process_numbers::process(page).filter(|_| !page.is_mirror());
        let call = &page.call;
        let current = page.current();
        let about = current.filter(|current| current.communicator != 0).map(|current| About {
            communicator: current.communicator,
            peer: current.peer,
            tag: current.tag,
        });
        Snapshot {
            rank: page.identity.rank.load(Ordering::Relaxed),
            process: here.unwrap_or(page.identity.pid.load(Ordering::Relaxed)) as i32,
            elsewhere: here.is_none() && page.state() != State::Unused,
            state: page.state(),
            exit_code: page.identity.exit_code.load(Ordering::Relaxed),
            inside: sequence & 1 == 1,
            calls: sequence.div_ceil(2),
            call: current.map_or(0, |current| current.name),
            about,
            waiting_since: get(&call.waiting_since),
            totals: Totals::of(page, sent),
        }
    }

    /// Nanoseconds waited so far, the present wait too, at the time `now`.
    pub fn waited(&self, now: u64) -> u64 {
        let present = if self.waiting_since == 0 { 0 } else { now.saturating_sub(self.waiting_since) };
        self.totals.waiting_nanoseconds + present
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::job::NodeSegment;

    #[test]
    fn a_call_is_read_with_whom_it_is_about_and_no_longer() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.enter(5);
        page.about(7, 3, 9, 0);
        let read = Snapshot::of(page, Sent::default());
        assert!(read.inside);
        assert_eq!((read.call, read.calls), (5, 1));
        assert_eq!(read.about, Some(About { communicator: 7, peer: 3, tag: 9 }));
        page.leave(false);
        page.enter(6);
        let read = Snapshot::of(page, Sent::default());
        assert_eq!((read.call, read.calls, read.about), (6, 2, None));
    }

    #[test]
    fn the_present_wait_counts() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.counters.waiting_nanoseconds.store(100, Ordering::Relaxed);
        page.call.waiting_since.store(1000, Ordering::Relaxed);
        assert_eq!(Snapshot::of(page, Sent::default()).waited(1050), 150);
    }
}
