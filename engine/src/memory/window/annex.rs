//! The annex: the program's own zeroed variables (`.bss`), which have a place in
//! the window's part of the file as its blocks have.
//!
//! The zeroed variables of the main program are one range of anonymous memory
//! that stays where it is for the life of the process (unlike those of
//! libraries, which may be unloaded). Its pages are the last pages of the
//! window: page `i` of the range is page [`BLOCK_PAGES`]` + i`. So the bits of
//! pages, sharing, forks and the reading of peers are those of blocks; only the
//! address of a page is another. The first page of the range holds the end of
//! the variables that have values in the program's file and is never shared.

use super::layout::{ANNEX_BYTES, BLOCK_PAGES, PAGE};
use crate::memory::loaded_objects;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offset of the annex in a window.
const ANNEX_AT: usize = BLOCK_PAGES as usize * PAGE;

/// Where a process has its annex. Written once, before anybody is told of it.
#[derive(Debug)]
#[repr(C)]
pub struct Annex {
    start: AtomicU64,
    bytes: AtomicU64,
}

impl Annex {
    /// None.
    pub const fn new() -> Annex {
        Annex { start: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Makes it a range of whole pages.
    pub fn set(&self, range: Range<usize>) {
        self.start.store(range.start as u64, Ordering::Relaxed);
        self.bytes.store(range.len() as u64, Ordering::Relaxed);
    }

    /// The range.
    #[inline]
    pub fn get(&self) -> Range<usize> {
        let start = self.start.load(Ordering::Relaxed) as usize;
        start..start + self.bytes.load(Ordering::Relaxed) as usize
    }
}

/// Offset in the window of a piece of memory that lies in the annex.
#[inline]
pub fn offset(annex: &Range<usize>, address: usize, bytes: usize) -> Option<usize> {
    let at = address.wrapping_sub(annex.start);
    (at < annex.len() && bytes <= annex.len() - at).then(|| ANNEX_AT + at)
}

/// The pages of the main program's zeroed variables, and the one before: what its parts have in memory and not in the
/// file.
pub fn of_program() -> Range<usize> {
    let zeroed = |header: &&libc::Elf64_Phdr| header.p_memsz > header.p_filesz;
    let pages = |(place, header): (Range<usize>, &libc::Elf64_Phdr)| {
        let start = (place.start + header.p_filesz as usize - 1) & !(PAGE - 1);
        start..place.end.next_multiple_of(PAGE)
    };
    let longest = loaded_objects::find(|program| {
        let parts = program.writable_parts().filter(zeroed);
        Some(parts.map(|header| pages((program.place(header), header))).max_by_key(ExactSizeIterator::len))
    });
    let found = longest.flatten().unwrap_or(0..0);
    found.start..found.end.min(found.start + ANNEX_BYTES)
}

/// How often messages that begin at a page of the annex were sent: of the pages
/// that were asked for last.
#[derive(Debug)]
pub struct Heat([(u32, u16); 64]);

impl Heat {
    /// All cold.
    pub const fn new() -> Heat {
        Heat([(0, 0); 64])
    }

    fn entry(&mut self, page: u32) -> &mut (u32, u16) {
        let index = page.wrapping_mul(0x9e37_79b9) >> 26;
        &mut self.0[index as usize]
    }

    /// Warms a page; how warm it is now.
    pub fn warm(&mut self, page: u32, by: u16) -> u16 {
        let entry = self.entry(page);
        if entry.0 != page {
            *entry = (page, 0);
        }
        entry.1 = entry.1.saturating_add(by);
        entry.1
    }

    /// Forgets how warm a page is.
    pub fn cool(&mut self, page: u32) {
        *self.entry(page) = (0, 0);
    }
}
