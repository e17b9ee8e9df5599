//! Blocks that a server lends or fetches ([`moving_blocks`](super::moving_blocks)), and the words by which servers tell of them.

use super::served_members::Key;
use super::waiting_locks::Asker;
use super::wishes::Slip;
use crate::onesided::{Region, BUFFER_BYTES};
use crate::transport::{AccessDescriptor, MemoryKind};
use std::collections::HashMap;

/// Words of a descriptor, as they are sent.
const WORDS: usize = 4;

/// What a server says to another one in two words. In place of the context of an exposure stands one of these; then a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Word {
    /// A lock is granted, or a block is where it belongs: the ticket of the one who has asked.
    Granted = u64::MAX,
    /// A block has not come: the same.
    Failed = u64::MAX - 1,
}

impl Word {
    /// What the first word of a body says, if it is one of these.
    pub fn of(first: u64) -> Option<Word> {
        [Word::Granted, Word::Failed].into_iter().find(|&word| word as u64 == first)
    }
}

/// The most bytes of answers that are kept, before one more is.
const MOST_KEPT: usize = 4 << 20;

/// Answers that are kept until others have fetched them.
#[derive(Default)]
pub struct Kept {
    bytes: usize,
    /// There was no room for one more when somebody asked.
    was_full: std::cell::Cell<bool>,
}

impl Kept {
    /// One more.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// One is not needed any more.
    pub fn remove(&mut self, bytes: usize) {
        self.bytes -= bytes;
    }

    /// Whether there may be one more.
    pub fn has_room(&self) -> bool {
        let is_full = self.bytes >= MOST_KEPT;
        self.was_full.set(self.was_full.get() || is_full);
        !is_full
    }

    /// Whether there is room again for those who were told that there is none; once.
    pub fn has_room_again(&self) -> bool {
        self.bytes < MOST_KEPT && self.was_full.replace(false)
    }
}

/// Blocks that a server lends or fetches.
#[derive(Default)]
pub struct Moves {
    pub last: u64,
    /// What it fetches, by numbers of its own.
    pub fetches: HashMap<u64, Fetch>,
    /// Blocks that ranks of this node put, and long requests of theirs, by the tickets of their wishes. The last is kept as long
    /// as it is lent.
    pub put: HashMap<u64, (AccessDescriptor, Block)>,
    /// What ranks of other nodes get, by node and key: memory of a member, or an answer, which lies aside until it is not needed
    /// any more.
    pub got: HashMap<(u32, u64), (Option<Key>, AccessDescriptor, Block)>,
    pub kept: Kept,
}

/// Where a block lies in the server's process.
pub enum Block {
    /// In memory that is its rank's own, or reached by plain loads and stores.
    Here(u64),
    /// Beside: its rank's memory is another process's.
    Aside(Vec<u8>),
}

/// A block that comes.
pub struct Fetch {
    /// The node from which it comes.
    pub node: u32,
    pub block: Block,
    /// What is fetched.
    pub memory: AccessDescriptor,
    pub then: Then,
}

/// A long request that was fetched: of which node, its ticket, and all of it, if it has come.
pub type Request = (u32, u64, Option<Vec<u8>>);

/// What is done when a block has come.
pub enum Then {
    /// It was put: the server of the one who asks is told.
    Tell(Asker, Key, Box<Region>),
    /// It was got: the wish with this ticket is over, and the memory goes back.
    End(u64),
    /// It is the long request with this ticket: it is done.
    Execute(u64),
}

impl Block {
    /// Room aside for so many bytes, which are not there yet ([`Block::is_filled`]).
    pub fn aside(bytes: u64) -> Block {
        Block::Aside(Vec::with_capacity(bytes as usize))
    }

    /// Bytes that it keeps aside.
    pub fn kept(&self) -> usize {
        match self {
            Block::Here(_) => 0,
            Block::Aside(bytes) => bytes.len(),
        }
    }

    /// So many bytes have come.
    ///
    /// # Safety
    /// They have: if the block lies aside, in the room that was made for them.
    pub unsafe fn is_filled(&mut self, bytes: u64) {
        if let Block::Aside(room) = self {
            debug_assert!(bytes as usize <= room.capacity());
            // SAFETY: by the caller.
            unsafe { room.set_len(bytes as usize) };
        }
    }

    /// Its address.
    pub fn address(&mut self) -> u64 {
        match self {
            Block::Here(address) => *address,
            Block::Aside(bytes) => bytes.as_mut_ptr() as u64,
        }
    }
}

/// A descriptor as bytes.
pub fn descriptor_to_bytes(memory: AccessDescriptor) -> Vec<u8> {
    let AccessDescriptor { address, bytes, key, kind } = memory;
    [address, bytes, key, u64::from(kind.0)].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The same back.
pub fn descriptor_from_bytes(bytes: &[u8]) -> Option<AccessDescriptor> {
    let bytes: &[u8; 8 * WORDS] = bytes.try_into().ok()?;
    let word = |at: usize| u64::from_ne_bytes(bytes[8 * at..8 * at + 8].try_into().expect("8 bytes"));
    Some(AccessDescriptor {
        address: word(0),
        bytes: word(1),
        key: word(2),
        kind: MemoryKind(word(3) as u16),
    })
}

/// Where an answer lies, if it is lent: it should be longer than a buffer, and is as long as a descriptor.
pub fn lent_answer(slip: &Slip, answer: &[u8]) -> Option<AccessDescriptor> {
    let is_long = slip.most > BUFFER_BYTES as u64;
    let memory = is_long.then(|| descriptor_from_bytes(answer))??;
    (memory.key != 0 && memory.bytes <= slip.most).then_some(memory)
}
