//! The pieces of a file that a view shows, one after the other, made as they are asked for.

use super::view::View;

/// Pieces made at a time.
const BATCH: usize = 512;

/// Iterator over (offset, bytes) of `bytes` bytes from a position on. Their range must have been checked
/// ([`View::hull`]). Pieces that touch may come as two.
pub struct Pieces<'a> {
    view: &'a View,
    position: u64,
    left: u64,
    batch: Vec<(usize, usize)>,
    next: usize,
}

impl<'a> Pieces<'a> {
    /// Those of `bytes` bytes from `position` on.
    pub fn new(view: &'a View, position: u64, bytes: u64) -> Pieces<'a> {
        Pieces { view, position, left: bytes, batch: Vec::new(), next: 0 }
    }

    /// Makes the next ones; `false` at the end.
    fn refill(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let tile = &self.view.tile;
        let (number, inside) = (self.position / tile.size(), self.position % tile.size());
        let Ok(base) = self.view.tile_at(number) else { return false };
        let tiles = (inside.saturating_add(self.left)).div_ceil(tile.size());
        self.batch.clear();
        self.next = 0;
        let begin = std::ptr::without_provenance_mut(base as usize);
        let covered = tile.segments(begin, tiles, inside, self.left, &mut self.batch, BATCH);
        self.position += covered;
        self.left -= covered;
        covered > 0
    }
}

impl Iterator for Pieces<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        if let Some(&(at, bytes)) = self.batch.get(self.next) {
            self.next += 1;
            return Some((at as u64, bytes as u64));
        }
        if let Some(first) = self.view.dense() {
            let all = (first + self.position, self.left);
            (self.position, self.left) = (self.position + self.left, 0);
            return (all.1 > 0).then_some(all);
        }
        self.refill().then(|| self.next()).flatten()
    }
}

impl View {
    /// How many bytes of data lie before an offset: the position of the end of a file of that size.
    pub fn position_at(&self, offset: u64) -> u64 {
        if let Some(first) = self.dense() {
            return offset.saturating_sub(first);
        }
        // Data of a tile may begin anywhere behind its own beginning, also beyond the next one's.
        let begin = self.displacement.saturating_add_signed(self.tile.true_lower_bound());
        let Some(inside) = offset.checked_sub(begin) else { return 0 };
        // Of a tile that reaches beyond the next one's beginning (PnetCDF has some), only the first can be used.
        let (extent, reach) = (self.tile.extent().max(1) as u64, self.tile.true_extent() as u64);
        let whole = if reach > extent { 0 } else { inside / extent };
        let mut position = whole.saturating_mul(self.tile.size());
        for (at, bytes) in Pieces::new(self, position, self.tile.size()) {
            if at >= offset {
                break;
            }
            position += bytes.min(offset - at);
        }
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Basic, Datatype};
    use crate::file::representation::Representation;

    #[test]
    fn every_part_of_a_view_has_the_bytes_that_its_offsets_say() {
        let byte = Datatype::shared(Basic::Byte);
        let mut seed = 12345u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let number = 1 + random(6) as usize;
            let (mut lengths, mut places, mut at) = (Vec::new(), Vec::new(), 0);
            for _ in 0..number {
                at += random(5) as i64;
                lengths.push(1 + random(4) as i64);
                places.push(at);
                at += lengths[lengths.len() - 1];
            }
            let filetype = Datatype::hindexed(&lengths, &places, byte).unwrap();
            let filetype = Datatype::resized(0, at + random(4) as i64, &filetype).unwrap();
            let view = View::new(random(20), byte, &filetype, Representation::Native, true).unwrap();
            let (position, bytes) = (random(100), 1 + random(100));
            let found: Vec<u64> =
                Pieces::new(&view, position, bytes).flat_map(|(at, length)| at..at + length).collect();
            let wanted: Vec<u64> =
                (position..position + bytes).map(|position| view.offset_of(position).unwrap()).collect();
            assert_eq!(found, wanted);
        }
    }
}
