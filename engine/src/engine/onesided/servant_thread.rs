//! The servant's thread: where members do not reach each other's memory, each answers the others while it computes.
//!
//! The thread drives this rank's lanes and runs the servants, and nothing else of what waits there: code of the program
//! never runs in it. It sleeps at the rank's doorbell. It begins with the first exposure that needs it, and ends with the
//! last. From then on the lanes' locks are locks, also for a program that has asked for one thread.

use crate::engine::Engine;
use crate::transport::network::without_signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Nanoseconds after which it looks without having been woken.
const LONG: u64 = 10_000_000_000;

/// The thread, as the engine has it.
#[derive(Default)]
pub struct ServantThread {
    /// Where the engine stays; until that is known there is no thread, and servants answer when the rank makes progress.
    engine: OnceLock<&'static Engine>,
    state: Mutex<State>,
    is_over: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Exposures that are served.
    served: usize,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// From now on servants answer while this rank computes. Once, when the engine stands where it stays.
    pub fn allow_servant_thread(&'static self) {
        let _ = self.servant.engine.set(self);
    }

    /// This engine, if it stays where it is.
    pub(in crate::engine) fn for_ever(&self) -> Option<&'static Engine> {
        self.servant.engine.get().copied()
    }

    /// An exposure needs the thread. Where the system gives none, servants answer when the rank makes progress.
    pub(super) fn need_servant_thread(&self) {
        let Some(engine) = self.for_ever() else { return };
        let mut state = self.servant.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.thread.is_none() {
            if !self.is_threaded() {
                self.share_lanes();
            }
            self.servant.is_over.store(false, Ordering::SeqCst);
            state.thread = without_signals("servant", move || engine.run_servants());
        }
        state.served += 1;
    }

    /// An exposure needs it no more.
    pub(super) fn leave_servant_thread(&self) {
        let mut state = self.servant.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.served = state.served.saturating_sub(1);
        let is_last = state.served == 0;
        drop(state);
        if is_last {
            self.end_servant_thread();
        }
    }

    /// The rank ends, whatever is still exposed.
    pub(in crate::engine) fn end_servant_thread(&self) {
        let mut state = self.servant.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.served = 0;
        let thread = state.thread.take();
        drop(state);
        if let Some(thread) = thread {
            self.servant.is_over.store(true, Ordering::SeqCst);
            self.doorbell.ring();
            // It tells by itself what goes wrong in it.
            let _ = thread.join();
        }
    }

    fn run_servants(&self) {
        while !self.servant.is_over.load(Ordering::SeqCst) {
            for lane in self.lanes.each() {
                let mut core = lane.lock();
                if self.drive(&mut core).is_err() {
                    // It comes again, and is told to the rank, when that waits next.
                    return;
                }
                while let Some(work) = core.next_servant() {
                    drop(core);
                    self.run_background(work);
                    core = lane.lock();
                }
            }
            self.let_servants_sleep();
        }
    }

    /// Sleeps until something has come that may be for a servant.
    fn let_servants_sleep(&self) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let work = || {
            self.servant.is_over.load(Ordering::SeqCst)
                || self.lanes.each().any(|lane| {
                    let mut core = lane.lock();
                    core.try_before_sleep() || core.transport_has_something() || core.has_servant()
                })
        };
        self.sleeper.sleep_unless(self.doorbell, work, LONG);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}
