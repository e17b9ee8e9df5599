//! Where many pieces lie, in words of a message: a word for a piece, two for a row of pieces of one length at one distance.
//!
//! A word has the address and, above it, the length. If its uppermost bit is set, a second word follows, with the number of
//! pieces and, above it, the distance from each piece to the next.

/// Bits of an address.
const ADDRESS_BITS: u32 = 48;
/// A second word follows.
const ROW: u64 = 1 << 63;
/// Bits of the number of pieces.
const COUNT_BITS: u32 = 16;
const MOST_PIECES: u64 = (1 << COUNT_BITS) - 1;

/// The words, as pieces are added.
#[derive(Debug, Default)]
pub struct PieceHeads {
    words: Vec<u64>,
    /// The row that the last piece belongs to, from that piece on.
    last: Row,
}

/// Pieces of one length at one distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Where the first one lies.
    pub address: u64,
    /// Bytes of each: fewer than 2^15.
    pub bytes: u64,
    /// How many they are.
    pub count: u64,
    /// How far each is from the one before.
    pub distance: i64,
}

impl Row {
    /// Whether two words say where all its pieces lie.
    pub fn is_short(self) -> bool {
        self.count <= MOST_PIECES && fits(self.distance)
    }

    /// The address of each piece.
    pub fn addresses(self) -> impl Iterator<Item = u64> + Clone {
        (0..self.count as i64).map(move |index| self.address.wrapping_add_signed(self.distance * index))
    }
}

impl PieceHeads {
    /// One more piece.
    #[inline]
    pub fn add(&mut self, address: u64, bytes: u64) {
        let Row { address: before, bytes: length, count, distance } = self.last;
        let next = address.wrapping_sub(before) as i64;
        let follows = count > 0 && count < MOST_PIECES && bytes == length && fits(next);
        self.last = Row { address, bytes, count: 1, distance: 0 };
        match self.words.last_mut() {
            Some(word) if follows && count == 1 => {
                *word |= ROW;
                self.words.push((next << COUNT_BITS) as u64 | 2);
            }
            Some(word) if follows && next == distance => *word += 1,
            _ => return self.words.push(address & ((1 << ADDRESS_BITS) - 1) | bytes << ADDRESS_BITS),
        }
        (self.last.count, self.last.distance) = (count + 1, next);
    }

    /// A row.
    pub fn add_row(&mut self, row: Row) {
        if row.count < 2 || !row.is_short() {
            return row.addresses().for_each(|address| self.add(address, row.bytes));
        }
        self.words.push(row.address & ((1 << ADDRESS_BITS) - 1) | row.bytes << ADDRESS_BITS | ROW);
        self.words.push((row.distance << COUNT_BITS) as u64 | row.count);
        let last = row.address.wrapping_add_signed(row.distance * (row.count as i64 - 1));
        self.last = Row { address: last, ..row };
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Where the last piece lies.
    pub fn last(&self) -> Option<u64> {
        (!self.words.is_empty()).then_some(self.last.address)
    }

    /// There are none any more.
    pub fn clear(&mut self) {
        self.words.clear();
        self.last = Row::default();
    }
}

/// Whether a distance has room above a number of pieces.
fn fits(distance: i64) -> bool {
    distance << COUNT_BITS >> COUNT_BITS == distance
}

/// The rows that words name, which come as bytes; a piece alone is a row of one.
pub fn rows(heads: &[u8]) -> impl Iterator<Item = Row> + Clone + '_ {
    let mut words = heads.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")));
    std::iter::from_fn(move || {
        let head = words.next()?;
        let address = head & ((1 << ADDRESS_BITS) - 1);
        let bytes = (head & !ROW) >> ADDRESS_BITS;
        let (count, distance) = match head & ROW {
            0 => (1, 0),
            _ => words.next().map(|word| (word & MOST_PIECES, word as i64 >> COUNT_BITS))?,
        };
        Some(Row { address, bytes, count, distance })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(pieces: &[(u64, u64)]) -> usize {
        let mut heads = PieceHeads::default();
        pieces.iter().for_each(|&(address, bytes)| heads.add(address, bytes));
        let bytes: Vec<u8> = heads.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
        let found = rows(&bytes).flat_map(|row| row.addresses().map(move |address| (address, row.bytes)));
        assert_eq!(found.collect::<Vec<_>>(), pieces);
        heads.words().len()
    }

    #[test]
    fn pieces_at_one_distance_take_two_words_and_none_more_than_one_each() {
        let row = |from: u64, bytes: u64, distance: i64, count: i64| -> Vec<(u64, u64)> {
            (0..count).map(|index| (from.wrapping_add_signed(distance * index), bytes)).collect()
        };
        assert_eq!(there_and_back(&row(0x7fff_ffff_0000, 8, -24, 1000)), 2);
        assert_eq!(there_and_back(&row(4096, 16 << 10, 1 << 30, 3)), 2);
        assert_eq!(there_and_back(&row(4096, 1, 2, MOST_PIECES as i64 + 1)), 3);
        assert_eq!(there_and_back(&[row(64, 4, 0, 5), row(999, 5, 7, 5)].concat()), 4);
        let scattered: Vec<_> = (0..100u64).map(|index| (index * index * 64, 1 + index % 3)).collect();
        assert!(there_and_back(&scattered) <= 100);
        let alike: Vec<_> = (0..101u64).map(|index| (index * index * 64, 8)).collect();
        assert_eq!(there_and_back(&alike), 101, "two make a row, and the third one begins another");
        assert_eq!(there_and_back(&[(8, 8)]), 1);
        assert_eq!(there_and_back(&[(1, 8), ((1 << 48) - 1, 8)]), 2, "a distance without room in a word");
    }

    #[test]
    fn a_row_is_two_words_and_goes_on() {
        let mut heads = PieceHeads::default();
        let row = Row { address: 4096, bytes: 8, count: 5, distance: 24 };
        heads.add_row(row);
        heads.add(4096 + 5 * 24, 8);
        heads.add_row(Row { address: 64, bytes: 3, count: 1, distance: 0 });
        heads.add_row(Row { address: 1 << 20, bytes: 1, count: 2, distance: -(1 << 50) });
        let bytes: Vec<u8> = heads.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
        let found: Vec<_> = rows(&bytes).collect();
        assert_eq!(
            found[..2],
            [Row { count: 6, ..row }, Row { address: 64, bytes: 3, count: 1, distance: 0 }]
        );
        assert_eq!(found.iter().map(|row| row.count).sum::<u64>(), 9, "a distance without room in a word");
    }

    #[test]
    fn a_row_whose_second_word_is_missing_is_none() {
        assert_eq!(rows(&(ROW | 5).to_ne_bytes()).count(), 0);
    }
}
