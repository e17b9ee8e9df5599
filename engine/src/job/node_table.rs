//! What the ranks of a node know of the whole job, once for all of them, where it has several nodes: who is where,
//! the secret of the job, and the cards of the nodes as far as somebody has asked for them.
//!
//! ```text
//! 64 bytes: magic, version and own node, ranks and number of blocks of the map, failures and whether the job goes on
//!           without ranks that fail, the key
//! 16 bytes for each block of the map, in whole lines of 64
//! 96 bytes for each node: 8 the length of its card, 0 while it is not there; the card
//! 4 bytes for each rank: as so manieth of all it has failed (address space, not memory, while none has)
//! ```
//!
//! It lies in a memfd of its own. Its beginning is written once, before any other rank has it. A card is written by
//! whoever has asked for it, before its length (release); two who ask at the same time write the same.

use super::node_card::{JobKey, NodeCard};
use super::node_map::{Block, NodeMap};
use crate::memory::segment::{self, Segment};
use crate::{Class, Error, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

const MAGIC: u64 = u64::from_le_bytes(*b"serried2");
const VERSION: u32 = 2;
/// Bytes for each node.
pub const ENTRY_BYTES: usize = 96;
const HEAD_WORDS: usize = 8;
const ENTRY_WORDS: usize = ENTRY_BYTES / 8;
const FAILURES_WORD: usize = 3;
const KEY_WORD: usize = 4;

/// The table, mapped.
#[derive(Debug)]
pub struct NodeTable {
    segment: Segment,
    map: NodeMap,
    own_node: u32,
}

impl NodeTable {
    /// Makes the table of a node; pass its descriptor on.
    ///
    /// # Errors
    /// `NoMem` when the system refuses the memory.
    pub fn create(own_node: u32, map: &NodeMap, key: &JobKey) -> Result<NodeTable> {
        let bytes = bytes_of(map);
        let segment = Segment::create(c"serried-table", bytes, bytes as u64)?;
        segment.reserve(0, bytes.min(entry_at(map, 0) * 8))?;
        let table = NodeTable { segment, map: map.clone(), own_node };
        let words = table.words();
        words[1].store(pair(VERSION, own_node), Relaxed);
        words[2].store(pair(map.size(), map.blocks().len() as u32), Relaxed);
        for (word, bytes) in words[KEY_WORD..HEAD_WORDS].iter().zip(key.0.chunks_exact(8)) {
            word.store(u64::from_le_bytes(bytes.try_into().expect("8 bytes")), Relaxed);
        }
        for (place, block) in words[HEAD_WORDS..].chunks_exact(2).zip(map.blocks()) {
            place[0].store(pair(block.first, block.nodes), Relaxed);
            place[1].store(u64::from(block.ranks), Relaxed);
        }
        words[0].store(MAGIC, Release);
        Ok(table)
    }

    /// Maps a table that another process made.
    ///
    /// # Errors
    /// `Intern` for what is none of this version.
    pub fn open(descriptor: OwnedFd) -> Result<NodeTable> {
        let bytes = segment::length(descriptor.as_fd())? as usize;
        if bytes < HEAD_WORDS * 8 {
            return Err(foreign());
        }
        let segment = Segment::map(descriptor, bytes)?;
        let words = words_of(&segment);
        let ((version, own_node), (size, blocks)) = (unpaired(&words[1]), unpaired(&words[2]));
        let blocks = words[HEAD_WORDS..].chunks_exact(2).take(blocks as usize).map(|place| {
            let ((first, nodes), (ranks, _)) = (unpaired(&place[0]), unpaired(&place[1]));
            Block { first, nodes, ranks }
        });
        let map = NodeMap::new(&blocks.collect::<Vec<_>>(), size).ok_or_else(foreign)?;
        let fits = bytes == bytes_of(&map) && own_node < map.nodes();
        match words[0].load(Acquire) == MAGIC && version == VERSION && fits {
            true => Ok(NodeTable { segment, map, own_node }),
            false => Err(foreign()),
        }
    }

    /// The descriptor of the table, to pass on.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.segment.descriptor()
    }

    /// The number of this node.
    pub fn own_node(&self) -> u32 {
        self.own_node
    }

    /// Who is where.
    pub fn map(&self) -> &NodeMap {
        &self.map
    }

    /// The secret of the job.
    pub fn key(&self) -> JobKey {
        let mut key = [0; 32];
        for (bytes, word) in key.chunks_exact_mut(8).zip(&self.words()[KEY_WORD..HEAD_WORDS]) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        JobKey(key)
    }

    /// The card of a node, if somebody has asked for it.
    ///
    /// # Errors
    /// `Other` for a card that makes no sense.
    pub fn card(&self, node: u32) -> Result<Option<NodeCard>> {
        assert!(node < self.map.nodes(), "node {node} of {}", self.map.nodes());
        let entry = &self.words()[entry_at(&self.map, node)..][..ENTRY_WORDS];
        let length = entry[0].load(Acquire) as usize; // card: paired with `keep`
        let bytes: Vec<u8> = entry[1..].iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        match length {
            0 => Ok(None),
            _ => NodeCard::from_bytes(&bytes[..length.min(bytes.len())]).map(Some),
        }
    }

    /// Keeps the card of a node for all ranks of this one.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn keep(&self, card: &NodeCard) -> Result<()> {
        assert!(card.node < self.map.nodes(), "node {} of {}", card.node, self.map.nodes());
        let at = entry_at(&self.map, card.node);
        self.segment.reserve(at * 8, ENTRY_BYTES)?;
        let (entry, bytes) = (&self.words()[at..][..ENTRY_WORDS], card.to_bytes());
        for (word, bytes) in entry[1..].iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Relaxed);
        }
        entry[0].store(bytes.len() as u64, Release); // card: paired with `card`
        Ok(())
    }

    /// Says that the job goes on without ranks that fail; before any rank has the table.
    pub fn go_on_without_ranks(&self) {
        self.words()[FAILURES_WORD].store(pair(0, 1), Relaxed);
    }

    /// Whether the job goes on without ranks that fail.
    pub fn goes_on_without_ranks(&self) -> bool {
        unpaired(&self.words()[FAILURES_WORD]).1 != 0
    }

    /// Says that a rank has failed, and as so manieth of all. Whoever has made the table does, and for each rank once.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn note_failure(&self, rank: u32, number: u32) -> Result<()> {
        self.segment.reserve(entry_at(&self.map, self.map.nodes()) * 8, failures_bytes(&self.map))?;
        self.numbers()[rank as usize].store(number, Relaxed);
        self.words()[FAILURES_WORD].store(pair(number, 1), Release); // failed: paired with `failure_of`
        Ok(())
    }

    /// As so manieth of all a rank has failed, if it has.
    pub fn failure_of(&self, rank: u32) -> Option<u32> {
        let failures = self.words()[FAILURES_WORD].load(Acquire) as u32; // failed: paired with `note_failure`
        if failures == 0 {
            return None;
        }
        let number = self.numbers().get(rank as usize)?.load(Relaxed);
        (1..=failures).contains(&number).then_some(number)
    }

    fn words(&self) -> &[AtomicU64] {
        words_of(&self.segment)
    }

    fn numbers(&self) -> &[AtomicU32] {
        let place = &self.words()[entry_at(&self.map, self.map.nodes())..];
        // SAFETY: the words are followed by nothing else of the segment, and each is two numbers; every bit pattern is a
        // valid atomic.
        unsafe { std::slice::from_raw_parts(place.as_ptr().cast::<AtomicU32>(), 2 * place.len()) }
    }
}

