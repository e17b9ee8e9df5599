//! Blocks in a piece of memory: which bytes are in use.
//!
//! All ranks do the same here in the same order, and what comes out depends on nothing else: so blocks lie at the same
//! offset in all of them.

use std::collections::{BTreeMap, BTreeSet};

/// Blocks begin at multiples of a cache line.
pub const GRAIN: usize = 64;

/// The blocks of a piece.
#[derive(Debug)]
pub struct Blocks {
    bytes: usize,
    /// Those in use: where they begin, their length in bytes as it was asked for.
    used: BTreeMap<usize, usize>,
    /// What is free: where it begins, its length.
    free: BTreeMap<usize, usize>,
    /// The same by length.
    by_length: BTreeSet<(usize, usize)>,
}

/// What a block of so many bytes takes.
fn room(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(GRAIN)
}

impl Blocks {
    /// A piece of so many bytes, all free.
    pub fn new(bytes: usize) -> Blocks {
        let mut blocks =
            Blocks { bytes, used: BTreeMap::new(), free: BTreeMap::new(), by_length: BTreeSet::new() };
        blocks.release(0, bytes);
        blocks
    }

    /// Takes the smallest room that does; `alignment` is a power of two.
    pub fn take(&mut self, bytes: usize, alignment: usize) -> Option<usize> {
        let length = room(bytes)?;
        let fits = |&&(free, start): &&(usize, usize)| {
            let begin = start.next_multiple_of(alignment.max(GRAIN));
            begin + length <= start + free
        };
        let &(free, start) = self.by_length.range((length, 0)..).find(fits)?;
        self.withdraw(start, free);
        let begin = start.next_multiple_of(alignment.max(GRAIN));
        self.release(start, begin - start);
        self.release(begin + length, start + free - begin - length);
        self.used.insert(begin, bytes);
        Some(begin)
    }

    /// Gives a block back; `false` if none begins there.
    pub fn give(&mut self, begin: usize) -> bool {
        let Some(bytes) = self.used.remove(&begin) else { return false };
        let mut length = room(bytes).unwrap_or(GRAIN);
        let mut start = begin;
        if let Some(behind) = self.free.get(&(begin + length)).copied() {
            self.withdraw(begin + length, behind);
            length += behind;
        }
        let before = self.free.range(..begin).next_back().map(|(&start, &free)| (start, free));
        if let Some((earlier, free)) = before.filter(|&(earlier, free)| earlier + free == begin) {
            self.withdraw(earlier, free);
            (start, length) = (earlier, length + free);
        }
        self.release(start, length);
        true
    }

    /// The length of a block that begins there.
    pub fn length(&self, begin: usize) -> Option<usize> {
        self.used.get(&begin).copied()
    }

    /// Gives a block another length where it is; `false` if it has no room for that.
    pub fn resize(&mut self, begin: usize, bytes: usize) -> bool {
        let Some(old) = self.used.get(&begin).copied() else { return false };
        let (Some(old), Some(new)) = (room(old), room(bytes)) else { return false };
        if new > old {
            match self.free.get(&(begin + old)).copied() {
                Some(free) if free >= new - old => {
                    self.withdraw(begin + old, free);
                    self.release(begin + new, free - (new - old));
                }
                _ => return false,
            }
        } else if new < old {
            // What is given up joins what is free behind it.
            let behind = self.free.get(&(begin + old)).copied().unwrap_or(0);
            self.withdraw(begin + old, behind);
            self.release(begin + new, old - new + behind);
        }
        self.used.insert(begin, bytes);
        true
    }

    /// Whether no block is in use.
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Bytes of the piece, and those of blocks in use.
    pub fn usage(&self) -> (usize, usize) {
        (self.bytes, self.used.values().sum())
    }

    fn release(&mut self, start: usize, length: usize) {
        if length > 0 {
            self.free.insert(start, length);
            self.by_length.insert((length, start));
        }
    }

    fn withdraw(&mut self, start: usize, length: usize) {
        self.free.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_aligned_and_what_is_given_back_joins() {
        let mut blocks = Blocks::new(1 << 20);
        let first = blocks.take(100, 8).unwrap();
        let second = blocks.take(1, 4096).unwrap();
        let third = blocks.take(64, 64).unwrap();
        assert_eq!((first, second), (0, 4096));
        assert_eq!(third, 128, "the smallest room that does");
        assert_eq!((blocks.length(first), blocks.length(64)), (Some(100), None));
        assert!(blocks.give(second) && !blocks.give(second) && blocks.give(first) && blocks.give(third));
        assert!(blocks.is_empty());
        assert_eq!(blocks.take(1 << 20, 64), Some(0), "all of it is one piece again");
        assert_eq!(blocks.take(1, 1), None);
    }

    #[test]
    fn a_block_grows_where_there_is_room() {
        let mut blocks = Blocks::new(4096);
        let first = blocks.take(64, 64).unwrap();
        assert!(blocks.resize(first, 1000));
        let second = blocks.take(64, 64).unwrap();
        assert!(!blocks.resize(first, 2000) && blocks.resize(first, 10) && blocks.resize(first, 1000));
        assert!(blocks.give(first) && blocks.give(second));
        assert_eq!(blocks.take(4096, 64), Some(0));
        assert!(!blocks.resize(64, 1) && blocks.take(usize::MAX, 64).is_none());
    }

    #[test]
    fn random_calls_keep_blocks_apart() {
        let (mut blocks, mut live) = (Blocks::new(1 << 16), Vec::<(usize, usize)>::new());
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            if random(2) == 0 && !live.is_empty() {
                let (begin, _) = live.swap_remove(random(live.len() as u64) as usize);
                assert!(blocks.give(begin));
            } else {
                let (bytes, alignment) = (random(2000) as usize + 1, 1 << random(10));
                if let Some(begin) = blocks.take(bytes, alignment) {
                    assert!(begin.is_multiple_of(alignment) && begin + bytes <= 1 << 16);
                    let apart =
                        |&(other, length): &(usize, usize)| begin + bytes <= other || other + length <= begin;
                    assert!(live.iter().all(apart));
                    live.push((begin, bytes));
                }
            }
        }
        live.into_iter().for_each(|(begin, _)| assert!(blocks.give(begin)));
        assert_eq!(blocks.take(1 << 16, 64), Some(0));
    }
}
