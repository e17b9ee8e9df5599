//! How a packet lies in shared memory: a word of 8 bytes, the header of 16, the
//! payload. The lower half of the word tells kind and length; storing it
//! publishes the rest. What else the word says, and whose the memory is, is the
//! affair of `mailbox` and `express`.

use crate::memory::copy::{claim, fetch, hand_over};
use crate::sync::AtomicU64;
use crate::transport::short_copy::copy;
use crate::transport::{Arrival, Letter, INLINE_BYTES};

/// Where the payload begins.
pub const PAYLOAD_AT: usize = 24;

/// Shared memory in which packets lie. The rings are written for this type
/// alone, so that `tests/loom` can put another in its place.
#[derive(Clone, Copy, Debug)]
pub struct Memory(*mut u8);

// SAFETY: it lies in the node segment, which lives as long as the engine; the
// rings hand it over by their rules.
unsafe impl Send for Memory {}

impl Memory {
    /// # Safety
    /// `base` must be shared memory, aligned to 8, mapped for as long as this
    /// value and its copies are used. The places below lie inside it.
    pub unsafe fn new(base: *mut u8) -> Memory {
        Memory(base)
    }

    /// The word at a place.
    ///
    /// # Safety
    /// The place is a multiple of 8, and while it can be the first word of a
    /// packet it is only used as an atomic.
    #[inline]
    pub unsafe fn word(&self, place: usize) -> &AtomicU64 {
        // SAFETY: by the caller.
        unsafe { &*self.0.add(place).cast::<AtomicU64>() }
    }

    /// Writes the packet at a place, without its word.
    ///
    /// # Safety
    /// As [`write`].
    #[inline(always)]
    pub unsafe fn write(self, place: usize, letter: &Letter<'_>) {
        // SAFETY: by the caller.
        unsafe { write(self.0.add(place), letter) };
    }

    /// The packet at a place, whose word is `word`.
    ///
    /// # Safety
    /// As [`read`].
    #[inline(always)]
    pub unsafe fn read(self, place: usize, word: u64) -> Arrival {
        // SAFETY: by the caller.
        unsafe { read(self.0.add(place), word) }
    }

    /// Asks the processor for the lines from `begin` to `end` behind a place.
    #[inline(always)]
    pub fn fetch(self, place: usize, begin: u64, end: u64) {
        fetch(self.0.wrapping_add(place + begin as usize), (end.max(begin) - begin) as usize);
    }

    /// Asks the processor for the lines from `begin` to `end` behind a place, which will be written.
    #[inline(always)]
    pub fn claim(self, place: usize, begin: u64, end: u64) {
        claim(self.0.wrapping_add(place + begin as usize), (end.max(begin) - begin) as usize);
    }

    /// Puts the lines from `begin` to `end` behind a place, which have been written, where the reader finds them soon.
    #[inline(always)]
    pub fn hand_over(self, place: usize, begin: u64, end: u64) {
        hand_over(self.0.wrapping_add(place + begin as usize), (end.max(begin) - begin) as usize);
    }
}

/// Writes header and payload behind the word at `place`.
///
/// # Safety
/// That memory must be the caller's to write.
#[inline(always)]
unsafe fn write(place: *mut u8, letter: &Letter<'_>) {
    let payload = letter.payload;
    // SAFETY: by the caller.
    unsafe {
        // The beginning last, in one go with the word, which the caller stores
        // next: the reader looks at that line all the time, and would take it
        // away between two stores that are far apart.
        if payload.len() > INLINE_BYTES {
            let rest = payload.as_ptr().add(INLINE_BYTES);
            copy(rest, place.add(PAYLOAD_AT + INLINE_BYTES), payload.len() - INLINE_BYTES);
        }
        place.add(8).cast::<[u64; 2]>().write(letter.header);
        copy(payload.as_ptr(), place.add(PAYLOAD_AT), payload.len().min(INLINE_BYTES));
    }
}

/// The packet at `place`, whose word is `word`.
///
/// # Safety
/// It must have been published and be the caller's to read.
#[inline(always)]
unsafe fn read(place: *const u8, word: u64) -> Arrival {
    // SAFETY: by the caller; header and payload follow the word.
    unsafe {
        Arrival {
            kind: word as u8,
            is_long: false,
            bytes: (word as u32) >> 8,
            header: place.add(8).cast::<[u64; 2]>().read(),
            payload: place.add(PAYLOAD_AT),
        }
    }
}

/// Kind and length of a packet, in the lower half of its word; never zero.
#[inline]
pub fn describe(letter: &Letter<'_>) -> u64 {
    (letter.payload.len() as u64) << 8 | letter.kind as u64
}
