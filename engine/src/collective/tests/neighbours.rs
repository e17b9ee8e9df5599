//! Neighbourhood operations.

use super::buffer::{check, group, items, shapes, Item, Side, UNTOUCHED};
use crate::collective::{self as collective, Data, Neighbourhood, Operation, Sent};

fn hood(sources: Vec<Option<u32>>, destinations: Vec<Option<u32>>, cartesian: bool) -> Neighbourhood {
    Neighbourhood { sources, destinations, cartesian }
}

fn neighbours(hood: Neighbourhood, send: Sent, receive: &[Data]) -> Operation {
    Operation::Neighbours { hood, send, receive: receive.into() }
}

/// What `from` sends as block `index`.
fn block(from: u32, index: usize) -> Vec<Item> {
    items(from * 10 + index as u32, 2)
}

/// A periodic line of `size` ranks: lower neighbour, higher neighbour.
fn ring(rank: u32, size: u32) -> Neighbourhood {
    let both = vec![Some((rank + size - 1) % size), Some((rank + 1) % size)];
    hood(both.clone(), both, true)
}

#[test]
fn on_a_periodic_grid_what_goes_down_arrives_from_above() {
    let datatype = &shapes()[1];
    // With one and two ranks both neighbours are the same rank.
    for size in 1..=4 {
        let side = |rank: u32| {
            let (lower, higher) = ((rank + size - 1) % size, (rank + 1) % size);
            let sent = [block(rank, 0), block(rank, 1)].concat();
            Side::new(&sent, [block(lower, 1), block(higher, 0)].concat(), (datatype, datatype))
        };
        check("neighbour_alltoall", &group(size), (0..size).map(side).collect(), |members, side| {
            let (send, receive) = (side.send.part(0, 2), side.receive.part(0, 2));
            collective::neighbour_alltoall(ring(members.rank, size), send, receive)?.schedule(members)
        });
        check("neighbour_alltoallw", &group(size), (0..size).map(side).collect(), |members, side| {
            let send = [side.send.part(0, 2), side.send.part(2, 2)];
            let receive = [side.receive.part(0, 2), side.receive.part(2, 2)];
            neighbours(ring(members.rank, size), Sent::Each(send.into_iter().collect()), &receive)
                .schedule(members)
        });
    }
}

#[test]
fn at_the_end_of_a_line_a_block_is_not_touched() {
    let datatype = &shapes()[2];
    let size = 3;
    let line = |rank: u32| {
        let both = vec![rank.checked_sub(1), Some(rank + 1).filter(|&next| next < size)];
        hood(both.clone(), both, true)
    };
    let side = |rank| {
        let sources = line(rank).sources;
        let got = sources.iter().flat_map(|source| match source {
            Some(source) => items(*source, 2),
            None => vec![UNTOUCHED; 2],
        });
        Side::new(&items(rank, 2), got.collect(), (datatype, datatype))
    };
    check("neighbour_allgather", &group(size), (0..size).map(side).collect(), |members, side| {
        collective::neighbour_allgather(line(members.rank), side.send.data(), side.receive.part(0, 2))?
            .schedule(members)
    });
}

#[test]
fn on_a_graph_several_edges_of_one_pair_keep_their_order() {
    let datatype = &shapes()[0];
    // Rank 0 has two edges to rank 1 and one to itself; rank 1 has one back.
    let edges = |rank| match rank {
        0 => hood(vec![Some(1), Some(0)], vec![Some(1), Some(0), Some(1)], false),
        _ => hood(vec![Some(0), Some(0)], vec![Some(0)], false),
    };
    let side = |rank| match rank {
        0 => {
            let sent = [block(0, 0), block(0, 1), block(0, 2)].concat();
            Side::new(&sent, [block(1, 0), block(0, 1)].concat(), (datatype, datatype))
        }
        _ => Side::new(&block(1, 0), [block(0, 0), block(0, 2)].concat(), (datatype, datatype)),
    };
    check("neighbour_alltoall", &group(2), (0..2).map(side).collect(), |members, side| {
        let (send, receive) = (side.send.part(0, 2), side.receive.part(0, 2));
        collective::neighbour_alltoall(edges(members.rank), send, receive)?.schedule(members)
    });
    let gathered = |rank| {
        let sources = edges(rank).sources;
        let got = sources.iter().flatten().flat_map(|&source| items(source, 3)).collect();
        Side::new(&items(rank, 3), got, (datatype, datatype))
    };
    check("neighbour_allgatherv", &group(2), (0..2).map(gathered).collect(), |members, side| {
        let receive = [side.receive.part(0, 3), side.receive.part(3, 3)];
        neighbours(edges(members.rank), Sent::Same(side.send.data()), &receive).schedule(members)
    });
}
