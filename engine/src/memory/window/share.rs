//! How pages become shared.

use super::layout::{BLOCK_PAGES, PAGE};
use super::system::Status;
use super::{policy, system, File, Inner, Window};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Pages looked at in one go.
const LOOK: usize = 512;
/// Pages that become shared under the lock at a time: other threads may want
/// memory, and until it is mapped, what was written to the file is there twice.
const PART: usize = (8 << 20) / PAGE;
/// So often at most do pages become shared: each time may cost the process two
/// more mappings, of which it may have 65530.
const MOST: u32 = 16_000;

impl Window {
    /// Makes pages shared with their contents, if the process `may` do so as it is now; `false` when it cannot be.
    ///
    /// # Safety
    /// Nobody may write into the pages meanwhile.
    pub(super) unsafe fn share_pages(&self, pages: Range<u32>, may: impl FnOnce(&Status) -> bool) -> bool {
        let addresses = self.address(pages.start)..self.address(pages.end);
        if self.with(|inner| inner.adopted.any_elsewhere(&addresses))
            || !Status::now().is_some_and(|now| may(&now) && policy::pages_may_move(&now))
        {
            return false;
        }
        pages.clone().step_by(PART).all(|start| {
            let part = start..pages.end.min(start + PART as u32);
            // SAFETY: by the caller.
            self.with(|inner| !self.child.load(Ordering::Relaxed) && unsafe { inner.share_part(self, part) })
        })
    }
}

impl Inner {
    /// Shares those of some pages that are not.
    ///
    /// # Safety
    /// As [`Window::share_pages`].
    unsafe fn share_part(&mut self, window: &Window, pages: Range<u32>) -> bool {
        let Some(file) = self.publish(window) else { return false };
        if self.shares >= MOST || self.demoted.any(pages.clone()) && !self.liveness.none_lives() {
            return false;
        }
        self.shares += 1;
        if pages.end > BLOCK_PAGES {
            self.annex_top = self.annex_top.max(pages.end);
        }
        let mut at = pages.start;
        while let Some(run) = self.shared.next_run(at..pages.end, false) {
            at = run.end;
            // SAFETY: by the caller; the pages are ours and not shared.
            if !unsafe { self.share_run(window, file, run) } {
                return false;
            }
        }
        true
    }

    /// Shares a run of pages that are private or demoted.
    ///
    /// # Safety
    /// As [`Window::share_pages`]; no child may see the demoted ones.
    unsafe fn share_run(&mut self, window: &Window, file: File, run: Range<u32>) -> bool {
        let mut at = run.start;
        while at < run.end {
            let part = at..run.end.min(at + LOOK as u32);
            // SAFETY: by the caller.
            if !unsafe { self.write_own(window.address(part.start), file, part.clone()) } {
                self.take_back(file, run.start..part.end);
                return false;
            }
            at = part.end;
        }
        let (address, bytes) = (window.address(run.start), run.len() * PAGE);
        let offset = file.at(run.start);
        // SAFETY: by the caller; the file has the contents now.
        if !unsafe { system::map_shared(address, bytes, file.descriptor, offset, true) } {
            self.take_back(file, run);
            return false;
        }
        self.now_shared(window.base.load(Ordering::Relaxed), run);
        true
    }

    /// Pages of the file that private pages will not become after all.
    fn take_back(&self, file: File, pages: Range<u32>) {
        let mut at = pages.start;
        while let Some(run) = self.demoted.next_run(at..pages.end, false) {
            at = run.end;
            system::punch(file.descriptor, file.at(run.start), run.len() * PAGE);
        }
    }

    /// Writes what pages, which lie at `first`, have of their own to the file.
    ///
    /// # Safety
    /// As [`Window::share_pages`].
    unsafe fn write_own(&self, first: usize, file: File, pages: Range<u32>) -> bool {
        let mut words = [0u64; LOOK];
        let words = &mut words[..pages.len()];
        if !system::own_pages(first, words) {
            return false;
        }
        if pages.start >= BLOCK_PAGES {
            let of_file = self.zeroed_from.saturating_sub(pages.start) as usize;
            words.iter_mut().take(of_file).for_each(|own| *own = 1);
        }
        let mut at = 0;
        while at < words.len() {
            let length = words[at..].iter().take_while(|&&own| own == words[at]).count();
            if words[at] == 1 {
                let (address, offset) = (first + at * PAGE, file.at(pages.start + at as u32));
                // SAFETY: pages of ours, readable.
                if !unsafe { system::write_to(file.descriptor, offset, address, length * PAGE) } {
                    return false;
                }
            }
            at += length;
        }
        true
    }

    fn now_shared(&mut self, base: usize, pages: Range<u32>) {
        self.demoted.clear(pages.clone());
        self.shared.set(pages.clone());
        self.board_bits(base).set(pages);
    }

    /// Shares pages whose contents nobody needs; `false` when it cannot be.
    ///
    /// # Safety
    /// The pages must be ours and free.
    pub(super) unsafe fn share_empty(&mut self, window: &Window, pages: Range<u32>) -> bool {
        let Some(file) = self.publish(window) else { return false };
        if self.demoted.any(pages.clone()) && !self.liveness.none_lives() {
            return false;
        }
        let mut at = pages.start;
        while let Some(run) = self.shared.next_run(at..pages.end, false) {
            at = run.end;
            let (address, bytes) = (window.address(run.start), run.len() * PAGE);
            // SAFETY: by the caller.
            if !unsafe { system::map_shared(address, bytes, file.descriptor, file.at(run.start), false) } {
                return false;
            }
            self.now_shared(window.base.load(Ordering::Relaxed), run);
        }
        true
    }

    /// Gives the memory of free pages back; `true` if they read as zero now.
    pub(super) fn purge(&mut self, base: usize, pages: Range<u32>) -> bool {
        let mut zero = true;
        let mut at = pages.start;
        while at < pages.end {
            let shared = self.shared.all(at..at + 1);
            let end = self.shared.next_run(at..pages.end, !shared).map_or(pages.end, |next| next.start);
            let (address, bytes) = (base + at as usize * PAGE, (end - at) as usize * PAGE);
            zero &= match self.file.filter(|_| shared) {
                Some(file) => system::punch(file.descriptor, file.at(at), bytes),
                None => {
                    // SAFETY: free pages: nobody needs what lies there.
                    let forgotten = unsafe { system::forget(address, bytes) };
                    forgotten && !self.demoted.any(at..end)
                }
            };
            at = end;
        }
        zero
    }
}
