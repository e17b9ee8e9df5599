//! Random types against a naive model: the list of all elements with their
//! displacements, straight from the definitions of MPI-5.0 §5.1.

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

/// The naive type map.
#[derive(Clone, Default)]
struct Model {
    /// Size and displacement of each piece of a basic element.
    pieces: Vec<(u64, i64)>,
    alignment: i64,
    /// Extents of elements without markers: (lower, upper).
    plain: Option<(i64, i64)>,
    /// Lower and upper markers.
    marked: Option<(i64, i64)>,
}

fn widen(range: &mut Option<(i64, i64)>, more: Option<(i64, i64)>, by: i64) {
    if let Some((lower, upper)) = more {
        let (lower, upper) = (lower + by, upper + by);
        *range = Some(range.map_or((lower, upper), |(low, high)| (low.min(lower), high.max(upper))));
    }
}

impl Model {
    fn basic(basic: Basic) -> Model {
        let pieces = match basic.pair() {
            Some((first, second)) => vec![(first.size(), 0), (second.size(), basic.second_offset() as i64)],
            None => vec![(basic.size(), 0)],
        };
        let plain = Some((0, basic.extent() as i64));
        Model { pieces, alignment: basic.alignment() as i64, plain, marked: None }
    }

    fn bounds(&self) -> (i64, i64) {
        self.marked.or(self.plain).unwrap_or((0, 0))
    }

    fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    fn place(&mut self, length: i64, displacement: i64, old: &Model) {
        for index in 0..length {
            let by = displacement + index * old.extent();
            self.pieces.extend(old.pieces.iter().map(|&(size, place)| (size, place + by)));
            widen(&mut self.plain, old.plain, by);
            widen(&mut self.marked, old.marked, by);
            self.alignment = self.alignment.max(old.alignment);
        }
    }

    fn blocks(lengths: &[i64], displacements: &[i64], unit: i64, old: &Model) -> Model {
        let mut model = Model { alignment: 1, ..Model::default() };
        for (&length, &displacement) in lengths.iter().zip(displacements) {
            model.place(length, displacement * unit, old);
        }
        model
    }

    fn resized(mut self, lower: i64, extent: i64) -> Model {
        self.marked = Some((lower, lower + extent));
        self
    }

    fn structure(lengths: &[i64], displacements: &[i64], olds: &[Model]) -> Model {
        let mut model = Model { alignment: 1, ..Model::default() };
        for ((&length, &displacement), old) in lengths.iter().zip(displacements).zip(olds) {
            model.place(length, displacement, old);
        }
        if let Some((lower, upper)) = &mut model.plain {
            if model.marked.is_none() {
                *upper = *lower + (*upper - *lower + model.alignment - 1) / model.alignment * model.alignment;
            }
        }
        model
    }

    fn subarray(sizes: &[i64], subsizes: &[i64], starts: &[i64], old: &Model) -> Model {
        let mut model = Model { alignment: 1, ..Model::default() };
        let total: i64 = sizes.iter().product();
        for cell in 0..total {
            let (mut rest, mut inside) = (cell, true);
            for dimension in (0..sizes.len()).rev() {
                let index = rest % sizes[dimension];
                rest /= sizes[dimension];
                inside &= index >= starts[dimension] && index < starts[dimension] + subsizes[dimension];
            }
            if inside {
                model.place(1, cell * old.extent(), old);
            }
        }
        model.resized(0, total * old.extent())
    }

    fn bytes(&self, count: u64) -> Vec<i64> {
        let mut bytes = Vec::new();
        for item in 0..count as i64 {
            for &(size, place) in &self.pieces {
                bytes.extend((0..size as i64).map(|byte| item * self.extent() + place + byte));
            }
        }
        bytes
    }
}

