//! One-sided operations between ranks that are threads of one process: with memory that all reach
//! directly, and with memory that the kernel copies.

mod atomic;
mod epochs;
mod many;
mod memory;
mod mutual_exclusion;
mod random;

use super::Memory;
use crate::collective::Data;
use crate::datatype::{Basic, Datatype};
use crate::engine::tests::{run, run_over};
use crate::engine::Engine;
use crate::job::Nodes;
use crate::onesided::{Assertions, Exposure, Target};
use crate::reduce::{Builtin, Operator};
use crate::transport::Means;
use crate::world::Communicator;
use crate::Class;
use std::sync::Arc;

/// Runs `body` as ranks that reach each other in each way: directly, through the kernel, not at all, and some on
/// another node.
fn each_way(ranks: u32, body: impl Fn(&Engine, &Arc<Communicator>) + Sync) {
    let part = |engine: &Engine| {
        let world = Arc::new(Communicator::world(engine.rank(), engine.size()));
        body(engine, &world);
    };
    for means in [Means::Direct, Means::CrossMemory, Means::MemoryFile, Means::Cells] {
        run(ranks, means, part);
    }
    run_over(Nodes::Blocks(2), ranks, Means::Direct, |_| None, part);
}

fn data<T>(items: &mut [T], basic: Basic) -> Data {
    Data::new(items.as_mut_ptr().cast(), 0, items.len() as i64, &Datatype::basic(basic)).unwrap()
}

/// The memory of a vector.
fn given<T>(items: &mut [T]) -> Memory {
    Memory::Given { address: items.as_mut_ptr().cast(), bytes: size_of_val(items) as i64 }
}

/// Items of the type at a place.
fn target(rank: u32, displacement: i64, count: usize, datatype: &Arc<Datatype>) -> Target<'_> {
    Target { rank, displacement, count: count as i64, datatype }
}

fn operator(builtin: Builtin) -> Operator {
    Operator::builtin(builtin)
}

fn lock_all(engine: &Engine, exposure: &Exposure) {
    engine.lock_all(exposure, Assertions::NONE).unwrap();
}

/// Ends the epoch of all, waits for all, and begins the next one.
fn meet(engine: &Engine, exposure: &Exposure) {
    engine.unlock_all(exposure).unwrap();
    engine.fence(exposure, Assertions::NOSUCCEED).unwrap();
    lock_all(engine, exposure);
}
