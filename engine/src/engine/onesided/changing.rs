//! Changing elements of exposed memory, by whatever way reaches them.

use super::device_memory::change_by_device;
use super::places::step;
use super::runs::Chunk;
use super::target_memory::AT_ONCE;
use crate::engine::Engine;
use crate::onesided::{Elements, Region, Way};
use crate::progress::changes::{Alone, Changes};
use crate::progress::sleeping_lock::Held;
use crate::transport::{AccessDescriptor, OfferedMemory};
use crate::{Class, Error, Result};

/// How often to try to be alone, if somebody has lost its core while it changes a word.
const TRIES: usize = 1000;

/// Nobody else changes elements meanwhile.
#[allow(dead_code)] // what is held is what counts
pub(super) enum Hold {
    /// None of those that know them as elements under a lock.
    Lock(Held<'static>),
    /// Nobody at all.
    Alone(Alone),
}

/// So many words are changed by one member alone, by vectors: that costs a few microseconds before, at the first time.
pub(super) const MANY: usize = 1024;
/// Fewer words in a row than that do not count: a locked instruction for each takes less time than the lock.
const FEW: usize = 4;
/// The same of words in several pieces, which have to be packed.
pub(super) const FEW_IN_PIECES: usize = 16;

impl Engine {
    /// Changes `count` elements one after the other in a region.
    ///
    /// # Safety
    /// As `Elements::change_words`; the elements lie within the region from `offset` on.
    pub(in crate::engine) unsafe fn change(
        &self,
        region: &Region,
        elements: &Elements,
        (mut offset, count): (u64, usize),
        (mut origin, mut result): (*const u8, *mut u8),
    ) -> Result<()> {
        let element = elements.element();
        let (size, span) = (element.size(), element.span() as u64);
        let mut left = count;
        while left > 0 {
            let most = left.min((AT_ONCE as usize / size).max(1));
            let bytes = (most - 1) as u64 * size as u64 + span;
            let (way, length) = region.way(offset, bytes);
            let whole = if element.is_block() { length as usize / size } else { usize::from(length == span) };
            // SAFETY: by the caller.
            let changed = unsafe {
                match way {
                    Way::Direct(here) if whole > 0 && elements.is_word(here) => {
                        self.change_words(region, elements, (here, whole), (origin, result))?;
                        whole
                    }
                    Way::Direct(here) | Way::Own(here) if whole > 0 => {
                        let _held = self.hold(region, (offset, (whole * size) as u64))?;
                        elements.change_alone(origin, here, whole, result);
                        whole
                    }
                    _ => self.change_far(region, elements, (offset, whole.max(1)), (origin, result))?,
                }
            };
            offset += (changed * size) as u64;
            left -= changed;
            origin = step(origin.cast_mut(), changed * size).cast_const();
            result = step(result, changed * size);
        }
        self.have_answers_now(region)
    }

    /// As [`Engine::change`]: mostly they are few words that are direct, and then nothing is left of a loop.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub(in crate::engine) unsafe fn change_together(
        &self,
        region: &Region,
        elements: &Elements,
        (offset, count): (u64, u64),
        places: (*const u8, *mut u8),
    ) -> Result<()> {
        let bytes = count * elements.element().size() as u64;
        // SAFETY: by the caller.
        unsafe {
            match region.way(offset, bytes) {
                (Way::Direct(here), length)
                    if length == bytes && bytes <= AT_ONCE && elements.is_word(here) =>
                {
                    self.change_words(region, elements, (here, count as usize), places)
                }
                _ => self.change(region, elements, (offset, count as usize), places),
            }
        }
    }

