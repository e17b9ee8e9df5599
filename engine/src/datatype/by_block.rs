//! Data that lie in several places in the same way: what is done to them goes block by block, with no copy in between.

use super::layout::{Layout, Shape};
use super::rows::{self, Row};
use super::walk::{walk, Record, Sink};
use super::Datatype;

/// Blocks of so many bytes on average are long enough that a call for each costs little.
const LONG_BLOCKS: u64 = 64;

impl Datatype {
    /// Whether its blocks are long, so that each may be worked on for itself.
    pub fn has_long_blocks(&self) -> bool {
        mean_block(&self.map.layout) >= LONG_BLOCKS
    }

    /// Calls `work` with each block of `count` items at `address`, and its bytes. Blocks do not touch each other, unless
    /// items do.
    pub fn each_block(&self, address: *mut u8, count: u64, work: impl FnMut(*mut u8, usize)) {
        walk((self, address, count), 0, u64::MAX, &mut Each(work));
    }

    /// Calls `work` with rows of blocks that have the packed bytes from `offset` on, at most `limit` of them, in order: the first
    /// one's address, the bytes of each, how many they are, and how far each is from the one before. `false` from it
    /// ends that.
    pub fn each_row(
        &self,
        (address, count): (*mut u8, u64),
        offset: u64,
        limit: u64,
        work: impl FnMut(*mut u8, usize, usize, isize) -> bool,
    ) {
        walk((self, address, count), offset, limit, &mut EachRow(work));
    }

    /// Copies the first `bytes` packed bytes of items of this type to where such items at `to` have them.
    ///
    /// # Safety
    /// So many bytes of items at `from` may be read and those at `to` written, they do not overlap, and nobody else uses
    /// them meanwhile.
    pub(super) unsafe fn copy_alike(&self, from: *const u8, to: *mut u8, bytes: u64) {
        let further = (to as isize).wrapping_sub(from as isize);
        if further != 0 {
            walk((self, from.cast_mut(), u64::MAX / self.size().max(1)), 0, bytes, &mut Mover { further });
        }
    }
}

/// Bytes of a block on average.
fn mean_block(layout: &Layout) -> u64 {
    match &layout.shape {
        Shape::Block => layout.size,
        Shape::Loop { body, .. } | Shape::Scattered { body, .. } => mean_block(body),
        Shape::Sequence { parts } => layout.size / parts.len().max(1) as u64,
    }
}

/// Copies blocks to places that lie so many bytes further on. Made only by [`Datatype::copy_alike`], whose walk visits
/// bytes that its caller vouches for.
struct Mover {
    further: isize,
}

impl Sink for Mover {
    #[inline]
    fn block(&mut self, address: *mut u8, bytes: usize) -> bool {
        // SAFETY: see `Mover`.
        unsafe { rows::copy_block(address, address.wrapping_offset(self.further), bytes) };
        true
    }

    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool {
        let to = Row { first: address.wrapping_offset(self.further), stride };
        // SAFETY: see `Mover`.
        unsafe { rows::copy_row(Row { first: address.cast_const(), stride }, to, bytes, count) };
        true
    }

    fn record(&mut self, address: *mut u8, record: Record) -> bool {
        record.blocks().all(|(part, bytes)| self.block(address.wrapping_offset(part.offset as isize), bytes))
    }
}

/// Calls a function for each row; blocks without gaps between them are one.
struct EachRow<F>(F);

impl<F: FnMut(*mut u8, usize, usize, isize) -> bool> Sink for EachRow<F> {
    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool {
        match stride == bytes as isize {
            true => (self.0)(address, bytes * count, 1, 0),
            false => count == 0 || (self.0)(address, bytes, count, stride),
        }
    }
}

/// Calls a function for each block.
struct Each<F>(F);

impl<F: FnMut(*mut u8, usize)> Sink for Each<F> {
    fn row(&mut self, address: *mut u8, bytes: usize, count: usize, stride: isize) -> bool {
        for index in 0..count as isize {
            (self.0)(address.wrapping_offset(stride.wrapping_mul(index)), bytes);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{copy, Basic};
    use std::sync::Arc;

    /// Types with gaps of every shape.
    fn types() -> Vec<Arc<Datatype>> {
        let int = Datatype::basic(Basic::Int32);
        let vector = Datatype::vector(5, 3, 7, &int).unwrap();
        let listed = Datatype::indexed_block(2, &[9, 0, 4, 21], &int).unwrap();
        let unlike = Datatype::indexed(&[1, 3, 2], &[0, 4, 20], &int).unwrap();
        let deep = Datatype::vector(3, 1, 2, &unlike).unwrap();
        vec![vector, listed, unlike, deep]
    }

    #[test]
    fn data_go_from_one_place_to_the_same_of_another_and_gaps_stay() {
        for datatype in types() {
            for (first, second) in [(1u64, 1u64), (3, 3), (3, 2), (1, 4)] {
                let span = datatype.span(4).unwrap();
                let from: Vec<u8> = (0..span.1 as usize).map(|at| at as u8 | 1).collect();
                let mut to = vec![0u8; from.len()];
                // SAFETY: four items lie in each.
                let moved = unsafe {
                    copy((&*datatype, from.as_ptr(), first), (&*datatype, to.as_mut_ptr(), second))
                };
                let mut expected = vec![0u8; from.len()];
                datatype.each_block(std::ptr::null_mut(), first.min(second), |at, bytes| {
                    let place = at as usize..at as usize + bytes;
                    expected[place.clone()].copy_from_slice(&from[place]);
                });
                assert_eq!(moved, datatype.size() * first.min(second));
                assert!(to == expected, "{datatype:?} {first} {second}");
            }
        }
    }

    #[test]
    fn blocks_are_long_or_short_on_average() {
        let double = Datatype::basic(Basic::Float64);
        let vector = |length| Datatype::vector(5, length, 100, &double).unwrap();
        assert!(vector(8).has_long_blocks() && !vector(7).has_long_blocks());
        let unlike = |lengths: &[i64]| Datatype::indexed(lengths, &[0, 50, 200], &double).unwrap();
        assert!(unlike(&[1, 20, 3]).has_long_blocks() && !unlike(&[1, 2, 3]).has_long_blocks());
    }
}
