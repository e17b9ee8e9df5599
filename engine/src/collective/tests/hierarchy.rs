//! Operations over nodes, as messages: what MPI says, and the bits of one node.

use super::buffer::{check, composed, composition, group, items, shapes, Item, Side, UNTOUCHED};
use super::twin::{self, Random};
use crate::collective::hierarchy::Hierarchy;
use crate::collective::{Data, Members, Operation, Root, Schedule};
use crate::datatype::{Basic, Datatype};
use crate::kept::Kept;
use crate::reduce::{Builtin, Operator};
use crate::Result;
use std::cell::Cell;
use std::sync::Arc;

/// The nodes of the ranks.
const LAYOUTS: [&[u32]; 9] = [
    &[0, 0, 1, 1],
    &[0, 0, 0, 1, 1],
    &[0, 0, 0, 0, 1, 1, 1, 1],
    &[0, 0, 0, 1, 1, 1],
    &[7, 3, 3],
    &[0, 0, 1, 2, 2, 2, 3],
    &[0, 1, 0, 1],
    &[1, 1, 0, 0, 1],
    &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
];

/// The schedule of an operation; counts those that go over the nodes.
fn written(layout: &[u32], members: Members, operation: Operation, over: &Cell<u32>) -> Result<Schedule> {
    let hierarchy = Hierarchy::new(members, |rank| layout[rank as usize]).expect("several nodes");
    match hierarchy.schedule(&operation)? {
        Some(schedule) => {
            over.set(over.get() + 1);
            Ok(schedule)
        }
        None => operation.schedule(members),
    }
}

/// Runs `body` for all layouts, counts, types and roots, in place and not; says how
/// many schedules went over the nodes.
fn for_all(body: impl Fn(&[u32], usize, u32, &Arc<Datatype>, bool, &Cell<u32>)) -> u32 {
    let over = Cell::new(0);
    for layout in LAYOUTS {
        for count in [0, 1, 40] {
            for (at, datatype) in shapes().iter().enumerate() {
                for root in 0..layout.len() as u32 {
                    body(layout, count, root, datatype, (at + root as usize).is_multiple_of(2), &over);
                }
            }
        }
    }
    over.get()
}

fn sides(layout: &[u32], side: impl Fn(u32) -> Side) -> Vec<Side> {
    (0..layout.len() as u32).map(side).collect()
}

fn joined(size: usize, count: usize) -> Vec<Item> {
    (0..size as u32).flat_map(|rank| items(rank, count)).collect()
}

#[test]
fn broadcast_and_barrier() {
    let over = for_all(|layout, count, root, datatype, _, over| {
        let side = |rank| match rank == root {
            true => Side::in_place(&items(root, count), items(root, count), datatype),
            false => Side::in_place(&vec![UNTOUCHED; count], items(root, count), datatype),
        };
        check("broadcast", &group(layout.len() as u32), sides(layout, side), |members, side| {
            let data = side.receive.data();
            let mut whole = written(layout, members, Operation::Barrier, over)?;
            whole.append(written(
                layout,
                members,
                Operation::Broadcast { root: Root::Rank(root), data },
                over,
            )?);
            Ok(whole)
        });
    });
    assert!(over > 1000);
}

#[test]
fn gather_and_scatter() {
    let over = for_all(|layout, count, root, datatype, in_place, over| {
        let size = layout.len();
        let own_block = |rank: u32| {
            let mut before = vec![UNTOUCHED; size * count];
            before[rank as usize * count..][..count].copy_from_slice(&items(rank, count));
            before
        };
        let side = |rank| match (rank == root, in_place) {
            (true, true) => Side::in_place(&own_block(rank), joined(size, count), datatype),
            (true, false) => Side::new(&items(rank, count), joined(size, count), (datatype, datatype)),
            _ => Side::new(&items(rank, count), vec![], (datatype, datatype)),
        };
        let root_of = Root::Rank(root);
        check("gather", &group(size as u32), sides(layout, side), |members, side| {
            let is_root = members.rank == root;
            let send = (!(is_root && in_place)).then(|| side.send.data());
            let receive = is_root.then(|| side.receive.part(0, count));
            written(layout, members, Operation::Gather { root: root_of, send, receive }, over)
        });
        let blocks = |rank: u32| items(rank, count * size);
        let side = |rank| match (rank == root, in_place) {
            (true, true) => Side::new(&blocks(root), vec![], (datatype, datatype)),
            (is_root, _) => {
                let expected = blocks(root)[rank as usize * count..][..count].to_vec();
                Side::new(&if is_root { blocks(root) } else { vec![] }, expected, (datatype, datatype))
            }
        };
        check("scatter", &group(size as u32), sides(layout, side), |members, side| {
            let is_root = members.rank == root;
            let send = is_root.then(|| side.send.part(0, count));
            let receive = (!(is_root && in_place)).then(|| side.receive.data());
            written(layout, members, Operation::Scatter { root: root_of, send, receive }, over)
        });
        let side = |rank| match in_place {
            true => Side::in_place(&own_block(rank), joined(size, count), datatype),
            false => Side::new(&items(rank, count), joined(size, count), (datatype, datatype)),
        };
        check("allgather", &group(size as u32), sides(layout, side), |members, side| {
            let send = (!in_place).then(|| side.send.data());
            written(
                layout,
                members,
                Operation::Allgather { send, receive: side.receive.part(0, count) },
                over,
            )
        });
    });
    assert!(over > 1000);
}