/// A random type and its model, `depth` constructors deep.
fn random_type(random: &mut Random, depth: u32) -> (Arc<Datatype>, Model) {
    if depth == 0 {
        let basic = Basic::all()[random.below(Basic::NUMBER as i64) as usize];
        return (Datatype::basic(basic), Model::basic(basic));
    }
    let below = random.below(depth as i64) as u32;
    let (old, model) = random_type(random, below);
    let number = random.below(4);
    let (length, stride) = (random.below(4), random.below(9) - 3);
    let lengths = random.many(number, 0, 4);
    let places = random.many(number, -3, 9);
    let row = |stride: i64| (0..number).map(|index| index * stride).collect::<Vec<i64>>();
    let same = vec![length; number as usize];
    let (extent, blocks) = (model.extent(), Model::blocks);
    match random.below(11) {
        0 => (Datatype::contiguous(number, &old).unwrap(), blocks(&[number], &[0], 1, &model)),
        1 => {
            let new = Datatype::vector(number, length, stride, &old).unwrap();
            (new, blocks(&same, &row(stride), extent, &model))
        }
        2 => {
            let new = Datatype::hvector(number, length, stride, &old).unwrap();
            (new, blocks(&same, &row(stride), 1, &model))
        }
        3 => (Datatype::indexed(&lengths, &places, &old).unwrap(), blocks(&lengths, &places, extent, &model)),
        4 => (Datatype::hindexed(&lengths, &places, &old).unwrap(), blocks(&lengths, &places, 1, &model)),
        5 => {
            (Datatype::indexed_block(length, &places, &old).unwrap(), blocks(&same, &places, extent, &model))
        }
        6 => (Datatype::hindexed_block(length, &places, &old).unwrap(), blocks(&same, &places, 1, &model)),
        7 => (Datatype::resized(stride, length * 7, &old).unwrap(), model.resized(stride, length * 7)),
        8 => (old.dup(), model),
        9 => {
            let (sizes, starts) = (random.many(2, 3, 6), random.many(2, 0, 3));
            let subsizes: Vec<i64> = (0..2).map(|d| 1 + random.below(sizes[d] - starts[d])).collect();
            let new = Datatype::subarray(&sizes, &subsizes, &starts, Order::C, &old).unwrap();
            (new, Model::subarray(&sizes, &subsizes, &starts, &model))
        }
        _ => {
            let parts: Vec<_> = (0..number).map(|_| random_type(random, below)).collect();
            let (olds, models): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let new = Datatype::structure(&lengths, &places, &olds).unwrap();
            (new, Model::structure(&lengths, &places, &models))
        }
    }
}

fn check_queries(new: &Datatype, model: &Model) {
    let size: u64 = model.pieces.iter().map(|piece| piece.0).sum();
    assert_eq!((new.size(), new.elements()), (size, model.pieces.len() as u64));
    assert_eq!((new.lower_bound(), new.extent()), (model.bounds().0, model.extent()));
    let begin = model.pieces.iter().map(|piece| piece.1).min().unwrap_or(0);
    let end = model.pieces.iter().map(|piece| piece.1 + piece.0 as i64).max().unwrap_or(0);
    assert_eq!((new.true_lower_bound(), new.true_extent()), (begin, end - begin));
    let mut position = 0;
    for (number, piece) in model.pieces.iter().enumerate().take(50) {
        assert_eq!(new.get_elements(position), Some(number as u64));
        assert_eq!(new.bytes_of_elements(number as u64).unwrap(), position);
        if piece.0 > 1 {
            assert_eq!(new.get_elements(position + 1), None);
        }
        position += piece.0;
    }
    let run_bytes: u64 = new.runs(2).map(|(leaf, number)| leaf.size() * number).sum();
    assert_eq!(run_bytes, 2 * size);
}