/// Bytes of the table.
fn bytes_of(map: &NodeMap) -> usize {
    entry_at(map, map.nodes()) * 8 + failures_bytes(map)
}

/// Bytes of it for the ranks that have failed.
fn failures_bytes(map: &NodeMap) -> usize {
    (4 * map.size() as usize).next_multiple_of(64)
}

fn words_of(segment: &Segment) -> &[AtomicU64] {
    // SAFETY: the mapping is page aligned and lives as long as the segment; every bit pattern is a valid atomic.
    unsafe { std::slice::from_raw_parts(segment.base().cast::<AtomicU64>(), segment.bytes() / 8) }
}

/// The word at which the entry of a node begins.
fn entry_at(map: &NodeMap, node: u32) -> usize {
    HEAD_WORDS + (2 * map.blocks().len()).next_multiple_of(8) + node as usize * ENTRY_WORDS
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn unpaired(word: &AtomicU64) -> (u32, u32) {
    let word = word.load(Relaxed);
    (word as u32, (word >> 32) as u32)
}

#[cold]
fn foreign() -> Error {
    Error::new(
        Class::Intern,
        "the descriptor that was passed is no table of nodes of this version of Serried",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::node_card::{Address, CARD_BYTES};

    fn card(node: u32) -> NodeCard {
        let address = Address { ip: "10.77.0.3".parse().unwrap(), prefix: 16 };
        NodeCard { node, ranks: 4, port: 4000 + node as u16, addresses: vec![address; 1 + node as usize % 4] }
    }

    #[test]
    fn what_one_rank_keeps_another_of_the_node_finds() {
        const { assert!(CARD_BYTES + 8 <= ENTRY_BYTES) };
        let (map, key) = (NodeMap::parse("(vector,(0,2,3),(2,3,1))", 9).unwrap(), JobKey::random().unwrap());
        let table = NodeTable::create(1, &map, &key).unwrap();
        let other = NodeTable::open(table.descriptor().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((other.own_node(), other.map(), other.key() == key), (1, &map, true));
        assert_eq!(other.card(3).unwrap(), None);
        for node in [3, 0, 4] {
            table.keep(&card(node)).unwrap();
        }
        for (node, expected) in [(0, Some(card(0))), (1, None), (3, Some(card(3))), (4, Some(card(4)))] {
            assert_eq!(other.card(node).unwrap(), expected);
        }
    }

    #[test]
    fn a_table_has_96_bytes_for_a_node_and_none_for_a_rank() {
        let bytes = |nodes: u32, ranks: u32| {
            let map = NodeMap::new(&[Block { first: 0, nodes, ranks }], nodes * ranks).unwrap();
            entry_at(&map, nodes) * 8
        };
        assert_eq!(bytes(1000, 1), bytes(1000, 128));
        assert_eq!(bytes(100_000, 8) - bytes(1000, 8), 99_000 * ENTRY_BYTES);
        assert!(bytes(100_000, 8) <= 9_600_128);
    }

    #[test]
    fn a_table_of_a_hundred_thousand_nodes_takes_the_memory_of_the_cards_that_were_asked_for() {
        let map = NodeMap::new(&[Block { first: 0, nodes: 100_000, ranks: 8 }], 800_000).unwrap();
        let table = NodeTable::create(7, &map, &JobKey([1; 32])).unwrap();
        for node in (0..100_000).step_by(10_000) {
            table.keep(&card(node)).unwrap();
        }
        // SAFETY: zeros are a valid value to be overwritten; the descriptor is open.
        let blocks = unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            libc::fstat(std::os::fd::AsRawFd::as_raw_fd(&table.descriptor()), &mut status);
            status.st_blocks
        };
        assert!(blocks * 512 <= 12 * 8192, "{blocks} blocks of 512 bytes");
    }

    #[test]
    fn ranks_of_any_node_that_have_failed_are_known_by_their_number() {
        let (map, key) = (NodeMap::parse("(vector,(0,2,3),(2,3,1))", 9).unwrap(), JobKey([2; 32]));
        let table = NodeTable::create(1, &map, &key).unwrap();
        assert!(!table.goes_on_without_ranks());
        table.go_on_without_ranks();
        let other = NodeTable::open(table.descriptor().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((other.goes_on_without_ranks(), other.failure_of(8)), (true, None));
        table.note_failure(8, 1).unwrap();
        table.note_failure(0, 2).unwrap();
        assert_eq!([8, 0, 1, 9].map(|rank| other.failure_of(rank)), [Some(1), Some(2), None, None]);
        assert!(other.goes_on_without_ranks() && other.key() == key);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let other = Segment::create(c"other", 4096, 4096).unwrap();
        assert!(NodeTable::open(other.descriptor().try_clone_to_owned().unwrap()).is_err());
        let small = Segment::create(c"other", 8, 8).unwrap();
        assert!(NodeTable::open(small.descriptor().try_clone_to_owned().unwrap()).is_err());
    }
}
