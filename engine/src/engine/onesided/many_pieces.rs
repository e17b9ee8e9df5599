//! Putting, getting and changing many pieces at once, for faces without epochs (OpenSHMEM, ARMCI): what is exposed may be
//! accessed at any time.
//!
//! All pieces of an operation lie in one region, and the whole is checked before anything is written. Where the region is
//! direct, a piece costs its copy and little else.

use super::block::Goes;
use super::changing::MANY;
use super::deferred::Settled;
use super::device_memory::copy_many_by_driver;
use super::target_memory::AT_ONCE;
use crate::datatype::Basic;
use crate::device::MemoryKind;
use crate::engine::Engine;
use crate::onesided::{Element, Elements, Exposure, FarPiece, Pieces, Region, Servant};
use crate::progress::changes::{Alone, Changes};
use crate::reduce::{Builtin, Factor};
use crate::transport::ExposedMemory;
use crate::{Class, Error, JobRank, Result};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{fence, Ordering};

/// Bytes that are multiplied by a factor at once: they stay in the processor's cache.
const SCALED: usize = 16 << 10;

/// Regions.
impl Engine {
    /// Where the segment of a member of an exposure is for this process.
    ///
    /// # Errors
    /// `Rank` when there is no such member.
    #[inline]
    pub fn region<'a>(&self, exposure: &'a Exposure, rank: u32) -> Result<&'a Region> {
        exposure.check_rank(rank)?;
        Ok(self.region_of(exposure, rank))
    }

    /// All memory of this process, exposed or not, as a region that begins at address 0: for operations of a rank on
    /// itself.
    pub fn own_region(&self) -> Region {
        let own = JobRank(self.job.rank);
        let core = self.lanes.at(0).lock();
        Region {
            peer: Some(own),
            servant: Servant::default(),
            changes: core.transport.changes(own),
            bell: core.transport.bell(own),
            address: 0,
            bytes: i64::MAX as u64,
            direct: 0..0,
            here: 0,
            own: true,
            for_server: false,
            kind: MemoryKind::HOST,
            device: None,
            mapping: None,
        }
    }

    /// Whether this process reaches all memory of all members by plain loads and stores, at the addresses that
    /// it has in their processes.
    pub fn is_one_memory(&self, exposure: &Exposure) -> bool {
        (0..exposure.size()).all(|rank| {
            let region = self.region_of(exposure, rank);
            region.bytes == 0 || region.here as u64 == region.address && region.is_direct()
        })
    }

    /// What this process has put, got and changed so far is done, and comes before what it does next, for all.
    ///
    /// # Errors
    /// Of what could not be done; what progress reports.
    #[inline]
    pub fn order_accesses(&self) -> Result<()> {
        self.settle_accesses(Settled::All)?;
        fence(Ordering::SeqCst);
        Ok(())
    }
}

/// The pieces lie within the region, else the error is `RmaRange` and nothing is written.
impl Engine {
    /// Copies the pieces to a region.
    ///
    /// # Errors
    /// As above.
    ///
    /// # Safety
    /// The pieces can be read here.
    #[inline]
    pub unsafe fn put_pieces_to(&self, region: &Region, pieces: &impl Pieces) -> Result<()> {
        let Some((first, length)) = place(region, pieces)? else { return Ok(()) };
        let bytes = pieces.bytes();
        if self.goes_together(region, pieces) {
            // SAFETY: by the caller.
            return pieces.in_batches(region.servant.most_bytes(), |batch| unsafe {
                self.ask_to_write_many(region, batch)
            });
        }
        if self.goes_whole(region, bytes) {
            // SAFETY: by the caller; what `place` has passed lies in the region.
            return unsafe { self.move_pieces(region, pieces, Goes::There) };
        }
        if region.direct.is_empty() && region.device.is_some() {
            // SAFETY: by the caller; what `place` has passed lies in the region.
            unsafe { copy_many_by_driver(region, pieces, |here, there| (there, here.cast_const()))? };
            region.changed();
            return Ok(());
        }
        pieces.each(|local, there| match region.here(first, length) {
            // SAFETY: by the caller; what `place` has passed lies in the region.
            Some(_) => unsafe {
                copy(local, region.mapped(there), bytes);
                Ok(())
            },
            // SAFETY: the same.
            None => unsafe { self.write_to(region, there.wrapping_sub(region.address), local, bytes) },
        })?;
        region.changed();
        Ok(())
    }

