//! Puts, gets and accumulates.

use super::chunks::{change_blocks, change_packed};
use super::places::Places;
use super::request::Request;
use super::rows_by_messages::each_aside;
use super::runs::{Counterpart, Stage};
use super::target_memory::{count_of, Place};
use crate::collective::Data;
use crate::datatype::{self, Basic, Datatype};
use crate::engine::Engine;
use crate::onesided::{compare_and_swap, Ask, Element, Elements, Exposure, Region, Target, Way};
use crate::reduce::Operator;
use crate::{Class, Error, Result};
use std::ptr;
use std::sync::Arc;

/// On a node operations are done when they return, but for the order in which others see them. What the server of another
/// node does may be under way until the next flush, unlock, fence or completion: results are there then, and the origin of a
/// put may be used again (`deferred`).
///
/// # Errors
/// All: `RmaSync` outside of an epoch, `RmaRange` beyond the segment, `Rank`, `Count`, `Disp`; for
/// accumulates `Op` and `Type`. Nothing is written then.
impl Engine {
    /// Whether an operation on a member may be begun now; `None`: on nobody (`MPI_PROC_NULL`).
    ///
    /// # Errors
    /// `RmaSync`, `Rank`.
    #[inline]
    pub fn check_access(&self, exposure: &Exposure, rank: Option<u32>) -> Result<()> {
        if let Some(rank) = rank {
            exposure.check_rank(rank)?;
        }
        exposure.epochs.check(rank)?;
        rank.into_iter().for_each(|rank| self.want_lock_of_all(exposure, rank));
        Ok(())
    }

    /// Copies the origin to the target (`MPI_Put`, MPI-5.0 §12.3.1).
    ///
    /// # Errors
    /// As above; `Truncate` when the target has no room for the origin.
    #[inline]
    pub fn put(&self, exposure: &Exposure, origin: &Data, target: &Target) -> Result<()> {
        self.check_access(exposure, Some(target.rank))?;
        let (bytes, room) = (origin.bytes(), self.bytes_of(target)?);
        if bytes > room {
            return Err(too_long("target", bytes, room));
        }
        if bytes == 0 {
            return Ok(());
        }
        let span = target.datatype.span(target.count as u64)?;
        self.at(exposure, (target.rank, target.displacement), span, |place| {
            let count = target.count as u64;
            match place.here() {
                // SAFETY: the program lends the origin; the place is exposed memory.
                Some(here) => unsafe {
                    let from = (&**origin.datatype, origin.address.cast_const(), origin.count);
                    datatype::copy(from, (target.datatype, here, count));
                },
                // SAFETY: the same.
                None => unsafe { self.put_pieces(origin, &place, target, bytes)? },
            }
            place.region.changed();
            Ok(())
        })
    }

    /// Copies the target to the origin (`MPI_Get`).
    ///
    /// # Errors
    /// As above; `Truncate` when the origin has no room for the target.
    #[inline]
    pub fn get(&self, exposure: &Exposure, origin: &Data, target: &Target) -> Result<()> {
        self.check_access(exposure, Some(target.rank))?;
        let (room, bytes) = (origin.bytes(), self.bytes_of(target)?);
        if bytes > room {
            return Err(too_long("origin", bytes, room));
        }
        if bytes == 0 {
            return Ok(());
        }
        let span = target.datatype.span(target.count as u64)?;
        self.at(exposure, (target.rank, target.displacement), span, |place| {
            let count = target.count as u64;
            match place.here() {
                // SAFETY: the program lends the origin; the place is exposed memory.
                Some(here) => unsafe {
                    let to = (&**origin.datatype, origin.address, origin.count);
                    datatype::copy((target.datatype, here.cast_const(), count), to);
                    Ok(())
                },
                // SAFETY: the same.
                None => unsafe { self.get_pieces(origin, &place, target, bytes) },
            }
        })
    }

    /// Combines each element of the target with that of the origin (`MPI_Accumulate`).
    /// The operator is one of MPI's own.
    ///
    /// # Errors
    /// As above.
    pub fn accumulate(
        &self,
        exposure: &Exposure,
        origin: &Data,
        target: &Target,
        operator: &Operator,
    ) -> Result<()> {
        self.change_target(exposure, origin, None, (target, operator))
    }

