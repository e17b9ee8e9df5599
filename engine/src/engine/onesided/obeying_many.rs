//! Doing what another member asks for with many pieces. A row that plain loads and stores reach is copied where it lies; all
//! other pieces go in chunks of one region, as those of the rank's own operations do.

use super::places::{step, step_both, Places};
use super::runs::{Chunk, PIECES};
use super::served::{Finder, Served};
use crate::datatype::rows;
use crate::engine::Engine;
use crate::onesided::{self, Elements, Many, Region, Row, MOST_LONG};
use crate::{Class, Error, Result};
use std::rc::Rc;

/// Pieces of a region that are waiting to be done together. Their data come next in the message, and in the answer.
struct Gathered<'a> {
    /// What is done with elements; `None`: they are read if they are not in the message, else written.
    elements: Option<&'a Elements<'a>>,
    region: Option<Rc<Region>>,
    pieces: Vec<(usize, usize)>,
    bytes: u64,
    /// Their data.
    places: Places,
}

impl Gathered<'_> {
    /// Whether one more piece can go with them, which has so many bytes with the hole behind its last element.
    fn takes(&self, there: (u64, u64)) -> bool {
        let fits = |region: &Region| region.place_of(there.0, there.1).is_ok();
        self.pieces.len() < PIECES && self.region.as_deref().is_some_and(fits)
    }

    fn add(&mut self, address: u64, bytes: u64) {
        self.pieces.push((address as usize, bytes as usize));
        self.bytes += bytes;
    }

    /// So many bytes of data are done with.
    fn pass(&mut self, bytes: u64) {
        self.places = step_both(self.places, bytes as usize);
    }
}

impl Engine {
    /// Does what is asked with many pieces, and gives what the answer tells; the data are so many words of their heads, and
    /// what is to be written or added.
    pub(super) fn obey_many(
        &self,
        served: &mut Finder<impl Served>,
        what: Many,
        number: u64,
        data: &[u8],
    ) -> Result<Vec<u8>> {
        let heads = number.checked_mul(8).filter(|&heads| heads <= data.len() as u64).ok_or_else(shorter)?;
        let (heads, data) = data.split_at(heads as usize);
        let all = onesided::rows(heads).map(|row| row.count * row.bytes).sum::<u64>();
        let pieces =
            || onesided::rows(heads).flat_map(|row| row.addresses().map(move |address| (address, row.bytes)));
        let elements = match what {
            Many::Change { builtin, element, .. } => Some(Elements::known(builtin, element)?),
            Many::Read | Many::Write => None,
        };
        let only_reads = elements.map_or(what == Many::Read, Elements::only_reads);
        if all > MOST_LONG || !only_reads && (data.len() as u64) < all {
            return Err(shorter());
        }
        let tells = matches!(what, Many::Read | Many::Change { tell: true, .. });
        let mut read = vec![0u8; if tells { all as usize } else { 0 }];
        if let Some(done) = self.obey_by_driver(served.served, what, pieces(), (data, &mut read)) {
            return done.map(|()| read);
        }
        let from = if only_reads { std::ptr::null() } else { data.as_ptr() };
        let to = if tells { read.as_mut_ptr() } else { std::ptr::null_mut() };
        let mut gathered =
            Gathered { elements, region: None, pieces: Vec::new(), bytes: 0, places: (from, to) };
        for row in onesided::rows(heads) {
            // SAFETY: there are as many bytes in the message, and in the answer.
            unsafe { self.obey_row(served, row, &mut gathered)? };
        }
        // SAFETY: the same.
        unsafe { self.obey_gathered(&mut gathered)? };
        served.has_changed();
        Ok(read)
    }

