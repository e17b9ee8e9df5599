//! How data with gaps lie in memory, told in few words: blocks of one length in loops, or at listed offsets.

use std::ops::Range;
use std::sync::Arc;

/// Loops at most, one in another.
pub const LOOPS: usize = 4;
/// Bytes of the longest word that a device moves at once.
const LONGEST_WORD: u64 = 16;

/// So many times, each so many bytes after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// How often.
    pub count: u64,
    /// How many bytes.
    pub stride: i64,
}

impl Loop {
    /// Once.
    pub const ONCE: Loop = Loop { count: 1, stride: 0 };
}

/// Where the blocks lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// In loops, the innermost first.
    Loops([Loop; LOOPS]),
    /// At each of these offsets, in each of several items.
    Listed {
        /// In bytes.
        offsets: Arc<[i64]>,
        /// The items.
        items: Loop,
    },
}

/// Data with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// From the address of the data to the first block, before what the pattern adds.
    pub offset: i64,
    /// Bytes of a block.
    pub block: u64,
    /// Where they lie.
    pub pattern: Pattern,
}

impl Spread {
    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        match &self.pattern {
            Pattern::Loops(loops) => loops.iter().fold(1, |blocks, one| blocks.saturating_mul(one.count)),
            Pattern::Listed { offsets, items } => items.count.saturating_mul(offsets.len() as u64),
        }
    }

    /// Where the block of a number lies, from the address of the data.
    pub fn place(&self, number: u64) -> i64 {
        match &self.pattern {
            Pattern::Loops(loops) => {
                let (mut rest, mut place) = (number, self.offset);
                for one in loops {
                    place += (rest % one.count) as i64 * one.stride;
                    rest /= one.count;
                }
                place
            }
            Pattern::Listed { offsets, items } => {
                let number_of = offsets.len() as u64;
                let item = (number / number_of) as i64;
                self.offset + item * items.stride + offsets[(number % number_of) as usize]
            }
        }
    }

    /// The logarithm of the longest word, in bytes, of which all is made: the blocks, where they lie if the data are at an
    /// address, and a range of the data.
    pub fn logarithm_of_word(&self, address: usize, range: &Range<u64>) -> u32 {
        let first = (address as u64).wrapping_add(self.offset as u64);
        let mut all = LONGEST_WORD | self.block | first | range.start | range.end;
        match &self.pattern {
            Pattern::Loops(loops) => loops.iter().for_each(|one| all |= one.stride as u64),
            Pattern::Listed { offsets, items } => {
                all |= items.stride as u64;
                offsets.iter().for_each(|&offset| all |= offset as u64);
            }
        }
        all.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_places() {
        let two = |count, stride| Loop { count, stride };
        let loops = Pattern::Loops([two(3, 16), two(2, -100), Loop::ONCE, Loop::ONCE]);
        let spread = Spread { offset: 8, block: 4, pattern: loops };
        let places: Vec<i64> = (0..spread.blocks()).map(|number| spread.place(number)).collect();
        assert_eq!(places, [8, 24, 40, -92, -76, -60]);
        let listed = Pattern::Listed { offsets: Arc::new([40, 0]), items: two(2, 64) };
        let spread = Spread { offset: 0, block: 8, pattern: listed };
        let places: Vec<i64> = (0..spread.blocks()).map(|number| spread.place(number)).collect();
        assert_eq!(places, [40, 0, 104, 64]);
    }

    #[test]
    fn a_word_divides_all() {
        let stride = |stride| Pattern::Loops([Loop { count: 9, stride }, Loop::ONCE, Loop::ONCE, Loop::ONCE]);
        let spread = |offset, block, pattern| Spread { offset, block, pattern };
        assert_eq!(spread(0, 64, stride(128)).logarithm_of_word(4096, &(0..576)), 4);
        assert_eq!(spread(0, 64, stride(-72)).logarithm_of_word(4096, &(0..576)), 3);
        assert_eq!(spread(4, 64, stride(128)).logarithm_of_word(4096, &(0..576)), 2);
        assert_eq!(spread(0, 64, stride(128)).logarithm_of_word(4098, &(0..576)), 1);
        assert_eq!(spread(0, 64, stride(128)).logarithm_of_word(4096, &(7..576)), 0);
    }
}
