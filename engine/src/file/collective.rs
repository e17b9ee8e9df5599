//! Collective access (MPI-5.0 §14.4).
//!
//! Ranks first tell each other where their data begin and end. If these ranges lie apart, as those of whole records
//! do, each rank moves its own. If they interleave, writing assembles them ([`Assembly`]): the range of all is gone
//! through in windows; in each, every rank stores its pieces where they belong in memory of the node, the ranks
//! meet, and rank 0 writes the window while all fill the other one.
//!
//! A window may be written as a whole only if every byte of it was given by exactly one rank. That is found out
//! beforehand with one number from each rank: the sum of a mixed value of the ends of its pieces minus those of their
//! beginnings. All these numbers together are the value of the last end minus that of the first beginning exactly
//! if each byte in between is given once; another outcome by chance has the odds of one in 2^64.

use super::access::{Access, Items, Place};
use super::failure::agree_with;
use super::hints::Together;
use super::opened::File;
use super::pieces::Pieces;
use super::team::{Loan, Team};
use super::transfer::with_stage;
use crate::Result;
use std::sync::Arc;

/// Pieces that are longer on the average are written by their ranks.
const LONG: u64 = 64 << 10;

/// Memory in which a window is assembled: two windows, in the memory of rank 0.
pub(super) struct Assembly {
    address: u64,
    window: u64,
    /// Of rank 0.
    loan: Option<Box<dyn Loan>>,
}

/// Mixes a number so that sums of such values agree by design only (splitmix64).
#[inline]
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The range of offsets from the first to the last of all ranks, if they interleave.
fn interleaved(told: &[u64]) -> Option<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> =
        told.chunks(2).map(|range| (range[0], range[1])).filter(|(first, end)| first < end).collect();
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
    pub fn read_all(&self, _team: &dyn Team, place: Place, items: &Items) -> Result<u64> {
        let access = self.access(place, items, false)?;
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
        access.position = first.checked_mul(unit).ok_or_else(|| super::access::beyond(first))?;
        access.view.hull(access.position, access.bytes)?;
        Ok(access)
    }

    fn write_together(&self, team: &dyn Team, access: &Access) -> Result<()> {
        let (together, window) = {
            let state = self.state();
            (state.hints.together(), state.hints.window())
        };
        let alone = team.size() == 1
            || together == Together::Never
            || self.is_atomic()
            || !access.view.representation.is_native();
        if alone {
            return self.move_alone(access, true).map(drop);
        }
        let mine = access.view.hull(access.position, access.bytes)?;
        let told = team.gather(&[mine.0, mine.1])?;
        if let Some(hull) = interleaved(&told) {
            if self.given_once(team, access, hull, together)? {
                if let Some(assembly) = self.assembly(team, window)? {
                    return self.assemble(team, access, hull, &assembly);
                }
            }
        }
        self.move_alone(access, true).map(drop)
    }

    /// Whether every byte of the range is given by exactly one rank, in pieces that are worth assembling.
    fn given_once(
        &self,
        team: &dyn Team,
        access: &Access,
        hull: (u64, u64),
        together: Together,
    ) -> Result<bool> {
        let (mut sum, mut pieces) = (0u64, 0u64);
        for (offset, bytes) in Pieces::new(&access.view, access.position, access.bytes) {
            sum = sum.wrapping_add(mixed(offset + bytes)).wrapping_sub(mixed(offset));
            pieces += 1;
        }
        let all = team.gather(&[sum, pieces])?;
        let sum = all.chunks(2).fold(0u64, |sum, each| sum.wrapping_add(each[0]));
        let pieces: u64 = all.chunks(2).map(|each| each[1]).sum();
        let is_once = sum == mixed(hull.1).wrapping_sub(mixed(hull.0));
        let is_short = (hull.1 - hull.0) / pieces.max(1) < LONG;
        Ok(is_once && (is_short || together == Together::Always))
    }

    /// The memory for windows, if all members reach it. They find out together, once.
    fn assembly(&self, team: &dyn Team, window: u64) -> Result<Option<Arc<Assembly>>> {
        if let Some(known) = &self.state().assembly {
            return Ok(known.clone());
        }
        let loan = if team.rank() == 0 { team.loan(2 * window as usize) } else { None };
        let mut told = [loan.as_ref().map_or(0, |loan| loan.address() as u64), window];
        team.tell(0, &mut told)?;
        let [address, window] = told;
        // SAFETY: nothing is written.
        let reached =
            address != 0 && (team.rank() == 0 || unsafe { team.fill(0, (address, 2 * window), &mut |_| ()) });
        let all = team.gather(&[reached.into()])?.iter().all(|&reached| reached == 1);
        let assembly = all.then(|| Arc::new(Assembly { address, window, loan }));
        self.state().assembly = Some(assembly.clone());
        Ok(assembly)
    }

    fn assemble(
        &self,
        team: &dyn Team,
        access: &Access,
        hull: (u64, u64),
        assembly: &Assembly,
    ) -> Result<()> {
        let mut source = Source::new(access);
        let mut outcome = Ok(());
        let mut missed = false;
        let mut first = hull.0;
        for round in 0.. {
            let end = (first / assembly.window + 1).saturating_mul(assembly.window).min(hull.1);
            let at = assembly.address + (round % 2) * assembly.window;
            missed |= !fill(team, assembly, (at, end - first), &mut |to| source.put(first, end, to));
            team.meet()?;
            if let (Some(loan), Ok(())) = (&assembly.loan, &outcome) {
                let from = loan.address().wrapping_add((at - assembly.address) as usize);
                // SAFETY: all have stored what belongs here and met; they store into the other window now, and
                // here only after they have met again, which I do after this.
                let bytes = unsafe { std::slice::from_raw_parts(from, (end - first) as usize) };
                outcome = self.driver.write(first, bytes);
            }
            first = end;
            if first == hull.1 {
                break;
            }
        }
        agree_with(team, 0, "write", &self.name, outcome)?;
        // A rank that could not store some of its pieces (it has a child that may look) writes all of them now.
        match missed {
            true => self.move_alone(access, true).map(drop),
            false => Ok(()),
        }
    }
}