    /// The same, and copies what the target was to `result` (`MPI_Get_accumulate`). With
    /// `NoOp` the origin is not looked at.
    ///
    /// # Errors
    /// As above.
    pub fn get_accumulate(
        &self,
        exposure: &Exposure,
        origin: &Data,
        result: &Data,
        target: &Target,
        operator: &Operator,
    ) -> Result<()> {
        self.change_target(exposure, origin, Some(result), (target, operator))
    }

    /// The same for one element of a predefined type (`MPI_Fetch_and_op`).
    ///
    /// # Errors
    /// As above.
    // As `Data` do, the addresses name what the program lends.
    #[allow(clippy::not_unsafe_ptr_arg_deref)]
    #[inline]
    pub fn fetch_and_op(
        &self,
        exposure: &Exposure,
        origin: *const u8,
        result: *mut u8,
        datatype: &Arc<Datatype>,
        (rank, displacement): (u32, i64),
        operator: &Operator,
    ) -> Result<()> {
        self.check_access(exposure, Some(rank))?;
        only_predefined(datatype)?;
        let elements = Elements::of(operator, datatype)?;
        let span = (0, elements.element().span() as i64);
        self.at(exposure, (rank, displacement), span, |place| {
            // SAFETY: the program lends origin and result; the place is exposed memory.
            unsafe {
                match place.region.way(place.first, place.length) {
                    (Way::Direct(here), length) if length == place.length && elements.is_word(here) => {
                        self.change_words(place.region, elements, (here, 1), (origin, result))?;
                    }
                    _ => self.fetch_slowly(&place, elements, origin, result)?,
                }
            }
            place.region.changed();
            Ok(())
        })
    }

    /// # Safety
    /// As [`Engine::change`]; origin and result lie as in arrays of C.
    #[inline(never)]
    unsafe fn fetch_slowly(
        &self,
        place: &Place,
        elements: &Elements,
        origin: *const u8,
        result: *mut u8,
    ) -> Result<()> {
        if elements.element().is_block() {
            // SAFETY: by the caller.
            return unsafe { self.change(place.region, elements, (place.first, 1), (origin, result)) };
        }
        let datatype = Datatype::shared(elements.element().0);
        let (mut by, mut old) = ([0u8; 32], [0u8; 32]);
        // SAFETY: by the caller; no element is longer.
        unsafe {
            if !elements.only_reads() {
                datatype.pack(origin, 1, 0, &mut by);
            }
            self.change(place.region, elements, (place.first, 1), (by.as_ptr(), old.as_mut_ptr()))?;
            self.have_answers(place.region)?;
            datatype.unpack(result, 1, 0, &old[..elements.element().size()]);
        }
        Ok(())
    }

    /// Puts the origin in the place of an element that is `compare`; `result` gets what it
    /// was (`MPI_Compare_and_swap`). For integers, truth values, characters and bytes.
    ///
    /// # Errors
    /// As above.
    #[allow(clippy::not_unsafe_ptr_arg_deref)] // as above
    #[inline]
    pub fn compare_and_swap(
        &self,
        exposure: &Exposure,
        (origin, compare, result): (*const u8, *const u8, *mut u8),
        datatype: &Arc<Datatype>,
        (rank, displacement): (u32, i64),
    ) -> Result<()> {
        self.check_access(exposure, Some(rank))?;
        let element = comparable(datatype)?;
        let size = element.size();
        self.at(exposure, (rank, displacement), (0, size as i64), |place| {
            // SAFETY: the program lends the others; the place is exposed memory.
            unsafe { self.swap(place.region, (place.first, size), (origin, compare, result))? };
            place.region.changed();
            Ok(())
        })
    }

    /// Compares and swaps `size` bytes of a region.
    ///
    /// # Safety
    /// The addresses can be read, and the last written, for `size` bytes; they lie within the region.
    #[inline]
    pub(in crate::engine) unsafe fn swap(
        &self,
        region: &Region,
        (offset, size): (u64, usize),
        items: (*const u8, *const u8, *mut u8),
    ) -> Result<()> {
        let is_word = |here: *mut u8| matches!(size, 1 | 2 | 4 | 8) && (here as usize).is_multiple_of(size);
        // SAFETY: by the caller; what is direct is mapped here.
        unsafe {
            match region.way(offset, size as u64) {
                (Way::Direct(here), length) if length == size as u64 && is_word(here) => {
                    let changes = self.changes_of(region)?;
                    changes.words(self.is_threaded(), || compare_and_swap(size, here, items));
                    Ok(())
                }
                _ => self.swap_slowly(region, (offset, size), items),
            }
        }
    }