#[test]
fn reductions_combine_in_the_order_of_ranks() {
    let operator = composition();
    let over = for_all(|layout, count, root, datatype, in_place, over| {
        let size = layout.len() as u32;
        let both = |left: Vec<Item>, right: Vec<Item>| {
            left.into_iter().zip(right).map(|(l, r)| composed(l, r)).collect()
        };
        let combined = || -> Vec<Item> { (0..size).map(|rank| items(rank, count)).reduce(both).unwrap() };
        let side = |rank: u32, gets: bool| match (gets, in_place) {
            (true, true) => Side::in_place(&items(rank, count), combined(), datatype),
            (true, false) => Side::new(&items(rank, count), combined(), (datatype, datatype)),
            _ => Side::new(&items(rank, count), vec![], (datatype, datatype)),
        };
        check("reduce", &group(size), sides(layout, |rank| side(rank, rank == root)), |members, side| {
            let is_root = members.rank == root;
            let send = (!(is_root && in_place)).then(|| side.send.data());
            let (receive, operator) = (is_root.then(|| side.receive.data()), Kept::from(&operator));
            written(
                layout,
                members,
                Operation::Reduce { root: Root::Rank(root), send, receive, operator },
                over,
            )
        });
        check("allreduce", &group(size), sides(layout, |rank| side(rank, true)), |members, side| {
            let (send, operator) = ((!in_place).then(|| side.send.data()), Kept::from(&operator));
            written(
                layout,
                members,
                Operation::Allreduce { send, receive: side.receive.data(), operator },
                over,
            )
        });
    });
    assert!(over > 1000);
}

/// The bits that all ranks get of an allreduce of numbers of very different size.
fn bits<T: Copy>(
    layout: &[u32],
    basic: Basic,
    number: impl Fn(u32, usize) -> T,
    over: Option<&Cell<u32>>,
) -> Vec<Vec<T>> {
    let (size, count) = (layout.len() as u32, 300);
    let datatype = Datatype::basic(basic);
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    let mut numbers: Vec<Vec<T>> =
        (0..size).map(|rank| (0..count).map(|at| number(rank, at)).collect()).collect();
    let mut schedules: Vec<Schedule> = group(size)
        .into_iter()
        .zip(&mut numbers)
        .map(|(members, numbers)| {
            let receive = Data::new(numbers.as_mut_ptr().cast(), 0, count as i64, &datatype).unwrap();
            let operation = Operation::Allreduce { send: None, receive, operator: (&operator).into() };
            match over {
                Some(over) => written(layout, members, operation, over).unwrap(),
                None => operation.schedule(members).unwrap(),
            }
        })
        .collect();
    twin::run(&group(size), &mut schedules, 5);
    numbers
}

#[test]
fn sums_have_the_bits_of_one_node() {
    let mut goes = Vec::new();
    for layout in LAYOUTS {
        let over = Cell::new(0);
        let number = |rank: u32, at: usize| {
            let mut random = Random::new(u64::from(rank) * 1000 + at as u64);
            random.below(1 << 40) as f64 * 10f64.powi(random.below(30) as i32 - 15)
        };
        let by_nodes = bits(layout, Basic::Float64, number, Some(&over));
        assert_eq!(by_nodes, bits(layout, Basic::Float64, number, None), "{layout:?}");
        goes.push(over.get() > 0);
        let over = Cell::new(0);
        let number = |rank: u32, at: usize| i64::from(rank) << (at % 50);
        let by_nodes = bits(layout, Basic::Int64, number, Some(&over));
        assert_eq!(by_nodes, bits(layout, Basic::Int64, number, None), "{layout:?}");
        assert_eq!(over.get(), layout.len() as u32, "integers go over any nodes");
    }
    assert_eq!(goes, [true, true, true, false, false, false, false, false, true]);
}
