//! Streams that run late.

use crate::kernels::Launch;
use crate::memory::Memory;
use crate::{Answer, Handle, INVALID_HANDLE};
use std::collections::VecDeque;
use std::ptr;

/// What a target holds as long as its copy has not been done.
const POISON: u8 = 0xee;
/// Longer copies of the program are done when they say so.
const LATE: usize = 64 << 10;

enum Work {
    Copy { to: usize, from: usize, bytes: usize },
    Launch(Launch),
}

struct Stream {
    handle: Handle,
    context: Handle,
    queue: VecDeque<Work>,
}

#[derive(Default)]
pub struct Streams {
    all: Vec<Stream>,
    made: usize,
    chance: Option<u64>,
    /// Copies of the program that the driver has taken over and not done yet: from where, what.
    of_program: VecDeque<(usize, Vec<u8>)>,
}

impl Streams {
    /// The next number by chance (xorshift), from the seed of the environment.
    fn draw(&mut self) -> u64 {
        let seed = || std::env::var("FAKE_CUDA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
        let mut chance = self.chance.unwrap_or_else(|| seed().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        self.chance = Some(chance);
        chance
    }

    fn place(&self, stream: Handle) -> Result<usize, Answer> {
        self.all.iter().position(|one| one.handle == stream).ok_or(INVALID_HANDLE)
    }

    fn place_in(&self, stream: Handle, context: Handle) -> Result<usize, Answer> {
        let place = self.place(stream)?;
        match self.all[place].context == context {
            true => Ok(place),
            false => Err(INVALID_HANDLE),
        }
    }

    pub fn context_goes(&mut self, context: Handle) {
        self.all.retain(|one| one.context != context);
    }

    /// Does what was started first on a stream, at most so many.
    fn run(&mut self, place: usize, most: usize, memory: &Memory) -> Result<(), Answer> {
        for _ in 0..most {
            let Some(work) = self.all[place].queue.pop_front() else { break };
            // SAFETY: by who has started it: it can be done until the stream has been waited for.
            unsafe {
                match work {
                    Work::Copy { to, from, bytes } => memory.copy(to, from, bytes)?,
                    Work::Launch(launch) => launch.run(memory)?,
                }
            }
        }
        Ok(())
    }

    /// Some of any streams, by chance.
    fn run_some(&mut self, memory: &Memory) -> Result<(), Answer> {
        if self.draw().is_multiple_of(4) && !self.all.is_empty() {
            let (place, most) = (self.draw() as usize % self.all.len(), self.draw() as usize % 3);
            self.run(place, most, memory)?;
        }
        Ok(())
    }

    pub fn create(&mut self, context: Handle) -> Handle {
        self.made += 1;
        let handle = 0x5000 + self.made;
        self.all.push(Stream { handle, context, queue: VecDeque::new() });
        handle
    }

    /// Starts a copy in the context of the thread.
    ///
    /// # Safety
    /// It can be done until the stream has been waited for, and nobody looks at its target before.
    pub unsafe fn start(
        &mut self,
        (stream, context): (Handle, Handle),
        (to, from, bytes): (usize, usize, usize),
        memory: &Memory,
    ) -> Result<(), Answer> {
        let place = self.place_in(stream, context)?;
        memory.for_driver(from, bytes)?;
        let there = memory.for_driver(to, bytes)?;
        // SAFETY: by the caller.
        unsafe { ptr::write_bytes(there as *mut u8, POISON, bytes) };
        self.all[place].queue.push_back(Work::Copy { to, from, bytes });
        self.run_some(memory)
    }

    /// Starts a program in the context of the thread.
    ///
    /// # Safety
    /// As [`Streams::start`].
    pub unsafe fn launch(
        &mut self,
        (stream, context): (Handle, Handle),
        launch: Launch,
        memory: &Memory,
    ) -> Result<(), Answer> {
        let place = self.place_in(stream, context)?;
        // What waits before it may still read what it will write.
        if self.all[place].queue.is_empty() {
            // SAFETY: by the caller.
            unsafe { launch.poison(memory, POISON) };
        }
        self.all[place].queue.push_back(Work::Launch(launch));
        self.run_some(memory)
    }

    pub fn finish(&mut self, stream: Handle, memory: &Memory) -> Result<(), Answer> {
        self.run(self.place(stream)?, usize::MAX, memory)
    }

    /// Copies from memory of the host for the program, late where nobody has ordered it else.
    ///
    /// # Safety
    /// The source can be read.
    pub unsafe fn copy_for_program(
        &mut self,
        (to, from, bytes): (usize, usize, usize),
        memory: &Memory,
        is_ordered: bool,
    ) -> Result<(), Answer> {
        if is_ordered || bytes > LATE || memory.find(to).is_none() {
            self.finish_program(memory)?;
            // SAFETY: by the caller.
            return unsafe { memory.copy(to, from, bytes) };
        }
        let there = memory.for_driver(to, bytes)?;
        // SAFETY: by the caller; the target is the driver's own.
        let taken = unsafe {
            ptr::write_bytes(there as *mut u8, POISON, bytes);
            std::slice::from_raw_parts(from as *const u8, bytes).to_vec()
        };
        self.of_program.push_back((to, taken));
        Ok(())
    }

    pub fn finish_program(&mut self, memory: &Memory) -> Result<(), Answer> {
        // SAFETY: the driver's own bytes.
        let mut copy =
            |(to, taken): (usize, Vec<u8>)| unsafe { memory.copy(to, taken.as_ptr() as usize, taken.len()) };
        self.of_program.drain(..).try_for_each(&mut copy)
    }

    /// How much was started on streams and has not been done.
    pub fn pending(&self) -> usize {
        self.all.iter().map(|one| one.queue.len()).sum()
    }

    pub fn finish_all(&mut self, memory: &Memory) -> Result<(), Answer> {
        self.finish_program(memory)?;
        (0..self.all.len()).try_for_each(|place| self.run(place, usize::MAX, memory))
    }
}
