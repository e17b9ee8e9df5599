//! Operations of an intercommunicator.

use super::buffer::{check, composed, composition, groups, items, shapes, Buffer, Item, Side, UNTOUCHED};
use crate::collective::{self as collective, Blocks, Counts, Members, Root};
use crate::datatype::Datatype;
use std::ops::Range;
use std::sync::Arc;

const SIZES: [(u32, u32); 6] = [(1, 1), (1, 4), (3, 1), (2, 3), (5, 4), (3, 18)];

/// Runs `body` for all sizes and counts; the root is the last rank of the first
/// group.
fn for_all(body: impl Fn(&Pair, usize, &Arc<Datatype>)) {
    for (first, second) in SIZES {
        for count in [0, 1, 5] {
            for datatype in shapes() {
                body(&Pair { first, second }, count, &datatype);
            }
        }
    }
}

/// Two groups; places are first those of one, then those of the other.
struct Pair {
    first: u32,
    second: u32,
}

impl Pair {
    fn members(&self) -> Vec<Members> {
        groups(self.first, self.second)
    }

    fn places(&self) -> Range<u32> {
        0..self.first + self.second
    }

    fn own(&self, place: u32) -> Range<u32> {
        if place < self.first {
            0..self.first
        } else {
            self.first..self.first + self.second
        }
    }

    fn other(&self, place: u32) -> Range<u32> {
        if place < self.first {
            self.first..self.first + self.second
        } else {
            0..self.first
        }
    }

    fn is_root(&self, place: u32) -> bool {
        place == self.first - 1
    }

    /// The root as a place sees it.
    fn root(&self, side: &Side) -> Root {
        let place = side.place as u32;
        match place < self.first {
            true if self.is_root(place) => Root::Me,
            true => Root::Nobody,
            false => Root::Rank(self.first - 1),
        }
    }

    fn check(
        &self,
        what: &str,
        side: impl FnMut(u32) -> Side,
        build: impl Fn(Members, &mut Side) -> crate::Result<collective::Schedule>,
    ) {
        check(what, &self.members(), self.places().map(side).collect(), build);
    }
}

fn joined(places: Range<u32>, count: usize) -> Vec<Item> {
    places.flat_map(|place| items(place, count)).collect()
}

fn combined(places: Range<u32>, count: usize) -> Vec<Item> {
    let both = |l: Vec<Item>, r: Vec<Item>| l.into_iter().zip(r).map(|(l, r)| composed(l, r)).collect();
    places.map(|place| items(place, count)).reduce(both).unwrap_or_default()
}

fn blocks(buffer: &mut Buffer, number: u32, count: usize) -> Blocks {
    (0..number as usize).map(|index| buffer.part(index * count, count)).collect()
}

#[test]
fn gather_and_reduce_bring_the_data_of_the_other_group_to_the_root() {
    let operator = composition();
    for_all(|pair, count, datatype| {
        let side = |place, result: Vec<Item>| {
            let expected = if pair.is_root(place) { result } else { vec![] };
            Side::new(&items(place, count), expected, (datatype, datatype))
        };
        let gathered = |place| side(place, joined(pair.other(place), count));
        pair.check("gather", gathered, |members, side| {
            let receive = pair.is_root(side.place as u32).then(|| side.receive.part(0, count));
            collective::gather(members, pair.root(side), Some(side.send.data()), receive)
        });
        pair.check("gatherv", gathered, |members, side| {
            let number = if pair.is_root(side.place as u32) { pair.second } else { 0 };
            let receive = blocks(&mut side.receive, number, count);
            collective::gatherv(members, pair.root(side), Some(side.send.data()), &receive)
        });
        let reduced = |place| side(place, combined(pair.other(place), count));
        pair.check("reduce", reduced, |members, side| {
            let receive = pair.is_root(side.place as u32).then(|| side.receive.data());
            collective::reduce(members, pair.root(side), Some(side.send.data()), receive, &operator)
        });
    });
}

