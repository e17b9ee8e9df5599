//! What the insides of a type promise. That types do what MPI says of them is
//! tried at random against a naive model in `tests/datatypes`.

use super::*;
use std::sync::Arc;

/// A small deterministic source of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit as u64) as i64
    }

    fn many(&mut self, number: i64, from: i64, to: i64) -> Vec<i64> {
        (0..number).map(|_| from + self.below(to - from)).collect()
    }
}

#[test]
fn many_structures_are_packed_in_order_at_any_split() {
    let mut random = Random(0xfab);
    let (int, double) = (Datatype::basic(Basic::Int32), Datatype::basic(Basic::Float64));
    let record = Datatype::structure(&[1, 2, 1], &[28, 8, 0], &[int.clone(), double, int]).unwrap();
    let count = 3000;
    let memory: Vec<u8> = (0..32 * count).map(|_| random.below(256) as u8).collect();
    let members = |item: &[u8]| [&item[28..32], &item[8..24], &item[..4]].concat();
    let expected: Vec<u8> = memory.chunks(32).flat_map(members).collect();
    for begin in [0, 1, 24, 30_005] {
        let mut out = vec![0; expected.len() - begin - 7];
        let mut back = vec![0; memory.len()];
        let (mut again, whole) = (vec![0; expected.len()], count as u64);
        // SAFETY: `memory` and `back` are `count` records.
        unsafe {
            assert_eq!(record.pack(memory.as_ptr(), whole, begin as u64, &mut out), out.len());
            assert_eq!(record.unpack(back.as_mut_ptr(), whole, begin as u64, &out), out.len());
            record.pack(back.as_ptr(), whole, 0, &mut again);
        }
        assert_eq!(out, expected[begin..begin + out.len()]);
        assert_eq!(out, again[begin..begin + out.len()]);
    }
}

#[test]
fn regular_types_stay_small() {
    let double = Datatype::basic(Basic::Float64);
    let column = Datatype::vector(1_000_000, 1, 1000, &double).unwrap();
    assert!(column.map.layout.memory() < 200);
    let places: Vec<i64> = (0..100_000).map(|index| index * 3).collect();
    let regular = Datatype::indexed_block(2, &places, &double).unwrap();
    assert!(regular.map.layout.memory() < 200);
    let pair = Datatype::structure(&[1, 1], &[0, 8], &[double.clone(), double.clone()]).unwrap();
    assert_eq!(pair.dense(10), Some((0, 160)));
    let cube = Datatype::subarray(&[100, 100, 100], &[50, 100, 100], &[10, 0, 0], Order::C, &double).unwrap();
    assert_eq!(cube.dense(1), Some((800_000, 4_000_000)));
}

