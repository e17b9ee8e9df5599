//! Telling tools what has happened: from the engine's notes to callbacks.
//!
//! Runs at the end of calls and before sleeps, with no lock held, on one thread at a time; so
//! callbacks may call anything and need not be thread-safe. Events within a callback are told
//! later.

use super::callback::{Callback, Dropped, Farewell, Registration, LEVELS};
use super::slots::Slots;
use super::{lock, Raw, Tool};
use crate::common::engine;
use serried_engine::observe::events::{self, Event, Kind, Told};
use std::cell::Cell;

thread_local! {
    /// The event that a callback on this thread has in hand.
    static IN_HAND: Cell<Option<Event>> = const { Cell::new(None) };
}

/// Has the engine note what somebody wants to be told of, and nothing else.
pub fn choose(registrations: &Slots<Registration>) {
    let wanted = registrations.values().filter(|one| one.callback().is_some());
    let kinds = wanted.fold(0, |kinds, one| kinds | 1 << one.kind as u32);
    events::listen(told, kinds);
    engine::set_listened(kinds != 0);
}

/// The instance that a callback gets: the address of what it has in hand.
fn instance() -> Raw {
    IN_HAND.with(|event| std::ptr::from_ref(event).cast_mut().cast())
}

/// The event of an instance, within the callback that got it.
pub fn current(handle: Raw) -> Option<Event> {
    (handle == instance()).then(|| IN_HAND.with(Cell::get)).flatten()
}

fn told(what: Told) {
    match what {
        Told::Event(event) => each(event.kind, |handle, callback, _| {
            IN_HAND.with(|hand| hand.set(Some(event)));
            // SAFETY: a function of the tool, called as MPI says.
            unsafe { (callback.function)(instance(), handle, LEVELS[0], callback.user_data) };
            IN_HAND.with(|hand| hand.set(None));
        }),
        Told::Lost(kind, lost) => each(kind, |handle, callback, dropped| {
            if let Some(function) = dropped {
                // SAFETY: as above.
                unsafe { function(lost as i64, handle, 0, LEVELS[0], callback.user_data) };
            }
        }),
    }
}

/// Calls one callback of each handle for a kind of event.
fn each(kind: Kind, call: impl Fn(Raw, &Callback, Option<Dropped>)) {
    let mut chosen = Vec::new();
    for (handle, found) in lock().registrations.all().filter(|(_, found)| found.kind == kind) {
        if let Some(callback) = found.callback() {
            found.running += 1;
            chosen.push((handle, callback, found.dropped));
        }
    }
    for (handle, callback, dropped) in chosen {
        // One of those before may have freed it.
        let wanted = lock().registrations.get(handle).is_some_and(|found| found.farewell.is_none());
        if wanted {
            call(handle, &callback, dropped);
        }
        let mut tool = lock();
        if let Some(found) = tool.registrations.get(handle) {
            found.running -= 1;
        }
        let last = end(&mut tool, handle);
        drop(tool);
        say(handle, last);
    }
}

/// Takes out a handle that has been freed and of which no callback runs.
pub fn end(tool: &mut Tool, handle: Raw) -> Option<Farewell> {
    let found = tool.registrations.get(handle)?;
    let last = found.farewell.filter(|_| found.running == 0)?;
    tool.registrations.take(handle);
    Some(last)
}

/// Calls the function that a tool gave when it freed a handle.
pub fn say(handle: Raw, last: Option<Farewell>) {
    if let Some(Farewell { function: Some(function), user_data }) = last {
        // SAFETY: a function of the tool, called as MPI says.
        unsafe { function(handle, LEVELS[0], user_data) };
    }
}