    /// Does a row, or adds it to those that are done together.
    ///
    /// # Safety
    /// The message can be read for all pieces, and the answer written, where they are not null.
    unsafe fn obey_row(
        &self,
        served: &mut Finder<impl Served>,
        row: Row,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let plain = gathered.elements.is_none().then(|| served.here(self, row)).flatten();
        if let Some(here) = plain {
            // SAFETY: by the caller; the row lies there, and the message and the answer are memory of the one who obeys.
            unsafe {
                self.obey_gathered(gathered)?;
                copy_row(row, here, gathered.places);
            }
            gathered.pass(row.count * row.bytes);
            return Ok(());
        }
        let span = row.bytes + gathered.elements.map_or(0, |elements| elements.element().hole());
        for address in row.addresses() {
            if !gathered.takes((address, span)) {
                // SAFETY: by the caller.
                unsafe { self.obey_gathered(gathered)? };
                let region = served.region(self, (address, span))?;
                region.place_of(address, span)?;
                gathered.region = Some(region);
            }
            gathered.add(address, row.bytes);
        }
        Ok(())
    }

    /// Does what is asked with the pieces that are together, and there are none any more.
    ///
    /// # Safety
    /// As [`Engine::obey_row`].
    unsafe fn obey_gathered(&self, gathered: &mut Gathered) -> Result<()> {
        let Some(region) = gathered.region.take() else { return Ok(()) };
        let chunk = Chunk { base: region.address, pieces: &gathered.pieces, bytes: gathered.bytes };
        // SAFETY: by the caller; all pieces lie in the region.
        unsafe {
            match gathered.elements {
                Some(elements) => self.obey_changing(&region, chunk, elements, gathered.places)?,
                None => self.obey_copying(&region, chunk, gathered.places)?,
            }
        }
        region.changed();
        gathered.pass(gathered.bytes);
        gathered.pieces.clear();
        gathered.bytes = 0;
        Ok(())
    }

    /// # Safety
    /// As [`Engine::obey_gathered`].
    unsafe fn obey_changing(
        &self,
        region: &Region,
        chunk: Chunk,
        elements: &Elements,
        places: Places,
    ) -> Result<()> {
        let element = elements.element();
        // SAFETY: by the caller.
        unsafe {
            if element.is_block() {
                return self.change_any_chunk(region, chunk, elements, places);
            }
            chunk.each().try_for_each(|(at, (address, bytes))| {
                let elements_there = (address as u64 - chunk.base, bytes / element.size());
                self.change(region, elements, elements_there, step_both(places, at))
            })
        }
    }

    /// # Safety
    /// As [`Engine::obey_gathered`].
    unsafe fn obey_copying(&self, region: &Region, chunk: Chunk, (from, to): Places) -> Result<()> {
        let (reads, by_kernel) = (from.is_null(), self.goes_by_kernel(region));
        // SAFETY: by the caller.
        unsafe {
            match (by_kernel && chunk.pieces.len() > 1, reads) {
                (true, true) => self.read_chunk(region, chunk, to),
                (true, false) => self.write_chunk(region, chunk, from.cast_mut()),
                (false, _) => chunk.each().try_for_each(|(at, (address, bytes))| {
                    let offset = address as u64 - chunk.base;
                    match reads {
                        true => self.read_from(region, offset, step(to, at), bytes as u64),
                        false => self.write_to(region, offset, from.wrapping_add(at), bytes as u64),
                    }
                }),
            }
        }
    }
}

/// Copies a row of pieces from a message, or to an answer if the message is null.
///
/// # Safety
/// The pieces lie at `here`, and one behind the other in the message or the answer; neither overlaps them.
unsafe fn copy_row(row: Row, here: *mut u8, (from, to): Places) {
    let (bytes, count) = (row.bytes as usize, row.count as usize);
    if count == 1 {
        // SAFETY: by the caller.
        return unsafe {
            match from.is_null() {
                true => rows::copy_block(here, to, bytes),
                false => rows::copy_block(from, here, bytes),
            }
        };
    }
    let there = rows::Row { first: here, stride: row.distance as isize };
    // SAFETY: by the caller.
    unsafe {
        if from.is_null() {
            let (first, stride) = (there.first.cast_const(), there.stride);
            let to = rows::Row { first: to, stride: bytes as isize };
            rows::copy_row(rows::Row { first, stride }, to, bytes, count);
        } else {
            rows::copy_row(rows::Row { first: from, stride: bytes as isize }, there, bytes, count);
        }
    }
}

#[cold]
fn shorter() -> Error {
    Error::new(Class::Intern, "less came with a one-sided operation than it needs")
}
