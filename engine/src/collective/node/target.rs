//! Where others put a member's result, or a part of it.
//!
//! The pages at the ends of a result may belong to other data too, so that others could write
//! there through the kernel only, which takes longer than all the rest of a few pages. Those
//! ends are written to a place of their own within reach of all, and its owner takes them home
//! when all is done. So the owner, too, puts a copy there of what it writes into its ends.

use super::lent::Lent;
use super::reach::{Plain, Reach};
use super::seat::Seat;
use super::whole::Whole;
use crate::memory::copy::Chooser;
use crate::Result;

/// How long an end is at most: less than a page. So far apart lie both in their place.
const END: u64 = 4096;
/// How long that place is.
pub(super) const ENDS: u64 = 2 * END;

/// A result that a member has lent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Where it begins.
    address: u64,
    bytes: u64,
    /// Where its ends lie; 0: in their own place.
    ends: u64,
    /// How many bytes lie there of its beginning, and of its end.
    apart: [u64; 2],
}

/// Some bytes of a result, and where they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    address: u64,
    /// The first of them, among those that are to be written.
    from: usize,
    bytes: usize,
}

impl Target {
    /// A result of so many bytes that a member has lent.
    pub fn of(lent: &Lent, bytes: u64) -> Target {
        Target::new(lent.receive, bytes, lent.ends, lent.apart.map(u64::from))
    }

    /// A result whose ends lie apart, if they have a place (`ends`).
    pub fn new(address: u64, bytes: u64, ends: u64, apart: [u64; 2]) -> Target {
        Target { address, bytes, ends, apart: if ends == 0 { [0; 2] } else { apart } }
    }

    /// Where its ends lie, if they have a place, and how long they are.
    pub fn ends(&self) -> (u64, [u64; 2]) {
        (self.ends, self.apart)
    }

    /// One's own.
    pub fn own(whole: &Whole) -> Target {
        let (ends, apart) = match (&whole.ends, whole.plain) {
            (Some(ends), Plain::Middle(head, tail)) => (ends.address() as u64, [head, tail]),
            _ => (0, [0; 2]),
        };
        Target { address: whole.address as u64, bytes: whole.bytes, ends, apart }
    }

    /// Where the bytes lie that begin at `at`: up to three pieces, some of them empty.
    fn pieces(&self, at: u64, bytes: usize) -> [Piece; 3] {
        let (end, last) = (at + bytes as u64, self.bytes - self.apart[1]);
        let first = self.apart[0].clamp(at, end);
        let second = last.clamp(first, end);
        let piece = |address, from: u64, to: u64| Piece {
            address,
            from: (from - at) as usize,
            bytes: (to - from) as usize,
        };
        [
            piece(self.ends + at, at, first),
            piece(self.address + first, first, second),
            piece((self.ends + END + second).wrapping_sub(last), second, end),
        ]
    }

    fn each_piece(&self, at: u64, bytes: usize, work: impl FnMut(Piece) -> Result<()>) -> Result<()> {
        self.pieces(at, bytes).into_iter().filter(|piece| piece.bytes > 0).try_for_each(work)
    }

    /// Where the bytes lie that begin at `at`, if they lie in one piece.
    pub fn whole(&self, at: u64, bytes: u64) -> Option<u64> {
        let [head, middle, tail] = self.pieces(at, bytes as usize);
        (head.bytes == 0 && tail.bytes == 0).then_some(middle.address)
    }

    /// Writes from its byte `at` on, in the memory of `member`.
    ///
    /// # Errors
    /// As [`Reach::write`].
    ///
    /// # Safety
    /// As [`Reach::write`]; within the result.
    pub unsafe fn write(
        &self,
        (seat, member): (&Seat, u32),
        at: u64,
        (source, bytes): (*const u8, usize),
        copies: &Chooser,
        by: &impl Reach,
    ) -> Result<()> {
        self.each_piece(at, bytes, |Piece { address, from, bytes }| {
            // SAFETY: by the caller; the ends are lent with the result.
            unsafe { by.write(seat, member, address, source.wrapping_add(from), bytes, copies) }
        })
    }

