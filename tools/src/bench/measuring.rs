//! How it is measured: so many calls that they take some milliseconds, several times; the median counts.

use super::blocks::{Block, Memory};
use super::cells::{Cell, Collective, BURST};
use serried_engine::collective::{Data, Operation, Root};
use serried_engine::datatype::{Basic, Datatype};
use serried_engine::message::{Buffer, Envelope, Mode};
use serried_engine::reduce::{Builtin, Operator};
use serried_engine::world::Communicator;
use serried_engine::{Engine, JobRank, Result};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a batch of calls takes, and how many there are.
const BATCH: Duration = Duration::from_millis(10);
const BATCHES: usize = 7;
/// Messages of the bench have a context of their own.
const CONTEXT: u64 = 2;

/// A rank that measures together with the others.
pub struct Bench<'a> {
    engine: &'a Engine,
    world: Arc<Communicator>,
    out: Block,
    into: Block,
    turn: u64,
    touches: bool,
}

impl<'a> Bench<'a> {
    /// All ranks make one, for so many bytes that a rank gives or gets in one call, in blocks of a sort.
    pub fn new(engine: &'a Engine, memory: Memory, bytes: usize) -> Bench<'a> {
        let world = Arc::new(Communicator::world(engine.rank(), engine.size()));
        let (out, into) = (Block::new(memory, bytes / 8, 1), Block::new(memory, bytes / 8, 0));
        Bench { engine, world, out, into, turn: 0, touches: true }
    }

    /// Whether data are written before a call and read after it, or left alone. They are touched unless somebody says no.
    pub fn touch(&mut self, touches: bool) {
        self.touches = touches;
    }

    /// A number of rank 0, at all ranks.
    pub fn share(&mut self, number: u64) -> Result<u64> {
        let mut number = number;
        let data = bytes_at((&raw mut number).cast(), 8)?;
        self.engine.run_collective(&self.world, &Operation::Broadcast { root: Root::Rank(0), data })?;
        Ok(number)
    }

    /// Seconds that a cell takes. All ranks call it, and all get what rank 0 has measured.
    pub fn time(&mut self, cell: Cell) -> Result<f64> {
        let mut calls = 1;
        let mut took = self.batch(cell, 2)?;
        while took < BATCH / 2 {
            took = self.batch(cell, calls)?;
            if took < BATCH / 2 {
                let wanted = calls as u128 * BATCH.as_nanos() / took.as_nanos().max(1);
                calls = wanted.clamp(calls as u128 + 1, calls as u128 * 20) as usize;
            }
        }
        let mut times = Vec::new();
        for _ in 0..BATCHES {
            times.push(self.batch(cell, calls)?);
        }
        times.sort_unstable();
        let of_one = match cell {
            Cell::Message { .. } => 2.0,
            Cell::Burst { .. } => BURST as f64,
            Cell::All { .. } => 1.0,
        };
        Ok(times[BATCHES / 2].as_secs_f64() / calls as f64 / of_one)
    }

    /// So many calls; how long they have taken rank 0. All ranks call it, and all get the time.
    ///
    /// # Errors
    /// What goes wrong on the way.
    pub fn batch(&mut self, cell: Cell, calls: usize) -> Result<Duration> {
        self.engine.run_collective(&self.world, &Operation::Barrier)?;
        let began = Instant::now();
        for _ in 0..calls {
            self.turn += 1;
            self.call(cell)?;
        }
        let took = began.elapsed().as_nanos() as u64;
        Ok(Duration::from_nanos(self.share(took)?))
    }

    fn call(&mut self, cell: Cell) -> Result<()> {
        match cell {
            Cell::Message { partner, bytes } => self.there_and_back(partner, bytes),
            Cell::Burst { partner } => self.burst(partner),
            Cell::All { what, bytes } => self.all(what, bytes),
        }
    }

    fn there_and_back(&mut self, partner: u32, bytes: usize) -> Result<()> {
        match self.engine.rank() {
            0 => {
                self.send(partner, bytes)?;
                self.receive(partner, bytes)
            }
            me if me == partner => {
                self.receive(0, bytes)?;
                self.send(0, bytes)
            }
            _ => Ok(()),
        }
    }

    fn burst(&mut self, partner: u32) -> Result<()> {
        let me = self.engine.rank();
        if me == 0 {
            (0..BURST).try_for_each(|_| self.send(partner, 8))?;
            self.receive(partner, 8)?;
        } else if me == partner {
            (0..BURST).try_for_each(|_| self.receive(0, 8))?;
            self.send(0, 8)?;
        }
        Ok(())
    }

    fn envelope(&self, source: u32) -> Envelope {
        Envelope { context: CONTEXT, source: source as i32, tag: 0 }
    }

    fn send(&mut self, to: u32, bytes: usize) -> Result<()> {
        self.produce(bytes);
        let buffer = Buffer::Dense { address: self.out.as_mut_ptr().cast(), bytes: bytes as u64 };
        self.engine.send(JobRank(to), self.envelope(self.engine.rank()), buffer, Mode::Standard)
    }

    fn receive(&mut self, from: u32, bytes: usize) -> Result<()> {
        let buffer = Buffer::Dense { address: self.into.as_mut_ptr().cast(), bytes: bytes as u64 };
        self.engine.receive(self.envelope(from), Some(JobRank(from)), buffer)?;
        self.consume(bytes);
        Ok(())
    }

    fn all(&mut self, what: Collective, bytes: usize) -> Result<()> {
        let ranks = self.engine.size() as usize;
        let (sent, received) = match what {
            Collective::Barrier => (0, 0),
            Collective::Broadcast => (0, bytes),
            Collective::Reduce | Collective::Allreduce => (bytes, bytes),
            Collective::Allgather => (bytes, bytes * ranks),
            Collective::Alltoall => (bytes * ranks, bytes * ranks),
        };
        self.produce(sent);
        if what == Collective::Broadcast && self.touches && self.engine.rank() == 0 {
            // What is sent lies in the same place as what is received.
            self.into[..bytes / 8].fill(self.turn & 1);
        }
        let (out, into) = (self.out.as_mut_ptr().cast(), self.into.as_mut_ptr().cast());
        let operation = match what {
            Collective::Barrier => Operation::Barrier,
            Collective::Broadcast => {
                Operation::Broadcast { root: Root::Rank(0), data: bytes_at(into, bytes)? }
            }
            Collective::Reduce | Collective::Allreduce => {
                let doubles = Datatype::shared(Basic::Float64);
                let of = |address| Data::new(address, 0, bytes as i64 / 8, doubles);
                let (send, receive) = (Some(of(out)?), of(into)?);
                let operator = Arc::new(Operator::builtin(Builtin::Sum)).into();
                match what {
                    Collective::Allreduce => Operation::Allreduce { send, receive, operator },
                    _ => Operation::Reduce { root: Root::Rank(0), send, receive: Some(receive), operator },
                }
            }
            Collective::Allgather => {
                Operation::Allgather { send: Some(bytes_at(out, bytes)?), receive: bytes_at(into, bytes)? }
            }
            Collective::Alltoall => {
                Operation::Alltoall { send: Some(bytes_at(out, bytes)?), receive: bytes_at(into, bytes)? }
            }
        };
        self.engine.run_collective(&self.world, &operation)?;
        self.consume(received);
        Ok(())
    }

    /// The program makes its data.
    fn produce(&mut self, bytes: usize) {
        if self.touches {
            self.out[..bytes / 8].fill(self.turn & 1);
        }
    }

    /// The program uses what it has got.
    fn consume(&self, bytes: usize) {
        if self.touches {
            black_box(self.into[..bytes / 8].iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
        }
    }
}

fn bytes_at(address: *mut u8, bytes: usize) -> Result<Data> {
    Data::new(address, 0, bytes as i64, Datatype::shared(Basic::Byte))
}
