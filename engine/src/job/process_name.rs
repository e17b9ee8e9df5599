//! What all jobs call a process: the mark of its universe, and its number there (`universe`).
//!
//! ```text
//! bits 20–63  the mark; 0: the universe of whoever reads the name
//! bits 0–19   the number
//! ```
//!
//! Within a universe names go without a mark, so that a job that stays alone need not have one. Processes of which
//! some were started apart name each other with it.

use super::node_card::JobKey;
use crate::JobRank;

const NUMBER_BITS: u32 = 20;
const _: () = assert!(JobRank::FOREIGN == 1 << NUMBER_BITS);

/// The name of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessName(pub u64);

impl ProcessName {
    /// Number `number` of the universe of this mark, or, if that is 0, of the reader's.
    pub fn new(mark: u64, number: u32) -> ProcessName {
        ProcessName(mark << NUMBER_BITS | u64::from(number & (JobRank::FOREIGN - 1)))
    }

    /// The mark of its universe.
    pub fn mark(self) -> u64 {
        self.0 >> NUMBER_BITS
    }

    /// Its number there.
    pub fn number(self) -> u32 {
        self.0 as u32 & (JobRank::FOREIGN - 1)
    }
}

impl From<ProcessName> for u64 {
    fn from(name: ProcessName) -> u64 {
        name.0
    }
}

/// The mark of the universe that has this key: 44 bits, not 0. It says nothing of the key.
pub fn mark_of(key: &JobKey) -> u64 {
    let digest = key.digest(b"serried universe");
    u64::from_le_bytes(digest[..8].try_into().expect("a digest is longer")) >> NUMBER_BITS | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_mark_and_a_number() {
        let (key, other) = (JobKey([3; 32]), JobKey([4; 32]));
        assert_ne!(mark_of(&key), mark_of(&other));
        let name = ProcessName::new(mark_of(&key), JobRank::FOREIGN - 1);
        assert_eq!((name.mark(), name.number()), (mark_of(&key), JobRank::FOREIGN - 1));
        assert_eq!(ProcessName::new(0, 7), ProcessName(7));
    }
}
