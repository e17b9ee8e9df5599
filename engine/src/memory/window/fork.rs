//! What happens to a window around a fork.
//!
//! Shared pages become private views of the same pages, by mapping them again:
//! their contents stay, and the kernel gives parent and child copies of their
//! own as they write. Peers that read them for a message under way still may,
//! because MPI forbids to change what is being sent.

use super::{policy, system, File, Inner, Window};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a fork waits for peers that are writing into our pages.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets the window of this process take part in every fork from now on. Several
/// libraries of ours in a process have one window, so the window remembers it.
pub fn watch() {
    if !Window::of_process().watched.swap(true, Ordering::AcqRel) {
        // SAFETY: the handlers are functions without state of their own.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    }
}

extern "C" fn prepare() {
    Window::of_process().before_fork();
}

extern "C" fn parent() {
    Window::of_process().after_fork(false);
}

extern "C" fn child() {
    Window::of_process().after_fork(true);
}

impl Inner {
    /// Tells peers again of pages that are still shared.
    fn show_shared(&self, base: usize, pages: Range<u32>) {
        let mut at = pages.start;
        while let Some(run) = self.shared.next_run(at..pages.end, true) {
            at = run.end;
            self.board_bits(base).set(run);
        }
    }
}

impl Window {
    /// Before a fork: takes the lock and keeps it.
    pub(super) fn before_fork(&self) {
        self.lock.lock();
        if self.decided.load(Ordering::Relaxed) != policy::USABLE {
            return;
        }
        // SAFETY: the lock is held until `after_fork`.
        let inner = unsafe { &mut *self.inner.get() };
        if !inner
            .known_pages()
            .iter()
            .any(|pages| inner.shared.any(pages.clone()) || inner.demoted.any(pages.clone()))
        {
            return;
        }
        inner.adopted.before_fork();
        let told = inner.liveness.before_fork();
        // Pinned pages stay as they are, and children do not have them.
        if told && system::status("VmPin") == Some(0) {
            self.demote();
        }
    }

    /// Makes private views of all shared pages. The lock is held.
    fn demote(&self) {
        let base = self.base.load(Ordering::Relaxed);
        // SAFETY: by the caller.
        let inner = unsafe { &mut *self.inner.get() };
        let (Some(file), true) = (inner.file, inner.published) else { return };
        let known = inner.known_pages();
        known.iter().for_each(|pages| inner.board_bits(base).clear(pages.clone()));
        self.wait_for_writers(base);
        for pages in known {
            self.exposed.others(pages, |others| self.demote_pages(inner, file, others));
        }
        self.exposed.each(|pages| inner.show_shared(base, pages));
    }

    fn demote_pages(&self, inner: &mut Inner, file: File, pages: Range<u32>) {
        let mut at = pages.start;
        while let Some(run) = inner.shared.next_run(at..pages.end, true) {
            at = run.end;
            let (address, bytes) = (self.address(run.start), run.len() * super::PAGE);
            // SAFETY: pages of ours; the contents are those of the file.
            if unsafe { system::map_private(address, bytes, file.descriptor, file.at(run.start)) } {
                inner.shared.clear(run.clone());
                inner.demoted.set(run);
            } else {
                // Too many mappings: these stay shared, and no child has them.
                inner.board_bits(self.base.load(Ordering::Relaxed)).set(run);
            }
        }
    }

    /// writers: paired with `Peers::begin_write`. The bits are cleared; who
    /// comes later sees that and does not write.
    fn wait_for_writers(&self, base: usize) {
        // SAFETY: by the caller.
        let inner = unsafe { &*self.inner.get() };
        let Some(board) = inner.board(base) else { return };
        let began = Instant::now();
        while board.writers.load(Ordering::SeqCst) != 0 && began.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }

    /// After it: gives the lock back.
    pub(super) fn after_fork(&self, in_child: bool) {
        // SAFETY: the lock is held since `before_fork`.
        let inner = unsafe { &mut *self.inner.get() };
        inner.adopted.after_fork(in_child);
        if in_child {
            self.child.store(true, Ordering::Relaxed);
            inner.file = None; // the parent's: it is not ours to change
        } else {
            inner.liveness.after_fork();
        }
        self.lock.unlock();
    }
}