    /// Reads from its byte `at` on, in the memory of `member`.
    ///
    /// # Errors
    /// As [`Reach::read`].
    ///
    /// # Safety
    /// As [`Reach::read`]; within the result.
    pub unsafe fn read(
        &self,
        (seat, member): (&Seat, u32),
        at: u64,
        (target, bytes): (*mut u8, usize),
        copies: &Chooser,
        by: &impl Reach,
    ) -> Result<()> {
        self.each_piece(at, bytes, |Piece { address, from, bytes }| {
            // SAFETY: by the caller; the ends are lent with the result.
            unsafe { by.read(seat, member, address, target.wrapping_add(from), bytes, copies) }
        })
    }

    /// This is my own result. Where byte `at` has its own place.
    pub fn here(&self, at: u64) -> *mut u8 {
        (self.address + at) as *mut u8
    }

    /// This is my own result, and I have written so many bytes from `at` on in their own place:
    /// those at its ends are noted where the others write theirs.
    ///
    /// # Safety
    /// Nobody else may touch these bytes now.
    pub unsafe fn keep(&self, at: u64, bytes: usize) {
        let [head, _, tail] = self.pieces(at, bytes);
        for piece in [head, tail] {
            let from = self.here(at).wrapping_add(piece.from).cast_const();
            // SAFETY: my own result, and the place for its ends.
            unsafe { std::ptr::copy_nonoverlapping(from, piece.address as *mut u8, piece.bytes) };
        }
    }

    /// This is my own result, and complete: its ends go to their own place.
    ///
    /// # Safety
    /// Nobody else may touch it any more.
    pub unsafe fn take_home(&self) {
        let [head, tail] = self.apart;
        let last = self.bytes - tail;
        for (from, at, bytes) in [(0, 0, head), (END, last, tail)] {
            let (from, to) = ((self.ends + from) as *const u8, self.here(at));
            // SAFETY: my own result, and the place for its ends.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes as usize) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Target = Target { address: 100_000, bytes: 10_000, ends: 50_000, apart: [10, 200] };

    fn lengths(at: u64, bytes: usize) -> [usize; 3] {
        TARGET.pieces(at, bytes).map(|piece| piece.bytes)
    }

    #[test]
    fn ends_lie_apart() {
        assert_eq!(lengths(0, 10_000), [10, 9_790, 200]);
        assert_eq!(lengths(4, 6), [6, 0, 0]);
        assert_eq!(lengths(10, 9_790), [0, 9_790, 0]);
        assert_eq!(lengths(9_900, 50), [0, 0, 50]);
        let [head, middle, tail] = TARGET.pieces(4, 9_900);
        assert_eq!((head.address, head.from, head.bytes), (50_004, 0, 6));
        assert_eq!((middle.address, middle.from, middle.bytes), (100_010, 6, 9_790));
        assert_eq!((tail.address, tail.from, tail.bytes), (50_000 + END, 9_796, 104));
        let [_, _, tail] = TARGET.pieces(9_850, 20);
        assert_eq!((tail.address, tail.from), (50_000 + END + 50, 0));
        assert_eq!(TARGET.whole(10, 100), Some(100_010));
        assert_eq!(TARGET.whole(9, 100), None);
    }

    #[test]
    fn without_a_place_for_them_they_do_not() {
        let lent = Lent::new(0, 100_000, 10_000);
        let target = Target::of(&lent, 10_000);
        assert_eq!(target.whole(0, 10_000), Some(100_000));
    }

    #[test]
    fn ends_come_home() {
        let (mut result, mut ends) = (vec![0u8; 1000], vec![0u8; ENDS as usize]);
        let address = result.as_mut_ptr() as u64;
        let target = Target { address, bytes: 1000, ends: ends.as_mut_ptr() as u64, apart: [3, 5] };
        result.fill(7);
        // SAFETY: vectors of this test.
        unsafe {
            target.keep(0, 1000);
            result.fill(1);
            target.take_home();
        }
        assert_eq!(result[..4], [7, 7, 7, 1]);
        assert_eq!(result[994..], [1, 7, 7, 7, 7, 7]);
    }
}
