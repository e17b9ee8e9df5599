//! A receiver that overtakes the sender of a long block, in every interleaving of the two.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};
use loom::sync::Arc;
use loom::thread;
use serried_loom::every_interleaving;
use serried_loom::overtake_word::{Outcome, OvertakeWord};

/// Parts of a block. The first is in its cell when the packet is pushed.
const PARTS: usize = 3;

/// A block of a sender, cells for it, and what both say of them.
struct Block {
    word: OvertakeWord,
    filled: AtomicU32,
    block: [UnsafeCell<u8>; PARTS],
    cells: [UnsafeCell<u8>; PARTS],
}

// SAFETY: that nobody reads what another one writes is what is checked.
unsafe impl Sync for Block {}

impl Block {
    /// As `NodeTransport::push_pieces` after its packet.
    fn send(&self) {
        for at in 1..PARTS {
            if let Some(until) = self.word.until() {
                (at.max(until)..PARTS).for_each(|part| self.fill(part));
                if self.is_read() {
                    break;
                }
            }
            self.fill(at);
            if at + 1 == PARTS {
                while !self.word.close() && !self.is_read() {}
            } else {
                self.filled.store(at as u32 + 1, Release);
            }
        }
        self.filled.store(PARTS as u32, Release);
    }

    fn fill(&self, part: usize) {
        let byte = self.block[part].with(|from| unsafe { *from });
        self.cells[part].with_mut(|cell| unsafe { *cell = byte });
    }

    fn is_read(&self) -> bool {
        loop {
            match self.word.outcome() {
                Outcome::Read => thread::yield_now(),
                outcome => return outcome == Outcome::Over,
            }
        }
    }

    /// A part out of its cell, when it is there.
    fn from_cell(&self, part: usize) -> u8 {
        while self.filled.load(Acquire) as usize <= part {
            thread::yield_now();
        }
        self.cells[part].with(|cell| unsafe { *cell })
    }
}

/// A receiver overtakes the sender up to part `until`, and gives the block back after one, or reads it up to there.
fn overtaking_check(until: usize, gives_back: bool) {
    every_interleaving(3, move || {
        let block = Arc::new(Block {
            word: OvertakeWord::new(),
            filled: AtomicU32::new(1),
            block: [0, 1, 2].map(UnsafeCell::new),
            cells: [0; PARTS].map(UnsafeCell::new),
        });
        block.word.open(0);
        let peer = Arc::clone(&block);
        let sender = thread::spawn(move || {
            peer.send();
            // It has returned to the program.
            peer.block.iter().for_each(|part| part.with_mut(|part| unsafe { *part = 9 }));
        });
        let mut read = 1;
        if (block.filled.load(Acquire) as usize) < PARTS && block.word.overtake(until) {
            while read < if gives_back { 2 } else { until } {
                assert_eq!(block.block[read].with(|part| unsafe { *part }), read as u8);
                read += 1;
            }
            match gives_back && read < until {
                true => block.word.give_back(),
                false => block.word.end(),
            }
        }
        (read..PARTS).for_each(|part| assert_eq!(block.from_cell(part), part as u8));
        sender.join().unwrap();
        // The cells are the receiver's now, if it keeps them.
        block.cells.iter().for_each(|cell| cell.with_mut(|cell| unsafe { *cell = 8 }));
    });
}

#[test]
fn a_block_whose_sender_is_overtaken_is_read_before_the_sender_returns() {
    overtaking_check(3, false);
    overtaking_check(2, false);
}

#[test]
fn a_block_that_is_given_back_comes_through_its_cells() {
    overtaking_check(3, true);
}
