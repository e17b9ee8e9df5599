//! Which bytes of a file a rank sees, and in what order (MPI-5.0 §14.3).
//!
//! A *position* is a number of bytes of data from the beginning of the view; an *offset* is a number of bytes from
//! the beginning of the file.

use super::representation::Representation;
use crate::datatype::{Basic, Datatype};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Pieces of one tile that are looked at when a view is set.
const LOOKED_AT: usize = 1 << 16;

/// A view. It never changes.
pub struct View {
    /// Where it begins.
    pub displacement: u64,
    /// The unit of offsets.
    pub etype: Arc<Datatype>,
    /// Laid end to end from the displacement on.
    pub filetype: Arc<Datatype>,
    /// How data are represented.
    pub representation: Representation,
    /// The filetype as it is in the file.
    pub(super) tile: Arc<Datatype>,
    /// Bytes of an etype in the file.
    unit: u64,
    /// Where the first byte of data lies if there are no holes.
    dense: Option<u64>,
}

fn wrong(message: String) -> Error {
    Error::new(Class::Type, message)
}

impl View {
    /// All bytes of the file, as it is opened.
    pub fn of_bytes() -> View {
        let byte = Datatype::shared(Basic::Byte);
        View {
            displacement: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            tile: byte.clone(),
            unit: 1,
            dense: Some(0),
        }
    }

    /// A view.
    ///
    /// # Errors
    /// `Type` where the filetype is not made of whole etypes, lies before the displacement, or goes back; for one
    /// that is `written`, also where it overlaps itself.
    pub fn new(
        displacement: u64,
        etype: &Arc<Datatype>,
        filetype: &Arc<Datatype>,
        representation: Representation,
        written: bool,
    ) -> Result<View> {
        let (unit, tile) = (representation.in_file(etype)?.size(), representation.in_file(filetype)?);
        if unit == 0 || tile.size() == 0 {
            return Err(wrong(
                "arguments etype and filetype must have data, and one of them has none".into(),
            ));
        }
        if tile.size() % unit != 0 {
            let message = format!(
                "argument filetype has {} bytes of data, which is no multiple of the {unit} bytes of the etype",
                tile.size()
            );
            return Err(wrong(message));
        }
        let mut view = View {
            displacement,
            etype: etype.clone(),
            filetype: filetype.clone(),
            representation,
            tile,
            unit,
            dense: None,
        };
        view.check_order(written)?;
        // Two items that lie in one piece: so do any number.
        view.dense = view.tile.dense(2).and_then(|(first, _)| displacement.checked_add_signed(first));
        Ok(view)
    }

    /// Refuses displacements that are negative or go back.
    fn check_order(&self, written: bool) -> Result<()> {
        let tile = &self.tile;
        if tile.true_lower_bound() < 0 {
            let message = format!(
                "argument filetype has data at displacement {}; none may be negative",
                tile.true_lower_bound()
            );
            return Err(wrong(message));
        }
        let mut found = Vec::new();
        tile.segments(std::ptr::null_mut(), 1, 0, tile.size(), &mut found, LOOKED_AT);
        for pair in found.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if after.0 < before.0 || (written && after.0 < before.0 + before.1) {
                let message = format!(
                    "argument filetype has data at displacement {} after {} bytes at {}: displacements must not \
                     decrease, nor data overlap where the file is written",
                    after.0, before.1, before.0
                );
                return Err(wrong(message));
            }
        }
        Ok(())
    }

    /// Bytes of an etype in the file.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// The extent of an etype in the file.
    pub(super) fn etype_extent(&self) -> u64 {
        self.representation.in_file(&self.etype).map_or(0, |etype| etype.extent() as u64)
    }

    /// The offset of position 0, if there are no holes.
    pub fn dense(&self) -> Option<u64> {
        self.dense
    }

    /// The offset of the byte at a position.
    ///
    /// # Errors
    /// `Arg` where that is beyond what a file can have.
    pub fn offset_of(&self, position: u64) -> Result<u64> {
        if let Some(first) = self.dense {
            return first
                .checked_add(position)
                .filter(|&offset| offset <= i64::MAX as u64)
                .ok_or_else(too_far);
        }
        let base = self.tile_at(position / self.tile.size())?;
        let mut found = Vec::with_capacity(1);
        self.tile.segments(std::ptr::null_mut(), 1, position % self.tile.size(), 1, &mut found, 1);
        let inside = found.first().map_or(0, |&(at, _)| at as u64);
        base.checked_add(inside).filter(|&offset| offset <= i64::MAX as u64).ok_or_else(too_far)
    }

    /// Where a tile begins.
    pub(super) fn tile_at(&self, number: u64) -> Result<u64> {
        let extent = self.tile.extent();
        let far = i64::try_from(number).ok().and_then(|number| number.checked_mul(extent));
        far.and_then(|far| self.displacement.checked_add_signed(far))
            .filter(|&base| base <= i64::MAX as u64)
            .ok_or_else(too_far)
    }

    /// The range of offsets of `bytes` bytes from a position on, first and end; with holes also those in it.
    ///
    /// # Errors
    /// `Arg` where that is beyond what a file can have.
    pub fn hull(&self, position: u64, bytes: u64) -> Result<(u64, u64)> {
        if bytes == 0 {
            return Ok((0, 0));
        }
        let last = position.checked_add(bytes - 1).ok_or_else(too_far)?;
        Ok((self.offset_of(position)?, self.offset_of(last)? + 1))
    }
}

