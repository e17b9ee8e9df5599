//! Many pieces of one length, here and in the memory of a member: at regular distances, or where lists say.
//!
//! Places in the memory of a member are addresses in its process.

use super::piece_heads::{PieceHeads, Row};
use super::MOST_BYTES;
use crate::{Class, Error, Result};

/// The most levels of distances: one for each dimension of an array but the first.
pub const MOST_LEVELS: usize = 8;

/// A piece here, and where it lies in the memory of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarPiece {
    /// Its address here.
    pub here: *mut u8,
    /// Its address there.
    pub there: u64,
    /// Its length.
    pub bytes: u64,
}

impl FarPiece {
    /// The longest that go together; longer ones go alone.
    pub const MOST: u64 = MOST_BYTES / 2;
}

/// The most pieces that go together.
const MOST_TOGETHER: usize = 4096;
/// The most bytes of their heads. What has more goes in several requests: the first are done while others are still put together.
const MOST_HEADS: u64 = MOST_BYTES / 2;

/// Pieces that together with their heads are no longer than a request.
#[derive(Debug, Default)]
pub struct Batch {
    /// How long that is.
    most: u64,
    pieces: Vec<FarPiece>,
    heads: PieceHeads,
    /// Of all pieces.
    bytes: u64,
    /// They do not lie one behind the other here.
    has_gaps: bool,
}

impl Batch {
    /// None; so many bytes go with a request.
    pub fn of(most: u64) -> Batch {
        Batch { most, ..Batch::default() }
    }

    /// Adds a piece of at most [`FarPiece::MOST`] bytes; before, `visit` takes what has no room beside it.
    ///
    /// # Errors
    /// Of `visit`.
    #[inline]
    pub fn add(&mut self, piece: FarPiece, visit: &mut impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        let heads = 8 * (self.heads.words().len() as u64 + 1);
        let is_full = self.bytes + piece.bytes + heads > self.most || heads > MOST_HEADS;
        if is_full || self.pieces.len() == MOST_TOGETHER {
            self.end(visit)?;
        }
        self.has_gaps |=
            self.pieces.last().is_some_and(|last| last.here.wrapping_add(last.bytes as usize) != piece.here);
        self.bytes += piece.bytes;
        self.heads.add(piece.there, piece.bytes);
        self.pieces.push(piece);
        Ok(())
    }

    /// The pieces.
    pub fn pieces(&self) -> &[FarPiece] {
        &self.pieces
    }

    /// Where they lie here, and how many bytes there: in one place if there are no gaps.
    pub fn places(&self) -> impl Iterator<Item = (*mut u8, u64)> + '_ {
        let whole = self.pieces.first().filter(|_| !self.has_gaps).map(|first| (first.here, self.bytes));
        let each = self.pieces.iter().filter(|_| self.has_gaps).map(|piece| (piece.here, piece.bytes));
        whole.into_iter().chain(each)
    }

    /// The words that say where they lie there.
    pub fn heads(&self) -> &[u64] {
        self.heads.words()
    }

    /// Bytes of all pieces.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// `visit` takes what there is.
    ///
    /// # Errors
    /// Of `visit`.
    pub fn end(&mut self, visit: &mut impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        if !self.pieces.is_empty() {
            visit(self)?;
        }
        self.pieces.clear();
        self.heads.clear();
        (self.bytes, self.has_gaps) = (0, false);
        Ok(())
    }
}

/// Rows of pieces that go with one request. Their data lie one behind the other here.
#[derive(Debug, Default)]
pub struct Rows {
    heads: PieceHeads,
    bytes: u64,
    /// The most bytes that go with a request.
    most: u64,
}

impl Rows {
    /// None; so many bytes go with a request.
    pub fn of(most: u64) -> Rows {
        Rows { most, ..Rows::default() }
    }

    /// Adds as many pieces of a row, each of at most [`FarPiece::MOST`] bytes, as there is room for; how many.
    #[inline]
    pub fn take(&mut self, row: Row) -> u64 {
        let heads = 8 * (self.heads.words().len() as u64 + 2);
        if heads > MOST_HEADS {
            return 0;
        }
        let room = self.most.saturating_sub(self.bytes + heads);
        if row.count == 1 {
            // Irregular pieces come one by one.
            let fits = row.bytes <= room;
            if fits {
                self.heads.add(row.address, row.bytes);
                self.bytes += row.bytes;
            }
            return u64::from(fits);
        }
        // A distance that fits in no word costs a word for each piece.
        let most = match row.is_short() {
            true => room / row.bytes.max(1),
            false => (room / (row.bytes + 8)).min((MOST_HEADS - heads) / 8 + 1),
        };
        let count = row.count.min(most);
        self.heads.add_row(Row { count, ..row });
        self.bytes += count * row.bytes;
        count
    }

    /// The words that say where they lie there.
    pub fn heads(&self) -> &[u64] {
        self.heads.words()
    }

    /// Bytes of all pieces.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The piece, if it is only one: where it lies there.
    pub fn one(&self) -> Option<u64> {
        match *self.heads.words() {
            [_] => self.heads.last(),
            _ => None,
        }
    }

