//! Random datatypes with their models.

use crate::model::Model;
use crate::MOST_PIECES;
use serried_engine::datatype::{Basic, Datatype, Distribution, Order, DEFAULT_ARGUMENT};
use std::sync::Arc;

/// A small deterministic source of numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // Neighbouring seeds must not give neighbouring numbers.
        let mixed = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mut random = Random((mixed ^ (mixed >> 31)) | 1);
        random.bits();
        random
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: i64) -> i64 {
        ((self.bits() >> 11) % limit as u64) as i64
    }

    pub fn many(&mut self, number: i64, from: i64, to: i64) -> Vec<i64> {
        (0..number).map(|_| from + self.below(to - from)).collect()
    }

    /// Up to three, seldom none.
    fn few(&mut self) -> i64 {
        match self.below(10) {
            0 => 0,
            other => 1 + other % 3,
        }
    }

    fn fews(&mut self, number: i64) -> Vec<i64> {
        (0..number).map(|_| self.few()).collect()
    }

    pub fn bytes(&mut self, number: usize) -> Vec<u8> {
        (0..number).map(|_| self.bits() as u8).collect()
    }
}

type Made = (Arc<Datatype>, Model);

/// A random type of at most `depth` constructors one in another, small enough
/// for the model.
pub fn random_type(random: &mut Random, depth: i64) -> Made {
    loop {
        let chosen = random.below(depth + 1);
        let made = nested(random, chosen);
        if made.1.pieces.len() <= MOST_PIECES {
            return made;
        }
    }
}

fn nested(random: &mut Random, depth: i64) -> Made {
    if depth == 0 {
        let basic = Basic::all()[random.below(Basic::NUMBER as i64) as usize];
        return (Datatype::basic(basic), Model::basic(basic));
    }
    let below = random.below(depth);
    let old = nested(random, below);
    if old.1.pieces.len() > MOST_PIECES {
        return old;
    }
    match random.below(13) {
        0..=5 => blocks(random, &old),
        6 | 7 => indexed(random, &old),
        8 => subarray(random, &old),
        9 => darray(random, &old),
        10 => (old.0.dup(), old.1),
        11 => {
            let (lower, extent) = (random.below(9) - 3, random.below(40) - 5);
            (Datatype::resized(lower, extent, &old.0).unwrap(), old.1.resized(lower, extent))
        }
        _ => {
            let number = random.few();
            let (lengths, places) = (random.fews(number), random.many(number, -30, 90));
            let parts: Vec<_> = (0..number).map(|_| nested(random, below)).collect();
            let (olds, models): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let new = Datatype::structure(&lengths, &places, &olds).unwrap();
            (new, Model::structure(&lengths, &places, &models))
        }
    }
}

/// Constructors of equal blocks.
fn blocks(random: &mut Random, (old, model): &Made) -> Made {
    let (number, length, stride) = (random.few(), random.few(), random.below(9) - 3);
    let row: Vec<i64> = (0..number).map(|index| index * stride).collect();
    let same = vec![length; number as usize];
    let extent = model.extent();
    match random.below(5) {
        0 => (Datatype::contiguous(number, old).unwrap(), Model::blocks(&[number], &[0], 1, model)),
        1 => {
            let new = Datatype::vector(number, length, stride, old).unwrap();
            (new, Model::blocks(&same, &row, extent, model))
        }
        2 => {
            let new = Datatype::hvector(number, length, stride, old).unwrap();
            (new, Model::blocks(&same, &row, 1, model))
        }
        which => {
            let places = random.many(number, -3, 9);
            let (new, unit) = match which {
                3 => (Datatype::indexed_block(length, &places, old), extent),
                _ => (Datatype::hindexed_block(length, &places, old), 1),
            };
            (new.unwrap(), Model::blocks(&same, &places, unit, model))
        }
    }
}

/// Constructors of blocks of several lengths; now and then regular ones, which
/// become loops inside.
fn indexed(random: &mut Random, (old, model): &Made) -> Made {
    let number = random.below(6);
    let mut lengths = random.fews(number);
    let mut places = random.many(number, -3, 9);
    if random.below(3) == 0 {
        let (length, step) = (random.few(), random.below(7) - 2);
        lengths = vec![length; number as usize];
        places = (0..number).map(|index| index * step).collect();
    }
    let (new, unit) = match random.below(2) {
        0 => (Datatype::indexed(&lengths, &places, old), model.extent()),
        _ => (Datatype::hindexed(&lengths, &places, old), 1),
    };
    (new.unwrap(), Model::blocks(&lengths, &places, unit, model))
}

fn order(random: &mut Random) -> (Order, bool) {
    match random.below(2) {
        0 => (Order::C, true),
        _ => (Order::Fortran, false),
    }
}

fn subarray(random: &mut Random, (old, model): &Made) -> Made {
    let dimensions = 1 + random.below(3);
    let sizes = random.many(dimensions, 1, 5);
    let subsizes: Vec<i64> = sizes.iter().map(|&size| 1 + random.below(size)).collect();
    let starts: Vec<i64> =
        sizes.iter().zip(&subsizes).map(|(&size, &part)| random.below(size - part + 1)).collect();
    let (order, last_is_fastest) = order(random);
    let new = Datatype::subarray(&sizes, &subsizes, &starts, order, old).unwrap();
    let inside = |dimension: usize, index: i64| {
        index >= starts[dimension] && index < starts[dimension] + subsizes[dimension]
    };
    (new, Model::cells(&sizes, last_is_fastest, inside, model))
}

fn darray(random: &mut Random, (old, model): &Made) -> Made {
    let dimensions = 1 + random.below(3);
    let (sizes, mut grid) = (random.many(dimensions, 1, 6), random.many(dimensions, 1, 4));
    let mut kinds = Vec::new();
    let mut arguments = Vec::new();
    for dimension in 0..dimensions as usize {
        let (size, processes) = (sizes[dimension], grid[dimension]);
        let (kind, argument) = match random.below(5) {
            0 => (Distribution::Block, DEFAULT_ARGUMENT),
            1 => (Distribution::Block, (size + processes - 1) / processes + random.below(3)),
            2 => (Distribution::Cyclic, DEFAULT_ARGUMENT),
            3 => (Distribution::Cyclic, 1 + random.below(4)),
            _ => (Distribution::None, DEFAULT_ARGUMENT),
        };
        if kind == Distribution::None {
            grid[dimension] = 1;
        }
        kinds.push(kind);
        arguments.push(argument);
    }
    let processes: i64 = grid.iter().product();
    let rank = random.below(processes);
    let (order, last_is_fastest) = order(random);
    let new = Datatype::darray(processes, rank, &sizes, &kinds, &arguments, &grid, order, old).unwrap();
    // The last coordinate of the grid runs fastest, whatever the order.
    let coordinate =
        |dimension: usize| rank / grid[dimension + 1..].iter().product::<i64>() % grid[dimension];
    let inside = |dimension: usize, index: i64| {
        let (size, processes) = (sizes[dimension], grid[dimension]);
        let given = Some(arguments[dimension]).filter(|&given| given != DEFAULT_ARGUMENT);
        match kinds[dimension] {
            Distribution::None => true,
            Distribution::Block => {
                index / given.unwrap_or((size + processes - 1) / processes) == coordinate(dimension)
            }
            Distribution::Cyclic => index / given.unwrap_or(1) % processes == coordinate(dimension),
        }
    };
    (new, Model::cells(&sizes, last_is_fastest, inside, model))
}
