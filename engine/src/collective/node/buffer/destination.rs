//! Where others put a member's result, or a part of it.
//!
//! The pages at the ends of a result may belong to other data too, so that others could write
//! there through the kernel only, which takes longer than all the rest of a few pages. Those
//! ends are written to a place of their own within reach of all, and its owner takes them home
//! when all is done. So the owner, too, puts a copy there of what it writes into its ends.

use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::memory::copy::Chooser;
use crate::Result;

/// How long an end is at most: less than a page. So far apart lie both in their place.
const END: u64 = 4096;
/// How long that place is.
pub(crate) const ENDS: u64 = 2 * END;

/// A result that a member has lent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
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

impl Destination {
    /// A result whose ends lie apart, if they have a place (`ends`).
    pub fn new(address: u64, bytes: u64, ends: u64, apart: [u64; 2]) -> Destination {
        Destination { address, bytes, ends, apart: if ends == 0 { [0; 2] } else { apart } }
    }

    /// Where its ends lie, if they have a place, and how long they are.
    pub fn ends(&self) -> (u64, [u64; 2]) {
        (self.ends, self.apart)
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
    /// As [`PeerMemory::write`].
    ///
    /// # Safety
    /// As [`PeerMemory::write`]; within the result.
    pub unsafe fn write(
        &self,
        party: &Party<'_, impl Wait, impl PeerMemory>,
        member: u32,
        at: u64,
        (source, bytes): (*const u8, usize),
        copies: &Chooser,
    ) -> Result<()> {
        self.each_piece(at, bytes, |Piece { address, from, bytes }| {
            // SAFETY: by the caller; the ends are lent with the result.
            unsafe {
                let source = source.wrapping_add(from);
                party.memory.write(party.member, member, address, source, bytes, copies)
            }
        })
    }

    /// Reads from its byte `at` on, in the memory of `member`.
    ///
    /// # Errors
    /// As [`PeerMemory::read`].
    ///
    /// # Safety
    /// As [`PeerMemory::read`]; within the result.
    pub unsafe fn read(
        &self,
        party: &Party<'_, impl Wait, impl PeerMemory>,
        member: u32,
        at: u64,
        (target, bytes): (*mut u8, usize),
        copies: &Chooser,
    ) -> Result<()> {
        self.each_piece(at, bytes, |Piece { address, from, bytes }| {
            // SAFETY: by the caller; the ends are lent with the result.
            unsafe {
                let target = target.wrapping_add(from);
                party.memory.read(party.member, member, address, target, bytes, copies)
            }
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

    const TARGET: Destination =
        Destination { address: 100_000, bytes: 10_000, ends: 50_000, apart: [10, 200] };

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
        let target = Destination::new(100_000, 10_000, 0, [10, 200]);
        assert_eq!(target.whole(0, 10_000), Some(100_000));
    }

    #[test]
    fn ends_come_home() {
        let (mut result, mut ends) = (vec![0u8; 1000], vec![0u8; ENDS as usize]);
        let address = result.as_mut_ptr() as u64;
        let target = Destination { address, bytes: 1000, ends: ends.as_mut_ptr() as u64, apart: [3, 5] };
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
