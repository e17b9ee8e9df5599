//! Bounce buffers: memory of this rank that its peers read and write by plain loads and
//! stores, for data that lie where they cannot.
//!
//! Blocks of malloc below 64 KiB, stacks and what a foreign allocator gives never become
//! shared. A copy through the kernel takes some microseconds before it moves a byte; to copy
//! a few pages twice takes less.
//!
//! # Ownership
//! Whoever takes a buffer is its only owner in this process until it is dropped; which peers
//! use it until then is for the owner to know. Buffers are used again and again, the last
//! one first, since its pages are mapped here and there, and perhaps in a cache.

use super::window::heap::Birth;
use super::window::Window;
use crate::lock_order::{self, Level, Ordered};
use std::sync::Mutex;

/// The shortest buffer, and how many lengths there are: each is twice the one before.
const SHORTEST: usize = 8 << 10;
const LENGTHS: usize = 9;
/// The longest buffer.
pub const LONGEST: u64 = 2 << 20;
const _: () = assert!(LONGEST == (SHORTEST << (LENGTHS - 1)) as u64);
/// The first touch of all its pages takes as long as some ten copies through the kernel, so a
/// longer buffer is made only for who has asked for one of its length so often.
const OFTEN: u8 = 8;
const MADE_AT_ONCE: usize = 16 << 10;
/// Bytes of buffers that are kept for the next ones, all together.
const KEPT: usize = 4 << 20;

/// Buffers that nobody uses.
struct Unused {
    /// Where those of each length lie.
    addresses: [Vec<usize>; LENGTHS],
    /// How long all of them are together.
    bytes: usize,
    /// How often one of each length was asked for and not to be had.
    missed: [u8; LENGTHS],
}

static UNUSED: Mutex<Unused> =
    Mutex::new(Unused { addresses: [const { Vec::new() }; LENGTHS], bytes: 0, missed: [0; LENGTHS] });

impl Unused {
    fn lock() -> Ordered<'static, Unused> {
        lock_order::lock(&UNUSED, Level::BOUNCE)
    }

    fn take(&mut self, length: usize) -> Option<usize> {
        let address = self.addresses[length].pop()?;
        self.bytes -= bytes_of(length);
        Some(address)
    }

    /// Whether another one is made.
    fn is_worth_it(&mut self, length: usize) -> bool {
        let missed = &mut self.missed[length];
        *missed = missed.saturating_add(1);
        bytes_of(length) <= MADE_AT_ONCE || *missed >= OFTEN
    }

    /// Whether it is kept.
    fn give(&mut self, length: usize, address: usize) -> bool {
        let kept = self.bytes + bytes_of(length) <= KEPT;
        if kept {
            self.bytes += bytes_of(length);
            self.addresses[length].push(address);
        }
        kept
    }
}

fn bytes_of(length: usize) -> usize {
    SHORTEST << length
}

/// Which length has room for so many bytes.
fn length_of(bytes: u64) -> usize {
    (bytes as usize).div_ceil(SHORTEST).next_power_of_two().trailing_zeros() as usize
}

/// A bounce buffer. Its contents are not initialised.
#[derive(Debug)]
pub struct Bounce {
    address: *mut u8,
    /// Of which length.
    length: usize,
}

// SAFETY: the memory is the owner's alone in this process, and no thread's own.
unsafe impl Send for Bounce {}

impl Bounce {
    /// A buffer of `bytes` bytes at least, aligned as a page; `None` where there is no shared
    /// memory, for more than [`LONGEST`], or where long ones were not wanted often yet.
    pub fn take(bytes: u64) -> Option<Bounce> {
        if bytes > LONGEST {
            return None;
        }
        let length = length_of(bytes);
        let window = Window::of_process();
        while let Some(address) = { Unused::lock().take(length) } {
            if window.is_shared(address, bytes_of(length)) {
                return Some(Bounce { address: address as *mut u8, length });
            }
            free(address); // a child of this process may see its pages
        }
        if window.off().is_some() || !Unused::lock().is_worth_it(length) {
            return None;
        }
        let block = window.allocate(bytes_of(length), SHORTEST, Birth::Shared)?;
        Some(Bounce { address: block.address, length })
    }

    /// As [`Bounce::take`], however seldom one of its length was asked for: for who keeps it.
    pub fn make(bytes: u64) -> Option<Bounce> {
        if let Some(taken) = Bounce::take(bytes) {
            return Some(taken);
        }
        let window = Window::of_process();
        if bytes > LONGEST || window.off().is_some() {
            return None;
        }
        let length = length_of(bytes);
        let block = window.allocate(bytes_of(length), SHORTEST, Birth::Shared)?;
        Some(Bounce { address: block.address, length })
    }

    /// Where it begins.
    pub fn address(&self) -> *mut u8 {
        self.address
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        bytes_of(self.length) as u64
    }
}

impl Drop for Bounce {
    fn drop(&mut self) {
        let address = self.address as usize;
        let is_kept = Unused::lock().give(self.length, address);
        if !is_kept {
            free(address);
        }
    }
}

/// Gives a buffer that nobody uses any more back to the window.
fn free(address: usize) {
    // SAFETY: taken from the window, by a `Bounce` that is no more.
    unsafe { Window::of_process().free(address as *mut u8) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_goes_another_way() {
        assert!(Bounce::take(LONGEST + 1).is_none());
    }

    #[test]
    fn without_a_job_there_is_none() {
        assert!(Bounce::take(8).is_none(), "a process that is no rank has no shared memory");
    }
}
