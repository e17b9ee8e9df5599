//! Doing what another member asks for with memory that it cannot reach: the same for a servant, which does it with the
//! memory of its own member, and for the server of a node, which does it with that of a rank of the node.

use super::device_lending::pass_pieces;
use super::places::{step_both, Places};
use crate::engine::Engine;
use crate::onesided::{rows, Ask, Elements, Entry, Many, Region, Row, MOST_BYTES};
use crate::transport::short_copy;
use crate::{Class, Error, Result};

/// What a member exposes, for the one who does what others ask for.
pub(in crate::engine) trait Served {
    /// The piece in which so many bytes from an address on lie; one without bytes if there is none.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn region(&self, engine: &Engine, there: (u64, u64)) -> Result<Region>;

    /// Of attached memory: the piece in which so many bytes from an address on lie; one at address 0 if there is none.
    ///
    /// # Errors
    /// When it cannot be found out.
    fn find(&self, engine: &Engine, there: (u64, u64)) -> Result<Entry>;
}

impl Engine {
    /// Does what is asked, and gives what the answer tells.
    pub(in crate::engine) fn obey(&self, served: &impl Served, ask: Ask, data: &[u8]) -> Result<Vec<u8>> {
        self.obey_at(&mut Finder { served, last: None }, ask, data)
    }

    fn obey_at(&self, served: &mut Finder<impl Served>, ask: Ask, data: &[u8]) -> Result<Vec<u8>> {
        match ask {
            Ask::Read(address, bytes) => {
                let mut read = vec![0u8; bytes.min(MOST_BYTES) as usize];
                self.with_served(served, address, read.len() as u64, |region, offset| {
                    // SAFETY: bytes of the own region.
                    unsafe { self.read_from(region, offset, read.as_mut_ptr(), read.len() as u64) }
                })?;
                Ok(read)
            }
            Ask::Write(address) => {
                self.with_served(served, address, data.len() as u64, |region, offset| {
                    // SAFETY: bytes of the own region.
                    unsafe { self.write_to(region, offset, data.as_ptr(), data.len() as u64) }
                })?;
                Ok(Vec::new())
            }
            Ask::Change { address, count, builtin, element, tell } => {
                let elements = Elements::known(builtin, element)?;
                let count = (count as usize).min(MOST_BYTES as usize);
                let bytes = count * element.size();
                if !elements.only_reads() && data.len() < bytes {
                    return Err(Error::new(Class::Intern, "fewer elements came than are to be changed"));
                }
                let mut old = vec![0u8; if tell { bytes } else { 0 }];
                let result = if tell { old.as_mut_ptr() } else { std::ptr::null_mut() };
                let span = (count.max(1) - 1) * element.size() + element.span();
                self.with_served(served, address, span as u64, |region, offset| {
                    // SAFETY: elements of the own region; there are as many in the message.
                    unsafe { self.change(region, elements, (offset, count), (data.as_ptr(), result)) }
                })?;
                Ok(old)
            }
            Ask::Swap(address, bytes) => {
                let bytes = bytes as usize;
                let (Some(compare), Some(new)) = (data.get(..bytes), data.get(bytes..2 * bytes)) else {
                    return Err(Error::new(Class::Intern, "fewer bytes came than are to be compared"));
                };
                let mut old = vec![0u8; bytes];
                let items = (new.as_ptr(), compare.as_ptr(), old.as_mut_ptr());
                self.with_served(served, address, bytes as u64, |region, offset| {
                    // SAFETY: an element of the own region; the others have as many bytes.
                    unsafe { self.swap(region, (offset, bytes), items) }
                })?;
                Ok(old)
            }
            Ask::Find(address, bytes) => {
                let found = served.served.find(self, (address, bytes))?;
                let words = [found.address, found.bytes, found.kind, found.lent];
                Ok(words.into_iter().flat_map(u64::to_ne_bytes).collect())
            }
            Ask::Pass(address, bytes) => {
                served.served.region(self, (address, bytes))?.place_of(address, bytes)?;
                pass_pieces((address, bytes), data)
            }
            Ask::Several => self.obey_several(served, data),
            Ask::Many(what, number) => self.obey_many(served, what, number, data),
            Ask::Lock(..) | Ask::TryLock(_) | Ask::Unlock(..) => Ok(Vec::new()),
        }
    }

    /// The same with what the records of a message ask for, in their order.
    fn obey_several(&self, served: &mut Finder<impl Served>, mut records: &[u8]) -> Result<Vec<u8>> {
        let mut answers = Vec::new();
        while !records.is_empty() {
            let (ask, data) = Ask::take_record(&mut records)?;
            if ask == Ask::Several {
                return Err(Error::new(Class::Intern, "several operations came within one of several"));
            }
            answers.extend(self.obey_at(served, ask, data)?);
        }
        Ok(answers)
    }

