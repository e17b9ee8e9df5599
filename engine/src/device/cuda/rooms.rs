//! What each context has for programs of ours: slabs, and the programs that use them. All is made at first use.

use super::combining::{self, Programs};
use super::copy_streams::{wait_for, Stream, Streams};
use super::driver_errors::Done;
use super::entry_points::{EntryPoints, KernelEntryPoints};
use super::packing::{self, Packing};
use super::slabs::{Entries, Slabs};
use crate::device::interface::{Chunk, Combining, DeviceMemory, Spreading};
use crate::lock_order::{self, Level};
use crate::Result;
use std::sync::Mutex;

type Driver<'a> = (&'a EntryPoints, &'a Streams);

/// What is there in this process.
pub(super) struct Rooms {
    entry: Option<KernelEntryPoints>,
    all: Mutex<Vec<Room>>,
}

struct Room {
    context: usize,
    /// The number of its stream; if the stream is another one, the context has gone, and this with it.
    stream: u64,
    /// `None`: there is no memory for it.
    tools: Option<Tools>,
}

struct Tools {
    slabs: Slabs,
    packing: Packing,
    programs: Programs,
}

impl Rooms {
    pub fn new(entry: Option<KernelEntryPoints>) -> Rooms {
        Rooms { entry, all: Mutex::default() }
    }

    /// Copies data with gaps, if it is worth it and can be done so.
    ///
    /// # Safety
    /// As [`crate::device::copy_spread`].
    pub unsafe fn copy_spread(
        &self,
        driver: Driver,
        memory: &DeviceMemory,
        what: &Spreading,
        chunk: &mut Chunk,
    ) -> Result<bool> {
        if !packing::is_worth_it(memory, what) {
            return Ok(false);
        }
        self.with(driver, memory, |entries, here, tools| {
            // SAFETY: by the caller.
            unsafe { tools.packing.copy(entries, (here, tools.slabs), what, chunk) }
        })
    }

    /// Whether there is a program that combines so, which reaches all that it needs.
    pub fn combines(&self, driver: Driver, what: &Combining) -> Result<bool> {
        if !combining::is_reached(driver, what)? {
            return Ok(false);
        }
        self.with(driver, what.memory, |entries, here, tools| {
            Ok(tools.programs.have(entries, (here, tools.slabs), what))
        })
    }

    /// Combines numbers, if it goes.
    ///
    /// # Safety
    /// As [`crate::device::combine`].
    pub unsafe fn combine(&self, driver: Driver, what: &Combining) -> Result<bool> {
        if !combining::is_reached(driver, what)? {
            return Ok(false);
        }
        self.with(driver, what.memory, |entries, here, tools| {
            // SAFETY: by the caller.
            unsafe { tools.programs.combine(entries, (here, tools.slabs), what) }
        })
    }

    /// Works with what the context of memory has, on its stream; false if there is nothing.
    fn with(
        &self,
        (entry, streams): Driver,
        memory: &DeviceMemory,
        mut work: impl FnMut(Entries, Stream, &mut Tools) -> Done<bool>,
    ) -> Result<bool> {
        let Some(kernel_entry) = &self.entry else { return Ok(false) };
        streams.on_stream(entry, memory, |here| {
            // A stream that has gone is found out before anything of its context is used.
            wait_for(entry, here)?;
            let mut rooms = lock_order::lock(&self.all, Level::PACKING);
            match tools_of(&mut rooms, kernel_entry, here) {
                Some(tools) => work((entry, kernel_entry), here, tools),
                None => Ok(false),
            }
        })
    }
}

/// What the present context has; made at first use.
fn tools_of<'a>(rooms: &'a mut Vec<Room>, entry: &KernelEntryPoints, here: Stream) -> Option<&'a mut Tools> {
    rooms.retain(|room| room.context != here.context || room.stream == here.number);
    let place = rooms.iter().position(|room| room.context == here.context).unwrap_or_else(|| {
        // A driver that has no memory for it leaves the ways without.
        let slabs = Slabs::new(entry).ok();
        let tools =
            slabs.map(|slabs| Tools { slabs, packing: Packing::default(), programs: Programs::default() });
        rooms.push(Room { context: here.context, stream: here.number, tools });
        rooms.len() - 1
    });
    rooms[place].tools.as_mut()
}