/// The last time of a pattern may be cut off, or go on for longer, and what follows may be something else.
#[test]
fn unlike_blocks_that_repeat_are_a_loop_and_lie_where_they_did() {
    let byte = Datatype::basic(Basic::Int8);
    let (pattern, stride) = ([(0, 1), (2, 5), (9, 3), (30, 40)], 80);
    let numbers = Vec::from_iter((0..9000u32).map(|number| (number % 251) as u8));
    for (blocks, longer, beside) in
        [(400, 0, 0), (399, 0, 0), (401, 0, 0), (400, 77, 0), (400, 1, 0), (400, 0, 1), (31, 0, 0), (5, 0, 0)]
    {
        let place = |block: i64| block / 4 * stride + pattern[block as usize % 4].0 as i64;
        let mut places = Vec::from_iter((0..blocks).map(place));
        let mut lengths = Vec::from_iter((0..blocks as usize).map(|block| pattern[block % 4].1 as i64));
        *lengths.last_mut().unwrap() += longer;
        places[blocks as usize / 2] += beside;
        let made = Datatype::indexed(&lengths, &places, &byte).unwrap();
        let repeats = blocks > 40 && beside == 0;
        assert_eq!(made.map.layout.memory() < 600, repeats || blocks < 10, "{blocks} {longer} {beside}");
        let lie = places.iter().zip(&lengths).flat_map(|(&at, &length)| at as usize..(at + length) as usize);
        let lie = Vec::from_iter(lie);
        let expected = Vec::from_iter(lie.iter().map(|&at| numbers[at]));
        for (begin, bytes) in [(0, lie.len()), (1, 50), (49, 100), (100, lie.len() / 2), (lie.len() - 9, 9)] {
            let begin = begin.min(lie.len());
            let mut out = vec![0; bytes.min(lie.len() - begin)];
            let mut back = vec![0; numbers.len()];
            // SAFETY: all that lies there is within the numbers.
            unsafe {
                made.pack(numbers.as_ptr(), 1, begin as u64, &mut out);
                made.unpack(back.as_mut_ptr(), 1, begin as u64, &out);
            }
            assert_eq!(out, expected[begin..begin + out.len()], "{blocks} {longer} {beside} from {begin}");
            let is_back = |(order, &at): (usize, &usize)| {
                back[at] == if (begin..begin + out.len()).contains(&order) { numbers[at] } else { 0 }
            };
            assert!(lie.iter().enumerate().all(is_back));
        }
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_types_is_no_trouble() {
    let byte = Datatype::basic(Basic::Byte);
    let mut datatype = byte.clone();
    for _ in 0..100_000 {
        datatype = datatype.dup();
    }
    assert_eq!(datatype.runs(3).count(), 1);
    for _ in 0..400 {
        datatype = Datatype::structure(&[1, 1], &[0, 2], &[byte.clone(), datatype]).unwrap();
    }
    assert!(datatype.map.layout.depth < 200);
    assert_eq!(datatype.size(), 401);
    drop(datatype);
}

#[test]
fn wrong_arguments_are_errors_with_a_class() {
    use crate::Class;
    let int = Datatype::basic(Basic::Int32);
    let class = |made: Result<Arc<Datatype>>| made.unwrap_err().class();
    assert_eq!(class(Datatype::contiguous(-1, &int)), Class::Count);
    assert_eq!(class(Datatype::vector(1, -1, 1, &int)), Class::Arg);
    assert_eq!(class(Datatype::indexed(&[1, -2], &[0, 0], &int)), Class::Arg);
    assert_eq!(class(Datatype::contiguous(i64::MAX, &int)), Class::Count);
    assert_eq!(class(Datatype::subarray(&[4], &[5], &[0], Order::C, &int)), Class::Arg);
    let far = Datatype::hindexed(&[1, 1], &[i64::MIN, i64::MAX - 4], &int);
    assert!(far.is_err());
}

#[test]
fn distributed_arrays_cover_the_array_once() {
    let int = Datatype::basic(Basic::Int32);
    let mut random = Random(0xda44a1);
    for _ in 0..200 {
        let grid = random.many(2, 1, 4);
        let sizes = random.many(2, 1, 12);
        let processes = grid[0] * grid[1];
        let order = Order::from_number(random.below(2));
        let mut kinds = [Distribution::Block; 2];
        let mut arguments = [DEFAULT_ARGUMENT; 2];
        for dimension in 0..2 {
            if random.below(2) == 1 {
                kinds[dimension] = Distribution::Cyclic;
                arguments[dimension] = 1 + random.below(14);
            } else if random.below(2) == 1 {
                arguments[dimension] = sizes[dimension].div_euclid(grid[dimension]) + 1 + random.below(3);
            }
            if grid[dimension] == 1 && random.below(3) == 1 {
                kinds[dimension] = Distribution::None;
            }
        }
        let mut owners = vec![0; (sizes[0] * sizes[1]) as usize];
        for rank in 0..processes {
            let part =
                Datatype::darray(processes, rank, &sizes, &kinds, &arguments, &grid, order, &int).unwrap();
            assert_eq!((part.lower_bound(), part.extent()), (0, 4 * sizes[0] * sizes[1]));
            let mut list = Vec::new();
            part.segments(std::ptr::null_mut(), 1, 0, u64::MAX, &mut list, usize::MAX);
            for (start, bytes) in list {
                owners[start / 4..(start + bytes) / 4].iter_mut().for_each(|owner| *owner += 1);
            }
        }
        assert!(owners.iter().all(|&owner| owner == 1), "{sizes:?} over {grid:?}: {owners:?}");
    }
}

#[test]
fn neighbours_are_listed_as_one_however_many_they_are() {
    let byte = Datatype::basic(Basic::Byte);
    let listed = |datatype: &Datatype, count, offset, limit| {
        let mut list = Vec::new();
        let covered = datatype.segments(std::ptr::null_mut(), count, offset, limit, &mut list, 3);
        (list, covered)
    };
    // One step for each of them would take for ever.
    assert_eq!(listed(&byte, 1 << 60, 5, 1 << 59), (vec![(5, 1 << 59)], 1 << 59));
    let rows = Datatype::vector(4, 3, 5, &byte).unwrap();
    assert_eq!(listed(&rows, 1, 1, u64::MAX), (vec![(1, 2), (5, 3), (10, 3)], 8));
}

#[test]
fn markers_set_one_bound_each_and_hold_no_data() {
    let (lower, upper) = (Datatype::marker(Edge::Lower, "lower"), Datatype::marker(Edge::Upper, "upper"));
    let int = Datatype::basic(Basic::Int32);
    let made = |lengths: &[i64], places: &[i64], types: &[&Arc<Datatype>]| {
        let types: Vec<Arc<Datatype>> = types.iter().map(|one| (*one).clone()).collect();
        Datatype::structure(lengths, places, &types).unwrap()
    };
    let bounds = |datatype: &Datatype| (datatype.lower_bound(), datatype.lower_bound() + datatype.extent());
    assert!(lower.is_predefined() && lower.is_committed() && (lower.size(), lower.extent()) == (0, 0));
    let both = made(&[1, 2, 1], &[-4, 8, 40], &[&lower, &int, &upper]);
    assert_eq!((bounds(&both), both.size(), both.elements()), ((-4, 40), 8, 2));
    assert_eq!((both.true_lower_bound(), both.true_extent()), (8, 8));
    // The other bound is that of the data; only an upper one that is not marked is padded.
    assert_eq!(bounds(&made(&[2, 1], &[8, 41], &[&int, &upper])), (8, 41));
    assert_eq!(bounds(&made(&[1, 2], &[-3, 8], &[&lower, &int])), (-3, 17));
    // A marked bound wins over data that reach beyond it, and the outermost marker over others.
    assert_eq!(bounds(&made(&[4, 1, 1], &[0, 4, 12], &[&int, &upper, &lower])), (12, 4));
    assert_eq!(bounds(&made(&[1, 1, 1, 1], &[0, 8, 24, 16], &[&int, &upper, &upper, &both])), (12, 56));
    assert_eq!(bounds(&Datatype::contiguous(3, &both).unwrap()), (-4, 128));
}
