//! Short writes that follow one another are kept and written together (write-behind).
//!
//! A rank that writes a file in rows of some bytes, as HDF5 does for a selection, would make a system call for each.
//! When the third short write in a row begins where the last one ended, it is kept here, and so are those that
//! follow. What is kept is written before the rank says anything to anybody: a face that keeps something calls
//! [`flush`] before every call but those that only write further or look at something (`faces/common/src/entry.rs`).
//! So who learns of a write by a message, a barrier, `sync` or `close` finds it in the file. What the system then says
//! against it is told by the next write on the file, or by its `sync` or `close`.
//!
//! There is one buffer in a process, for the file that is being written. Threads do not use it.

use super::access_of_call::{Access, Items, Place};
use super::driver::Driver;
use super::opened::File;
use crate::Result;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longer writes are made at once.
const SHORT: u64 = 16 << 10;
/// So many bytes are written as soon as they are there.
const MOST: usize = 512 << 10;
/// Short writes that go on where the last one ended, before one is kept.
const IN_A_ROW: u32 = 2;

/// What is kept.
struct Kept {
    /// The file of the last write, if it was short.
    file: Option<Arc<File>>,
    /// Where the last write ended.
    end: u64,
    /// Short writes in a row.
    row: u32,
    /// Of the end of what has been written.
    bytes: Vec<u8>,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { file: None, end: 0, row: 0, bytes: Vec::new() });
static ANY: AtomicBool = AtomicBool::new(false);

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something is kept that [`flush`] would write.
#[inline]
pub fn any() -> bool {
    ANY.load(Relaxed)
}

/// Writes what is kept. A failure is told by the file.
#[cold]
pub fn flush() {
    let mut kept = kept();
    kept.flush();
    (kept.file, kept.row) = (None, 0);
}

impl Kept {
    fn flush(&mut self) {
        ANY.store(false, Relaxed);
        let (Some(file), false) = (&self.file, self.bytes.is_empty()) else { return };
        let first = self.end - self.bytes.len() as u64;
        if let Err(error) = file.driver.write(first, &self.bytes) {
            file.fail_later(error);
        }
        self.bytes.clear();
    }

    /// Takes a short write, if it goes on where the last one ended; else notes where it ends.
    fn take(&mut self, file: &Arc<File>, offset: u64, access: &Access) -> bool {
        let goes_on = self.end == offset && self.file.as_ref().is_some_and(|last| Arc::ptr_eq(last, file));
        if !goes_on {
            self.flush();
            (self.file, self.row) = (Some(file.clone()), 0);
        }
        (self.end, self.row) = (offset + access.bytes, self.row.saturating_add(1));
        if self.row <= IN_A_ROW {
            return false;
        }
        let (at, items) = (self.bytes.len(), &access.items);
        self.bytes.resize(at + access.bytes as usize, 0);
        // SAFETY: the program lends the items; the bytes are ours.
        unsafe { items.datatype.pack(items.address, items.count, 0, &mut self.bytes[at..]) };
        ANY.store(true, Relaxed);
        if self.bytes.len() >= MOST {
            self.flush();
        }
        true
    }
}

impl File {
    /// As [`File::write`], but what is short and goes on where the last write ended may be kept until [`flush`].
    ///
    /// # Errors
    /// As there; also what went wrong with what was kept before.
    pub fn write_behind(self: &Arc<File>, place: Place, items: &Items) -> Result<u64> {
        let access = self.access(place, items, true)?;
        let fits = access.bytes <= SHORT && access.bytes > 0 && !self.is_atomic();
        let dense = access.view.dense().filter(|_| fits && access.view.representation.is_native());
        let Some(first) = dense else {
            flush();
            self.late_failure()?;
            return Ok(access.in_memory(self.move_alone(&access, true)?));
        };
        let taken = kept().take(self, first + access.position, &access);
        self.late_failure()?;
        match taken {
            true => Ok(access.bytes),
            false => self.move_alone(&access, true),
        }
    }
}
