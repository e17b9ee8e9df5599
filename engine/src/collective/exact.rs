//! Reductions whose sums are exact (`reduce/exact`), by messages.
//!
//! An element is added up where all its operands are. So the ranks exchange shares of their
//! operands, each adds up one share, and hands it on: as many bytes as recursive halving moves, in
//! one step. Short operands go to every rank that needs the sum, and each adds them up itself.

use super::selection::WINDOW;
use super::{allgather, Data, Members, Schedule};
use crate::reduce::Exact;
use crate::Result;

/// Bytes of all operands together up to which there are no shares.
const SHORT: u64 = 16 << 10;
/// Bytes of each operand that are under way at a time where a rank needs all of it.
const PIECE: u64 = 256 << 10;

/// Everybody gets the sum of everybody's `mine` in `result`; the two may be the same.
pub(super) fn allreduce(
    schedule: &mut Schedule,
    members: Members,
    mine: &Data,
    result: &Data,
    exact: Exact,
) -> Result<()> {
    let Members { rank, size, .. } = members;
    if mine.bytes().saturating_mul(u64::from(size)) <= SHORT {
        let all = schedule.temporary(mine.times(size)?.count, &mine.datatype)?;
        let block = |member: u32| all.items(u64::from(member) * mine.count, mine.count);
        schedule.copy(mine.clone(), block(rank));
        allgather::disseminate(schedule, rank, size, &|rank| rank, &|first, number| {
            vec![all.items(u64::from(first) * mine.count, u64::from(number) * mine.count)]
        });
        schedule.sum(exact, &(0..size).map(block).collect::<Vec<_>>(), result);
        return Ok(());
    }
    let even = Even { size, count: mine.count };
    let (first, count) = even.shares(rank, 1);
    share(schedule, members, mine, &|member| even.shares(member, 1), &result.items(first, count), exact)?;
    allgather::disseminate(schedule, rank, size, &|rank| rank, &|first, number| {
        let (first, count) = even.shares(first, number);
        vec![result.items(first, count)]
    });
    Ok(())
}

/// `root` gets the sum in `result`, which is nothing at all others.
pub(super) fn reduce(
    schedule: &mut Schedule,
    members: Members,
    root: u32,
    mine: &Data,
    result: Option<&Data>,
    exact: Exact,
) -> Result<()> {
    let Members { rank, size, .. } = members;
    if mine.bytes().saturating_mul(u64::from(size)) <= SHORT {
        match result {
            None => schedule.send(root, mine.clone()),
            Some(result) => combine(schedule, &others(members), Some(mine), result, exact)?,
        }
        return Ok(());
    }
    let even = Even { size, count: mine.count };
    let (first, count) = even.shares(rank, 1);
    let place = match result {
        Some(result) => result.items(first, count),
        None => schedule.temporary(count, &mine.datatype)?,
    };
    share(schedule, members, mine, &|member| even.shares(member, 1), &place, exact)?;
    match result {
        None if count > 0 => schedule.send(root, place),
        None => {}
        Some(result) => {
            for member in others(members) {
                let (first, count) = even.shares(member, 1);
                if count > 0 {
                    schedule.receive(member, result.items(first, count));
                }
            }
        }
    }
    Ok(())
}

/// Every rank gets the sum of its share in `place`; `shares` says where a rank's begins
/// and how long it is. Where `place` lies in `mine` it does not begin after my share.
pub(super) fn share(
    schedule: &mut Schedule,
    members: Members,
    mine: &Data,
    shares: &dyn Fn(u32) -> (u64, u64),
    place: &Data,
    exact: Exact,
) -> Result<()> {
    let Members { rank, size, .. } = members;
    let (first, count) = shares(rank);
    let theirs = schedule.temporary(place.times(size - 1)?.count, &mine.datatype)?;
    let mut operands = vec![mine.items(first, count); size as usize];
    for step in 1..size {
        let (source, target) = (members.absolute(rank, size - step), members.absolute(rank, step));
        if count > 0 {
            let room = theirs.items(u64::from(step - 1) * count, count);
            schedule.receive(source, room.clone());
            operands[source as usize] = room;
        }
        let (first, count) = shares(target);
        if count > 0 {
            schedule.send(target, mine.items(first, count));
        }
        if step % WINDOW == 0 {
            schedule.wait();
        }
    }
    schedule.wait();
    schedule.sum(exact, &operands, place);
    Ok(())
}

/// Rank `r` gets the sum of the operands of the ranks below it, and of its own if
/// `inclusive`; rank 0 gets nothing else. `mine` may be `result`.
pub(super) fn prefixes(
    schedule: &mut Schedule,
    members: Members,
    inclusive: bool,
    mine: &Data,
    result: &Data,
    exact: Exact,
) -> Result<()> {
    let Members { rank, size, .. } = members;
    let lower: Vec<u32> = (0..rank).collect();
    if lower.is_empty() && !inclusive {
        pieces(mine, |first, count| to_higher(schedule, (rank, size), &mine.items(first, count)));
        return Ok(());
    }
    let piece = piece_of(mine);
    let room = schedule.temporary(piece * u64::from(rank), &mine.datatype)?;
    pieces(mine, |first, count| {
        let part = mine.items(first, count);
        to_higher(schedule, (rank, size), &part);
        let own = inclusive.then_some(&part);
        gather_and_sum(schedule, &lower, own, &room, &result.items(first, count), exact);
    });
    Ok(())
}

fn to_higher(schedule: &mut Schedule, (rank, size): (u32, u32), part: &Data) {
    for peer in rank + 1..size {
        schedule.send(peer, part.clone());
    }
    schedule.wait();
}

/// The sum of what `peers` send, and of `own`, goes to `result`.
pub(super) fn combine(
    schedule: &mut Schedule,
    peers: &[u32],
    own: Option<&Data>,
    result: &Data,
    exact: Exact,
) -> Result<()> {
    let room = schedule.temporary(result.count * peers.len() as u64, &result.datatype)?;
    gather_and_sum(schedule, peers, own, &room, result, exact);
    Ok(())
}

fn gather_and_sum(
    schedule: &mut Schedule,
    peers: &[u32],
    own: Option<&Data>,
    room: &Data,
    result: &Data,
    exact: Exact,
) {
    let mut operands: Vec<Data> = own.into_iter().cloned().collect();
    for (place, &peer) in peers.iter().enumerate() {
        let incoming = room.items(place as u64 * result.count, result.count);
        schedule.receive(peer, incoming.clone());
        operands.push(incoming);
    }
    schedule.wait();
    schedule.sum(exact, &operands, result);
}

fn others(members: Members) -> Vec<u32> {
    (0..members.size).filter(|&member| member != members.rank).collect()
}

/// Items of a piece.
fn piece_of(data: &Data) -> u64 {
    (PIECE / data.datatype.size().max(1)).min(data.count)
}

/// Calls `each` with the first item of every piece and how many it has.
fn pieces(data: &Data, mut each: impl FnMut(u64, u64)) {
    let (piece, mut first) = (piece_of(data), 0);
    while first < data.count {
        let count = piece.min(data.count - first);
        each(first, count);
        first += count;
    }
}

/// Shares of about equal size, in the order of ranks.
struct Even {
    size: u32,
    count: u64,
}

impl Even {
    /// Where `number` shares from `first` on lie: first item, and how many.
    fn shares(&self, first: u32, number: u32) -> (u64, u64) {
        let at = |share: u32| (u128::from(self.count) * u128::from(share) / u128::from(self.size)) as u64;
        (at(first), at(first + number) - at(first))
    }
}
