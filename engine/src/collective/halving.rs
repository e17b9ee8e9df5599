//! Recursive halving and doubling over the seats of a [`Folded`] group: the
//! way to reduce long vectors, in which every seat reduces a share.

use super::partial::Partial;
use super::tree::{reversed, Folded};
use super::{Data, Schedule};
use crate::Result;

/// How a vector is cut into a share for each seat. Shares lie in the order of
/// reversed seats, so that neighbours can begin: that keeps the tree.
pub(super) struct Shares {
    /// Item offsets; one more than there are seats.
    offsets: Vec<u64>,
}

/// A run of shares: the first place, and how many.
type Run = (u32, u32);

impl Shares {
    /// Shares of about equal size.
    pub fn even(seats: u32, count: u64) -> Shares {
        let offset = |place| (u128::from(count) * u128::from(place) / u128::from(seats)) as u64;
        Shares { offsets: (0..=seats).map(offset).collect() }
    }

    /// Shares of given sizes, in the order in which they lie.
    pub fn sized(counts: impl Iterator<Item = u64>) -> Shares {
        let mut offsets = vec![0];
        let mut end = 0;
        for count in counts {
            end += count;
            offsets.push(end);
        }
        Shares { offsets }
    }

    /// The items of a run: first, and how many.
    pub fn items(&self, (place, number): Run) -> (u64, u64) {
        let first = self.offsets[place as usize];
        (first, self.offsets[(place + number) as usize] - first)
    }

    /// The items of a seat's share.
    pub fn share(&self, folded: &Folded, seat: u32) -> (u64, u64) {
        self.items((reversed(seat, folded.levels()), 1))
    }
}

/// The run that a seat works on when `level` halvings have been done.
fn run(folded: &Folded, seat: u32, level: u32) -> Run {
    let length = folded.seats() >> level;
    (reversed(seat, folded.levels()) & !(length - 1), length)
}

/// Reduces, so that afterwards the share of `seat` in `partial` is the result.
pub(super) fn reduce(
    schedule: &mut Schedule,
    folded: &Folded,
    seat: u32,
    shares: &Shares,
    partial: &mut Partial,
) -> Result<()> {
    for level in 0..folded.levels() {
        let partner = seat ^ (1 << level);
        let (mine, theirs) = (run(folded, seat, level + 1), run(folded, partner, level + 1));
        let (mine, theirs) = (shares.items(mine), shares.items(theirs));
        let from_lower = partner < seat;
        let incoming = partial.incoming(schedule, from_lower)?;
        let send = partial.value.items(theirs.0, theirs.1);
        schedule.exchange(folded.host(partner), send, incoming.items(mine.0, mine.1));
        partial.fold(schedule, incoming, from_lower, mine)?;
    }
    Ok(())
}

/// The way back: from the share of each seat in `whole` to all shares.
pub(super) fn spread(schedule: &mut Schedule, folded: &Folded, seat: u32, shares: &Shares, whole: &Data) {
    for level in (0..folded.levels()).rev() {
        let partner = seat ^ (1 << level);
        let (mine, theirs) = (run(folded, seat, level + 1), run(folded, partner, level + 1));
        let (mine, theirs) = (shares.items(mine), shares.items(theirs));
        let (send, receive) = (whole.items(mine.0, mine.1), whole.items(theirs.0, theirs.1));
        schedule.exchange(folded.host(partner), send, receive);
    }
}