#[cold]
fn too_far() -> Error {
    Error::new(
        Class::Arg,
        "the access would reach beyond 2^63 bytes, the most that a file can have: check the offset",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided() -> View {
        let int = Datatype::shared(Basic::Int32);
        let row = Datatype::vector(2, 1, 3, int).unwrap(); // at 0 and 12, of 16 bytes
        let row = Datatype::resized(0, 24, &row).unwrap();
        View::new(100, int, &row, Representation::Native, true).unwrap()
    }

    #[test]
    fn positions_and_offsets_are_inverse() {
        let view = strided();
        assert!(view.dense().is_none());
        let offsets: Vec<_> = [0, 3, 4, 7, 8, 12].map(|position| view.offset_of(position).unwrap()).into();
        assert_eq!(offsets, [100, 103, 112, 115, 124, 136]);
        for position in 0..40 {
            assert_eq!(view.position_at(view.offset_of(position).unwrap()), position);
        }
        assert_eq!((view.position_at(50), view.position_at(108), view.position_at(113)), (0, 4, 5));
        assert_eq!(view.hull(2, 4).unwrap(), (102, 114));
    }

    #[test]
    fn a_tile_may_begin_far_behind_its_displacement() {
        let byte = Datatype::shared(Basic::Byte);
        let tile = Datatype::hindexed(&[30, 30], &[4388, 4496], byte).unwrap();
        let view = View::new(0, byte, &tile, Representation::Native, true).unwrap();
        for position in 0..60 {
            assert_eq!(view.position_at(view.offset_of(position).unwrap()), position);
        }
        assert_eq!((view.position_at(4000), view.position_at(4430), view.position_at(4526)), (0, 30, 60));
    }

    #[test]
    fn a_tile_may_reach_beyond_its_extent_if_it_is_used_once() {
        // A header, and behind it a row of a table, whose bounds are those of the whole.
        let byte = Datatype::shared(Basic::Byte);
        let row =
            Datatype::resized(512, 320, &Datatype::hindexed(&[512, 8], &[0, 540], byte).unwrap()).unwrap();
        let view = View::new(0, byte, &row, Representation::Native, true).unwrap();
        assert_eq!([0, 400, 540, 544, 600].map(|offset| view.position_at(offset)), [0, 400, 512, 516, 520]);
        assert_eq!(view.hull(512, 8).unwrap(), (540, 548));
    }

    #[test]
    fn a_view_without_holes_is_known_as_such() {
        let int = Datatype::shared(Basic::Int32);
        let rows = Datatype::vector(5, 2, 2, int).unwrap();
        let view = View::new(8, int, &rows, Representation::Native, true).unwrap();
        assert_eq!((view.dense(), view.offset_of(1000).unwrap()), (Some(8), 1008));
        assert!(view.offset_of(u64::MAX - 3).is_err() && view.offset_of(1 << 63).is_err());
    }

    #[test]
    fn filetypes_that_make_no_sense_are_refused() {
        let int = Datatype::shared(Basic::Int32);
        let view = |filetype: &Arc<Datatype>, written| {
            View::new(0, int, filetype, Representation::Native, written).err().map(|error| error.class())
        };
        assert_eq!(view(&Datatype::hindexed(&[1, 1], &[8, 0], int).unwrap(), true), Some(Class::Type));
        assert_eq!(view(&Datatype::hindexed(&[1, 1], &[-4, 0], int).unwrap(), true), Some(Class::Type));
        let twice = Datatype::hindexed(&[1, 1], &[0, 2], int).unwrap();
        assert_eq!((view(&twice, true), view(&twice, false)), (Some(Class::Type), None));
        assert_eq!(view(Datatype::shared(Basic::Int16), false), Some(Class::Type));
    }
}
