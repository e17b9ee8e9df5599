//! Packets between ranks of different nodes, as each end counts them: who sees both ends knows whether some are on their way.

use std::collections::BTreeMap;
use std::fmt;

/// The most ranks that are told of: the area of a description is not endless.
const MOST: usize = 512;

/// How many packets a rank has for other ranks of the job, sent or not, and how many have come from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketCounts(BTreeMap<u32, [u64; 2]>);

impl PacketCounts {
    /// Counts packets to a rank and from it as well.
    pub fn add(&mut self, rank: u32, [gone, come]: [u64; 2]) {
        if self.0.len() < MOST || self.0.contains_key(&rank) {
            let counts = self.0.entry(rank).or_default();
            *counts = [counts[0] + gone, counts[1] + come];
        }
    }

    /// Whether packets are on their way from the rank whose counts these are to another one.
    pub fn are_on_their_way(&self, from: u32, (to, there): (u32, &PacketCounts)) -> bool {
        let Some([gone, _]) = self.0.get(&to) else { return false };
        match there.0.get(&from) {
            Some([_, come]) => gone > come,
            None => there.0.len() < MOST && *gone > 0,
        }
    }

    /// Adds what a line says, without its first word; `None` if it says something else.
    pub fn read(&mut self, line: &str) -> Option<()> {
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let (rank, gone, come): (u64, u64, u64) = (next()?, next()?, next()?);
        self.add(rank.try_into().ok()?, [gone, come]);
        Some(())
    }
}

impl fmt::Display for PacketCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(rank, [gone, come])| writeln!(f, "packets {rank} {gone} {come}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(all: &[(u32, [u64; 2])]) -> PacketCounts {
        let mut counts = PacketCounts::default();
        all.iter().for_each(|&(rank, both)| counts.add(rank, both));
        counts
    }

    #[test]
    fn packets_that_have_gone_and_not_come_are_on_their_way() {
        let (sender, receiver) = (counts(&[(1, [3, 5]), (1, [1, 0])]), counts(&[(0, [5, 3])]));
        assert!(sender.are_on_their_way(0, (1, &receiver)) && !receiver.are_on_their_way(1, (0, &sender)));
        assert!(!sender.are_on_their_way(0, (1, &counts(&[(0, [0, 4])]))));
        assert!(sender.are_on_their_way(0, (1, &PacketCounts::default())), "the first ones");
        assert!(!sender.are_on_their_way(0, (2, &receiver)));
    }

    #[test]
    fn of_ranks_that_are_not_told_nothing_is_known() {
        let others: Vec<(u32, [u64; 2])> = (10..2000).map(|rank| (rank, [1, 1])).collect();
        let (full, sender) = (counts(&others), counts(&[(1, [7, 0])]));
        assert!(!sender.are_on_their_way(5000, (1, &full)));
        assert!(full.to_string().len() < 16 << 10, "{}", full.to_string().len());
    }
}
