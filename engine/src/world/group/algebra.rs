//! Making groups of groups (MPI-5.0 §7.3.2) and comparing them (§7.3.1).

use super::{Comparison, Group};
use crate::{Class, Error, Result};
use std::collections::HashSet;

impl Group {
    /// All members of `self`, then those of `other` that are not in `self`.
    pub fn union(&self, other: &Group) -> Group {
        let more = other.iter().filter(|&member| self.rank_of(member).is_none());
        Group::new(self.iter().chain(more).collect())
    }

    /// The members of `self` that are also in `other`, in the order of `self`.
    pub fn intersection(&self, other: &Group) -> Group {
        Group::new(self.iter().filter(|&member| other.rank_of(member).is_some()).collect())
    }

    /// The members of `self` that are not in `other`, in the order of `self`.
    pub fn difference(&self, other: &Group) -> Group {
        Group::new(self.iter().filter(|&member| other.rank_of(member).is_none()).collect())
    }

    /// The members at `ranks`, in that order.
    ///
    /// # Errors
    /// `Rank` when a rank is not in the group or appears twice.
    pub fn incl(&self, ranks: &[i32]) -> Result<Group> {
        let chosen = self.check_ranks(ranks)?;
        Ok(Group::new(chosen.into_iter().map(|rank| self.job_rank(rank)).collect()))
    }

    /// All members but those at `ranks`, in the order of `self`.
    ///
    /// # Errors
    /// `Rank` when a rank is not in the group or appears twice.
    pub fn excl(&self, ranks: &[i32]) -> Result<Group> {
        let dropped: HashSet<u32> = self.check_ranks(ranks)?.into_iter().collect();
        let kept = (0..self.size()).filter(|rank| !dropped.contains(rank));
        Ok(Group::new(kept.map(|rank| self.job_rank(rank)).collect()))
    }

    /// The members at the ranks of `ranges`, each `(first, last, stride)`.
    ///
    /// # Errors
    /// `Rank` when a rank is not in the group or appears twice, `Arg` when a
    /// stride is 0 or leads away from the last rank.
    pub fn range_incl(&self, ranges: &[[i32; 3]]) -> Result<Group> {
        self.incl(&self.expand(ranges)?)
    }

    /// All members but those at the ranks of `ranges`.
    ///
    /// # Errors
    /// As [`Group::range_incl`].
    pub fn range_excl(&self, ranges: &[[i32; 3]]) -> Result<Group> {
        self.excl(&self.expand(ranges)?)
    }

    /// The rank in `other` of the member at `rank`; `None` if it is not there.
    ///
    /// # Errors
    /// `Rank` when `rank` is not in the group.
    pub fn translate(&self, rank: i32, other: &Group) -> Result<Option<u32>> {
        Ok(other.rank_of(self.job_rank(self.check_rank(rank)?)))
    }

    /// Identical, similar or unequal.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self == other {
            Comparison::Identical
        } else if self.size() == other.size() && self.iter().all(|member| other.rank_of(member).is_some()) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    fn check_ranks(&self, ranks: &[i32]) -> Result<Vec<u32>> {
        let mut seen = HashSet::with_capacity(ranks.len());
        let mut checked = Vec::with_capacity(ranks.len());
        for &rank in ranks {
            let rank = self.check_rank(rank)?;
            if !seen.insert(rank) {
                return Err(Error::new(Class::Rank, format!("rank {rank} is given twice")));
            }
            checked.push(rank);
        }
        Ok(checked)
    }

    /// The ranks of `ranges` one by one.
    fn expand(&self, ranges: &[[i32; 3]]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for (number, &[first, last, stride]) in ranges.iter().enumerate() {
            self.check_rank(first)?;
            let toward = i64::from(last) - i64::from(first);
            let reason = match stride {
                0 => "has the stride 0",
                stride if toward.signum() * i64::from(stride.signum()) < 0 => "leads away from its last rank",
                _ => {
                    let steps = toward / i64::from(stride);
                    let at = |step| (i64::from(first) + step * i64::from(stride)) as i32;
                    // The last rank itself need not be one of the range, nor of the group.
                    self.check_rank(at(steps))?;
                    ranks.extend((0..=steps).map(at));
                    continue;
                }
            };
            let range = format!("range {number} ({first}, {last}, {stride}) {reason}");
            return Err(Error::new(Class::Arg, range));
        }
        Ok(ranks)
    }
}