    /// Copies the pieces from a region.
    ///
    /// # Errors
    /// As above.
    ///
    /// # Safety
    /// The pieces can be written here.
    #[inline]
    pub unsafe fn get_pieces_from(&self, region: &Region, pieces: &impl Pieces) -> Result<()> {
        let Some((first, length)) = place(region, pieces)? else { return Ok(()) };
        let bytes = pieces.bytes();
        if self.goes_together(region, pieces) {
            // SAFETY: by the caller.
            pieces.in_batches(region.servant.most_bytes(), |batch| unsafe {
                self.ask_to_read_many(region, batch)
            })?;
            return self.have_answers_now(region);
        }
        if self.goes_whole(region, bytes) {
            // SAFETY: by the caller; what `place` has passed lies in the region.
            return unsafe { self.move_pieces(region, pieces, Goes::Here) };
        }
        if region.direct.is_empty() && region.device.is_some() {
            // SAFETY: by the caller; what `place` has passed lies in the region.
            return unsafe { copy_many_by_driver(region, pieces, |here, there| (here, there.cast_const())) };
        }
        pieces.each(|local, there| match region.here(first, length) {
            // SAFETY: by the caller; what `place` has passed lies in the region.
            Some(_) => unsafe {
                copy(region.mapped(there), local, bytes);
                Ok(())
            },
            // SAFETY: the same.
            None => unsafe { self.read_from(region, there.wrapping_sub(region.address), local, bytes) },
        })
    }

    /// The same, but what another node's server brings may come later, until [`Engine::have_all_answers`].
    ///
    /// # Errors
    /// As above.
    ///
    /// # Safety
    /// The pieces can be written here until then.
    #[inline]
    pub unsafe fn get_pieces_later(&self, region: &Region, pieces: &impl Pieces) -> Result<()> {
        // SAFETY: by the caller.
        unsafe {
            match region.servant.node {
                Some(_) => self.get_pieces_from(&region.answering_late(), pieces),
                None => self.get_pieces_from(region, pieces),
            }
        }
    }

    /// Adds each element of the pieces, times a factor, to that of the region. Each element is changed atomically.
    ///
    /// # Errors
    /// As above; `Count` when pieces do not consist of whole elements, `Type` when the type has no sum.
    ///
    /// # Safety
    /// The pieces can be read here; a factor is of the same type.
    pub unsafe fn add_pieces_to(
        &self,
        region: &Region,
        pieces: &impl Pieces,
        (basic, factor): (Basic, Option<Factor>),
    ) -> Result<()> {
        let element = Element(basic);
        let elements = Elements::known(Builtin::Sum, element)?;
        let size = element.size();
        if !pieces.bytes().is_multiple_of(size as u64) {
            return Err(no_whole_elements(pieces.bytes(), basic));
        }
        let Some((first, length)) = place(region, pieces)? else { return Ok(()) };
        if self.goes_together(region, pieces) {
            // SAFETY: by the caller.
            return pieces.in_batches(region.servant.most_bytes(), |batch| unsafe {
                self.ask_to_add_many(region, batch, (element, factor))
            });
        }
        let count = pieces.bytes() as usize / size;
        let many = pieces.number().saturating_mul(count as u64) >= MANY as u64;
        let is_direct = first >= region.direct.start && first + length <= region.direct.end;
        let words = elements.word_bytes();
        let is_quick = is_direct && !many && words != 0 && pieces.are_at_multiples_of(words as u64);
        // SAFETY: by the caller; the pieces lie in the region, and are words of it where that is quick.
        unsafe {
            match is_quick {
                true => self.add_few_words(region, pieces, (elements, factor, count))?,
                false => self.add_any(region, pieces, (elements, factor, count), is_direct && many)?,
            }
        }
        region.changed();
        Ok(())
    }

    /// Adds words that are few together.
    ///
    /// # Safety
    /// As [`Engine::add_pieces_to`]; all of them are words that this process reaches directly.
    #[inline]
    unsafe fn add_few_words(
        &self,
        region: &Region,
        pieces: &impl Pieces,
        (elements, factor, count): (&Elements, Option<Factor>, usize),
    ) -> Result<()> {
        let mut scaled = Scaled::new();
        let mut add = || {
            pieces.each(|local, there| {
                // SAFETY: by the caller.
                unsafe {
                    let from = scaled.multiplied(factor, local, (count, elements.word_bytes()));
                    elements.change_words(from, region.mapped(there), count, ptr::null_mut());
                }
                Ok(())
            })
        };
        self.changes_of(region)?.words(self.is_threaded(), &mut add)
    }

