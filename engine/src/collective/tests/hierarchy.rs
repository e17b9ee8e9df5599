//! Operations over nodes, as messages: what MPI says, and the bits of one node.

use super::buffer::{check, composed, composition, group, items, shapes, Item, Side, UNTOUCHED};
use super::twin::{self, Random};
use crate::collective::hierarchy::Hierarchy;
use crate::collective::selection::OverNodes;
use crate::collective::{Data, Members, Operation, Root, Schedule};
use crate::datatype::{Basic, Datatype};
use crate::kept::Kept;
use crate::reduce::{Builtin, Operator};
use crate::Result;
use std::cell::Cell;
use std::sync::Arc;

/// The nodes of the ranks.
const LAYOUTS: [&[u32]; 11] = [
    &[0, 0, 1, 1],
    &[0, 0, 0, 1, 1],
    &[0, 0, 0, 0, 1, 1, 1, 1],
    &[0, 0, 0, 1, 1, 1],
    &[7, 3, 3],
    &[0, 0, 1, 2, 2, 2, 3],
    &[0, 1, 0, 1],
    &[1, 1, 0, 0, 1],
    &[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
    &[0, 1, 2, 0, 1, 2],
    &[0, 1, 1, 0, 0, 1, 1],
];

/// A way over the nodes, and how many schedules have gone over them.
struct Over {
    way: OverNodes,
    schedules: Cell<u32>,
}

impl Over {
    fn by(way: OverNodes) -> Over {
        Over { way, schedules: Cell::new(0) }
    }
}

const WAYS: [OverNodes; 2] = [OverNodes::BySpeakers, OverNodes::ByAll];

/// The schedule of an operation; counts those that go over the nodes.
fn written(layout: &[u32], members: Members, operation: Operation, over: &Over) -> Result<Schedule> {
    let hierarchy = Hierarchy::new(members, |rank| layout[rank as usize]).expect("several nodes");
    match hierarchy.schedule_by(over.way, &operation)? {
        Some(schedule) => {
            over.schedules.set(over.schedules.get() + 1);
            Ok(schedule)
        }
        None => operation.schedule(members),
    }
}

/// Runs `body` for all ways, layouts, counts, types and roots, in place and not; says how
/// many schedules went over the nodes.
fn for_all(body: impl Fn(&[u32], usize, u32, &Arc<Datatype>, bool, &Over)) -> u32 {
    let mut gone = 0;
    for over in WAYS.map(Over::by) {
        for layout in LAYOUTS {
            for count in [0, 1, 40] {
                for (at, datatype) in shapes().iter().enumerate() {
                    for root in 0..layout.len() as u32 {
                        body(layout, count, root, datatype, (at + root as usize).is_multiple_of(2), &over);
                    }
                }
            }
        }
        gone += over.schedules.get();
    }
    gone
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
fn alltoall_and_allgatherv() {
    let over = for_all(|layout, count, root, datatype, in_place, over| {
        let size = layout.len();
        // The root does not count here.
        if root > 1 {
            return;
        }
        let block = |from: u32, to: u32| items(from * 100 + to, count);
        let all = |rank: u32| (0..size as u32).flat_map(|other| block(rank, other)).collect::<Vec<_>>();
        let come = |rank: u32| (0..size as u32).flat_map(|other| block(other, rank)).collect::<Vec<_>>();
        let side = |rank| match in_place {
            true => Side::in_place(&all(rank), come(rank), datatype),
            false => Side::new(&all(rank), come(rank), (datatype, datatype)),
        };
        check("alltoall", &group(size as u32), sides(layout, side), |members, side| {
            let send = (!in_place).then(|| side.send.part(0, count));
            written(layout, members, Operation::Alltoall { send, receive: side.receive.part(0, count) }, over)
        });
        // Blocks of unlike lengths, in the order of ranks backwards.
        let length = |rank: u32| (rank as usize * 3 + 1) % 4 * count;
        let start = |rank: u32| (rank + 1..size as u32).map(length).sum::<usize>();
        let joined = (0..size as u32).rev().flat_map(|rank| items(rank, length(rank))).collect::<Vec<_>>();
        let side = |rank: u32| match in_place {
            true => {
                let mut before = vec![UNTOUCHED; joined.len()];
                before[start(rank)..][..length(rank)].copy_from_slice(&items(rank, length(rank)));
                Side::in_place(&before, joined.clone(), datatype)
            }
            false => Side::new(&items(rank, length(rank)), joined.clone(), (datatype, datatype)),
        };
        check("allgatherv", &group(size as u32), sides(layout, side), |members, side| {
            let send = (!in_place).then(|| side.send.data());
            let receive = (0..size as u32).map(|rank| side.receive.part(start(rank), length(rank))).collect();
            written(layout, members, Operation::Allgatherv { send, receive }, over)
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

#[test]
fn prefixes_combine_the_lower_ranks_in_their_order() {
    let operator = composition();
    let over = for_all(|layout, count, root, datatype, in_place, over| {
        // The root does not count here.
        if root > 1 {
            return;
        }
        let both = |left: Vec<Item>, right: Vec<Item>| {
            left.into_iter().zip(right).map(|(l, r)| composed(l, r)).collect()
        };
        let combined = |end: u32| (0..end).map(|rank| items(rank, count)).reduce(both);
        let side = |rank: u32, end: u32| match (combined(end), in_place) {
            (Some(expected), true) => Side::in_place(&items(rank, count), expected, datatype),
            (Some(expected), false) => Side::new(&items(rank, count), expected, (datatype, datatype)),
            (None, true) => Side::in_place(&items(rank, count), items(rank, count), datatype),
            (None, false) => Side::new(&items(rank, count), vec![UNTOUCHED; count], (datatype, datatype)),
        };
        let group = group(layout.len() as u32);
        check("scan", &group, sides(layout, |rank| side(rank, rank + 1)), |members, side| {
            let (send, operator) = ((!in_place).then(|| side.send.data()), Kept::from(&operator));
            written(layout, members, Operation::Scan { send, receive: side.receive.data(), operator }, over)
        });
        check("exscan", &group, sides(layout, |rank| side(rank, rank)), |members, side| {
            let (send, operator) = ((!in_place).then(|| side.send.data()), Kept::from(&operator));
            written(layout, members, Operation::Exscan { send, receive: side.receive.data(), operator }, over)
        });
    });
    assert!(over > 1000);
}

/// Messages between nodes of a scan and of an exscan of `count` items by all ranks, as the tables say.
fn messages_of_prefixes(layout: &[u32], basic: Basic, count: i64) -> [usize; 2] {
    let operator = Kept::from(Arc::new(Operator::builtin(Builtin::Sum)));
    let data = Data::new(std::ptr::null_mut(), 0, count, &Datatype::basic(basic)).unwrap();
    let node = |rank: u32| layout[rank as usize];
    let between = |operation: Operation| {
        let of_rank = |members: Members| {
            let over = Hierarchy::new(members, node).expect("several nodes").schedule(&operation).unwrap();
            let schedule = over.unwrap_or_else(|| operation.clone().schedule(members).unwrap());
            schedule.targets().filter(|&target| node(target) != node(members.rank)).count()
        };
        group(layout.len() as u32).into_iter().map(of_rank).sum()
    };
    let (send, receive) = (Some(data.clone()), data);
    let scan = Operation::Scan { send: send.clone(), receive: receive.clone(), operator: operator.clone() };
    [between(scan), between(Operation::Exscan { send, receive, operator })]
}

#[test]
fn prefixes_send_between_nodes_as_if_each_were_one_rank() {
    let in_order: Vec<u32> = (0..16).map(|rank| rank / 4).collect();
    let in_turn: Vec<u32> = (0..16).map(|rank| rank % 4).collect();
    // Totals of nodes, of any length.
    assert_eq!(messages_of_prefixes(&in_order, Basic::Int64, 1), [6, 6]);
    assert_eq!(messages_of_prefixes(&in_order, Basic::Int64, 1 << 20), [6, 6]);
    // All operands, if they are short; those of the last nodes and the first go as two messages.
    for (layout, basic) in [(&in_order, Basic::Float64), (&in_turn, Basic::Float64), (&in_turn, Basic::Int64)]
    {
        assert_eq!(messages_of_prefixes(layout, basic, 100), [12, 12], "{basic:?}");
    }
    // As if there were no nodes.
    assert_eq!(messages_of_prefixes(&in_order, Basic::Float64, 1000), [29, 30]);
    assert_eq!(messages_of_prefixes(&in_turn, Basic::Int64, 1000), [29, 42]);
}

/// An operation that every rank does with a vector of some length in place.
type InPlace = fn(Data, &Arc<Operator>, u32) -> Operation;

const REDUCTIONS: [InPlace; 4] = [
    |receive, operator, _| Operation::Allreduce { send: None, receive, operator: operator.into() },
    |data, operator, rank| {
        let (send, receive) = if rank == 1 { (None, Some(data)) } else { (Some(data), None) };
        Operation::Reduce { root: Root::Rank(1), send, receive, operator: operator.into() }
    },
    |receive, operator, _| Operation::Scan { send: None, receive, operator: operator.into() },
    |receive, operator, _| Operation::Exscan { send: None, receive, operator: operator.into() },
];

/// The bits that all ranks get of reductions of numbers of very different size; by nodes, or as on one.
fn bits<T: Copy>(
    (layout, reduction): (&[u32], InPlace),
    basic: Basic,
    number: impl Fn(u32, usize) -> T,
    over: Option<&Over>,
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
            let data = Data::new(numbers.as_mut_ptr().cast(), 0, count as i64, &datatype).unwrap();
            let operation = reduction(data, &operator, members.rank);
            match over {
                Some(over) => written(layout, members, operation, over).unwrap(),
                None => operation.schedule(members).unwrap(),
            }
        })
        .collect();
    twin::run(&group(size), &mut schedules, 5);
    numbers
}

/// Up to twelve ranks on up to four nodes: in a row or as they come.
fn random_layout(random: &mut Random) -> Vec<u32> {
    loop {
        let (size, nodes) = (3 + random.below(10), 2 + random.below(3));
        let mut layout: Vec<u32> = match random.below(3) {
            0 => (0..size).map(|rank| (rank * nodes / size) as u32).collect(),
            1 => (0..size).map(|rank| (rank % nodes) as u32).collect(),
            _ => (0..size).map(|_| random.below(nodes) as u32).collect(),
        };
        if random.below(2) == 0 {
            layout.sort_unstable();
        }
        let first = Members { rank: 0, size: size as u32, remote: None };
        if Hierarchy::new(first, |rank| layout[rank as usize]).is_some() {
            return layout;
        }
    }
}

#[test]
fn sums_have_the_bits_of_one_node() {
    let mut random = Random::new(11);
    let many: Vec<Vec<u32>> = (0..60).map(|_| random_layout(&mut random)).collect();
    let real = |rank: u32, at: usize| {
        let mut random = Random::new(u64::from(rank) * 1000 + at as u64);
        random.below(1 << 40) as f64 * 10f64.powi(random.below(30) as i32 - 15)
    };
    let whole = |rank: u32, at: usize| i64::from(rank) << (at % 50);
    let mut gone = 0;
    for layout in LAYOUTS.iter().copied().chain(many.iter().map(Vec::as_slice)) {
        for reduction in REDUCTIONS {
            for over in WAYS.map(Over::by) {
                let what = (layout, reduction);
                let by_nodes = bits(what, Basic::Float64, real, Some(&over));
                assert_same(&by_nodes, &bits(what, Basic::Float64, real, None), what);
                gone += over.schedules.get();
                let by_nodes = bits(what, Basic::Int64, whole, Some(&over));
                assert_same(&by_nodes, &bits(what, Basic::Int64, whole, None), what);
            }
        }
    }
    assert!(gone > 300, "{gone}");
}

/// Compares what the operation says: of a reduce, what the root has.
fn assert_same<T: PartialEq + std::fmt::Debug>(
    by_nodes: &[Vec<T>],
    as_one: &[Vec<T>],
    (layout, reduction): (&[u32], InPlace),
) {
    let operator = Arc::new(Operator::builtin(Builtin::Sum));
    for rank in 0..layout.len() {
        let length = match reduction(Data::nothing(), &operator, rank as u32) {
            Operation::Reduce { .. } if rank != 1 => 0,
            _ => 300,
        };
        assert_eq!(by_nodes[rank][..length], as_one[rank][..length], "rank {rank} of {layout:?}");
    }
}

#[test]
fn which_sums_go_over_nodes() {
    let goes = |layout: &[u32], basic| {
        let over = Over::by(OverNodes::BySpeakers);
        match basic {
            Basic::Float64 => drop(bits((layout, REDUCTIONS[0]), basic, |_, _| 0f64, Some(&over))),
            _ => drop(bits((layout, REDUCTIONS[0]), basic, |_, _| 0i64, Some(&over))),
        }
        over.schedules.get() == layout.len() as u32
    };
    let of_reals = LAYOUTS.map(|layout| goes(layout, Basic::Float64));
    assert_eq!(of_reals, [true, true, true, false, false, false, false, false, true, false, false]);
    assert!(LAYOUTS.iter().all(|layout| goes(layout, Basic::Int64)), "integers go over any nodes");
}
