//! Memory of the sorts that programs have, for what is sent and what is received.

use serried_engine::memory::window;
use std::ops::{Deref, DerefMut};
use std::slice;

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// What Rust's allocator gives.
    Heap,
    /// What `MPI_Alloc_mem` gives: other ranks map it. From the heap where there is none.
    Window,
    /// What others reach through the kernel only.
    Apart,
}

/// A block of words, kept until the process ends: others may still be looking at it.
pub struct Block(&'static mut [u64]);

impl Block {
    /// So many words of a value.
    pub fn new(memory: Memory, words: usize, value: u64) -> Block {
        let found = match memory {
            Memory::Heap => None,
            Memory::Window => window::take(words * 8, 4096),
            Memory::Apart => apart(words * 8),
        };
        let Some(address) = found else { return Block(vec![value; words].leak()) };
        // SAFETY: fresh memory of so many bytes, zeroed by the system, that nobody else has and that stays.
        let block = Block(unsafe { slice::from_raw_parts_mut(address.cast(), words) });
        block.0.fill(value);
        block
    }
}

impl Deref for Block {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.0
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u64] {
        self.0
    }
}

/// A mapping that children would share, so nothing of it can become a window's.
fn apart(bytes: usize) -> Option<*mut u8> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, wherever the system wants it.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_sorts_can_be_written() {
        for memory in [Memory::Heap, Memory::Window, Memory::Apart] {
            let mut block = Block::new(memory, 1000, 7);
            block[999] += 1;
            assert_eq!((block[0], block[999], block.len()), (7, 8, 1000), "{memory:?}");
        }
    }
}
