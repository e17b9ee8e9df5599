//! Blocks that a server lends or fetches ([`moving_blocks`](super::moving_blocks)), and the words by which servers tell of them.

use super::served_members::Key;
use super::waiting_locks::Asker;
use crate::onesided::Region;
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
    /// Memory that was lent is not needed any more: its key.
    Returned = u64::MAX - 2,
}

impl Word {
    /// What the first word of a body says, if it is one of these.
    pub fn of(first: u64) -> Option<Word> {
        [Word::Granted, Word::Failed, Word::Returned].into_iter().find(|&word| word as u64 == first)
    }
}

/// Blocks that a server lends or fetches.
#[derive(Default)]
pub struct Moves {
    pub last: u64,
    /// What it fetches, by numbers of its own.
    pub fetches: HashMap<u64, Fetch>,
    /// Blocks that ranks of this node put, by the tickets of their wishes. The last is kept as long as it is lent.
    pub put: HashMap<u64, (AccessDescriptor, Block)>,
    /// Memory of members that ranks of other nodes get: node and key, and whose it is.
    pub got: HashMap<(u32, u64), (Key, AccessDescriptor)>,
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
    pub then: Then,
}

/// What is done when a block has come.
pub enum Then {
    /// It was put: the server of the one who asks is told.
    Tell(Asker, Key, Box<Region>),
    /// It was got: the wish with this ticket is over, and the memory goes back.
    End(u64, AccessDescriptor),
}

impl Block {
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
