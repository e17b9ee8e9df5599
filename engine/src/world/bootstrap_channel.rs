//! What making a communicator needs of the rooms below: small byte strings
//! between ranks, and how groups agree by them.

use super::{Communicator, Contexts, Group};
use crate::job::hardware::Place;
use crate::job::ProcessName;
use crate::{Class, Error, JobRank, Result};
use std::sync::Arc;

/// Where byte strings go: between me and `peers`, apart from all other lines.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whom `peer` of [`BootstrapChannel::post`] and [`BootstrapChannel::take`] refers to.
    pub peers: Arc<Group>,
    /// My rank as the peers know it (in `peers`, or in the group that is remote
    /// to them).
    pub rank: u32,
    /// The context of the messages.
    pub context: u64,
    /// Their tag.
    pub tag: i32,
}

/// Sending and receiving small byte strings (rarely over some kilobytes), as
/// the engine does it over messages.
pub trait BootstrapChannel {
    /// Where this process gets new context ids.
    fn contexts(&self) -> &Contexts;

    /// A process of another job is about to be in a communicator of this one: goes there from now on.
    ///
    /// # Errors
    /// What the way there says.
    fn reach_beyond(&self) -> Result<()> {
        Ok(())
    }

    /// A process that was started apart is about to be in a communicator of this one: goes there from now on.
    ///
    /// # Errors
    /// What the way there says.
    fn reach_strangers(&self) -> Result<()> {
        Ok(())
    }

    /// A number for the node that this process is on, the same for all
    /// processes of the node.
    fn node(&self) -> u32 {
        0
    }

    /// The parts of the node that this process is confined to.
    fn place(&self) -> Place {
        Place::default()
    }

    /// A collective operation on a communicator begins, which makes another one.
    ///
    /// # Errors
    /// Other members call something else in its place, where that is looked at.
    fn begins(&self, communicator: &Communicator) -> Result<()>;

    /// The members of a group begin to make a communicator.
    ///
    /// # Errors
    /// One of them has failed.
    fn all_go_on(&self, _group: &Arc<Group>) -> Result<()> {
        Ok(())
    }

    /// The call that has begun depends on processes of other groups too, whichever they are.
    fn others_take_part(&self) {}

    /// Makes processes look again at what lies in memory that they share, in the lane of a context.
    ///
    /// # Errors
    /// What the way to one of them says.
    fn nudge(&self, _context: u64, _ranks: &[JobRank]) -> Result<()> {
        Ok(())
    }

    /// Tells processes what has to do with failures and agreements among several jobs, in words that their engines know.
    ///
    /// # Errors
    /// What the way to one of them says.
    fn tell_others(&self, _letters: Vec<(JobRank, Vec<u64>)>) -> Result<()> {
        Ok(())
    }

    /// Hears such words.
    ///
    /// # Errors
    /// What the way to others says.
    fn hear_others(&self) -> Result<()> {
        Ok(())
    }

    /// Sends `bytes` to `peer` of the line. Returns at once; `bytes` may be
    /// reused. Byte strings of one pair on one line arrive in order.
    fn post(&self, line: &Line, peer: u32, bytes: &[u8]) -> Result<()>;

    /// Takes the next byte string of `peer` on the line, if one has come.
    fn take(&self, line: &Line, peer: u32) -> Result<Option<Vec<u8>>>;

    /// Calls `done` again and again, sleeping while nothing comes, until it
    /// says true or fails.
    fn wait_until(&self, done: &mut dyn FnMut() -> Result<bool>) -> Result<()>;
}

/// Something that is done by polling, so that a request can carry it.
pub trait Pending<T>: Send {
    /// Goes on as far as it can; `Some` when it is done, and then never polled
    /// again.
    fn poll(&mut self, exchange: &dyn BootstrapChannel) -> Result<Option<T>>;
}

/// Waits for the end of something pending.
///
/// # Errors
/// What polling it says.
pub fn complete<T>(exchange: &dyn BootstrapChannel, mut pending: impl Pending<T>) -> Result<T> {
    let mut result = None;
    exchange.wait_until(&mut || {
        result = pending.poll(exchange)?;
        Ok(result.is_some())
    })?;
    result.ok_or_else(|| Error::new(Class::Intern, "a wait ended before what it waited for"))
}

/// The bytes of one rank of a line to all, or to some, along a binomial tree.
pub struct Broadcast {
    line: Line,
    /// Those who take part, as ranks of the line, from the root on.
    members: Vec<u32>,
    /// My place among them.
    place: usize,
    bytes: Vec<u8>,
}

impl Broadcast {
    /// From `root` to all ranks of the line; `bytes` count there only.
    pub fn new(line: Line, root: u32, bytes: Vec<u8>) -> Broadcast {
        let size = line.peers.size();
        let place = ((line.rank + size - root) % size) as usize;
        let members = (root..size).chain(0..root).collect();
        Broadcast { line, members, place, bytes }
    }

    /// To these ranks of the line, from the first of them, where alone `bytes` count. Mine is at
    /// `place`.
    pub fn among(line: Line, members: Vec<u32>, place: u32, bytes: Vec<u8>) -> Broadcast {
        Broadcast { line, members, place: place as usize, bytes }
    }