/// Packs, unpacks and lists `count` items in random steps and compares each
/// byte with the model.
fn check_movement(random: &mut Random, new: &Datatype, model: &Model, count: u64) {
    let places = model.bytes(count);
    let (begin, end) = new.span(count).unwrap();
    assert_eq!(begin, places.iter().copied().min().unwrap_or(0));
    assert_eq!(end, places.iter().copied().max().map_or(0, |last| last + 1));
    let length = (end - begin) as usize;
    let memory: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
    let address = memory.as_ptr().wrapping_offset(-begin as isize);
    let expected: Vec<u8> = places.iter().map(|&place| memory[(place - begin) as usize]).collect();
    if let Some((offset, bytes)) = new.dense(count) {
        assert_eq!(bytes, places.len() as u64);
        let row: Vec<i64> = (0..bytes as i64).map(|byte| offset + byte).collect();
        assert_eq!(row, places);
    }

    let mut target = vec![0u8; length];
    let target_address = target.as_mut_ptr().wrapping_offset(-begin as isize);
    let mut position = 0;
    while position < expected.len() {
        let step = 1 + random.below(expected.len() as i64 + 3) as usize;
        let mut out = vec![0u8; step];
        // SAFETY: both memories hold the span of `count` items from `begin` on.
        let (packed, unpacked) = unsafe {
            let packed = new.pack(address, count, position as u64, &mut out);
            (packed, new.unpack(target_address, count, position as u64, &out[..packed]))
        };
        assert_eq!((packed, unpacked), (step.min(expected.len() - position), packed));
        assert_eq!(out[..packed], expected[position..position + packed]);

        let mut list = vec![(1, 2)];
        let covered = new.segments(address.cast_mut(), count, position as u64, step as u64, &mut list, 3);
        assert!(list.len() <= 4 && covered > 0);
        let listed: Vec<usize> = list[1..].iter().flat_map(|&(start, bytes)| start..start + bytes).collect();
        assert_eq!(listed.len() as u64, covered);
        for (index, place) in listed.into_iter().enumerate() {
            assert_eq!(place, address.wrapping_offset(places[position + index] as isize) as usize);
        }
        position += packed;
    }
    // The last write to a place wins, so compare only types without overlap.
    let mut sorted = places.clone();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        for place in places {
            let index = (place - begin) as usize;
            assert_eq!(target[index], memory[index]);
        }
    }
}

#[test]
fn random_types_agree_with_the_naive_model() {
    let mut random = Random(0x5eed);
    let mut tried = 0;
    while tried < 3000 {
        let depth = 1 + random.below(5) as u32;
        let (new, model) = random_type(&mut random, depth);
        if model.pieces.len() > 400 {
            continue;
        }
        tried += 1;
        check_queries(&new, &model);
        let count = random.below(4) as u64;
        check_movement(&mut random, &new, &model, count);
    }
}

#[test]
fn copying_between_two_layouts_agrees_with_packing() {
    let mut random = Random(0xc0ffee);
    for _ in 0..300 {
        let (from, _) = random_type(&mut random, 3);
        let (to, model) = random_type(&mut random, 3);
        let mut places = model.bytes(2);
        places.sort_unstable();
        if from.size() > 5000 || to.size() > 5000 || places.windows(2).any(|pair| pair[0] == pair[1]) {
            continue;
        }
        let ((first, first_end), (second, second_end)) = (from.span(2).unwrap(), to.span(2).unwrap());
        let source: Vec<u8> = (first..first_end).map(|_| random.below(256) as u8).collect();
        let mut target = vec![0u8; (second_end - second) as usize];
        let source_address = source.as_ptr().wrapping_offset(-first as isize);
        let target_address = target.as_mut_ptr().wrapping_offset(-second as isize);
        let bytes = 2 * from.size().min(to.size()) as usize;
        let (mut sent, mut received) = (vec![0; bytes], vec![0; bytes]);
        // SAFETY: both memories hold the span of 2 items.
        let copied = unsafe {
            let copied = copy((&from, source_address, 2), (&to, target_address, 2));
            from.pack(source_address, 2, 0, &mut sent);
            to.pack(target_address, 2, 0, &mut received);
            copied
        };
        assert_eq!(copied, bytes as u64);
        assert_eq!(sent, received);
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