    /// There are none any more.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.bytes = 0;
    }
}

/// Pieces that go from here to the memory of a member or the other way round.
pub trait Pieces {
    /// Bytes of each.
    fn bytes(&self) -> u64;

    /// How many they are.
    fn number(&self) -> u64;

    /// From which address to which end they reach there; of no meaning if they have no bytes.
    ///
    /// # Errors
    /// `RmaRange` when that does not fit 64 bits.
    fn span(&self) -> Result<(i64, i64)>;

    /// Calls `visit` with the address here and there of each, in their order.
    ///
    /// # Errors
    /// The first of `visit`.
    fn each(&self, visit: impl FnMut(*mut u8, u64) -> Result<()>) -> Result<()>;

    /// Whether all lie there at multiples of so many bytes, a power of two.
    fn are_at_multiples_of(&self, bytes: u64) -> bool {
        let mut bits = 0;
        let _ = self.each(|_, there| {
            bits |= there;
            Ok(())
        });
        bits & (bytes - 1) == 0
    }

    /// Calls `visit` with some pieces at a time, which together with their addresses are no longer than `most` bytes.
    ///
    /// # Errors
    /// The first of `visit`.
    fn in_batches(&self, most: u64, mut visit: impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        let (mut batch, bytes) = (Batch::of(most), self.bytes());
        self.each(|here, there| batch.add(FarPiece { here, there, bytes }, &mut visit))?;
        batch.end(&mut visit)
    }
}

/// A number of repetitions, and how far each is from the one before, here and there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    count: u64,
    here: i64,
    there: i64,
}

/// Pieces at regular distances in several levels.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    here: *mut u8,
    there: u64,
    bytes: u64,
    levels: [Level; MOST_LEVELS],
    depth: usize,
}

impl Strided {
    /// One piece, at an address here and there.
    #[inline]
    pub fn new(here: *mut u8, there: u64, bytes: u64) -> Strided {
        Strided { here, there, bytes, levels: [Level::default(); MOST_LEVELS], depth: 0 }
    }

    /// All of it `count` times, each so many bytes after the one before. What lies without gaps becomes one piece.
    ///
    /// # Errors
    /// `Count` beyond 64 bits; `Arg` for more than [`MOST_LEVELS`].
    #[inline]
    pub fn repeat(mut self, count: u64, here: i64, there: i64) -> Result<Strided> {
        if count == 1 {
            return Ok(self);
        }
        if count == 0 {
            self.bytes = 0;
        }
        if self.depth == 0 && here == there && u64::try_from(here) == Ok(self.bytes) {
            self.bytes = self
                .bytes
                .checked_mul(count)
                .filter(|&bytes| i64::try_from(bytes).is_ok())
                .ok_or_else(too_many)?;
            return Ok(self);
        }
        self.number().checked_mul(count).ok_or_else(too_many)?;
        let level = self.levels.get_mut(self.depth).ok_or_else(too_deep)?;
        *level = Level { count, here, there };
        self.depth += 1;
        Ok(self)
    }

    fn levels(&self) -> &[Level] {
        &self.levels[..self.depth]
    }
}

impl Pieces for Strided {
    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn number(&self) -> u64 {
        self.levels().iter().map(|level| level.count).product()
    }

    #[inline]
    fn are_at_multiples_of(&self, bytes: u64) -> bool {
        let bits = self.levels().iter().fold(self.there, |bits, level| bits | level.there as u64);
        bits & (bytes - 1) == 0
    }

    #[inline]
    fn span(&self) -> Result<(i64, i64)> {
        let (mut first, mut last) = (i128::from(self.there), i128::from(self.there));
        for level in self.levels() {
            let reach = i128::from(level.count.saturating_sub(1)) * i128::from(level.there);
            first += reach.min(0);
            last += reach.max(0);
        }
        let fits = |value: i128| i64::try_from(value).map_err(|_| too_far());
        Ok((fits(first)?, fits(last + i128::from(self.bytes))?))
    }