    /// Replaces the bytes, before the root polls for the first time.
    pub fn set_bytes(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}

impl Pending<Vec<u8>> for Broadcast {
    fn poll(&mut self, exchange: &dyn BootstrapChannel) -> Result<Option<Vec<u8>>> {
        let (size, place) = (self.members.len(), self.place);
        // The lowest bit of a place is the edge to its parent; the root has all.
        let edge = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
        if place != 0 {
            match exchange.take(&self.line, self.members[place - edge])? {
                Some(bytes) => self.bytes = bytes,
                None => return Ok(None),
            }
        }
        let mut step = edge / 2;
        while step > 0 {
            if step < size - place {
                exchange.post(&self.line, self.members[place + step], &self.bytes)?;
            }
            step /= 2;
        }
        Ok(Some(std::mem::take(&mut self.bytes)))
    }
}

/// The bytes of every rank of a line to every rank, in `log2(size)` steps.
pub struct Allgather {
    line: Line,
    /// The blocks of my rank, the next rank, and so on round.
    blocks: Vec<Vec<u8>>,
    /// Whether the blocks of this step are on their way.
    posted: bool,
}

impl Allgather {
    /// Contributes `mine`; lengths may differ between ranks.
    pub fn new(line: Line, mine: Vec<u8>) -> Allgather {
        Allgather { line, blocks: vec![mine], posted: false }
    }
}

impl Pending<Vec<Vec<u8>>> for Allgather {
    fn poll(&mut self, exchange: &dyn BootstrapChannel) -> Result<Option<Vec<Vec<u8>>>> {
        let (size, rank) = (self.line.peers.size() as usize, self.line.rank as usize);
        while self.blocks.len() < size {
            let distance = self.blocks.len();
            if !self.posted {
                let to = (rank + size - distance) % size;
                let sent = distance.min(size - distance);
                exchange.post(&self.line, to as u32, &join(&self.blocks[..sent]))?;
                self.posted = true;
            }
            let from = (rank + distance) % size;
            let Some(bytes) = exchange.take(&self.line, from as u32)? else { return Ok(None) };
            self.blocks.extend(split(&bytes)?);
            self.posted = false;
        }
        self.blocks.rotate_right(rank);
        Ok(Some(std::mem::take(&mut self.blocks)))
    }
}

/// Byte strings in one, each behind its length.
pub fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut joined = Vec::new();
    for part in parts {
        joined.extend((part.len() as u64).to_le_bytes());
        joined.extend(part);
    }
    joined
}

/// What [`join`] joined.
///
/// # Errors
/// `Intern` when it is something else.
pub fn split(mut joined: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut parts = Vec::new();
    while !joined.is_empty() {
        let head = joined.split_first_chunk::<8>();
        let (length, rest) = head.ok_or_else(garbled)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|&length| length <= rest.len());
        let (part, rest) = rest.split_at(length.ok_or_else(garbled)?);
        parts.push(part.to_vec());
        joined = rest;
    }
    Ok(parts)
}

/// Numbers as bytes.
pub fn words(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// What [`words`] wrote.
///
/// # Errors
/// `Intern` when the bytes are no whole numbers.
pub fn read_words(bytes: &[u8]) -> Result<Vec<u64>> {
    let chunks = bytes.chunks_exact(8);
    if !chunks.remainder().is_empty() {
        return Err(garbled());
    }
    Ok(chunks.map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default())).collect())
}

/// The members of a group as words that any job of the universe understands, and if they are full names, others too.
pub fn group_words(exchange: &dyn BootstrapChannel, group: &Group, is_full: bool) -> Vec<u8> {
    words(group.names(exchange.contexts(), is_full).map(u64::from))
}

/// A member of a group that another process has named so.
///
/// # Errors
/// As [`BootstrapChannel::reach_beyond`] and [`BootstrapChannel::reach_strangers`].
pub fn member_of(exchange: &dyn BootstrapChannel, word: u64) -> Result<JobRank> {
    let name = ProcessName(word);
    if name.mark() != 0 {
        exchange.reach_strangers()?;
    }
    let member = exchange.contexts().inward(name).ok_or_else(garbled)?;
    if member.is_foreign() && !member.is_stranger() {
        exchange.reach_beyond()?;
    }
    Ok(member)
}

/// The group in such words.
///
/// # Errors
/// `Intern` when they are something else; as [`member_of`].
pub fn group_of(exchange: &dyn BootstrapChannel, bytes: &[u8]) -> Result<Group> {
    let members = read_words(bytes)?.into_iter().map(|word| member_of(exchange, word));
    Ok(Group::new(members.collect::<Result<Vec<_>>>()?))
}

/// The error for bytes that make no sense.
pub fn garbled() -> Error {
    Error::new(
        Class::Intern,
        "the processes that make a communicator sent each other different things: they did not make the same call",
    )
}

#[cfg(test)]
mod tests {
    use super::super::twin;
    use super::*;

    #[test]
    fn a_broadcast_reaches_every_rank_from_every_root() {
        for size in [1, 2, 3, 5, 8, 13] {
            twin::run(size, |me| {
                for root in 0..size {
                    let bytes = if root == me.rank() { vec![root as u8; 3] } else { Vec::new() };
                    let broadcast = Broadcast::new(me.world.collective_line(me).unwrap(), root, bytes);
                    assert_eq!(complete(me, broadcast).unwrap(), [root as u8; 3]);
                }
            });
        }
    }

    #[test]
    fn an_allgather_brings_blocks_of_any_length_in_rank_order() {
        for size in [1, 2, 3, 4, 7, 9] {
            twin::run(size, |me| {
                let block = |rank: u32| vec![rank as u8; rank as usize];
                let gathered =
                    complete(me, Allgather::new(me.world.collective_line(me).unwrap(), block(me.rank())))
                        .unwrap();
                assert_eq!(gathered, (0..size).map(block).collect::<Vec<_>>());
            });
        }
    }

    #[test]
    fn garbled_bytes_are_an_error() {
        assert!(split(&[1, 0, 0]).is_err() && split(&words([9])).is_err() && read_words(&[1]).is_err());
    }
}