/// Has this rank fill a window; `false` if it cannot reach it now.
fn fill(team: &dyn Team, assembly: &Assembly, range: (u64, u64), fill: &mut dyn FnMut(*mut u8)) -> bool {
    match &assembly.loan {
        Some(loan) => {
            fill(loan.address().wrapping_add((range.0 - assembly.address) as usize));
            true
        }
        // SAFETY: rank 0 has lent it, and each rank stores its own bytes only.
        None => unsafe { team.fill(0, range, fill) },
    }
}

/// What this rank writes, piece by piece of the file.
struct Source<'a> {
    items: &'a Items,
    pieces: Pieces<'a>,
    /// What is left of the piece at hand.
    piece: (u64, u64),
    /// Bytes of data before it.
    done: u64,
}

impl<'a> Source<'a> {
    fn new(access: &'a Access) -> Source<'a> {
        let pieces = Pieces::new(&access.view, access.position, access.bytes);
        Source { items: &access.items, pieces, piece: (0, 0), done: 0 }
    }

    /// Puts all that belongs to offsets from `first` to `end` to its place behind `to`.
    fn put(&mut self, first: u64, end: u64, to: *mut u8) {
        match self.items.dense() {
            Some(source) => self.each(end, |done, offset, bytes| {
                // SAFETY: the program lends the items; the place is within the window, and mine alone.
                unsafe {
                    let to = to.add((offset - first) as usize);
                    std::ptr::copy_nonoverlapping(source.add(done as usize), to, bytes as usize);
                }
            }),
            None => self.put_staged(first, end, to),
        }
    }

    /// As [`Source::put`], for items with gaps: some at a time are packed, and then put where they belong.
    fn put_staged(&mut self, first: u64, end: u64, to: *mut u8) {
        let (items, total) = (self.items, self.items.bytes());
        with_stage(|stage| {
            let (mut from, mut staged) = (self.done, 0u64);
            self.each(end, |done, offset, bytes| {
                let mut put = 0;
                while put < bytes {
                    let at = done + put;
                    if at >= from + staged {
                        (from, staged) = (at, (stage.len() as u64).min(total - at));
                        // SAFETY: the program lends the items; the stage is ours.
                        unsafe {
                            items.datatype.pack(
                                items.address,
                                items.count,
                                from,
                                &mut stage[..staged as usize],
                            )
                        };
                    }
                    let now = (from + staged - at).min(bytes - put);
                    let source = &stage[(at - from) as usize..][..now as usize];
                    // SAFETY: the place is within the window, and mine alone.
                    unsafe {
                        let to = to.add((offset + put - first) as usize);
                        std::ptr::copy_nonoverlapping(source.as_ptr(), to, source.len());
                    }
                    put += now;
                }
            });
        });
    }

    /// Goes on to the offset `end`: bytes of data before each part of a piece, its offset, and its bytes.
    #[inline]
    fn each(&mut self, end: u64, mut put: impl FnMut(u64, u64, u64)) {
        loop {
            if self.piece.1 == 0 {
                match self.pieces.next() {
                    Some(piece) => self.piece = piece,
                    None => return,
                }
            }
            let (offset, length) = self.piece;
            if offset >= end {
                return;
            }
            let now = length.min(end - offset);
            put(self.done, offset, now);
            self.done += now;
            self.piece = (offset + now, length - now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_interleave_where_one_begins_before_another_ends() {
        assert_eq!(interleaved(&[0, 10, 10, 20]), None);
        assert_eq!(interleaved(&[10, 20, 0, 10, 0, 0]), None);
        assert_eq!(interleaved(&[0, 11, 10, 20]), Some((0, 20)));
        assert_eq!(interleaved(&[5, 100, 0, 0, 7, 8]), Some((5, 100)));
        assert_eq!(interleaved(&[0, 0, 0, 0]), None);
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
