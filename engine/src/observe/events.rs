//! Events: moments that a listener in this process has asked for.
//!
//! Where something happens that a tool may want to know, [`raise`] notes it with
//! its time, if anybody has asked: one load and one branch, in places that are
//! slow anyway. Notes are told to the listener by [`tell`], which is called with
//! no lock held, so that the listener may call anything. At most [`MOST`] notes
//! wait; later ones are counted and lost.

use crate::clock;
use crate::lock_order::{self, Level, Ordered};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A message has come that nobody has asked for: source, tag, bytes, how
    /// many wait now.
    Unexpected = 0,
    /// A receive takes a message from where its sender left it: rank of the
    /// sender in the job, bytes.
    Rendezvous = 1,
    /// This rank goes to sleep: how often it has, with this time.
    Sleep = 2,
    /// A wait that became a sleep is over: its nanoseconds.
    Wake = 3,
    /// A collective call has begun: number of the call.
    Collective = 4,
    /// A call has failed: number of the call, class of the error.
    Error = 5,
}

/// How many kinds there are.
pub const KINDS: usize = 6;
/// Notes that may wait.
pub const MOST: usize = 4096;

/// Something that has happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What.
    pub kind: Kind,
    /// When: `CLOCK_MONOTONIC` nanoseconds.
    pub time: u64,
    /// What its kind says.
    pub values: [u64; 4],
}

/// What is told: an event, or how many of a kind were lost before the next.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// An event.
    Event(Event),
    /// So many of this kind were lost.
    Lost(Kind, u64),
}

#[derive(Default)]
struct Notes {
    waiting: VecDeque<Event>,
    lost: [u64; KINDS],
}

/// A bit for each kind that is asked for.
static WANTED: AtomicU32 = AtomicU32::new(0);
static LISTENER: OnceLock<fn(Told)> = OnceLock::new();
static NOTES: Mutex<Option<Notes>> = Mutex::new(None);
/// One thread tells at a time, so that the listener need not be thread-safe.
static TELLING: AtomicBool = AtomicBool::new(false);

/// The most messages that nobody has asked for since it was set: a high-water
/// mark that a reader may start anew, beside that of the page.
pub static UNEXPECTED_SINCE: AtomicU64 = AtomicU64::new(0);

const ALL: [Kind; KINDS] =
    [Kind::Unexpected, Kind::Rendezvous, Kind::Sleep, Kind::Wake, Kind::Collective, Kind::Error];

/// Sets who is told, once, and of what.
pub fn listen(listener: fn(Told), kinds: u32) {
    let _ = LISTENER.set(listener);
    WANTED.store(kinds, Relaxed);
}

/// Whether events of a kind are asked for.
#[inline]
pub fn are_wanted(kind: Kind) -> bool {
    WANTED.load(Relaxed) & 1 << kind as u32 != 0
}

/// Notes an event, if it is asked for.
#[inline]
pub fn raise(kind: Kind, values: [u64; 4]) {
    if are_wanted(kind) {
        note(Event { kind, time: clock::nanoseconds(), values });
    }
}

#[cold]
fn note(event: Event) {
    let mut notes = lock();
    let notes = notes.get_or_insert_default();
    if notes.waiting.len() < MOST {
        notes.waiting.push_back(event);
    } else {
        notes.lost[event.kind as usize] += 1;
    }
}

/// Tells the listener what has been noted so far. No lock of the engine may be held. Events that
/// happen meanwhile wait for the next time.
#[inline]
pub fn tell() {
    if WANTED.load(Relaxed) != 0 {
        tell_all();
    }
}

#[cold]
fn tell_all() {
    let Some(listener) = LISTENER.get() else { return };
    if TELLING.swap(true, std::sync::atomic::Ordering::Acquire) {
        return;
    }
    // Nothing can leave the flag set: no panic passes the listener.
    let noted = lock().as_mut().map(std::mem::take).unwrap_or_default();
    noted.waiting.into_iter().for_each(|event| listener(Told::Event(event)));
    for (kind, lost) in ALL.into_iter().zip(noted.lost).filter(|(_, lost)| *lost > 0) {
        listener(Told::Lost(kind, lost));
    }
    TELLING.store(false, std::sync::atomic::Ordering::Release);
}

fn lock() -> Ordered<'static, Option<Notes>> {
    lock_order::lock(&NOTES, Level::NOTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    static HEARD: Mutex<Vec<(Kind, u64)>> = Mutex::new(Vec::new());

    fn hear(told: Told) {
        HEARD.lock().unwrap().push(match told {
            Told::Event(event) => (event.kind, event.values[0]),
            Told::Lost(kind, lost) => (kind, lost + 1000),
        });
        // Events that are raised meanwhile wait, and telling within telling does nothing.
        raise(Kind::Error, [99; 4]);
        tell();
    }

    #[test]
    fn only_what_is_asked_for_is_told_in_order_and_what_is_lost_is_counted() {
        // A kind that nothing else in these tests raises comes with it.
        listen(hear, 1 << Kind::Error as u32);
        raise(Kind::Collective, [1; 4]);
        tell();
        assert!(HEARD.lock().unwrap().is_empty());
        raise(Kind::Error, [7; 4]);
        tell();
        assert_eq!(*HEARD.lock().unwrap(), [(Kind::Error, 7)]);
        tell();
        assert_eq!(*HEARD.lock().unwrap(), [(Kind::Error, 7), (Kind::Error, 99)]);
        for _ in 0..MOST + 4 {
            raise(Kind::Error, [5; 4]);
        }
        tell();
        // One place was taken by what was raised while the last was told.
        assert_eq!(*HEARD.lock().unwrap().last().unwrap(), (Kind::Error, 1005));
        listen(hear, 0);
    }
}
