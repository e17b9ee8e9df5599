//! Collective access (MPI-5.0 §14.4).
//!
//! Reading begins with a meeting, and writing with telling each other where data begin and end. So who reads after a
//! collective write of all sees what the others have written; HDF5 relies on that.
//!
//! Writers first tell each other where their data begin and end. If these ranges lie apart, as those of whole records
//! do, each rank moves its own. If they interleave in short pieces, writing brings them together first: by stores
//! into memory of the node ([`super::assembly`]), or, between nodes and where bytes are left out, by messages to one
//! writer on each node ([`super::messages`]).
//!
//! A window may be written as a whole only if every byte of it was given by exactly one rank. That is found out
//! beforehand with one number from each rank: the sum of a mixed value of the ends of its pieces minus those of their
//! beginnings. All these numbers together are the value of the last end minus that of the first beginning exactly
//! if each byte in between is given once; another outcome by chance has the odds of one in 2^64.

use super::access_of_call::{Access, Items, Place};
use super::collective_plan::{Plan, Together};
use super::opened::File;
use super::pieces::Pieces;
use super::team::Team;
use crate::Result;

/// Pieces that are longer on the average are written by their ranks.
const LONG: u64 = 64 << 10;

/// A range of which less than one byte in so many is written is not gone through in windows.
const SPARSE: u64 = 64;

/// Mixes a number so that sums of such values agree by design only (splitmix64).
#[inline]
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The range of offsets from the first to the last of all ranks, if they interleave.
fn interleaved(ranges: impl Iterator<Item = (u64, u64)>) -> Option<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = ranges.filter(|(first, end)| first < end).collect();
    ranges.sort_unstable();
    let crosses = ranges.windows(2).any(|pair| pair[1].0 < pair[0].1);
    let end = ranges.iter().map(|range| range.1).max()?;
    crosses.then(|| (ranges[0].0, end))
}

impl File {
    /// Reads together with the others; bytes of data in memory.
    ///
    /// # Errors
    /// What is wrong with the call; what the file system says.
    pub fn read_all(&self, team: &dyn Team, place: Place, items: &Items) -> Result<u64> {
        let access = self.access(place, items, false)?;
        team.meet()?;
        Ok(access.in_memory(self.move_alone(&access, false)?))
    }

    /// Writes together with the others; bytes of data in memory.
    ///
    /// # Errors
    /// What is wrong with the call; what the file system says.
    pub fn write_all(&self, team: &dyn Team, place: Place, items: &Items) -> Result<u64> {
        let access = self.access(place, items, true)?;
        self.write_together(team, &access)?;
        Ok(access.in_memory(access.bytes))
    }

    /// Reads in rank order by the shared pointer.
    ///
    /// # Errors
    /// As [`File::read_all`].
    pub fn read_ordered(&self, team: &dyn Team, items: &Items) -> Result<u64> {
        let access = self.ordered(team, items, false)?;
        Ok(access.in_memory(self.move_alone(&access, false)?))
    }

    /// Writes in rank order by the shared pointer.
    ///
    /// # Errors
    /// As [`File::write_all`].
    pub fn write_ordered(&self, team: &dyn Team, items: &Items) -> Result<u64> {
        let access = self.ordered(team, items, true)?;
        self.write_together(team, &access)?;
        Ok(access.in_memory(access.bytes))
    }

    fn ordered(&self, team: &dyn Team, items: &Items, writing: bool) -> Result<Access> {
        // What is wrong is found before anything is told.
        let mut access = self.access_unplaced(items, writing)?;
        let unit = access.view.unit();
        let first = self.advance_ordered(team, access.bytes / unit)?;
        access.position = first.checked_mul(unit).ok_or_else(|| super::access_of_call::beyond(first))?;
        access.view.hull(access.position, access.bytes)?;
        Ok(access)
    }

    /// Writes with the others, and goes on when all have written. MPI does not ask for that; HDF5 1.14 relies on it: it fills
    /// new chunks by one collective write, to which some ranks give nothing, and these write there at once.
    fn write_together(&self, team: &dyn Team, access: &Access) -> Result<()> {
        let done = self.write_by_some_way(team, access);
        let met = team.meet();
        done.and(met)
    }

