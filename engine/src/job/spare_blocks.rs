//! Shared memory of ranks that have no window: blocks in the part of the file that the window would have.
//!
//! A sanitizer, valgrind, a limit on address space or a setting may leave a process without a window
//! ([`policy::Off`](crate::memory::window::policy::Off)). Its part of the file behind the node segment is then of no use to
//! anybody else, and whoever has mapped the node segment can map pieces of it. A block is lent by the rank whose part it lies
//! in; that rank alone says where. All who share it map it, each at an address of its own, and forget it. The owner takes it
//! back when all have.

use super::node_segment::NodeSegment;
use crate::memory::segment::{self, Piece};
use crate::memory::window::layout::{BOARD_PAGES, PAGE, WINDOW_BYTES};
use crate::memory::window::Window;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Blocks begin behind what would be the board of a window: nobody takes one for the other.
const FIRST: u64 = BOARD_PAGES as u64 * PAGE as u64;
/// Blocks begin at multiples of this: a huge page.
const APART: u64 = 2 << 20;

/// The blocks that this process has mapped, its own and those of others.
#[derive(Debug, Default)]
pub struct SpareBlocks(Mutex<Vec<Block>>);

/// One of them.
#[derive(Debug)]
struct Block {
    /// In whose part.
    local_rank: u32,
    /// Where in it, in whole pages.
    part: Range<u64>,
    /// The same in this process.
    piece: Piece,
}

impl SpareBlocks {
    /// Takes so many zeroed bytes of the part of this process, which is `local_rank`: where they lie in it. `None` if it has a
    /// window, the file no parts, or the machine not so much.
    pub fn lend(&self, node: &NodeSegment, local_rank: u32, bytes: u64) -> Option<u64> {
        Window::of_process().off()?;
        let mut blocks = self.lock();
        let own = blocks.iter().filter(|block| block.local_rank == local_rank);
        let at = first_gap(own.map(|block| block.part.clone()).collect(), bytes)?;
        blocks.push(Block::map(node, local_rank, at, bytes)?);
        Some(at)
    }

    /// Maps a block that a rank has lent; `false`: it cannot be mapped here.
    pub fn share(&self, node: &NodeSegment, local_rank: u32, at: u64, bytes: u64) -> bool {
        let block = Block::map(node, local_rank, at, bytes);
        block.map(|block| self.lock().push(block)).is_some()
    }

    /// Where a byte of a mapped block lies in this process.
    pub fn address(&self, local_rank: u32, at: u64) -> Option<usize> {
        let blocks = self.lock();
        // A segment without bytes may lie at the end of a block.
        let has_it = |block: &&Block| {
            block.local_rank == local_rank && (block.part.start..=block.part.end).contains(&at)
        };
        let block = blocks.iter().filter(has_it).max_by_key(|block| block.part.start)?;
        Some(block.piece.address() + (at - block.part.start) as usize)
    }

    /// Ends [`SpareBlocks::share`]: the block that begins there is not used here any more.
    pub fn forget(&self, local_rank: u32, at: u64) {
        self.unmap(local_rank, at);
    }

    /// Ends [`SpareBlocks::lend`]: the block that begins there is not used by anybody any more.
    pub fn take_back(&self, node: &NodeSegment, local_rank: u32, at: u64) {
        let Some((part, (_, parts))) = self.unmap(local_rank, at).zip(node.windows()) else { return };
        let offset = Window::part(parts, local_rank) + part.start;
        if segment::give_back(node.descriptor(), offset, (part.end - part.start) as usize).is_err() {
            // It stays lent, since it does not read as zero.
            self.share(node, local_rank, part.start, part.end - part.start);
        }
    }

    fn unmap(&self, local_rank: u32, at: u64) -> Option<Range<u64>> {
        let mut blocks = self.lock();
        let is_it = |block: &Block| block.local_rank == local_rank && block.part.start == at;
        let place = blocks.iter().position(is_it)?;
        Some(blocks.swap_remove(place).part)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Block>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Block {
    fn map(node: &NodeSegment, local_rank: u32, at: u64, bytes: u64) -> Option<Block> {
        let (_, parts) = node.windows()?;
        let bytes = bytes.max(1).next_multiple_of(PAGE as u64);
        let offset = Window::part(parts, local_rank) + at;
        let piece = Piece::map(node.descriptor(), offset, bytes as usize).ok()?;
        Some(Block { local_rank, part: at..at + bytes, piece })
    }
}

/// The first place between taken ranges where so many bytes are free.
fn first_gap(mut taken: Vec<Range<u64>>, bytes: u64) -> Option<u64> {
    let bytes = Some(bytes).filter(|&bytes| bytes <= WINDOW_BYTES as u64)?;
    taken.sort_unstable_by_key(|range| range.start);
    let mut at = FIRST.next_multiple_of(APART);
    for range in taken {
        if at + bytes <= range.start {
            break;
        }
        at = range.end.next_multiple_of(APART);
    }
    (at + bytes <= WINDOW_BYTES as u64).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::window::Off;

    #[test]
    fn gaps_are_found_in_order() {
        let first = first_gap(Vec::new(), 1).unwrap();
        assert_eq!(first % APART, 0);
        assert!(first >= FIRST);
        let two = vec![first + APART..first + APART + 1, first..first + 5];
        assert_eq!(first_gap(two.clone(), 7), Some(first + 2 * APART));
        let apart = vec![first..first + 5, first + 3 * APART..first + 4 * APART];
        assert_eq!(first_gap(apart.clone(), 2 * APART), Some(first + APART));
        assert_eq!(first_gap(apart, 2 * APART + 1), Some(first + 4 * APART));
        assert_eq!(first_gap(two, WINDOW_BYTES as u64 - APART), None);
        assert_eq!(first_gap(Vec::new(), u64::MAX), None);
    }

    #[test]
    fn blocks_are_the_same_memory_at_every_address() {
        Window::of_process().turn_off(Off::NoRank);
        let node = NodeSegment::create(2).unwrap();
        let (owner, other) = (SpareBlocks::default(), SpareBlocks::default());
        let at = owner.lend(&node, 1, 5 << 20).unwrap();
        assert!(other.share(&node, 1, at, 5 << 20));
        let word = |blocks: &SpareBlocks, offset| blocks.address(1, at + offset).map(|word| word as *mut u64);
        assert_eq!(word(&owner, 6 << 20), None);
        let (mine, theirs) = (word(&owner, 4096).unwrap(), word(&other, 4096).unwrap());
        assert_ne!(mine, theirs);
        // SAFETY: both are mapped, and nobody else has them.
        unsafe {
            mine.write_volatile(7);
            assert_eq!(theirs.read_volatile(), 7);
        }
        other.forget(1, at);
        owner.take_back(&node, 1, at);
        assert_eq!(owner.address(1, at), None);
        assert_eq!(owner.lend(&node, 1, 8192), Some(at));
        // SAFETY: mapped, and nobody else has it.
        assert_eq!(unsafe { word(&owner, 4096).unwrap().read_volatile() }, 0);
    }
}
