//! Reduce_scatter and reduce_scatter_block (MPI-5.0 §6.10).

use super::halving::{self, Shares};
use super::partial::Partial;
use super::tree::{reversed, Folded};
use super::{inter, Data, Members, Schedule};
use crate::reduce::Operator;
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Combines everybody's `send` and gives block `r` of the result to rank `r`
/// (of the other group's vectors, in an intercommunicator). `receive` has room for
/// mine. Without `send` the whole
/// vector lies in `receive`, and the result goes to its beginning.
///
/// # Errors
/// `Op` when the operator does not take the type; `Count` when the blocks
/// together do not fit 64 bits; `NoMem`.
pub fn reduce_scatter(
    members: Members,
    send: Option<Data>,
    receive: Data,
    counts: &Counts,
    operator: &Arc<Operator>,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    operator.check(&receive.datatype)?;
    let blocks = Blocks::new(&counts.to_vec(&receive, members.size), &receive)?;
    let whole = Data { count: blocks.total(), ..send.unwrap_or_else(|| receive.clone()) };
    if whole.bytes() == 0 {
        return Ok(schedule);
    }
    let mine = blocks.block(members.rank);
    let receive = receive.items(0, mine.1);
    if let Some(remote) = members.remote {
        let result = schedule.temporary(whole.count, &whole.datatype)?;
        inter::exchange_reduced(&mut schedule, members, remote, whole, &result, operator)?;
        schedule.wait();
        schedule.copy(result.items(mine.0, mine.1), receive);
        return Ok(schedule);
    }
    if let Some(exact) = operator.exact(&whole.datatype) {
        super::exact::share(&mut schedule, members, &whole, &|rank| blocks.block(rank), &receive, exact)?;
        return Ok(schedule);
    }
    within(&mut schedule, members, &whole, &receive, &blocks, operator)?;
    Ok(schedule)
}

/// How many items each rank gets.
#[derive(Clone, Debug)]
pub enum Counts {
    /// As many as the receive buffer has (`MPI_Reduce_scatter_block`).
    Equal,
    /// So many.
    Each(Vec<u64>),
}

impl Counts {
    /// All of them, of `size` ranks.
    fn to_vec(&self, receive: &Data, size: u32) -> Vec<u64> {
        match self {
            Counts::Equal => vec![receive.count; size as usize],
            Counts::Each(counts) => counts.clone(),
        }
    }

    /// Their sum.
    pub fn total(&self, receive: &Data, size: u32) -> u64 {
        match self {
            Counts::Equal => receive.count.saturating_mul(u64::from(size)),
            Counts::Each(counts) => counts.iter().fold(0, |sum, &count| sum.saturating_add(count)),
        }
    }

    /// The first item of a rank, and how many.
    pub fn part(&self, receive: &Data, rank: u32) -> (u64, u64) {
        match self {
            Counts::Equal => (u64::from(rank) * receive.count, receive.count),
            Counts::Each(counts) => (counts[..rank as usize].iter().sum(), counts[rank as usize]),
        }
    }

    /// That all items together fit 64 bits.
    pub(super) fn check(&self, receive: &Data, size: u32) -> Result<()> {
        match self {
            Counts::Equal => receive.times(size).map(drop),
            Counts::Each(counts) => Blocks::new(counts, receive).map(drop),
        }
    }
}

/// Where the blocks of the ranks lie in a vector.
struct Blocks {
    offsets: Vec<u64>,
}

impl Blocks {
    fn new(counts: &[u64], data: &Data) -> Result<Blocks> {
        let mut offsets = vec![0];
        let mut end = 0i64;
        for &count in counts {
            end = i64::try_from(count).ok().and_then(|count| end.checked_add(count)).ok_or_else(|| {
                Error::new(Class::Count, "the counts of reduce_scatter together do not fit 64 bits")
            })?;
            offsets.push(end as u64);
        }
        Data::new(data.address, 0, end, &data.datatype)?;
        Ok(Blocks { offsets })
    }

    fn total(&self) -> u64 {
        self.offsets[self.offsets.len() - 1]
    }

    /// First item, and how many.
    fn block(&self, rank: u32) -> (u64, u64) {
        let first = self.offsets[rank as usize];
        (first, self.offsets[rank as usize + 1] - first)
    }

    /// The blocks of a seat together.
    fn of_seat(&self, folded: &Folded, seat: u32) -> (u64, u64) {
        let (rank, number) = folded.ranks(seat);
        let first = self.offsets[rank as usize];
        (first, self.offsets[(rank + number) as usize] - first)
    }
}

/// Recursive halving in a temporary in which the blocks lie as it wants them.
fn within(
    schedule: &mut Schedule,
    members: Members,
    whole: &Data,
    receive: &Data,
    blocks: &Blocks,
    operator: &Arc<Operator>,
) -> Result<()> {
    let folded = Folded::new(members.size, 0);
    let seat_at = |place| reversed(place, folded.levels());
    let places = 0..folded.seats();
    let shares = Shares::sized(places.clone().map(|place| blocks.of_seat(&folded, seat_at(place)).1));
    let sorted = schedule.temporary(whole.count, &whole.datatype)?;
    for place in places {
        let (first, count) = blocks.of_seat(&folded, seat_at(place));
        let target = shares.items((place, 1)).0;
        schedule.copy(whole.items(first, count), sorted.items(target, count));
    }
    let seat = folded.seat(members.rank);
    let host = folded.host(seat);
    if host != members.rank {
        schedule.send(host, sorted);
        schedule.wait();
        if receive.count > 0 {
            schedule.receive(host, receive.clone());
        }
        return Ok(());
    }
    let Some(mut partial) = Partial::new(operator, None, Some(&sorted)) else { return Ok(()) };
    let guest = folded.guest(seat);
    if let Some(guest) = guest {
        partial.fold_from(schedule, guest, false)?;
    }
    halving::reduce(schedule, &folded, seat, &shares, &mut partial)?;
    let (first, count) = shares.share(&folded, seat);
    let own = receive.count;
    schedule.copy(partial.value.items(first, own), receive.clone());
    if let Some(guest) = guest.filter(|_| count > own) {
        schedule.send(guest, partial.value.items(first + own, count - own));
    }
    Ok(())
}
