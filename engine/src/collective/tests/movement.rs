//! Operations that move data within one group.

use super::buffer::{check, group, items, shapes, Buffer, Item, Side, UNTOUCHED};
use super::toy_algorithm;
use crate::collective::selection::{Alltoall, Broadcast, Rooted};
use crate::collective::{self as collective, Blocks, Root};
use crate::datatype::Datatype;
use std::sync::Arc;

const COUNTS: [usize; 3] = [0, 1, 5];

/// A shape for each rank: different ones, as MPI allows.
fn shape(rank: u32) -> Arc<Datatype> {
    shapes().swap_remove(rank as usize % 3)
}

/// Runs `body` for all sizes, roots and counts.
fn for_all(body: impl Fn(u32, u32, usize)) {
    for size in 1..=9 {
        for root in 0..size {
            for count in COUNTS {
                body(size, root, count);
            }
        }
    }
}

/// The blocks of all ranks one after the other.
fn joined(size: u32, count: usize) -> Vec<Item> {
    (0..size).flat_map(|rank| items(rank, count)).collect()
}

#[test]
fn broadcast_gives_everybody_the_data_of_the_root() {
    for_all(|size, root, count| {
        for algorithm in [Broadcast::Binomial, Broadcast::ScatterAllgather] {
            let side = |rank| {
                let before = if rank == root { items(root, count) } else { vec![UNTOUCHED; count] };
                Side::in_place(&before, items(root, count), &shape(rank))
            };
            check("broadcast", &group(size), (0..size).map(side).collect(), |members, side| {
                collective::broadcast::build(members, Root::Rank(root), side.receive.data(), algorithm)
            });
        }
    });
}

#[test]
fn the_algorithm_of_the_guide_is_a_broadcast() {
    for_all(|size, root, count| {
        let side = |rank| {
            let before = if rank == root { items(root, count) } else { vec![UNTOUCHED; count] };
            Side::in_place(&before, items(root, count), &shape(rank))
        };
        check("chain", &group(size), (0..size).map(side).collect(), |members, side| {
            toy_algorithm::chain(members, root, side.receive.data())
        });
    });
}

#[test]
fn gather_collects_the_blocks_in_the_order_of_ranks() {
    for_all(|size, root, count| {
        for algorithm in [Rooted::Binomial, Rooted::Linear] {
            for in_place in [false, true] {
                let side = |rank| match (rank == root, in_place) {
                    (false, _) => Side::new(&items(rank, count), vec![], (&shape(rank), &shape(0))),
                    (true, false) => {
                        Side::new(&items(rank, count), joined(size, count), (&shape(rank), &shape(root + 1)))
                    }
                    (true, true) => {
                        let mut before = vec![UNTOUCHED; size as usize * count];
                        before[rank as usize * count..][..count].copy_from_slice(&items(rank, count));
                        Side::in_place(&before, joined(size, count), &shape(rank))
                    }
                };
                check("gather", &group(size), (0..size).map(side).collect(), |members, side| {
                    let is_root = members.rank == root;
                    let send = (!(is_root && in_place)).then(|| side.send.data());
                    let receive = is_root.then(|| side.receive.part(0, count));
                    collective::gather::build(members, Root::Rank(root), send, receive, algorithm)
                });
            }
        }
    });
}

#[test]
fn scatter_hands_the_blocks_out() {
    for_all(|size, root, count| {
        for algorithm in [Rooted::Binomial, Rooted::Linear] {
            for in_place in [false, true] {
                let side = |rank| match (rank == root, in_place) {
                    (false, _) => Side::new(&[], items(rank, count), (&shape(0), &shape(rank))),
                    (true, false) => {
                        Side::new(&joined(size, count), items(rank, count), (&shape(rank + 2), &shape(rank)))
                    }
                    (true, true) => Side::new(&joined(size, count), vec![], (&shape(rank), &shape(rank))),
                };
                check("scatter", &group(size), (0..size).map(side).collect(), |members, side| {
                    let is_root = members.rank == root;
                    let send = is_root.then(|| side.send.part(0, count));
                    let receive = (!(is_root && in_place)).then(|| side.receive.data());
                    collective::scatter::build(members, Root::Rank(root), send, receive, algorithm)
                });
            }
        }
    });
}

/// Blocks of different lengths (also 0), in reverse order, with holes.
struct Uneven {
    size: u32,
}

impl Uneven {
    fn count(&self, rank: u32) -> usize {
        (rank as usize * 3 + 1) % 5
    }

    fn first(&self, rank: u32) -> usize {
        (self.size - 1 - rank) as usize * 6 + 1
    }

    fn blocks(&self, buffer: &mut Buffer) -> Blocks {
        (0..self.size).map(|rank| buffer.part(self.first(rank), self.count(rank))).collect()
    }

    /// A buffer with the blocks of the ranks that `present` names.
    fn filled(&self, present: impl Fn(u32) -> bool) -> Vec<Item> {
        let mut all = vec![UNTOUCHED; self.size as usize * 6];
        for rank in (0..self.size).filter(|&rank| present(rank)) {
            all[self.first(rank)..][..self.count(rank)].copy_from_slice(&items(rank, self.count(rank)));
        }
        all
    }
}

