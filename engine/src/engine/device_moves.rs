//! Collectives that move long data between buffers in device memory, by the ranks of one node: whoever gets data maps the
//! memory of who gives them, and copies them by itself.
//!
//! ```text
//! all tell where the memory that they give is described --> map it
//! all say whether they are ready; if one is not: through the host
//! each copies what it gets                               --> all say that they have
//! ```
//!
//! So each byte is copied once, to any kind of memory. What ranks tell each other is in `device_members.rs`.

use super::device_members::{Found, Told};
use super::Engine;
use crate::collective::node::Member;
use crate::collective::{Data, Operation, Root};
use crate::device::{self, counted, DeviceMemory, Piece};
use crate::message::EAGER_FAR_BYTES;
use crate::Result;

/// What a rank tells of what it gives.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Given {
    source: Told,
    /// Bytes of a block, which all have to mean alike.
    block: u64,
}

/// A block that a rank gets.
struct Taken {
    giver: u32,
    /// Where it lies in what that one gives.
    at: u64,
    to: Data,
}

/// An operation that moves blocks of one length.
pub(super) struct Moves {
    /// Bytes of a block.
    block: u64,
    /// What this rank gives, if it does, and how many bytes anybody gives.
    source: Option<Data>,
    given: u64,
    /// Whether a rank gives something.
    gives: Gives,
    taken: Vec<Taken>,
    /// The block that stays here: from where, and to where.
    own: Option<(Data, Data)>,
}

#[derive(Clone, Copy)]
enum Gives {
    All,
    Only(u32),
    AllBut(u32),
}

impl Gives {
    fn is_one(self, rank: u32) -> bool {
        match self {
            Gives::All => true,
            Gives::Only(one) => rank == one,
            Gives::AllBut(one) => rank != one,
        }
    }
}

/// A copy that this rank does.
struct Ready {
    /// On a device, or between one and the host; `None`: within the host.
    memory: Option<DeviceMemory>,
    piece: Piece,
    /// It comes from another rank, whose memory stays mapped meanwhile.
    from: Option<Found>,
}

/// Who runs an operation: a rank, and of how many; and how long its blocks are.
#[derive(Clone, Copy)]
struct Who {
    rank: u32,
    size: u32,
    block: u64,
}

impl Moves {
    /// What a rank does of an operation; `None` if all ranks see that it is nothing for devices.
    pub fn of(operation: &Operation, rank: u32, size: u32) -> Option<Moves> {
        let block = block_of(operation, rank).filter(|&block| block > EAGER_FAR_BYTES && size > 1)?;
        let who = Who { rank, size, block };
        match operation {
            Operation::Broadcast { root: Root::Rank(root), data } => Some(who.broadcast(*root, data)),
            Operation::Scatter { root: Root::Rank(root), send, receive } => {
                who.scatter(*root, send.as_ref(), receive.as_ref())
            }
            Operation::Gather { root: Root::Rank(root), send, receive } => {
                who.gather(*root, send.as_ref(), receive.as_ref())
            }
            Operation::Allgather { send, receive } => who.allgather(send.as_ref(), receive),
            Operation::Alltoall { send: Some(send), receive } => who.alltoall(send, receive),
            _ => None,
        }
    }
}

/// Bytes of a block of an operation that moves some, as all ranks mean it.
fn block_of(operation: &Operation, rank: u32) -> Option<u64> {
    match operation {
        Operation::Broadcast { data, .. } => Some(data.bytes()),
        Operation::Scatter { root: Root::Rank(root), send, receive } => {
            Some(if rank == *root { send } else { receive }.as_ref()?.bytes())
        }
        Operation::Gather { root: Root::Rank(root), send, receive } => {
            Some(if rank == *root { receive } else { send }.as_ref()?.bytes())
        }
        Operation::Allgather { receive, .. } | Operation::Alltoall { receive, .. } => Some(receive.bytes()),
        _ => None,
    }
}

impl Who {
    fn broadcast(self, root: u32, data: &Data) -> Moves {
        let (is_root, block) = (self.rank == root, self.block);
        let taken = (!is_root).then(|| Taken { giver: root, at: 0, to: data.clone() });
        Moves {
            block,
            source: is_root.then(|| data.clone()),
            given: block,
            gives: Gives::Only(root),
            taken: taken.into_iter().collect(),
            own: None,
        }
    }

    fn scatter(self, root: u32, send: Option<&Data>, receive: Option<&Data>) -> Option<Moves> {
        let (is_root, block) = (self.rank == root, self.block);
        let sent = send.filter(|_| is_root);
        let taken = receive.filter(|_| !is_root);
        let taken = taken.map(|to| Taken { giver: root, at: u64::from(self.rank) * block, to: to.clone() });
        Some(Moves {
            block,
            source: sent.and_then(|send| send.times(self.size).ok()),
            given: block.checked_mul(self.size.into())?,
            gives: Gives::Only(root),
            taken: taken.into_iter().collect(),
            own: sent.and_then(|send| self.own_of(send)).zip(receive.cloned()),
        })
    }

