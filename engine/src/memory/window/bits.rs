//! One bit for each page of a window.

use super::layout::PAGES;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the bits of all pages.
pub const BYTES: usize = PAGES as usize / 8;

/// The bits of a window's pages, somewhere in memory. One writes, under the
/// window's lock; anyone reads.
#[derive(Clone, Copy, Debug)]
pub struct Bits(*const AtomicU64);

impl Bits {
    /// Bits at an address.
    ///
    /// # Safety
    /// [`BYTES`] bytes there must stay mapped as long as the value is used.
    pub const unsafe fn at(address: *const AtomicU64) -> Bits {
        Bits(address)
    }

    fn word(&self, index: u32) -> &AtomicU64 {
        debug_assert!(index < PAGES / 64);
        // SAFETY: by `at` and the check of ranges in the callers.
        unsafe { &*self.0.add(index as usize) }
    }

    /// Calls `visit(word, mask)` for each word that holds bits of `pages`.
    #[inline]
    fn words(&self, pages: Range<u32>, mut visit: impl FnMut(&AtomicU64, u64) -> bool) -> bool {
        let mut at = pages.start;
        while at < pages.end.min(PAGES) {
            let last = (at | 63).min(pages.end - 1);
            let mask = (u64::MAX >> (63 - (last - at))) << (at & 63);
            if !visit(self.word(at / 64), mask) {
                return false;
            }
            at = last + 1;
        }
        true
    }

    /// Whether the bits of all `pages` are set.
    #[inline]
    pub fn all(&self, pages: Range<u32>) -> bool {
        self.words(pages, |word, mask| word.load(Ordering::Acquire) & mask == mask)
        // page-bits: paired with `set`
    }

    /// Whether a bit of `pages` is set.
    pub fn any(&self, pages: Range<u32>) -> bool {
        !self.words(pages, |word, mask| word.load(Ordering::Acquire) & mask == 0)
        // page-bits: paired with `set`
    }

    /// Sets the bits of `pages`.
    pub fn set(&self, pages: Range<u32>) {
        self.words(pages, |word, mask| {
            word.fetch_or(mask, Ordering::SeqCst); // page-bits: paired with `all`, `any`
            true
        });
    }

    /// Clears them.
    pub fn clear(&self, pages: Range<u32>) {
        self.words(pages, |word, mask| {
            word.fetch_and(!mask, Ordering::SeqCst);
            true
        });
    }

    /// The first run of pages in `pages` whose bits are all `value`.
    pub fn next_run(&self, pages: Range<u32>, value: bool) -> Option<Range<u32>> {
        let start = self.next(pages.clone(), value)?;
        let end = self.next(start..pages.end, !value).unwrap_or(pages.end);
        Some(start..end)
    }

    fn next(&self, pages: Range<u32>, value: bool) -> Option<u32> {
        let mut at = pages.start;
        while at < pages.end {
            let word = self.word(at / 64).load(Ordering::Acquire);
            let found = if value { word } else { !word } >> (at & 63);
            if found != 0 {
                let page = at + found.trailing_zeros();
                return (page < pages.end).then_some(page);
            }
            at = (at | 63) + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_as_they_were_set() {
        let words: Vec<AtomicU64> = (0..PAGES / 64).map(|_| AtomicU64::new(0)).collect();
        // SAFETY: `words` outlives `bits`.
        let bits = unsafe { Bits::at(words.as_ptr()) };
        for run in [3..4, 60..70, 128..192, 250..600] {
            bits.set(run.clone());
            assert!(bits.all(run.clone()) && !bits.all(run.start..run.end + 1) && bits.any(0..run.start + 1));
        }
        bits.clear(300..310);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(run) = bits.next_run(at..1000, true) {
            at = run.end;
            found.push(run);
        }
        assert_eq!(found, [3..4, 60..70, 128..192, 250..300, 310..600]);
        assert_eq!(bits.next_run(128..1000, false), Some(192..250));
        assert_eq!(bits.next_run(600..1000, true), None);
    }
}