#[test]
fn gatherv_scatterv_and_allgatherv_take_uneven_blocks_with_holes() {
    for_all(|size, root, _| {
        let uneven = Uneven { size };
        for in_place in [false, true] {
            let own = |rank| items(rank, uneven.count(rank));
            let collector = |rank| match in_place {
                false => Side::new(&own(rank), uneven.filled(|_| true), (&shape(rank), &shape(rank + 1))),
                true => Side::in_place(&uneven.filled(|r| r == rank), uneven.filled(|_| true), &shape(rank)),
            };
            let gather = |rank| match rank == root {
                true => collector(rank),
                false => Side::new(&own(rank), vec![], (&shape(rank), &shape(rank))),
            };
            check("gatherv", &group(size), (0..size).map(gather).collect(), |members, side| {
                let is_root = members.rank == root;
                let send = (!(is_root && in_place)).then(|| side.send.data());
                let blocks = if is_root { uneven.blocks(&mut side.receive) } else { Blocks::new() };
                collective::gatherv(members, Root::Rank(root), send, &blocks)
            });
            check("allgatherv", &group(size), (0..size).map(collector).collect(), |members, side| {
                let send = (!in_place).then(|| side.send.data());
                let blocks = uneven.blocks(&mut side.receive);
                collective::allgatherv(members, send, &blocks)
            });
            let scatter = |rank| {
                let all = if rank == root { uneven.filled(|_| true) } else { vec![] };
                let expected = if rank == root && in_place { vec![] } else { own(rank) };
                Side::new(&all, expected, (&shape(rank), &shape(rank + 1)))
            };
            check("scatterv", &group(size), (0..size).map(scatter).collect(), |members, side| {
                let is_root = members.rank == root;
                let blocks = if is_root { uneven.blocks(&mut side.send) } else { Blocks::new() };
                let receive = (!(is_root && in_place)).then(|| side.receive.data());
                collective::scatterv(members, Root::Rank(root), &blocks, receive)
            });
        }
    });
}

#[test]
fn allgather_gives_everybody_all_blocks() {
    for size in 1..=17 {
        for count in COUNTS {
            for in_place in [false, true] {
                let side = |rank: u32| {
                    let mut before = vec![UNTOUCHED; size as usize * count];
                    before[rank as usize * count..][..count].copy_from_slice(&items(rank, count));
                    match in_place {
                        true => Side::in_place(&before, joined(size, count), &shape(rank)),
                        false => {
                            let types = (&shape(rank), &shape(rank + 1));
                            Side::new(&items(rank, count), joined(size, count), types)
                        }
                    }
                };
                check("allgather", &group(size), (0..size).map(side).collect(), |members, side| {
                    let send = (!in_place).then(|| side.send.data());
                    collective::allgather(members, send, side.receive.part(0, count))
                });
            }
        }
    }
}

/// The block that `from` sends to `to`.
fn between(from: u32, to: u32, count: usize) -> Vec<Item> {
    items(from * 100 + to, count)
}

#[test]
fn alltoall_exchanges_every_pair_of_blocks() {
    for size in (1..=9).chain([17, 20]) {
        for count in COUNTS {
            for algorithm in [Alltoall::Pairwise, Alltoall::Bruck] {
                for in_place in [false, true] {
                    let side = |rank| {
                        let sent: Vec<_> = (0..size).flat_map(|to| between(rank, to, count)).collect();
                        let got: Vec<_> = (0..size).flat_map(|from| between(from, rank, count)).collect();
                        match in_place {
                            true => Side::in_place(&sent, got, &shape(rank)),
                            false => Side::new(&sent, got, (&shape(rank), &shape(rank + 1))),
                        }
                    };
                    check("alltoall", &group(size), (0..size).map(side).collect(), |members, side| {
                        let send = (!in_place).then(|| side.send.part(0, count));
                        collective::alltoall::build(members, send, side.receive.part(0, count), algorithm)
                    });
                }
            }
        }
    }
}

#[test]
fn alltoallw_exchanges_uneven_blocks_of_different_types() {
    // The same in both directions, so that it works in place too.
    let count = |a: u32, b: u32| (a * b + a + b) as usize % 4;
    for size in (1..=9).chain([17]) {
        for in_place in [false, true] {
            let all = |blocks: &dyn Fn(u32, usize) -> Vec<Item>, me: u32| -> Vec<Item> {
                (0..size)
                    .flat_map(|peer| {
                        let mut block = blocks(peer, count(me, peer));
                        block.resize(4, UNTOUCHED);
                        block
                    })
                    .collect()
            };
            let side = |rank| {
                let sent = all(&|to, count| between(rank, to, count), rank);
                let got = all(&|from, count| between(from, rank, count), rank);
                if !in_place {
                    return Side::new(&sent, got, (&shape(rank), &shape(rank + 1)));
                }
                Side::in_place(&sent, got, &shape(rank))
            };
            check("alltoallw", &group(size), (0..size).map(side).collect(), |members, side| {
                let blocks = |buffer: &mut Buffer| -> Blocks {
                    (0..size).map(|peer| buffer.part(peer as usize * 4, count(members.rank, peer))).collect()
                };
                let send = (!in_place).then(|| blocks(&mut side.send));
                collective::alltoallw(members, send.as_deref(), &blocks(&mut side.receive))
            });
        }
    }
}

#[test]
fn barrier_ends() {
    for size in 1..=17 {
        let side = |rank| Side::new(&[], vec![], (&shape(rank), &shape(rank)));
        check("barrier", &group(size), (0..size).map(side).collect(), |members, _| {
            collective::barrier(members)
        });
    }
}
