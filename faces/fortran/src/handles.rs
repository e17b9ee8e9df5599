//! Handles: Fortran has integers, C what its ABI says. Where both are the same, the wrappers pass them on and need
//! nothing from here.
#![allow(dead_code)] // one ABI needs other things than the next

pub use crate::abi::convert::*;
use crate::integers::{narrow, widen, Fint};
use std::ffi::c_int;

/// Where a call puts a handle, or changes it.
pub struct Place<H> {
    place: *mut Fint,
    before: Option<H>,
    now: H,
}

/// A handle of C.
pub trait Null: Copy + PartialEq {
    /// Any value, for a call that stores another.
    const NULL: Self;
}

impl Null for c_int {
    const NULL: c_int = 0;
}

impl<T> Null for *mut T {
    const NULL: *mut T = std::ptr::null_mut();
}

impl<H: Null> Place<H> {
    /// For a call that stores a handle.
    pub fn empty(place: *mut Fint) -> Place<H> {
        Place { place, before: None, now: H::NULL }
    }

    /// For a call that reads a handle and may change it.
    ///
    /// # Safety
    /// A handle of the program can be read there.
    pub unsafe fn new(place: *mut Fint, to: impl Fn(c_int) -> H) -> Place<H> {
        // SAFETY: by the contract.
        let now = to(narrow(unsafe { place.read() }));
        Place { place, before: Some(now), now }
    }

    /// What C gets.
    pub fn as_mut_ptr(&mut self) -> *mut H {
        &raw mut self.now
    }

    /// Gives the program what the call has stored.
    ///
    /// # Safety
    /// The place can be written.
    pub unsafe fn store(&self, from: impl Fn(H) -> c_int) {
        if self.before != Some(self.now) {
            // SAFETY: by the contract.
            unsafe { self.place.write(widen(from(self.now))) };
        }
    }
}

/// An array of handles that a call reads or changes.
pub struct Array<H> {
    place: *mut Fint,
    before: Vec<H>,
    now: Vec<H>,
}

impl<H: Null> Array<H> {
    /// Reads so many handles of the program; none where there is a negative number of them.
    ///
    /// # Safety
    /// They can be read there.
    pub unsafe fn new(place: *mut Fint, length: i64, to: impl Fn(c_int) -> H) -> Array<H> {
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: by the contract.
        let now: Vec<H> = (0..length).map(|index| to(narrow(unsafe { place.add(index).read() }))).collect();
        Array { place, before: now.clone(), now }
    }

    /// What C gets.
    pub fn as_mut_ptr(&mut self) -> *mut H {
        self.now.as_mut_ptr()
    }

    /// Gives the program those that the call has changed.
    ///
    /// # Safety
    /// They can be written there.
    pub unsafe fn store(&self, from: impl Fn(H) -> c_int) {
        for (index, (now, before)) in self.now.iter().zip(&self.before).enumerate() {
            if now != before {
                // SAFETY: by the contract.
                unsafe { self.place.add(index).write(widen(from(*now))) };
            }
        }
    }
}
