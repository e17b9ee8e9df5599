//! Random operations against a model of what they mean.

use super::*;

/// Numbers that look random: xorshift.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

const WORDS: usize = 2400;
const RANKS: u32 = 3;

/// One member at a time does what all know that it does; all keep the model.
#[test]
fn random_operations_do_what_the_model_does() {
    for seed in 1..3u64 {
        each_way(RANKS, |engine, world| {
            let mut mine = vec![0i32; WORDS];
            let exposure = engine.expose(world, given(&mut mine), 4).unwrap();
            let mut models = vec![vec![0i32; WORDS]; RANKS as usize];
            let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            lock_all(engine, &exposure);
            for turn in 0..15 {
                for _ in 0..20 {
                    one(engine, &exposure, &mut numbers, &mut models, turn % RANKS);
                }
                meet(engine, &exposure);
                assert!(mine == models[engine.rank() as usize], "seed {seed}, turn {turn}");
                meet(engine, &exposure);
            }
            engine.unlock_all(&exposure).unwrap();
            engine.unexpose(&exposure).unwrap();
        });
    }
}

/// A datatype of 32-bit integers, and at what indices they lie.
fn shape(numbers: &mut Numbers) -> (Arc<Datatype>, Vec<usize>) {
    let int = Datatype::basic(Basic::Int32);
    match numbers.next(6) {
        0 => {
            let count = 1 + numbers.next(3) * numbers.next(200);
            (Datatype::contiguous(count as i64, &int).unwrap(), (0..count).collect())
        }
        1 => {
            let (count, block) = (1 + numbers.next(20), 1 + numbers.next(5));
            let stride = block + numbers.next(4);
            let lie = (0..count).flat_map(|at| (0..block).map(move |inner| at * stride + inner)).collect();
            (Datatype::vector(count as i64, block as i64, stride as i64, &int).unwrap(), lie)
        }
        2 => {
            // Each index once, in any order.
            let mut indices: Vec<usize> = (0..30).collect();
            (0..30).for_each(|at| indices.swap(at, numbers.next(30)));
            indices.truncate(1 + numbers.next(25));
            let displacements: Vec<i64> = indices.iter().map(|&index| index as i64).collect();
            (Datatype::indexed_block(1, &displacements, &int).unwrap(), indices)
        }
        3 => {
            // Blocks of unlike lengths, more of them than are looked for at a time, and gaps of unlike lengths.
            let blocks = 1 + numbers.next(2) * 600;
            let (mut lengths, mut begins, mut end) = (Vec::new(), Vec::new(), 0);
            for _ in 0..blocks {
                end += numbers.next(2);
                begins.push(end as i64);
                lengths.push(1 + numbers.next(2) as i64);
                end += *lengths.last().unwrap() as usize;
            }
            let all =
                begins.iter().zip(&lengths).flat_map(|(&at, &length)| at as usize..(at + length) as usize);
            let lie = all.collect();
            (Datatype::indexed(&lengths, &begins, &int).unwrap(), lie)
        }
        4 => {
            // Far apart.
            let (count, stride) = (2 + numbers.next(4), 300);
            let lie = (0..count).map(|at| at * stride).collect();
            (Datatype::vector(count as i64, 1, stride as i64, &int).unwrap(), lie)
        }
        _ => (int, vec![0]),
    }
}

fn one(engine: &Engine, exposure: &Exposure, numbers: &mut Numbers, models: &mut [Vec<i32>], who: u32) {
    let (datatype, indices) = shape(numbers);
    let rank = numbers.next(RANKS as usize) as u32;
    let room = WORDS - indices.iter().max().unwrap();
    let at = numbers.next(room);
    let (kind, first) = (numbers.next(5), numbers.next(1000) as i32);
    let mut origin: Vec<i32> = (0..indices.len() as i32).map(|index| first + index * 3).collect();
    let builtin = [Builtin::Sum, Builtin::Max, Builtin::BitXor, Builtin::Replace][numbers.next(4)];
    let operator = operator(builtin);
    let model = &mut models[rank as usize];
    let before: Vec<i32> = indices.iter().map(|&index| model[at + index]).collect();
    for (&index, &by) in indices.iter().zip(&origin) {
        let cell = &mut model[at + index];
        *cell = match (kind, builtin) {
            (0, _) | (2.., Builtin::Replace) => by,
            (1, _) => *cell,
            (_, Builtin::Sum) => cell.wrapping_add(by),
            (_, Builtin::Max) => by.max(*cell),
            _ => *cell ^ by,
        };
    }
    if who != engine.rank() {
        return;
    }
    let place = target(rank, at as i64, 1, &datatype);
    let mut result = vec![0i32; indices.len()];
    let (from, to) = (data(&mut origin, Basic::Int32), data(&mut result, Basic::Int32));
    match kind {
        0 => engine.put(exposure, &from, &place).unwrap(),
        1 => engine.get(exposure, &to, &place).unwrap(),
        2 => engine.accumulate(exposure, &from, &place, &operator).unwrap(),
        _ => engine.get_accumulate(exposure, &from, &to, &place, &operator).unwrap(),
    }
    if kind == 1 || kind > 2 {
        assert_eq!(result, before);
    }
}