    fn write_by_some_way(&self, team: &dyn Team, access: &Access) -> Result<()> {
        if team.size() == 1 || self.is_atomic() || !access.view.representation.is_native() {
            team.meet()?;
            return self.move_alone(access, true).map(drop);
        }
        let mine = access.view.hull(access.position, access.bytes)?;
        let [first, second] = self.state().hints.plan().words();
        let told = team.gather(&[mine.0, mine.1, first, second])?;
        let plan = Plan::of(&told[2..]);
        let hull = interleaved(told.chunks(2 + Plan::WORDS).map(|each| (each[0], each[1])));
        let Some(hull) = hull.filter(|_| plan.together != Together::Never) else {
            return self.move_alone(access, true).map(drop);
        };
        let found = self.survey(team, access, hull)?;
        if !found.is_short && plan.together != Together::Always || found.is_sparse {
            return self.move_alone(access, true).map(drop);
        }
        let writers = team.leaders();
        if found.is_given_once && writers.len() == 1 {
            if let Some(windows) = self.windows(team, plan.window)? {
                return self.assemble(team, access, hull, &windows);
            }
        }
        let writers = &writers[..writers.len().min(plan.nodes as usize)];
        self.write_by_messages(team, access, hull, (writers, &plan))
    }

    /// Looks at all pieces of all ranks.
    fn survey(&self, team: &dyn Team, access: &Access, hull: (u64, u64)) -> Result<Survey> {
        let (mut sum, mut pieces) = (0u64, 0u64);
        for (offset, bytes) in Pieces::new(&access.view, access.position, access.bytes) {
            sum = sum.wrapping_add(mixed(offset + bytes)).wrapping_sub(mixed(offset));
            pieces += 1;
        }
        let all = team.gather(&[sum, pieces, access.bytes])?;
        let of = |which: usize| all.chunks(3).map(move |each| each[which]);
        let sum = of(0).fold(0u64, u64::wrapping_add);
        let (pieces, bytes) = (of(1).sum::<u64>(), of(2).sum::<u64>());
        Ok(Survey {
            is_given_once: sum == mixed(hull.1).wrapping_sub(mixed(hull.0)),
            is_short: bytes / pieces.max(1) < LONG,
            is_sparse: (hull.1 - hull.0) / SPARSE > bytes,
        })
    }
}

/// What all ranks want to write together.
struct Survey {
    /// Every byte of the range is given by exactly one rank.
    is_given_once: bool,
    /// In pieces that are worth bringing together.
    is_short: bool,
    /// So far apart that there is little to bring together.
    is_sparse: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_interleave_where_one_begins_before_another_ends() {
        let interleaved = |ranges: &[(u64, u64)]| interleaved(ranges.iter().copied());
        assert_eq!(interleaved(&[(0, 10), (10, 20)]), None);
        assert_eq!(interleaved(&[(10, 20), (0, 10), (0, 0)]), None);
        assert_eq!(interleaved(&[(0, 11), (10, 20)]), Some((0, 20)));
        assert_eq!(interleaved(&[(5, 100), (0, 0), (7, 8)]), Some((5, 100)));
        assert_eq!(interleaved(&[(0, 0), (0, 0)]), None);
    }

    #[test]
    fn holes_and_overlaps_are_found_by_sums() {
        let sum = |pieces: &[(u64, u64)]| {
            pieces.iter().fold(0u64, |sum, &(at, end)| sum.wrapping_add(mixed(end)).wrapping_sub(mixed(at)))
        };
        let whole = sum(&[(7, 100)]);
        assert_eq!(sum(&[(50, 100), (7, 9), (9, 50)]), whole);
        assert_ne!(sum(&[(51, 100), (7, 9), (9, 50)]), whole, "a hole");
        assert_ne!(sum(&[(50, 100), (7, 10), (9, 50)]), whole, "an overlap");
        assert_ne!(sum(&[(51, 100), (7, 10), (9, 50)]), whole, "as many bytes, but one twice");
    }
}