    /// As [`Engine::change`] where not all bytes are reached by plain stores; how many elements were changed.
    ///
    /// # Safety
    /// As [`Engine::change`].
    unsafe fn change_far(
        &self,
        region: &Region,
        elements: &Elements,
        (offset, count): (u64, usize),
        (origin, result): (*const u8, *mut u8),
    ) -> Result<usize> {
        let element = elements.element();
        if self.is_served(region) {
            // SAFETY: by the caller.
            return unsafe { self.ask_to_change(region, elements, (offset, count), (origin, result)) };
        }
        let count = count.min((AT_ONCE as usize / element.size()).max(1));
        let bytes = (count - 1) * element.size() + element.span();
        let mut room = vec![0u128; bytes.div_ceil(16)];
        let there: *mut u8 = room.as_mut_ptr().cast();
        let _held = self.hold(region, (offset, bytes as u64))?;
        // SAFETY: by the caller; they are held.
        if unsafe { change_by_device(region, elements, (offset, count), (origin, result))? } {
            return Ok(count);
        }
        // SAFETY: by the caller; the room is as long.
        unsafe {
            if !elements.only_writes(result) {
                self.read_from(region, offset, there, bytes as u64)?;
            }
            elements.change_alone(origin, there, count, result);
            if !elements.only_reads() {
                self.write_to(region, offset, there, bytes as u64)?;
            }
        }
        Ok(count)
    }

    /// Keeps all others from changing some elements, until the answer is dropped. Its lock does that; but if their memory is
    /// direct in another exposure, those who know that one change words there by instructions.
    pub(super) fn hold(&self, region: &Region, (offset, bytes): (u64, u64)) -> Result<Hold> {
        self.hold_pieces(region, std::iter::once((region.address + offset, bytes)))
    }

    /// The same for all pieces of a chunk.
    pub(super) fn hold_chunk(&self, region: &Region, chunk: Chunk) -> Result<Hold> {
        self.hold_pieces(region, chunk.pieces.iter().map(|&(address, bytes)| (address as u64, bytes as u64)))
    }

    fn hold_pieces(&self, region: &Region, pieces: impl Iterator<Item = (u64, u64)> + Clone) -> Result<Hold> {
        let changes = self.changes_of(region)?;
        let is_direct = || changes.hides_words() || self.any_is_direct(region, pieces.clone());
        if !is_direct() {
            let held = changes.lock();
            if !is_direct() {
                return Ok(Hold::Lock(held));
            }
        }
        let alone = (0..TRIES).find_map(|_| changes.be_alone());
        Ok(alone.map_or_else(|| Hold::Lock(changes.lock()), Hold::Alone))
    }

    /// Whether some piece is reached by plain loads and stores, by its address.
    fn any_is_direct(&self, region: &Region, pieces: impl Iterator<Item = (u64, u64)>) -> bool {
        let mut pieces = pieces.map(|(address, bytes)| AccessDescriptor::host(address, bytes));
        self.reach(region, |transport| {
            pieces.any(|there| match region.peer {
                _ if region.own => transport.is_shared(region.mapped(there.address), there.bytes),
                Some(peer) => transport.direct(peer, there).is_some(),
                None => false,
            })
        })
    }

    /// How elements of a region are changed.
    #[inline]
    pub(in crate::engine) fn changes_of<'a>(&self, region: &'a Region) -> Result<&'a Changes> {
        region.changes.as_ref().ok_or_else(no_changes)
    }

    /// Changes words in one piece of memory that is direct.
    ///
    /// # Safety
    /// As `Elements::change_words`.
    #[inline]
    pub(in crate::engine) unsafe fn change_words(
        &self,
        region: &Region,
        elements: &Elements,
        (here, count): (*mut u8, usize),
        (origin, result): (*const u8, *mut u8),
    ) -> Result<()> {
        let changes = self.changes_of(region)?;
        if count >= FEW && changes.is_worth_being_alone(count, MANY) {
            // SAFETY: by the caller; nobody else changes them meanwhile.
            let alone = || unsafe { elements.change_alone(origin, here, count, result) };
            if changes.alone(alone).is_some() {
                return Ok(());
            }
        }
        // SAFETY: by the caller.
        changes.words(self.is_threaded(), || unsafe { elements.change_words(origin, here, count, result) });
        Ok(())
    }
}

#[cold]
fn no_changes() -> Error {
    Error::new(Class::Intern, "elements of another node are to be changed here")
}
