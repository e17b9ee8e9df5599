//! Why a fork waits until no peer copies from or to this process through the kernel.
//!
//! The kernel pins the pages of a cross-memory copy. A fork gives its child a copy
//! of a pinned page at once, and leaves the parent's as it is; all other pages are
//! shared and copied when they are written. So a thread that writes while its
//! process forks writes into pinned pages, of which the child has the old contents
//! already, and next to them into pages that the fork has not come to, of which the
//! child gets the new ones: what the child sees was never there at one moment.
//!
//! # Ownership
//! The words lie in the control words of a rank, which alone writes them: `copying`, one
//! for each lane, is 1 + the local rank into whose memory it is about to reach, `forking`
//! (of the first lane) is not 0 while it forks. Each side writes its word first and reads the other's
//! after a full barrier, so that one of the two sees the other.

use super::area::Area;
use crate::job::node_segment::{LANES, SERVER_LANE};
use crate::job::NodeSegment;
use crate::observe::State;
use std::sync::atomic::{fence, AtomicU32, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long each waits for the other: then one of them has been stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// This rank, and the one into whose memory it reaches.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// This rank.
    pub own: Area,
    /// The other one.
    pub peer: Area,
    /// Local rank of the other one.
    pub number: u32,
}

impl Between {
    /// Runs a cross-memory copy while the peer does not fork.
    #[inline]
    pub fn copy<T>(&self, copy: impl FnOnce() -> T) -> T {
        let own = &self.own.control().forks.0.copying;
        self.announce(own);
        let copied = copy();
        own.store(0, Ordering::Release); // copied: paired with `wait_for_copies`
        copied
    }

    #[inline]
    fn announce(&self, own: &AtomicU32) {
        let forking = &self.peer.forks().forking;
        own.store(1 + self.number, Ordering::Relaxed);
        fence(Ordering::SeqCst); // copy-or-fork: paired with `wait_for_copies`

        // forked: paired with `go_on`
        if forking.load(Ordering::Acquire) != 0 {
            self.wait(own, forking);
        }
    }

    #[cold]
    fn wait(&self, own: &AtomicU32, forking: &AtomicU32) {
        let began = Instant::now();
        loop {
            own.store(0, Ordering::Release); // copied: as above
            while forking.load(Ordering::Acquire) != 0 && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_micros(20));
            }
            own.store(1 + self.number, Ordering::Relaxed);
            fence(Ordering::SeqCst); // copy-or-fork: as above
            if forking.load(Ordering::Acquire) == 0 || began.elapsed() >= PATIENCE {
                return;
            }
        }
    }
}

/// The rank of this process; the first one where a process is several (in tests).
static RANK: OnceLock<(&NodeSegment, u32)> = OnceLock::new();

/// Lets this rank take part in every fork of its process from now on.
pub fn watch(node: &'static NodeSegment, me: u32) {
    if RANK.set((node, me)).is_ok() {
        // SAFETY: the handlers are functions without state of their own. A child
        // is no rank and changes nothing.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), None) };
    }
}

extern "C" fn prepare() {
    if let Some(&(node, me)) = RANK.get() {
        wait_for_copies(node, me);
    }
}

extern "C" fn parent() {
    if let Some(&(node, me)) = RANK.get() {
        go_on(node, me);
    }
}

/// Before a fork: peers begin no copy any more, and those under way end.
fn wait_for_copies(node: &'static NodeSegment, me: u32) {
    Area::of(node, me, 0).forks().forking.store(1, Ordering::Relaxed);
    fence(Ordering::SeqCst); // copy-or-fork: paired with `Between::announce`
    let began = Instant::now();
    let there = |&peer: &u32| peer != me && node.page(peer).state() != State::Unused;
    let lanes = |peer| (0..if node.page(peer).has_lanes() { LANES } else { 1 }).map(move |lane| (peer, lane));
    let servers = (0..node.local_ranks()).filter(|&peer| node.page(peer).has_server());
    let servers = servers.map(|peer| (peer, SERVER_LANE));
    for (peer, lane) in (0..node.local_ranks()).filter(there).flat_map(lanes).chain(servers) {
        let area = Area::of(node, peer, lane);
        let copying = &area.control().forks.0.copying;
        // copied: paired with `Between::copy`
        while copying.load(Ordering::Acquire) == 1 + me && began.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }
}

/// After it, in the parent.
fn go_on(node: &'static NodeSegment, me: u32) {
    Area::of(node, me, 0).forks().forking.store(0, Ordering::Release); // forked: paired with `Between::wait`
}

/// Does something while no peer copies from or to this process through the kernel.
pub fn without_copies<T>(node: &'static NodeSegment, me: u32, work: impl FnOnce() -> T) -> T {
    wait_for_copies(node, me);
    let done = work();
    go_on(node, me);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn copies_and_forks_wait_for_each_other() {
        let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
        (0..2).for_each(|rank| node.reserve_transport(rank, 0, super::super::FIRST_BYTES).unwrap());
        node.page(1).set_state(State::Running);
        let between = Between { own: Area::of(node, 1, 0), peer: Area::of(node, 0, 0), number: 0 };
        let (copies, forks, over) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    between.copy(|| {
                        copies.store(true, Ordering::SeqCst);
                        assert!(!forks.load(Ordering::SeqCst), "a copy began while its peer forks");
                        copies.store(false, Ordering::SeqCst);
                    });
                }
            });
            for _ in 0..20_000 {
                wait_for_copies(node, 0);
                forks.store(true, Ordering::SeqCst);
                assert!(!copies.load(Ordering::SeqCst), "a fork began while a peer copies");
                forks.store(false, Ordering::SeqCst);
                go_on(node, 0);
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
