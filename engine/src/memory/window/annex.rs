//! The annex: the program's own variables (`.data` and `.bss`), which have a place in
//! the window's part of the file as its blocks have.
//!
//! The variables of the main program are one range of private memory
//! that stays where it is for the life of the process (unlike those of
//! libraries, which may be unloaded). Its pages are the last pages of the
//! window: page `i` of the range is page [`BLOCK_PAGES`]` + i`. So the bits of
//! pages, sharing, forks and the reading of peers are those of blocks; only the
//! address of a page is another. What its first pages have of the program's file
//! is their own, even where nobody has written to them.

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

/// The variables of the main program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// Their pages: of the longest part, if it has several.
    pub pages: Range<usize>,
    /// So many of the first ones have contents of the program's file.
    pub with_values: usize,
}

/// Those of this process.
pub fn of_program() -> Variables {
    let longest = loaded_objects::find(|program| {
        let variables = |header: &libc::Elf64_Phdr| {
            let range = program.variables(header);
            let start = range.start & !(PAGE - 1);
            let of_file = (program.place(header).start + header.p_filesz as usize).saturating_sub(start);
            let end = range.end.next_multiple_of(PAGE).min(start + ANNEX_BYTES);
            Variables { pages: start..end, with_values: of_file.div_ceil(PAGE) }
        };
        Some(program.writable_parts().map(variables).max_by_key(|one| one.pages.len()))
    });
    longest.flatten().unwrap_or_default()
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
