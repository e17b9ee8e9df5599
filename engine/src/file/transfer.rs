//! Moving data between memory and file, by one rank.
//!
//! Where memory and file both lie in pieces, or the memory does, data go through a stage that fits the second-level
//! cache. A piece of the file is one call to the driver; small pieces that are read are read together with what
//! lies between them, which does no harm; in writing, what lies between is never touched.

use super::access_of_call::{Access, Items};
use super::driver::Driver;
use super::opened::File;
use super::pieces::Pieces;
use super::representation::Representation;
use super::view::View;
use crate::Result;
use std::cell::RefCell;

/// Bytes of the stage.
const STAGE: usize = 256 << 10;
/// Pieces that are shorter are read together,
const SMALL: u64 = 8 << 10;
/// as long as no more than so many times their bytes are read.
const WASTE: u64 = 8;
/// Where the file begins a new page, so should a stage.
const PAGE: u64 = 4096;

thread_local! {
    static STAGES: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// Lends a stage.
pub(super) fn with_stage<T>(work: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut stage =
        STAGES.with(|stages| stages.borrow_mut().pop()).unwrap_or_else(|| vec![0; STAGE].into_boxed_slice());
    let done = work(&mut stage);
    STAGES.with(|stages| stages.borrow_mut().push(stage));
    done
}

/// Writes dense bytes to a view from a position on.
pub(super) fn write_bytes(driver: &dyn Driver, view: &View, position: u64, bytes: &[u8]) -> Result<()> {
    let mut done = 0;
    for (offset, length) in Pieces::new(view, position, bytes.len() as u64) {
        driver.write(offset, &bytes[done..][..length as usize])?;
        done += length as usize;
    }
    Ok(())
}

/// Reads dense bytes of a view; how many there are before the end of the file.
pub(super) fn read_bytes(driver: &dyn Driver, view: &View, position: u64, bytes: &mut [u8]) -> Result<usize> {
    let mut pieces = Pieces::new(view, position, bytes.len() as u64).peekable();
    let (mut done, mut together) = (0, Vec::new());
    while let Some((offset, length)) = pieces.next() {
        together.clear();
        together.push((offset, length));
        let mut sum = length;
        while let Some(&(next, more)) = pieces.peek().filter(|_| length < SMALL) {
            let reach = (next + more).saturating_sub(offset);
            if next < offset || more >= SMALL || reach > STAGE as u64 || reach > (sum + more) * WASTE {
                break;
            }
            together.push((next, more));
            sum += more;
            pieces.next();
        }
        let got = read_together(driver, &together, &mut bytes[done..][..sum as usize])?;
        done += got;
        if (got as u64) < sum {
            break;
        }
    }
    Ok(done)
}

/// Reads pieces that lie near each other.
fn read_together(driver: &dyn Driver, pieces: &[(u64, u64)], bytes: &mut [u8]) -> Result<usize> {
    let [(first, _), .., (last, length)] = *pieces else {
        return driver.read(pieces[0].0, bytes);
    };
    with_stage(|stage| {
        let found = driver.read(first, &mut stage[..(last + length - first) as usize])? as u64;
        let mut done = 0;
        for &(offset, length) in pieces {
            let at = offset - first;
            let there = found.saturating_sub(at).min(length) as usize;
            bytes[done..][..there].copy_from_slice(&stage[at as usize..][..there]);
            done += there;
            if (there as u64) < length {
                break;
            }
        }
        Ok(done)
    })
}

/// How long the next stage is: it ends where a page of the file ends.
fn stage_length(view: &View, position: u64, left: u64) -> usize {
    let end = view.dense().map_or(0, |first| (first + position) % PAGE);
    (STAGE as u64 - end).min(left) as usize
}

/// Writes bytes `[from, from + bytes)` of the items to the view from `position` on.
fn write_items(
    driver: &dyn Driver,
    view: &View,
    position: u64,
    (items, from, bytes): (&Items, u64, u64),
) -> Result<()> {
    if let Some(first) = items.dense() {
        // SAFETY: the program lends the items, and all bytes of them lie there.
        let source = unsafe { std::slice::from_raw_parts(first.add(from as usize), bytes as usize) };
        return write_bytes(driver, view, position, source);
    }
    with_stage(|stage| {
        let mut done = 0;
        while done < bytes {
            let stage = &mut stage[..stage_length(view, position + done, bytes - done)];
            // SAFETY: the program lends the items; the stage is ours.
            unsafe { items.datatype.pack(items.address, items.count, from + done, stage) };
            write_bytes(driver, view, position + done, stage)?;
            done += stage.len() as u64;
        }
        Ok(())
    })
}

/// Reads bytes `[from, from + bytes)` of the items from the view; how many there are before the end of the file.
fn read_items(
    driver: &dyn Driver,
    view: &View,
    position: u64,
    (items, from, bytes): (&Items, u64, u64),
) -> Result<u64> {
    if let Some(first) = items.dense() {
        // SAFETY: the program lends the items, and all bytes of them lie there.
        let target = unsafe { std::slice::from_raw_parts_mut(first.add(from as usize), bytes as usize) };
        return Ok(read_bytes(driver, view, position, target)? as u64);
    }
    with_stage(|stage| {
        let mut done = 0;
        while done < bytes {
            let stage = &mut stage[..stage_length(view, position + done, bytes - done)];
            let got = read_bytes(driver, view, position + done, stage)?;
            // SAFETY: the program lends the items; the stage is ours.
            unsafe { items.datatype.unpack(items.address, items.count, from + done, &stage[..got]) };
            done += got as u64;
            if got < stage.len() {
                break;
            }
        }
        Ok(done)
    })
}

/// Items of a representation that is not that of memory, some at a time: calls `convert` with the first, how many,
/// and room for them, until it says that there is no more.
fn in_parts(
    items: &Items,
    each: u64,
    mut convert: impl FnMut(u64, u64, &mut [u8]) -> Result<bool>,
) -> Result<()> {
    if each == 0 {
        return Ok(());
    }
    let at_once = (STAGE as u64 / each).clamp(1, items.count.max(1));
    let mut room = vec![0; (at_once * each) as usize];
    let mut first = 0;
    while first < items.count {
        let now = at_once.min(items.count - first);
        if !convert(first, now, &mut room[..(now * each) as usize])? {
            break;
        }
        first += now;
    }
    Ok(())
}

/// Where an item lies.
fn item(items: &Items, number: u64) -> *mut u8 {
    items.address.wrapping_offset((number as i64).wrapping_mul(items.datatype.extent()) as isize)
}

fn write_converted(driver: &dyn Driver, access: &Access) -> Result<()> {
    let (items, view) = (&access.items, &access.view);
    let each = access.bytes / items.count.max(1);
    in_parts(items, each, |first, count, room| {
        match &view.representation {
            Representation::Registered(_, conversion) if conversion.converts(true) => {
                // SAFETY: the program lends the items, and the room is what they take.
                unsafe {
                    conversion.write(items.address, &items.datatype, (first, count), room.as_mut_ptr())
                }?;
            }
            Representation::Registered(..) => {
                // SAFETY: the program lends the items; without a conversion they take as many bytes.
                unsafe { items.datatype.pack(item(items, first), count, 0, room) };
            }
            _ => {
                // SAFETY: the program lends the items.
                unsafe { items.datatype.pack_external(item(items, first), count, room) }?;
            }
        }
        write_bytes(driver, view, access.position + first * each, room)?;
        Ok(true)
    })
}

fn read_converted(driver: &dyn Driver, access: &Access) -> Result<u64> {
    let (items, view) = (&access.items, &access.view);
    let each = access.bytes / items.count.max(1);
    let mut moved = 0;
    in_parts(items, each, |first, count, room| {
        let wanted = room.len();
        let got = read_bytes(driver, view, access.position + first * each, room)?;
        let whole = got as u64 / each;
        match &view.representation {
            Representation::Registered(_, conversion) if conversion.converts(false) => {
                // SAFETY: the program lends the items; as many were read.
                unsafe {
                    conversion.read(items.address, &items.datatype, (first, whole), room.as_mut_ptr())
                }?;
            }
            Representation::Registered(..) => {
                // SAFETY: as above; without a conversion they take as many bytes in memory.
                unsafe {
                    items.datatype.unpack(item(items, first), whole, 0, &room[..(whole * each) as usize])
                };
            }
            _ => {
                // SAFETY: as above.
                unsafe { items.datatype.unpack_external(&room[..got], item(items, first), whole) }?;
            }
        }
        moved += whole * each;
        debug_assert!(whole <= count);
        Ok(got == wanted)
    })?;
    Ok(moved)
}

impl File {
    /// Writes part of what a call moves: bytes `[from, from + bytes)`. One of another representation goes as a whole.
    pub(super) fn write_part(&self, access: &Access, from: u64, bytes: u64) -> Result<()> {
        match access.view.representation.is_native() {
            true => {
                write_items(&self.driver, &access.view, access.position + from, (&access.items, from, bytes))
            }
            false => write_converted(&self.driver, access),
        }
    }

    /// Reads part of what a call moves; how many bytes there are before the end of the file.
    pub(super) fn read_part(&self, access: &Access, from: u64, bytes: u64) -> Result<u64> {
        match access.view.representation.is_native() {
            true => {
                read_items(&self.driver, &access.view, access.position + from, (&access.items, from, bytes))
            }
            false => read_converted(&self.driver, access),
        }
    }

    /// Moves all that a call moves, by this rank alone; how many bytes of the file.
    pub(super) fn move_alone(&self, access: &Access, writing: bool) -> Result<u64> {
        let hull = access.view.hull(access.position, access.bytes)?;
        self.guarded(hull, writing, || match writing {
            true => self.write_part(access, 0, access.bytes).map(|()| access.bytes),
            false => self.read_part(access, 0, access.bytes),
        })
    }
}

/// Calls of one rank.
impl File {
    /// Reads; bytes of data in memory.
    ///
    /// # Errors
    /// What is wrong with the call; what the file system says.
    pub fn read(&self, place: super::Place, items: &Items) -> Result<u64> {
        let access = self.access(place, items, false)?;
        Ok(access.in_memory(self.move_alone(&access, false)?))
    }

    /// Writes; bytes of data in memory.
    ///
    /// # Errors
    /// As there.
    pub fn write(&self, place: super::Place, items: &Items) -> Result<u64> {
        let access = self.access(place, items, true)?;
        Ok(access.in_memory(self.move_alone(&access, true)?))
    }
}
