//! Operations whose target another member or a server has to be asked for: the pieces of the target go as rows, as its
//! datatype has them, up to a message's length at a time. Their data lie one behind the other at the origin, or are copied
//! aside.

use super::places::{step_both, Places};
use super::runs::{Run, Stage};
use super::target_memory::Place;
use crate::collective::Data;
use crate::engine::Engine;
use crate::onesided::{Elements, FarPiece, Region, Row, Rows, Target};
use crate::Result;

/// Bytes that are copied aside at a time. All elements of whose size this is a multiple are whole.
const ASIDE: u64 = 1 << 20;

/// What goes with one message.
enum Part<'a> {
    /// Short pieces.
    Together(&'a Rows),
    /// A piece, of so many bytes.
    Alone(u64, u64),
}

/// The pieces that have the bytes of a place from `offset` on, in order, message by message, and how many bytes came before
/// each.
fn each_message(
    (place, target): (&Place, &Target),
    (offset, bytes): (u64, u64),
    mut visit: impl FnMut(usize, Part) -> Result<()>,
) -> Result<()> {
    let there = (place.there() as *mut u8, target.count as u64);
    let (mut rows, mut done) = (Rows::of(place.region.servant.most_bytes()), 0);
    while done < bytes {
        rows.clear();
        let mut alone = None;
        target.datatype.each_row(there, offset + done, bytes - done, |address, length, count, distance| {
            let (address, bytes, count) = (address as u64, length as u64, count as u64);
            if bytes <= FarPiece::MOST {
                return rows.take(Row { address, bytes, count, distance: distance as i64 }) == count;
            }
            if rows.bytes() == 0 {
                alone = Some((address, bytes));
            }
            false
        });
        let alone = alone.or_else(|| rows.one().map(|address| (address, rows.bytes())));
        let (part, length) = match alone {
            Some((address, length)) => (Part::Alone(address, length), length),
            None => (Part::Together(&rows), rows.bytes()),
        };
        visit(done as usize, part)?;
        done += length;
    }
    Ok(())
}

/// The data of an operation, some at a time: from which byte on, and how many.
pub(super) fn each_aside(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes).step_by(ASIDE as usize).map(move |offset| (offset, ASIDE.min(bytes - offset)))
}

impl Engine {
    /// Writes the origin's data to a place.
    ///
    /// # Safety
    /// The origin can be read; it has `bytes` bytes, and the place room for them.
    pub(super) unsafe fn put_by_messages(
        &self,
        origin: &Data,
        (place, target): (&Place, &Target),
        bytes: u64,
    ) -> Result<()> {
        let (region, mut stage) = (place.region, Stage::of(origin));
        for (offset, length) in each_aside(bytes) {
            // SAFETY: by the caller.
            let local = unsafe { stage.fill(origin, offset, length) };
            each_message((place, target), (offset, length), |at, part| {
                let from = local.wrapping_add(at);
                // SAFETY: by the caller; the pieces lie in the region.
                unsafe {
                    match part {
                        Part::Together(rows) => self.ask_to_write_rows(region, rows, from),
                        Part::Alone(there, bytes) => self.ask_to_write(region, there, from, bytes),
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Reads a place to the origin.
    ///
    /// # Safety
    /// The origin can be written, until it settles if answers may come late; it has room for `bytes` bytes, as many as the place
    /// has.
    pub(super) unsafe fn get_by_messages(
        &self,
        origin: &Data,
        (place, target): (&Place, &Target),
        bytes: u64,
    ) -> Result<()> {
        let (region, mut stage) = (place.region, Stage::of(origin));
        for (offset, length) in each_aside(bytes) {
            let local = stage.room(offset, length);
            each_message((place, target), (offset, length), |at, part| {
                let to = local.wrapping_add(at);
                // SAFETY: by the caller; the pieces lie in the region.
                unsafe {
                    match part {
                        Part::Together(rows) => self.ask_to_read_rows(region, rows, to),
                        Part::Alone(there, bytes) => self.ask_to_read(region, there, to, bytes),
                    }
                }
            })?;
            if stage.is_aside() {
                self.have_answers(region)?;
                // SAFETY: by the caller; all of it has come.
                unsafe { stage.empty(origin, offset) };
            }
        }
        self.have_answers_now(region)
    }

    /// Changes elements of a place, which lie in blocks without holes, from byte `offset` of their data on.
    ///
    /// # Safety
    /// As [`Engine::change`]: the origin can be read, and the result written until the origin settles if answers may come late.
    pub(super) unsafe fn change_by_messages(
        &self,
        (place, target): (&Place, &Target),
        (offset, bytes): (u64, u64),
        elements: &Elements,
        places: Places,
    ) -> Result<()> {
        let region: &Region = place.region;
        each_message((place, target), (offset, bytes), |at, part| {
            let places = step_both(places, at);
            // SAFETY: by the caller; the pieces lie in the region.
            unsafe {
                match part {
                    Part::Together(rows) => self.ask_to_change_rows(region, rows, elements, places),
                    Part::Alone(there, bytes) => {
                        let count = bytes as usize / elements.element().size();
                        self.change(region, elements, (there - region.address, count), places)
                    }
                }
            }
        })?;
        self.have_answers_now(region)
    }

    /// Changes the elements of a run, which may have holes, by those that lie one behind the other, and stores what they were in
    /// the same way.
    ///
    /// # Safety
    /// As [`Engine::change_by_messages`].
    pub(super) unsafe fn change_run_by_messages(
        &self,
        region: &Region,
        run: Run<'_>,
        elements: &Elements,
        mut places: Places,
    ) -> Result<()> {
        let mut rows = Rows::of(region.servant.most_bytes());
        let mut pieces = run.pieces.iter().peekable();
        while let Some(&&(address, length)) = pieces.peek() {
            let row = Row { address: address as u64, bytes: length as u64, count: 1, distance: 0 };
            let has_room = rows.take(row) == 1;
            if has_room {
                pieces.next();
            }
            if !has_room || pieces.peek().is_none() {
                // SAFETY: by the caller.
                unsafe { self.ask_to_change_rows(region, &rows, elements, places)? };
                places = step_both(places, rows.bytes() as usize);
                rows.clear();
            }
        }
        self.have_answers_now(region)
    }
}
