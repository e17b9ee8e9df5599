//! Allgather and allgatherv (MPI-5.0 §6.7).

use super::alltoall;
use super::{Data, Members, Schedule};
use crate::Result;

/// Everybody gets everybody's `send` (`None`: in place, in my block of
/// `receive`). `receive` is the first of as many equal blocks as peers.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits.
pub fn allgather(members: Members, send: Option<Data>, receive: Data) -> Result<Schedule> {
    receive.times(members.peers())?;
    build(members, send, &|first, number| vec![receive.blocks(first, number)])
}

/// Allgather with a block of its own for each peer.
///
/// # Errors
/// None today.
pub fn allgatherv(members: Members, send: Option<Data>, receive: &[Data]) -> Result<Schedule> {
    build(members, send, &|first, number| receive[first as usize..][..number as usize].to_vec())
}

/// The blocks `first` up to `first + number`, in pieces that all ranks agree on.
type SlicesOf<'a> = &'a dyn Fn(u32, u32) -> Vec<Data>;

fn build(members: Members, send: Option<Data>, blocks: SlicesOf) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    let one = |peer| blocks(peer, 1).remove(0);
    if members.remote.is_some() {
        let own = send.unwrap_or_else(Data::nothing);
        alltoall::pairwise(&mut schedule, members, Some(&|_| own.clone()), &one)?;
        return Ok(schedule);
    }
    if let Some(send) = send {
        schedule.copy(send, one(members.rank));
    }
    let peer = |rank| rank;
    disseminate(&mut schedule, members.rank, members.size, &peer, blocks);
    Ok(schedule)
}

/// Spreads the blocks among ranks that hold their own one each. A rank holds
/// the blocks of itself and of some ranks before it, on a circle; in each round
/// it doubles them from the rank just before those.
pub(super) fn disseminate(
    schedule: &mut Schedule,
    rank: u32,
    size: u32,
    peer: &dyn Fn(u32) -> u32,
    blocks: SlicesOf,
) {
    let mut held = 1;
    while held < size {
        let number = held.min(size - held);
        let before = |distance: u32| (rank + (size - distance)) % size;
        let (source, destination) = (before(held), before(size - held));
        for data in on_circle(before(held + number - 1), number, size, blocks) {
            schedule.receive(peer(source), data);
        }
        for data in on_circle(before(number - 1), number, size, blocks) {
            schedule.send(peer(destination), data);
        }
        schedule.wait();
        held += number;
    }
}

/// The blocks from `first` on, going over from the last rank to rank 0.
fn on_circle(first: u32, number: u32, size: u32, blocks: SlicesOf) -> Vec<Data> {
    let until_end = number.min(size - first);
    let mut pieces = blocks(first, until_end);
    if number > until_end {
        pieces.extend(blocks(0, number - until_end));
    }
    pieces.retain(|data| data.bytes() > 0);
    pieces
}