    /// The same with many pieces; the data are so many words of their heads, and what is to be written or added.
    fn obey_many(
        &self,
        served: &mut Finder<impl Served>,
        what: Many,
        number: u64,
        data: &[u8],
    ) -> Result<Vec<u8>> {
        let heads = number.checked_mul(8).filter(|&heads| heads <= data.len() as u64).ok_or_else(shorter)?;
        let (heads, mut data) = data.split_at(heads as usize);
        let all = rows(heads).map(|row| row.count * row.bytes).sum::<u64>();
        let pieces = || rows(heads).flat_map(|row| row.addresses().map(move |address| (address, row.bytes)));
        let elements = match what {
            Many::Change { builtin, element, .. } => Some(Elements::known(builtin, element)?),
            Many::Read | Many::Write => None,
        };
        let only_reads = elements.map_or(what == Many::Read, Elements::only_reads);
        if all > MOST_BYTES || !only_reads && (data.len() as u64) < all {
            return Err(shorter());
        }
        let tells = matches!(what, Many::Read | Many::Change { tell: true, .. });
        let mut read = vec![0u8; if tells { all as usize } else { 0 }];
        if let Some(done) = self.obey_by_driver(served.served, what, pieces(), (data, &mut read)) {
            return done.map(|()| read);
        }
        let mut room = read.as_mut_slice();
        for row in rows(heads) {
            let bytes = row.count * row.bytes;
            let from = if only_reads { std::ptr::null() } else { take(&mut data, bytes).as_ptr() };
            let to = if tells { take_room(&mut room, bytes).as_mut_ptr() } else { std::ptr::null_mut() };
            // SAFETY: there are as many bytes in the message, and in the answer.
            unsafe { self.obey_row(served, row, elements, (from, to))? };
        }
        Ok(read)
    }

    /// The same with a row of pieces, which lie one behind the other in the message and in the answer. Without elements, they
    /// are read if they are not in the message, else written.
    ///
    /// # Safety
    /// The message can be read for all pieces, and the answer written, where they are not null.
    unsafe fn obey_row(
        &self,
        served: &mut Finder<impl Served>,
        row: Row,
        elements: Option<&Elements>,
        places: Places,
    ) -> Result<()> {
        let plain = elements.is_none().then(|| served.here(self, row)).flatten();
        if let Some((region, here)) = plain {
            // SAFETY: by the caller; the row lies there, and the message and the answer are memory of the one who obeys.
            unsafe { copy_row(row, here, places) };
            region.changed();
            return Ok(());
        }
        let spans = row.bytes + elements.map_or(0, |elements| elements.element().hole());
        for (index, address) in row.addresses().enumerate() {
            let (from, to) = step_both(places, index * row.bytes as usize);
            self.with_served(served, address, spans, |region, offset| {
                // SAFETY: bytes, or elements, of the own region; the others by the caller.
                unsafe {
                    match elements {
                        Some(elements) => {
                            let count = row.bytes as usize / elements.element().size();
                            self.change(region, elements, (offset, count), (from, to))
                        }
                        None if from.is_null() => self.read_from(region, offset, to, row.bytes),
                        None => self.write_to(region, offset, from, row.bytes),
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Does something with bytes that a member exposes.
    fn with_served<T>(
        &self,
        served: &mut Finder<impl Served>,
        address: u64,
        bytes: u64,
        work: impl FnOnce(&Region, u64) -> Result<T>,
    ) -> Result<T> {
        let region = served.region(self, (address, bytes))?;
        let done = work(region, region.place_of(address, bytes)?)?;
        region.changed();
        Ok(done)
    }
}

/// Finds what a member exposes; mostly it is the region of the piece before.
struct Finder<'a, S> {
    served: &'a S,
    last: Option<Region>,
}

impl<S: Served> Finder<'_, S> {
    fn region(&mut self, engine: &Engine, there: (u64, u64)) -> Result<&Region> {
        let is_known = self.last.as_ref().is_some_and(|region| region.place_of(there.0, there.1).is_ok());
        if !is_known {
            self.last = Some(self.served.region(engine, there)?);
        }
        Ok(self.last.as_ref().expect("it was found or known"))
    }

    /// Where the first piece of a row lies for plain loads and stores, if all of the row does, in one region.
    fn here(&mut self, engine: &Engine, row: Row) -> Option<(&Region, *mut u8)> {
        let reach = row.distance.checked_mul(row.count as i64 - 1)?;
        let first = row.address.wrapping_add_signed(reach.min(0));
        let there = (first, reach.unsigned_abs() + row.bytes);
        let region = self.region(engine, there).ok()?;
        let here = region.here(region.place_of(there.0, there.1).ok()?, there.1)?;
        Some((region, here.wrapping_add((row.address - first) as usize)))
    }
}

/// Copies a row of pieces from a message, or to an answer if the message is null.
///
/// # Safety
/// The pieces lie at `here`, and one behind the other in the message or the answer; neither overlaps them.
unsafe fn copy_row(row: Row, here: *mut u8, (from, to): Places) {
    let bytes = row.bytes as usize;
    for index in 0..row.count as usize {
        let piece = here.wrapping_offset(row.distance as isize * index as isize);
        // SAFETY: by the caller.
        unsafe {
            match from.is_null() {
                true => short_copy::copy(piece, to.add(index * bytes), bytes),
                false => short_copy::copy(from.add(index * bytes), piece, bytes),
            }
        }
    }
}

/// So many bytes of the beginning, which go.
fn take<'a>(data: &mut &'a [u8], bytes: u64) -> &'a [u8] {
    let (piece, rest) = data.split_at(bytes as usize);
    *data = rest;
    piece
}

fn take_room<'a>(room: &mut &'a mut [u8], bytes: u64) -> &'a mut [u8] {
    let (piece, rest) = std::mem::take(room).split_at_mut(bytes as usize);
    *room = rest;
    piece
}

#[cold]
fn shorter() -> Error {
    Error::new(Class::Intern, "less came with a one-sided operation than it needs")
}
