//! Numbers that the device combines by itself, so that they do not cross to the host.
//!
//! What steps leave for others, and operands in host memory, go through the slab of the context, a part at a time.

use super::copy_streams::{start_copies, wait_for, Stream, Streams};
use super::driver_errors::Done;
use super::entry_points::EntryPoints;
use super::kernels::{Combiner, Rows};
use super::pointer::find;
use super::slabs::{Entries, Slabs, SLAB};
use crate::device::computing::{Arithmetic, Model, Term};
use crate::device::interface::{Combining, DeviceMemory, Operand, Piece};
use crate::device::walked_pieces::walk;
use crate::device::MemoryKind;
use crate::Result;

/// Places in the slab begin at multiples of this.
const ALIGNMENT: usize = 256;
/// Places at most: parts of the data that are shorter are not worth a launch.
const MOST_PLACES: usize = 64;
/// Numbers of a launch at most.
const MOST_AT_ONCE: u64 = 1 << 36;

type Driver<'a> = (&'a EntryPoints, &'a Streams);

/// The programs of a context, by what they do; `None` for what does not go here, or is not right.
#[derive(Default)]
pub(super) struct Programs(Vec<(Arithmetic, Option<Combiner>)>);

impl Programs {
    /// The program for an arithmetic; loaded and tried out at first use.
    fn combiner(
        &mut self,
        entries: Entries,
        here: Stream,
        (arithmetic, model): (&Arithmetic, Model),
        slabs: Slabs,
    ) -> Option<&Combiner> {
        let place = self.0.iter().position(|one| one.0 == *arithmetic).unwrap_or_else(|| {
            // SAFETY: the stream has been waited for, and is so again before the program has been tried out.
            let host = unsafe { slabs.host_bytes() };
            let made = Combiner::new(entries, here, (arithmetic, model), (slabs.device as usize, host));
            self.0.push((*arithmetic, made.ok().flatten()));
            self.0.len() - 1
        });
        self.0[place].1.as_ref()
    }

    /// Whether there is one for what shall be combined.
    pub fn have(&mut self, entries: Entries, (here, slabs): (Stream, Slabs), what: &Combining) -> bool {
        self.combiner(entries, here, (&what.arithmetic, what.model), slabs).is_some()
    }

    /// Combines what [`is_reached`]; whether there is a program for it.
    ///
    /// # Safety
    /// As [`crate::device::combine`].
    pub unsafe fn combine(
        &mut self,
        entries: Entries,
        (here, slabs): (Stream, Slabs),
        what: &Combining,
    ) -> Done<bool> {
        let found = self.combiner(entries, here, (&what.arithmetic, what.model), slabs);
        let Some(combiner) = found else { return Ok(false) };
        let run = Run { entries, here, combiner, slab: slabs.device as usize, what };
        // SAFETY: by the caller.
        unsafe { run.all() }.map(|()| true)
    }
}

/// Whether programs in the context of the result reach all operands: managed memory would be moved by that, and an address that
/// is not aligned or beyond the allocation be an error that ends the context.
pub(super) fn is_reached((entry, streams): Driver, what: &Combining) -> Result<bool> {
    let size = what.arithmetic.bytes();
    let bytes = what.count.saturating_mul(size as u64);
    let is_good = |memory: &DeviceMemory, address: usize| {
        memory.kind == MemoryKind::CUDA
            && memory.device == what.memory.device
            && address.is_multiple_of(size)
            && memory.contains(address as *const u8)
    };
    if what.count == 0 || places(what) > MOST_PLACES || !is_good(what.memory, what.out) {
        return Ok(false);
    }
    let context = streams.context_of(entry, what.memory)?;
    for operand in what.operands {
        let Some(memory) = &operand.memory else { continue };
        if !is_good(memory, operand.address)
            || streams.context_of(entry, memory)? != context
            || !reach_to(entry, memory, (operand.address as u64).saturating_add(bytes))?
        {
            return Ok(false);
        }
    }
    reach_to(entry, what.memory, (what.out as u64).saturating_add(bytes))
}

/// Whether memory goes on up to an address. What a program maps by itself does so in pieces.
fn reach_to(entry: &EntryPoints, memory: &DeviceMemory, address: u64) -> Result<bool> {
    let pieces = walk(memory, address as usize, usize::MAX, |address| find(entry, address))?;
    Ok(pieces.is_some())
}

/// How many places of the slab it takes.
fn places(what: &Combining) -> usize {
    what.formula.between + what.operands.iter().filter(|one| one.memory.is_none()).count()
}

/// A combination in a context.
struct Run<'a> {
    entries: Entries<'a>,
    here: Stream,
    combiner: &'a Combiner,
    slab: usize,
    what: &'a Combining<'a>,
}

impl Run<'_> {
    /// # Safety
    /// As [`crate::device::combine`].
    unsafe fn all(&self) -> Done<()> {
        let size = self.what.arithmetic.bytes();
        let room = match places(self.what) {
            0 => usize::MAX,
            places => SLAB / places / ALIGNMENT * ALIGNMENT,
        };
        let most = MOST_AT_ONCE.min((room / size) as u64);
        let mut done = 0;
        while done < self.what.count {
            let number = most.min(self.what.count - done);
            // SAFETY: by the caller. What is started has ended before anything else is done, also where it fails.
            unsafe { self.part((done, number), room).and(wait_for(self.entries.0, self.here))? };
            done += number;
        }
        Ok(())
    }

    /// Starts with numbers from one on, so many, in places of so many bytes.
    ///
    /// # Safety
    /// As [`Run::all`].
    unsafe fn part(&self, (first, number): (u64, u64), room: usize) -> Done<()> {
        let size = self.what.arithmetic.bytes();
        let (skipped, bytes) = (first as usize * size, number as usize * size);
        let between = |place: usize| self.slab + place * room;
        let (mut addresses, mut uploads) = (Vec::with_capacity(self.what.operands.len()), Vec::new());
        for Operand { address, memory } in self.what.operands {
            let there = address + skipped;
            if memory.is_some() {
                addresses.push(there);
                continue;
            }
            let to = between(self.what.formula.between + uploads.len());
            uploads.push(Piece { to: to as *mut u8, from: there as *const u8, bytes });
            addresses.push(to);
        }
        // SAFETY: by the caller; the places are so long. The steps come after them on the stream.
        unsafe { start_copies(self.entries.0, self.here, &uploads)? };
        let address = |term: Term| match term {
            Term::Operand(place) => addresses[place],
            Term::Between(place) => between(place),
        };
        for step in &self.what.formula.steps {
            let out = step.to.map_or(self.what.out + skipped, between);
            let rows = Rows { left: address(step.left), right: address(step.right), out, number };
            // SAFETY: by the caller; all of them have so many numbers.
            unsafe { self.combiner.start(self.entries.1, self.here, &rows)? };
        }
        Ok(())
    }
}
