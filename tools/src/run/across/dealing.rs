//! Which ranks run on which host.
//!
//! Hosts get as many ranks as they have slots, one host after the other; with more ranks than slots it begins again at
//! the first. Where nobody has said how many slots there are, the ranks are divided evenly. `--map-by node` deals them
//! in turn. `-ppn` says how many slots each host has. Hosts for which no rank is left are not used.

use super::host_list::Host;
use serried_engine::job::node_map::Block;
use serried_engine::job::NodeMap;

/// How a user wants ranks to be dealt to hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wish {
    /// Ranks of the job; `None`: as many as there are slots.
    pub ranks: Option<u32>,
    /// Slots of each host.
    pub per_host: Option<u32>,
    /// One rank to each host in turn.
    pub in_turn: bool,
}

/// Deals ranks to hosts; returns where each rank is. The hosts that are used are the first ones.
///
/// # Errors
/// A sentence for the user.
pub fn deal(hosts: &[Host], wish: Wish) -> Result<NodeMap, String> {
    let slots = |host: &Host| wish.per_host.or(host.slots);
    let sum = |one: u32| hosts.iter().map(|host| u64::from(slots(host).unwrap_or(one))).sum::<u64>();
    let ranks = match wish.ranks {
        Some(ranks) => ranks,
        None => u32::try_from(sum(1)).map_err(|_| "too many ranks")?,
    };
    let slots: Vec<u32> = match hosts.iter().map(slots).collect::<Option<Vec<u32>>>() {
        Some(slots) => slots,
        None => {
            let (each, more) = (ranks / hosts.len() as u32, ranks as usize % hosts.len());
            (0..hosts.len()).map(|host| each + u32::from(host < more)).collect()
        }
    };
    let map = match wish.in_turn {
        true => NodeMap::of_list(&in_turn(&slots, ranks)),
        false => NodeMap::new(&blocks(&slots), ranks),
    };
    map.ok_or_else(|| "there is no room for any rank on these hosts".into())
}

/// Hosts of as many slots as their neighbours are one block.
fn blocks(slots: &[u32]) -> Vec<Block> {
    let mut first = 0;
    let block = |run: &[u32]| {
        first += run.len() as u32;
        Block { first: first - run.len() as u32, nodes: run.len() as u32, ranks: run[0] }
    };
    slots.chunk_by(|one, other| one == other).map(block).collect()
}

/// The host of each rank, where they are dealt in turn.
fn in_turn(slots: &[u32], ranks: u32) -> Vec<u32> {
    let mut hosts = Vec::with_capacity(ranks as usize);
    let most = slots.iter().copied().max().unwrap_or(0);
    while hosts.len() < ranks as usize && most > 0 {
        for turn in 0..most {
            let free = (0..slots.len() as u32).filter(|&host| turn < slots[host as usize]);
            hosts.extend(free.take(ranks as usize - hosts.len()));
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(hosts: &str, wish: Wish) -> String {
        let hosts = super::super::host_list::read_list("--hosts", hosts).unwrap();
        let map = deal(&hosts, wish).unwrap();
        (0..map.size()).map(|rank| map.place_of(rank).0.to_string()).collect()
    }

    #[test]
    fn ranks_fill_the_slots_of_a_host_and_then_of_the_next() {
        let ranks = |ranks: u32| Wish { ranks: Some(ranks), ..Wish::default() };
        assert_eq!(dealt("a,b:4", Wish::default()), "01111");
        assert_eq!(dealt("a:2,b:2", ranks(3)), "001");
        assert_eq!(dealt("a:2,b:2,c:2", ranks(2)), "00");
        assert_eq!(dealt("a:2,b:1", ranks(7)), "0010010");
        assert_eq!(dealt("a,b,c", Wish::default()), "012");
    }

    #[test]
    fn without_slots_they_are_divided_evenly() {
        let ranks = |ranks: u32| Wish { ranks: Some(ranks), ..Wish::default() };
        assert_eq!(dealt("a,b", ranks(4)), "0011");
        assert_eq!(dealt("a,b,c", ranks(5)), "00112");
        assert_eq!(dealt("a,b,c", ranks(2)), "01");
    }

    #[test]
    fn users_say_how_many_a_host_gets_and_that_they_are_dealt_in_turn() {
        let wish = Wish { ranks: Some(5), per_host: Some(2), in_turn: false };
        assert_eq!(dealt("a:9,b,c", wish), "00112");
        assert_eq!(dealt("a,b", Wish { ranks: None, ..wish }), "0011");
        let wish = Wish { in_turn: true, ..Wish::default() };
        assert_eq!(dealt("a:3,b:1,c:2", wish), "012020");
        assert_eq!(dealt("a,b", Wish { ranks: Some(5), ..wish }), "01010");
        assert_eq!(dealt("a:1,b:1", Wish { ranks: Some(5), ..wish }), "01010");
    }
}