    /// Adds elements of any kind and number, anywhere; many of them alone.
    ///
    /// # Safety
    /// As [`Engine::add_pieces_to`]; many are reached directly.
    unsafe fn add_any(
        &self,
        region: &Region,
        pieces: &impl Pieces,
        (elements, factor, count): (&Elements, Option<Factor>, usize),
        many: bool,
    ) -> Result<()> {
        let size = elements.element().size();
        let mut alone =
            Turns { changes: self.changes_of(region).ok().filter(|_| many), left: 0, alone: None };
        let most = factor.map_or(AT_ONCE as usize, |_| SCALED) / size;
        let mut scaled = Scaled::new();
        pieces.each(|local, there| {
            for done in (0..count).step_by(most) {
                let (number, at) = (most.min(count - done), done * size);
                let from = local.wrapping_add(at);
                // SAFETY: by the caller; if somebody is alone, all of it is direct.
                unsafe {
                    let from = scaled.multiplied(factor, from, (number, size));
                    if alone.is_had(number * size) {
                        let here = region.mapped(there).wrapping_add(at);
                        elements.change_alone(from, here, number, ptr::null_mut());
                    } else {
                        let offset = there.wrapping_sub(region.address) + at as u64;
                        self.change(region, elements, (offset, number), (from, ptr::null_mut()))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Whether pieces are short, and their owner is asked for them: then many go with one message.
    #[inline]
    fn goes_together(&self, region: &Region, pieces: &impl Pieces) -> bool {
        pieces.number() > 1 && pieces.bytes() <= FarPiece::MOST && self.goes_by_messages(region)
    }

    /// Whether the owner of a region, or its server, is asked for all of it.
    pub(super) fn goes_by_messages(&self, region: &Region) -> bool {
        !region.own && region.direct.is_empty() && self.is_served(region)
    }

    /// Changes one element at an address of a region by an operator (`Sum`, `Replace`, …; `NoOp` reads it), and stores
    /// what it was.
    ///
    /// # Errors
    /// As above; `Op` when the operator does not take the type.
    ///
    /// # Safety
    /// `by` can be read (unless nothing is changed) and `was` written for one element, or `was` is null.
    #[inline]
    pub unsafe fn change_element(
        &self,
        region: &Region,
        there: u64,
        (basic, builtin): (Basic, Builtin),
        (by, was): (*const u8, *mut u8),
    ) -> Result<()> {
        let elements = Elements::known(builtin, Element(basic))?;
        let offset = region.place_of(there, elements.element().span() as u64)?;
        // SAFETY: by the caller; it lies in the region.
        unsafe { self.change_together(region, elements, (offset, 1), (by, was))? };
        region.changed();
        Ok(())
    }

    /// Puts `new` in the place of `size` bytes (1, 2, 4, 8) at an address of a region if they are `compare`; stores what
    /// they were.
    ///
    /// # Errors
    /// As above.
    ///
    /// # Safety
    /// All three addresses have `size` bytes, of which the last is written.
    #[inline]
    pub unsafe fn compare_and_swap_element(
        &self,
        region: &Region,
        (there, size): (u64, usize),
        items: (*const u8, *const u8, *mut u8),
    ) -> Result<()> {
        let offset = region.place_of(there, size as u64)?;
        // SAFETY: by the caller; it lies in the region.
        unsafe { self.swap(region, (offset, size), items)? };
        region.changed();
        Ok(())
    }
}

/// The first byte that pieces touch in a region, and how far they reach from there; `None` if they have no bytes.
#[inline]
fn place(region: &Region, pieces: &impl Pieces) -> Result<Option<(u64, u64)>> {
    if pieces.bytes() == 0 || pieces.number() == 0 {
        return Ok(None);
    }
    let (first, end) = pieces.span()?;
    let offset = region.place_of(first as u64, (end - first) as u64)?;
    Ok(Some((offset, (end - first) as u64)))
}

/// Copies a piece; words by one load and store.
///
/// # Safety
/// `from` can be read and `to` written for as many bytes.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: u64) {
    // SAFETY: by the caller.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => ptr::copy(from, to, bytes as usize),
        }
    }
}

/// Room for elements times a factor: some on the stack, more of them elsewhere.
struct Scaled {
    few: [MaybeUninit<u128>; 64],
    many: Vec<MaybeUninit<u128>>,
}

impl Scaled {
    fn new() -> Scaled {
        Scaled { few: [const { MaybeUninit::uninit() }; 64], many: Vec::new() }
    }

    /// Elements times a factor; where they are, if there is none.
    ///
    /// # Safety
    /// They can be read.
    #[inline]
    unsafe fn multiplied(
        &mut self,
        factor: Option<Factor>,
        from: *const u8,
        (number, size): (usize, usize),
    ) -> *const u8 {
        let Some(factor) = factor else { return from };
        let room = match number * size <= size_of_val(&self.few) {
            true => self.few.as_mut_slice(),
            false => {
                self.many.resize((number * size).div_ceil(16), MaybeUninit::uninit());
                self.many.as_mut_slice()
            }
        };
        // SAFETY: by the caller; the room is as long.
        unsafe { factor.apply(from, room.as_mut_ptr().cast(), number) };
        room.as_ptr().cast()
    }
}

/// Being alone again and again, a number of bytes long.
struct Turns<'a> {
    /// `None`: never.
    changes: Option<&'a Changes>,
    /// Bytes before others have their turn.
    left: usize,
    alone: Option<Alone>,
}

impl Turns<'_> {
    /// Whether this process is alone for the next bytes.
    #[inline]
    fn is_had(&mut self, bytes: usize) -> bool {
        let Some(changes) = self.changes else { return false };
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                self.alone = None;
                self.alone = changes.be_alone();
                self.left = AT_ONCE as usize;
            }
        }
        self.alone.is_some()
    }
}

#[cold]
fn no_whole_elements(bytes: u64, basic: Basic) -> Error {
    let size = Element(basic).size();
    let sentence = format!("{bytes} bytes are no whole number of elements, which have {size} bytes each");
    Error::new(Class::Count, sentence)
}