    #[inline]
    fn each(&self, mut visit: impl FnMut(*mut u8, u64) -> Result<()>) -> Result<()> {
        let (mut here, mut there) = (self.here, self.there);
        let Some((inner, outer)) = self.levels().split_first() else { return visit(here, there) };
        let mut done = [0u64; MOST_LEVELS];
        loop {
            for index in 0..inner.count as i64 {
                let at = here.wrapping_offset(inner.here.wrapping_mul(index) as isize);
                visit(at, there.wrapping_add_signed(inner.there.wrapping_mul(index)))?;
            }
            let mut next = None;
            for (level, done) in outer.iter().zip(&mut done) {
                *done += 1;
                here = here.wrapping_offset(level.here as isize);
                there = there.wrapping_add_signed(level.there);
                if *done < level.count {
                    next = Some(());
                    break;
                }
                here = here.wrapping_offset(level.here.wrapping_mul(-(level.count as i64)) as isize);
                there = there.wrapping_add_signed(level.there.wrapping_mul(-(level.count as i64)));
                *done = 0;
            }
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

/// Pieces anywhere. Both lists have the same length.
#[derive(Clone, Copy, Debug)]
pub struct Scattered<'a> {
    /// Where the pieces lie here.
    pub here: &'a [*mut u8],
    /// Where they lie there.
    pub there: &'a [*mut u8],
    /// Bytes of each.
    pub bytes: u64,
}

impl Pieces for Scattered<'_> {
    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn number(&self) -> u64 {
        self.there.len() as u64
    }

    #[inline]
    fn span(&self) -> Result<(i64, i64)> {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for &address in self.there {
            first = first.min(address as i64);
            last = last.max(address as i64);
        }
        let end = i64::try_from(self.bytes).ok().and_then(|bytes| last.checked_add(bytes));
        Ok((first, end.ok_or_else(too_far)?))
    }

    #[inline]
    fn each(&self, mut visit: impl FnMut(*mut u8, u64) -> Result<()>) -> Result<()> {
        for (&here, &there) in self.here.iter().zip(self.there) {
            visit(here, there as u64)?;
        }
        Ok(())
    }
}

#[cold]
fn too_many() -> Error {
    Error::new(Class::Count, "the counts of all levels together do not fit 64 bits")
}

#[cold]
fn too_deep() -> Error {
    Error::new(Class::Arg, format!("more than {MOST_LEVELS} levels of strides"))
}

#[cold]
fn too_far() -> Error {
    Error::new(Class::RmaRange, "the counts and strides reach beyond all memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(pieces: &impl Pieces) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        pieces
            .each(|here, there| {
                all.push((here as usize, there));
                Ok(())
            })
            .unwrap();
        all
    }

    fn one(here: usize, there: u64, bytes: u64) -> Strided {
        Strided::new(here as *mut u8, there, bytes)
    }

    #[test]
    fn levels_are_visited_from_the_inside() {
        let pieces = one(1000, 10, 4).repeat(2, 8, 16).unwrap().repeat(3, 100, -5).unwrap();
        let expected: Vec<_> = (0..3)
            .flat_map(|j| {
                (0..2).map(move |i| (1000 + 8 * i + 100 * j, (10 + 16 * i as i64 - 5 * j as i64) as u64))
            })
            .collect();
        assert_eq!(offsets(&pieces), expected);
        assert_eq!((pieces.number(), pieces.span().unwrap()), (6, (0, 30)));
        assert!(pieces.are_at_multiples_of(1) && !pieces.are_at_multiples_of(2));
    }

    #[test]
    fn what_lies_without_gaps_is_one_piece() {
        let pieces =
            one(0, 0, 4).repeat(5, 4, 4).unwrap().repeat(1, 7, 9).unwrap().repeat(2, 20, 20).unwrap();
        assert_eq!((pieces.bytes(), pieces.number()), (40, 1));
        assert_eq!(offsets(&pieces), [(0, 0)]);
    }

    #[test]
    fn nothing_is_nothing() {
        let pieces = one(0, 0, 4).repeat(0, 4, 4).unwrap().repeat(3, 8, 8).unwrap();
        assert_eq!(pieces.bytes() * pieces.number(), 0);
        let levels = (0..9).try_fold(one(0, 0, 1), |pieces, _| pieces.repeat(2, 2, 3));
        assert_eq!(levels.unwrap_err().class(), Class::Arg);
    }

    #[test]
    fn what_does_not_fit_64_bits_is_refused() {
        let many = one(0, 0, 1 << 40).repeat(1 << 40, 1 << 40, 1 << 40);
        assert_eq!(many.unwrap_err().class(), Class::Count);
        let far = one(0, 0, 8).repeat(1 << 40, 0, i64::MAX).unwrap();
        assert_eq!(far.span().unwrap_err().class(), Class::RmaRange);
    }

    #[test]
    fn batches_are_no_longer_than_a_message() {
        let pieces = one(0, 0, 100).repeat(1000, 200, 300).unwrap();
        let (mut lengths, mut next) = (Vec::new(), 0);
        let count = |batch: &Batch| {
            lengths.push(batch.pieces().len() as u64);
            for piece in batch.pieces() {
                assert_eq!((piece.there, piece.bytes), (next, 100));
                next += 300;
            }
            Ok(())
        };
        pieces.in_batches(MOST_BYTES, count).unwrap();
        assert_eq!(lengths.iter().sum::<u64>(), 1000);
        assert!(lengths.iter().all(|number| number * 100 + 16 <= MOST_BYTES) && lengths.len() == 4);
    }

    #[test]
    fn lists_are_visited_in_their_order() {
        let (here, there) = ([7 as *mut u8, 2 as *mut u8], [130 as *mut u8, 100 as *mut u8]);
        let pieces = Scattered { here: &here, there: &there, bytes: 8 };
        assert_eq!(offsets(&pieces), [(7, 130), (2, 100)]);
        assert_eq!(pieces.span().unwrap(), (100, 138));
        assert!(pieces.are_at_multiples_of(2) && !pieces.are_at_multiples_of(4));
    }
}
