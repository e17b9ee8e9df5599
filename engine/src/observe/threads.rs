//! The calls of all threads of a rank.
//!
//! There is one record of calls for a rank, until it says that several threads will call
//! at once: then each thread has one of its own, so that threads do not meet at a line of
//! the cache in every call. More threads than records share them.
//!
//! The thread's record is looked for only where the rank's is marked
//! ([`ELSEWHERE`]): a rank with one thread pays for a bit that it has at hand.

use super::call::{Record, ELSEWHERE, THREADS};
use super::count::OBSERVED;
use super::page::Page;
use super::recorder::Recorded;
use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// How many threads of this process use each record.
static USERS: [AtomicU32; THREADS] = [const { AtomicU32::new(0) }; THREADS];

thread_local! {
    static MINE: Mine = const { Mine(Cell::new(None)) };
}

/// The number of the record that this thread uses, once it does.
struct Mine(Cell<Option<usize>>);

impl Mine {
    fn number(&self) -> usize {
        self.0.get().unwrap_or_else(|| {
            let users = |number: &usize| USERS[*number].load(Relaxed);
            let number = (0..THREADS).min_by_key(users).unwrap_or(0);
            USERS[number].fetch_add(1, Relaxed);
            self.0.set(Some(number));
            number
        })
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        if let Some(number) = self.0.get() {
            USERS[number].fetch_sub(1, Relaxed);
        }
    }
}

impl Page {
    /// From now on each thread has a record of its own. The memory for them must be there
    /// (`NodeSegment::reserve_threads`), and no other thread be in a call.
    pub fn part_threads(&self) {
        if self.record.now.load(Relaxed) & ELSEWHERE == 0 {
            self.record.move_to(self.of_thread());
        }
    }

    /// The record of this thread, where threads have their own.
    #[cold]
    fn of_thread(&self) -> &Record {
        // A thread that ends may call once more when it has given its number back.
        &self.threads[MINE.try_with(Mine::number).unwrap_or(0)]
    }

    /// The record of this thread.
    #[inline]
    pub fn own(&self) -> &Record {
        match self.record.now.load(Relaxed) & ELSEWHERE {
            0 => &self.record,
            _ => self.of_thread(),
        }
    }

    /// Marks the beginning of a usual call: MPI runs, nobody listens, there is one thread,
    /// which is in no other call. `false`, and nothing is marked, if it is not.
    #[inline(always)]
    pub fn enter_usual(&self, name: u32) -> bool {
        self.record.enter_usual(name)
    }

    /// Marks the beginning of any call; whether it is within another.
    pub fn enter(&self, name: u32) -> bool {
        OBSERVED && self.own().enter(name)
    }

    /// [`Page::leave`] shall say that this call was listened to.
    pub fn listen(&self) {
        self.own().listen();
    }

    /// Calls are not usual from now on, until one is left where they may be.
    pub fn hold_up(&self) {
        self.own().hold_up();
    }

    /// Marks the end of a call with this name, if it is usual and somebody has said what it
    /// is about; else `false`, and nothing is marked.
    #[inline(always)]
    pub fn leave_usual(&self, name: u32) -> bool {
        self.record.leave_usual(name)
    }

    /// The same of a usual call that nobody has said anything about.
    #[inline(always)]
    pub fn leave_unrecorded(&self, name: u32) -> bool {
        self.record.leave_unrecorded(name)
    }

    /// Marks the end of any call; whether it was listened to. `ready`: MPI runs, and nobody
    /// listens.
    pub fn leave(&self, ready: bool) -> bool {
        OBSERVED && self.own().leave(ready)
    }

    /// Says whom the call is about, and how many bytes it moves; `communicator`
    /// is a context id.
    #[inline(always)]
    pub fn about(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        if OBSERVED && !self.record.about(communicator, peer, tag, bytes) {
            self.about_thread(communicator, peer, tag, bytes);
        }
    }

    /// As [`Page::about`], for who knows that nobody has said anything of this call.
    #[inline(always)]
    pub fn about_first(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        if OBSERVED && !self.record.about_first(communicator, peer, tag, bytes) {
            self.about_thread(communicator, peer, tag, bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn about_thread(&self, communicator: u64, peer: i32, tag: i32, bytes: u64) {
        self.of_thread().about(communicator, peer, tag, bytes);
    }

    /// The records in use: those of the threads, and that of the rank, which has what was
    /// before there were threads.
    fn records(&self) -> impl Iterator<Item = &Record> {
        let threads = match self.record.now.load(Acquire) & ELSEWHERE {
            0 => &[],
            _ => &self.threads[..], // threads: paired with `Record::move_to`
        };
        threads.iter().chain([&self.record])
    }

    /// The record of a thread that is inside a call, or else that of the first one.
    fn foremost(&self) -> &Record {
        let inside = self.records().find(|record| record.inside());
        inside.or(self.records().next()).unwrap_or(&self.record)
    }

    /// Counts calls by twos; odd inside of one.
    pub fn sequence(&self) -> u64 {
        self.records()
            .map(Record::sequence)
            .fold(0, |sum, next| ((sum & !1) + (next & !1)) | ((sum | next) & 1))
    }

    /// What grows whenever the rank does anything but waiting, or calling what
    /// fails; it may be less by one for each thread for a moment.
    pub fn moves(&self) -> u64 {
        self.records().map(Record::moves).fold(0, u64::wrapping_add)
    }

    /// How often it asked for something that was not there.
    pub fn idle_polls(&self) -> u64 {
        self.records().map(|record| record.idle_polls.load(Relaxed)).sum()
    }

    /// The call that the rank is in, or was in last; `None` before the first.
    pub fn current(&self) -> Option<Recorded> {
        self.foremost().current()
    }

    /// The last calls of the same thread, oldest first, with the one that it is in.
    pub fn last_calls(&self) -> Vec<Recorded> {
        self.foremost().last_calls()
    }

    /// The last calls of each thread that has made some, oldest first.
    pub fn last_calls_of_all(&self) -> impl Iterator<Item = Vec<Recorded>> + '_ {
        self.records().map(Record::last_calls).filter(|calls| !calls.is_empty())
    }

    /// Whether a thread of the rank is inside a call.
    pub fn inside(&self) -> bool {
        self.records().any(Record::inside)
    }
}

#[cfg(all(test, not(feature = "unobserved")))]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    #[test]
    fn threads_have_records_of_their_own_once_they_are_parted() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        page.enter(1);
        node.reserve_threads(0).unwrap();
        page.part_threads();
        assert_eq!((page.own().name(), page.inside(), page.sequence()), (1, true, 1));
        page.leave(true);
        let other = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let within = page.enter(2);
                page.about(2, 3, 4, 8);
                // That of another thread is not around this one.
                assert_eq!((within, page.own().name()), (false, 2));
                page.own().idle_polls.store(5, Relaxed);
                std::ptr::from_ref(page.own()) as usize
            });
            other.join().unwrap()
        });
        assert_ne!(other, std::ptr::from_ref(page.own()) as usize);
        assert_eq!((page.own().name(), page.own().inside()), (0, false));
        assert_eq!((page.sequence(), page.moves(), page.idle_polls()), (3, 0u64.wrapping_sub(4), 5));
        let current = page.current().unwrap();
        assert_eq!((current.name, current.peer, current.tag, page.inside()), (2, 3, 4, true));
        assert_eq!(page.last_calls_of_all().count(), 2);
    }
}