    /// # Safety
    /// As [`Engine::swap`].
    #[inline(never)]
    unsafe fn swap_slowly(
        &self,
        region: &Region,
        (offset, size): (u64, usize),
        (origin, compare, result): (*const u8, *const u8, *mut u8),
    ) -> Result<()> {
        let mut old = [0u8; 32];
        // SAFETY: by the caller; no element is longer.
        unsafe {
            let bytes = |from: *const u8| std::slice::from_raw_parts(from, size);
            if self.is_served(region) {
                let ask = Ask::Swap(region.address + offset, size as u64);
                let add = |to: &mut Vec<u8>| {
                    to.extend_from_slice(bytes(compare));
                    to.extend_from_slice(bytes(origin));
                };
                let request = Request { ask, bytes: 2 * size, add: &add };
                self.ask_into(region.servant, &request, std::iter::once((result, size as u64)))?;
                return self.have_answers_now(region);
            }
            let _held = self.hold(region, (offset, size as u64))?;
            self.read_from(region, offset, old.as_mut_ptr(), size as u64)?;
            if bytes(compare) == &old[..size] {
                self.write_to(region, offset, origin, size as u64)?;
            }
            ptr::copy(old.as_ptr(), result, size);
        }
        Ok(())
    }
}

impl Engine {
    #[inline]
    fn bytes_of(&self, target: &Target) -> Result<u64> {
        target.datatype.bytes(count_of(target)?)
    }

    fn change_target(
        &self,
        exposure: &Exposure,
        origin: &Data,
        result: Option<&Data>,
        (target, operator): (&Target, &Operator),
    ) -> Result<()> {
        self.check_access(exposure, Some(target.rank))?;
        let bytes = self.bytes_of(target)?;
        if bytes == 0 {
            return Ok(());
        }
        let elements = Elements::of(operator, target.datatype)?;
        if !elements.only_reads() {
            same_elements("origin", origin, elements.element(), bytes)?;
        }
        if let Some(result) = result {
            same_elements("result", result, elements.element(), bytes)?;
        }
        let span = target.datatype.span(target.count as u64)?;
        self.at(exposure, (target.rank, target.displacement), span, |place| {
            // SAFETY: the program lends origin and result; the place is exposed memory.
            unsafe { self.change_pieces((origin, result), &place, (target, bytes), elements)? };
            place.region.changed();
            Ok(())
        })
    }

    /// # Safety
    /// The origin can be read and the result written for `bytes` bytes of elements, which the place has.
    unsafe fn change_pieces(
        &self,
        (origin, result): (&Data, Option<&Data>),
        place: &Place,
        (target, bytes): (&Target, u64),
        elements: &Elements,
    ) -> Result<()> {
        let (region, size) = (place.region, elements.element().size() as u64);
        if let Some(places) = in_one_piece((origin, result), target, elements) {
            // SAFETY: by the caller.
            return unsafe { self.change_together(region, elements, (place.first, bytes / size), places) };
        }
        let (mut by, mut old) = (Stage::of(origin), result.map(Stage::of));
        let mut with_data = |offset: u64, length: u64, change: &mut dyn FnMut(Places) -> Result<()>| {
            // SAFETY: by the caller.
            unsafe {
                let from = match elements.only_reads() {
                    true => ptr::null(),
                    false => by.fill(origin, offset, length),
                };
                change((from, old.as_mut().map_or(ptr::null_mut(), |old| old.room(offset, length))))?;
                if let (Some(old), Some(result)) = (old.as_mut().filter(|old| old.is_aside()), result) {
                    self.have_answers(region)?;
                    old.empty(result, offset);
                }
            }
            Ok(())
        };
        if let Some(here) = self.is_better_packed(place, elements, bytes)? {
            // SAFETY: by the caller; nobody else changes them meanwhile.
            let work = || unsafe {
                let Some(counterparts) = by_blocks((origin, result), target, elements) else {
                    return change_packed((here, target), (bytes, elements), &mut with_data);
                };
                change_blocks((here, target), elements, counterparts);
                Ok(())
            };
            if let Some(done) = self.changes_of(region)?.alone(work) {
                return done;
            }
        }
        if !elements.element().is_block() {
            return self.each_run_of_elements(place, target, (bytes, size), |offset, run| {
                // SAFETY: by the caller.
                with_data(offset, run.bytes(), &mut |places| unsafe {
                    self.change_run(region, run, elements, places)
                })
            });
        }
        if self.goes_by_messages(region) {
            return each_aside(bytes).try_for_each(|(offset, length)| {
                // SAFETY: by the caller.
                with_data(offset, length, &mut |places| unsafe {
                    self.change_by_messages((place, target), (offset, length), elements, places)
                })
            });
        }
        self.each_chunk(place, target, bytes, |offset, chunk| {
            // SAFETY: by the caller.
            with_data(offset, chunk.bytes, &mut |places| unsafe {
                self.change_any_chunk(region, chunk, elements, places)
            })
        })
    }
}

