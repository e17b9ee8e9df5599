//! Alltoall, alltoallv and alltoallw (MPI-5.0 §6.8).

use super::selection::{self, Alltoall, WINDOW};
use super::{Data, Members, Schedule};
use crate::Result;

/// Block `i` of `send` goes to peer `i`; block `i` of `receive` is from it.
/// Both are the first of as many equal blocks as peers; without `send` the
/// blocks of `receive` are exchanged in place.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits; `NoMem`.
pub fn alltoall(members: Members, send: Option<Data>, receive: Data) -> Result<Schedule> {
    let algorithm = match members.remote {
        Some(_) => Alltoall::Pairwise,
        None => selection::choose(&selection::ALLTOALL, members.size, receive.bytes()),
    };
    build(members, send, receive, algorithm)
}

pub(super) fn build(
    members: Members,
    send: Option<Data>,
    receive: Data,
    algorithm: Alltoall,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    for data in send.iter().chain([&receive]) {
        data.times(members.peers())?;
    }
    let to = |peer| receive.blocks(peer, 1);
    match (&send, algorithm) {
        (_, Alltoall::Bruck) if receive.bytes() == 0 => {}
        (_, Alltoall::Bruck) => bruck(&mut schedule, members, send.as_ref().unwrap_or(&receive), &receive)?,
        (None, _) => pairwise(&mut schedule, members, None, &to)?,
        (Some(send), _) => pairwise(&mut schedule, members, Some(&|peer| send.blocks(peer, 1)), &to)?,
    }
    Ok(schedule)
}

/// Alltoallv and alltoallw: a block of its own for each peer.
///
/// # Errors
/// `NoMem`.
pub fn alltoallw(members: Members, send: Option<&[Data]>, receive: &[Data]) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    let to = |peer: u32| receive[peer as usize].clone();
    match send {
        None => pairwise(&mut schedule, members, None, &to)?,
        Some(send) => pairwise(&mut schedule, members, Some(&|peer| send[peer as usize].clone()), &to)?,
    }
    Ok(schedule)
}

/// The block for a peer, or from it.
type Block<'a> = &'a dyn Fn(u32) -> Data;

/// Exchanges a block with each peer, some peers at a time. In round `i` the
/// ranks whose sum is `i` (on a circle) are partners, so both sides of a pair
/// come to each other in the same round.
pub(super) fn pairwise(
    schedule: &mut Schedule,
    members: Members,
    send: Option<Block>,
    receive: Block,
) -> Result<()> {
    let circle = members.size.max(members.peers());
    let mut stages = Stages::new(members, send, receive);
    for round in 0..circle {
        let peer = (round + (circle - members.rank)) % circle;
        if peer < members.peers() {
            let to = receive(peer);
            match send {
                Some(send) if members.is_me(peer) => schedule.copy(send(peer), to),
                None if members.is_me(peer) => {}
                Some(send) => swap(schedule, peer, send(peer), to),
                None => {
                    let from = stages.stage(schedule, round % WINDOW, &to)?;
                    swap(schedule, peer, from, to);
                }
            }
        }
        if round % WINDOW == WINDOW - 1 {
            schedule.wait();
        }
    }
    schedule.wait();
    Ok(())
}

/// Starts both messages of a pair; both sides know which of them are empty.
fn swap(schedule: &mut Schedule, peer: u32, send: Data, receive: Data) {
    if receive.bytes() > 0 {
        schedule.receive(peer, receive);
    }
    if send.bytes() > 0 {
        schedule.send(peer, send);
    }
}

/// Temporary copies of blocks that are exchanged in place.
struct Stages {
    largest: u64,
    stages: Vec<Option<Data>>,
}

impl Stages {
    fn new(members: Members, send: Option<Block>, receive: Block) -> Stages {
        let blocks = if send.is_none() { members.peers() } else { 0 };
        let largest = (0..blocks).map(|peer| receive(peer).bytes()).max().unwrap_or(0);
        Stages { largest, stages: vec![None; WINDOW as usize] }
    }

    /// Copies `block` to the temporary of this place in the window.
    fn stage(&mut self, schedule: &mut Schedule, place: u32, block: &Data) -> Result<Data> {
        let stage = &mut self.stages[place as usize];
        let stage = match stage {
            Some(stage) => stage,
            None => stage.insert(schedule.packed(self.largest)?),
        };
        let stage = stage.items(0, block.bytes());
        schedule.copy(block.clone(), stage.clone());
        Ok(stage)
    }
}

/// Bruck's algorithm: a block that has to go `d` ranks ahead makes one hop for
/// each bit of `d`, together with all others that make that hop.
fn bruck(schedule: &mut Schedule, members: Members, send: &Data, receive: &Data) -> Result<()> {
    let Members { rank, size, .. } = members;
    let block = receive.bytes();
    let all = schedule.packed(block * u64::from(size))?;
    let slots = |first: u32, number: u32| all.items(u64::from(first) * block, u64::from(number) * block);
    // Slot d: the block that has to go d ranks ahead.
    schedule.copy(send.blocks(rank, size - rank), slots(0, size - rank));
    schedule.copy(send.blocks(0, rank), slots(size - rank, rank));
    let half = u64::from(size.div_ceil(2)) * block;
    let (leaving, coming) = (schedule.packed(half)?, schedule.packed(half)?);
    let mut hop = 1;
    while hop < size {
        let mut bytes = 0;
        let mut runs = Vec::new();
        for first in (hop..size).step_by(2 * hop as usize) {
            let run = slots(first, hop.min(size - first));
            let place = bytes;
            bytes += run.count;
            schedule.copy(run.clone(), leaving.items(place, run.count));
            runs.push((place, run));
        }
        schedule.receive(members.absolute(rank, size - hop), coming.items(0, bytes));
        schedule.send(members.absolute(rank, hop), leaving.items(0, bytes));
        schedule.wait();
        for (place, run) in runs {
            schedule.copy(coming.items(place, run.count), run);
        }
        hop *= 2;
    }
    // Slot d now holds the block that came from d ranks before.
    for distance in 0..size {
        let source = members.absolute(rank, size - distance);
        schedule.copy(slots(distance, 1), receive.blocks(source, 1));
    }
    Ok(())
}