#[test]
fn broadcast_and_scatter_take_data_from_the_root_to_the_other_group() {
    for_all(|pair, count, datatype| {
        let gets = |place| place >= pair.first;
        let spread = |place| {
            let data = items(0, count);
            let before = if pair.is_root(place) { data.clone() } else { vec![UNTOUCHED; count] };
            let after = if gets(place) { data } else { before.clone() };
            Side::in_place(&before, after, datatype)
        };
        pair.check("broadcast", spread, |members, side| {
            collective::broadcast(members, pair.root(side), side.receive.data())
        });
        let scattered = |place| {
            let all = if pair.is_root(place) { joined(pair.other(place), count) } else { vec![] };
            let expected = if gets(place) { items(place, count) } else { vec![] };
            Side::new(&all, expected, (datatype, datatype))
        };
        pair.check("scatter", scattered, |members, side| {
            let send = pair.is_root(side.place as u32).then(|| side.send.part(0, count));
            collective::scatter(members, pair.root(side), send, Some(side.receive.data()))
        });
        pair.check("scatterv", scattered, |members, side| {
            let number = if pair.is_root(side.place as u32) { pair.second } else { 0 };
            let send = blocks(&mut side.send, number, count);
            collective::scatterv(members, pair.root(side), &send, Some(side.receive.data()))
        });
    });
}

#[test]
fn allgather_and_alltoall_exchange_between_the_groups() {
    for_all(|pair, count, datatype| {
        let types = (datatype, datatype);
        let gathered = |place| Side::new(&items(place, count), joined(pair.other(place), count), types);
        pair.check("allgather", gathered, |members, side| {
            collective::allgather(members, Some(side.send.data()), side.receive.part(0, count))
        });
        pair.check("allgatherv", gathered, |members, side| {
            let receive = blocks(&mut side.receive, members.peers(), count);
            collective::allgatherv(members, Some(side.send.data()), &receive)
        });
        let exchanged = |place| {
            let sent = pair.other(place).flat_map(|to| items(place * 100 + to, count)).collect::<Vec<_>>();
            let got = pair.other(place).flat_map(|from| items(from * 100 + place, count)).collect();
            Side::new(&sent, got, types)
        };
        pair.check("alltoall", exchanged, |members, side| {
            collective::alltoall(members, Some(side.send.part(0, count)), side.receive.part(0, count))
        });
        pair.check("alltoallw", exchanged, |members, side| {
            let send = blocks(&mut side.send, members.peers(), count);
            let receive = blocks(&mut side.receive, members.peers(), count);
            collective::alltoallw(members, Some(&send), &receive)
        });
    });
}

#[test]
fn allgather_in_one_direction_only() {
    let datatype = &shapes()[1];
    let pair = Pair { first: 2, second: 3 };
    let sends = |place: u32| if place < 2 { 4 } else { 0 };
    let side = |place| {
        let expected = if place < 2 { vec![] } else { joined(0..2, 4) };
        Side::new(&items(place, sends(place)), expected, (datatype, datatype))
    };
    pair.check("allgather", side, |members, side| {
        let count = 4 - sends(side.place as u32);
        collective::allgather(members, Some(side.send.data()), side.receive.part(0, count))
    });
}

#[test]
fn reductions_to_all_give_the_result_of_the_other_group() {
    let operator = composition();
    for_all(|pair, count, datatype| {
        let types = (datatype, datatype);
        let reduced = |place| Side::new(&items(place, count), combined(pair.other(place), count), types);
        pair.check("allreduce", reduced, |members, side| {
            collective::allreduce(members, Some(side.send.data()), side.receive.data(), &operator)
        });
        // As many items for each rank as the other group has ranks.
        let total = count * (pair.first * pair.second) as usize;
        let scattered = |place| {
            let (own, each) = (pair.own(place), count * pair.other(place).len());
            let first = (place - own.start) as usize * each;
            let expected = combined(pair.other(place), total)[first..][..each].to_vec();
            Side::new(&items(place, total), expected, types)
        };
        pair.check("reduce_scatter_block", scattered, |members, side| {
            let receive = side.receive.data();
            collective::reduce_scatter(members, Some(side.send.data()), receive, &Counts::Equal, &operator)
        });
    });
}

#[test]
fn barrier_ends() {
    for (first, second) in SIZES {
        let side = |_| Side::new(&[], vec![], (&shapes()[0], &shapes()[0]));
        Pair { first, second }.check("barrier", side, |members, _| collective::barrier(members));
    }
}
