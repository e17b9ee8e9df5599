//! Statuses: the engine's [`Status`] to and from the structure of the ABI.

use crate::abi;
use crate::arguments::{not_null, rank, rank_out, tag, tag_out};
use crate::codes;
use serried_engine::message::ANY_SOURCE;
use serried_engine::request::Status;
use serried_engine::Result;
use std::ffi::c_int;

/// A status that a call reads.
#[derive(Clone, Copy)]
pub struct StatusIn(*const abi::Status);

impl StatusIn {
    /// # Errors
    /// `Arg` for a null pointer or `MPI_STATUS_IGNORE`.
    ///
    /// # Safety
    /// `status` is a special value of MPI, null, or a status.
    pub unsafe fn new(name: &str, status: *const abi::Status) -> Result<StatusIn> {
        let ignored = status == abi::MPI_STATUS_IGNORE.cast_const();
        not_null(name, if ignored { std::ptr::null() } else { status })?;
        Ok(StatusIn(status))
    }

    /// The structure.
    pub fn raw(&self) -> abi::Status {
        // SAFETY: by the contract of `new`.
        unsafe { self.0.read() }
    }

    /// What it says, without the error.
    pub fn get(&self) -> Status {
        let raw = self.raw();
        let mut status = Status::empty();
        status.source = rank(raw.MPI_SOURCE);
        status.tag = tag(raw.MPI_TAG);
        status.bytes = raw.bytes();
        status.cancelled = raw.cancelled();
        status
    }
}

/// One status, or an array of them, that a call fills; may be
/// `MPI_STATUS_IGNORE` or `MPI_STATUSES_IGNORE`.
#[derive(Clone, Copy)]
pub struct StatusOut(*mut abi::Status);

impl StatusOut {
    /// # Safety
    /// `first` is a special value of MPI, null, or an array as long as MPI says.
    pub unsafe fn new(first: *mut abi::Status) -> StatusOut {
        StatusOut(first)
    }

    /// A status of our own.
    pub fn of(status: &mut abi::Status) -> StatusOut {
        StatusOut(status)
    }

    /// Whether the program does not want it.
    pub fn is_ignored(&self) -> bool {
        self.0.is_null() || self.0 == abi::MPI_STATUS_IGNORE || self.0 == abi::MPI_STATUSES_IGNORE
    }

    /// Fills it, leaving `MPI_ERROR` as it was (MPI-5.0 §3.2.5); only the empty
    /// status, which comes of no message, says success there (§3.7.3).
    #[inline]
    pub fn set(&self, status: &Status) {
        self.fill(0, status);
    }

    /// Says what message came whole, leaving `MPI_ERROR` as it was.
    #[inline(always)]
    pub fn set_message(&self, source: i32, tag: i32, bytes: u64) {
        self.change(0, |raw| {
            raw.MPI_SOURCE = source;
            raw.MPI_TAG = tag;
            raw.set_bytes(bytes, false);
        });
    }

    /// Fills the status at `index`, leaving `MPI_ERROR` as it was.
    pub fn set_at(&self, index: usize, status: &Status) {
        self.fill(index, status);
    }

    /// Fills the status at `index` and its `MPI_ERROR`: the code of the
    /// status's error, or success.
    pub fn set_at_with_error(&self, index: usize, status: &Status) {
        let code = status.error.as_ref().map_or(abi::MPI_SUCCESS, codes::code);
        self.fill(index, status);
        self.set_error_at(index, code);
    }

    /// Stores an error code in the status at `index`.
    pub fn set_error_at(&self, index: usize, code: c_int) {
        self.change(index, |raw| raw.MPI_ERROR = code);
    }

    /// Changes the structure at `index`, if it is wanted.
    pub fn change(&self, index: usize, change: impl FnOnce(&mut abi::Status)) {
        if !self.is_ignored() {
            // SAFETY: an array long enough, by the contract of `new`; only this
            // call touches it.
            change(unsafe { &mut *self.0.add(index) });
        }
    }

    fn fill(&self, index: usize, status: &Status) {
        self.change(index, |raw| {
            raw.MPI_SOURCE = rank_out(status.source);
            raw.MPI_TAG = tag_out(status.tag);
            raw.set_bytes(status.bytes, status.cancelled);
            if status.source == ANY_SOURCE {
                raw.MPI_ERROR = abi::MPI_SUCCESS;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_crosses_the_entry_and_comes_back() {
        let mut status = Status::empty();
        (status.source, status.tag, status.bytes, status.cancelled) = (3, 9, (1 << 40) + 17, true);
        // SAFETY: all bits zero are a status of C.
        let mut raw: abi::Status = unsafe { std::mem::zeroed() };
        raw.MPI_ERROR = 1234;
        // SAFETY: `raw` lives longer than both.
        let (out, back) =
            unsafe { (StatusOut::new(&raw mut raw), StatusIn::new("status", &raw const raw).unwrap()) };
        out.set(&status);
        let found = back.get();
        assert_eq!((found.source, found.tag, found.bytes, found.cancelled), (3, 9, (1 << 40) + 17, true));
        assert_eq!(back.raw().MPI_ERROR, 1234);
        status.error = Some(serried_engine::Error::new(serried_engine::Class::Truncate, "too long"));
        out.set_at_with_error(0, &status);
        assert_eq!(codes::class_of(back.raw().MPI_ERROR).unwrap(), abi::MPI_ERR_TRUNCATE);
    }

    #[test]
    fn an_ignored_status_is_left_alone() {
        // SAFETY: special values are what both are made for.
        let (ignored, read) = unsafe {
            (StatusOut::new(abi::MPI_STATUS_IGNORE), StatusIn::new("status", abi::MPI_STATUS_IGNORE))
        };
        assert!(ignored.is_ignored() && read.is_err());
        ignored.set(&Status::empty());
    }
}