    fn gather(self, root: u32, send: Option<&Data>, receive: Option<&Data>) -> Option<Moves> {
        let (is_root, block) = (self.rank == root, self.block);
        let got = receive.filter(|_| is_root);
        Some(Moves {
            block,
            source: send.filter(|_| !is_root).cloned(),
            given: block,
            gives: Gives::AllBut(root),
            taken: got.map_or_else(|| Some(Vec::new()), |receive| self.of_others(receive, 0))?,
            own: send.cloned().zip(got.and_then(|receive| self.own_of(receive))),
        })
    }

    fn allgather(self, send: Option<&Data>, receive: &Data) -> Option<Moves> {
        let mine = self.own_of(receive)?;
        Some(Moves {
            block: self.block,
            source: Some(send.unwrap_or(&mine).clone()),
            given: self.block,
            gives: Gives::All,
            taken: self.of_others(receive, 0)?,
            own: send.cloned().zip(Some(mine)),
        })
    }

    fn alltoall(self, send: &Data, receive: &Data) -> Option<Moves> {
        let block = self.block;
        Some(Moves {
            block,
            source: Some(send.times(self.size).ok()?),
            given: block.checked_mul(self.size.into())?,
            gives: Gives::All,
            taken: self.of_others(receive, u64::from(self.rank) * block)?,
            own: self.own_of(send).zip(self.own_of(receive)),
        })
    }

    /// The block of this rank, of blocks of which this is the first.
    fn own_of(self, blocks: &Data) -> Option<Data> {
        blocks.block(self.rank, self.size).ok()
    }

    /// A block from each other rank, which lies at one place in what that one gives.
    fn of_others(self, receive: &Data, at: u64) -> Option<Vec<Taken>> {
        let others = (0..self.size).filter(|&peer| peer != self.rank);
        others.map(|giver| Some(Taken { giver, at, to: receive.block(giver, self.size).ok()? })).collect()
    }
}

impl Engine {
    /// Moves the data on the devices; whether it was done. All members come to the same answer.
    ///
    /// # Errors
    /// What the driver says where this rank copies.
    pub(super) fn move_by_devices(&self, me: &Member, moves: &Moves) -> Result<bool> {
        let Some(told) = self.all_tell(me, self.given(moves))? else { return Ok(false) };
        let is_given = |(rank, one): (u32, &Given)| {
            one.block == moves.block && (one.source.lent > 0 || !moves.gives.is_one(rank))
        };
        // What is not all given goes through the host.
        if !(0..me.size).zip(&told).all(is_given) {
            return Ok(false);
        }
        let ready = self.ready_to_take(me, moves, &told);
        if !self.all_members_say(me, ready.is_some())? {
            return Ok(false);
        }
        let Some(ready) = ready else { return Ok(false) };
        crate::observe::page::add_together(&self.page.counters.collectives, 1);
        let taken = self.page.copying(|| take(&ready));
        // All lend their memory until all have copied, well or not.
        self.all_members_say(me, true)?;
        taken.map(|()| true)
    }

    /// What this rank tells; what the driver says against it shows again on the way through the host.
    fn given(&self, moves: &Moves) -> Given {
        let source = || {
            let (address, bytes) = moves.source.as_ref()?.dense().filter(|one| one.1 == moves.given)?;
            Found::here(address).ok()?.map(|found| self.told(&found, bytes as usize))
        };
        Given { source: source().unwrap_or_default(), block: moves.block }
    }

    /// The copies that this rank does; `None` where it cannot.
    fn ready_to_take(&self, me: &Member, moves: &Moves, told: &[Given]) -> Option<Vec<Ready>> {
        let mut ready = Vec::new();
        for Taken { giver, at, to } in &moves.taken {
            let from = self.map_told(me, *giver, &told[*giver as usize].source, moves.given)?;
            let piece = piece_of(from.address + *at as usize, to, moves.block)?;
            ready.push(Ready { memory: Some(from.memory), piece, from: Some(from) });
        }
        if let Some((from, to)) = &moves.own {
            let (address, bytes) = from.dense()?;
            let piece = piece_of(address as usize, to, bytes)?;
            let here = Found::here(piece.to).ok()?.or(Found::here(address).ok()?);
            ready.push(Ready { memory: here.map(|here| here.memory), piece, from: None });
        }
        Some(ready)
    }
}

/// A copy of so many bytes to where data lie without gaps.
fn piece_of(from: usize, to: &Data, bytes: u64) -> Option<Piece> {
    let (to, _) = to.dense().filter(|one| one.1 == bytes)?;
    Some(Piece { to, from: from as *const u8, bytes: bytes as usize })
}

/// Copies all, as far as the driver does.
fn take(ready: &[Ready]) -> Result<()> {
    for Ready { memory, piece, from } in ready {
        // SAFETY: all members lend their buffers until all have said that they have copied, and nobody else writes to mine.
        unsafe {
            match memory {
                Some(memory) => device::copy(memory, &[*piece])?,
                None => std::ptr::copy(piece.from, piece.to, piece.bytes),
            }
        }
        if from.is_some() {
            counted::mapped(piece.bytes as u64);
        }
    }
    Ok(())
}