/// Where origin and result lie, if they and the target lie in one piece each.
#[inline]
fn in_one_piece(
    (origin, result): (&Data, Option<&Data>),
    target: &Target,
    elements: &Elements,
) -> Option<(*const u8, *mut u8)> {
    if !elements.element().is_block() || target.datatype.dense(target.count as u64).is_none() {
        return None;
    }
    let from = if elements.only_reads() { ptr::null() } else { origin.dense()?.0.cast_const() };
    let to = match result {
        Some(result) => result.dense()?.0,
        None => ptr::null_mut(),
    };
    Some((from, to))
}

/// Where origin and result lie, if the target has long blocks, and neither need be copied aside.
fn by_blocks(
    (origin, result): (&Data, Option<&Data>),
    target: &Target,
    elements: &Elements,
) -> Option<(Counterpart, Counterpart)> {
    if !target.datatype.has_long_blocks() {
        return None;
    }
    let of = |data: Option<&Data>| match data {
        Some(data) => Counterpart::of(data, target),
        None => Some(Counterpart::Nothing),
    };
    Some((of(Some(origin).filter(|_| !elements.only_reads()))?, of(result)?))
}

#[cold]
fn too_long(what: &str, bytes: u64, room: u64) -> Error {
    let sentence =
        format!("{bytes} bytes are to go to the {what}, whose count and datatype have room for {room}");
    Error::new(Class::Truncate, sentence)
}

fn only_predefined(datatype: &Datatype) -> Result<()> {
    match datatype.is_predefined() {
        true => Ok(()),
        false => Err(Error::new(
            Class::Type,
            "the datatype is derived; this operation on one element takes predefined datatypes only",
        )),
    }
}

/// The element of a type of which two can be compared (MPI-5.0 §12.3.4).
fn comparable(datatype: &Datatype) -> Result<Element> {
    use Basic::*;
    only_predefined(datatype)?;
    let element = Element::of(datatype)?;
    match element.0 {
        Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64 | Bool | Logical8 | Logical16
        | Logical32 | Logical64 | Byte | Character | Int128 | Logical128 => Ok(element),
        _ => Err(Error::new(
            Class::Type,
            format!(
                "compare and swap does not take {}: it takes integers, truth values, characters and bytes",
                datatype.name()
            ),
        )),
    }
}

/// Whether data are as many of these elements.
#[inline]
fn same_elements(what: &str, data: &Data, element: Element, bytes: u64) -> Result<()> {
    match data.bytes() == bytes && data.datatype.uniform() == Some(element.0) {
        true => Ok(()),
        false => Err(other_elements(what, data, element, bytes)),
    }
}

#[cold]
fn other_elements(what: &str, data: &Data, element: Element, bytes: u64) -> Error {
    if data.bytes() != bytes {
        let sentence =
            format!("the {what} has {} bytes and the target {bytes}; they must have as many", data.bytes());
        return Error::new(Class::Count, sentence);
    }
    let other = match Element::of(&data.datatype) {
        Ok(other) => other,
        Err(error) => return error,
    };
    let sentence = format!(
        "the {what} consists of elements of another type than the target ({:?} and {:?})",
        other.0, element.0
    );
    Error::new(Class::Type, sentence)
}
