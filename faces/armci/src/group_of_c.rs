//! A group of ranks as programs have it: a structure with a communicator and two lists of ranks. Programs copy it.

use super::argument_checks::not_null;
use crate::abi::Handle;
use crate::handle::COMMS;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::ptr;

/// `ARMCI_Group`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GroupOfC {
    /// Its communicator.
    pub comm: Handle,
    /// Null; the program's header has it.
    unused: Handle,
    /// For each of its ranks the absolute one.
    to_absolute: *mut c_int,
    /// For each absolute rank the one in the group, or -1.
    from_absolute: *mut c_int,
    /// The own rank, or -1.
    pub rank: c_int,
    /// How many ranks it has.
    pub size: c_int,
}

// SAFETY: the lists do not change as long as the group lives, and the program says that nobody uses it afterwards.
unsafe impl Send for GroupOfC {}
// SAFETY: as above.
unsafe impl Sync for GroupOfC {}

impl GroupOfC {
    /// A group of these absolute ranks of so many.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn new(comm: Handle, rank: u32, absolute: Vec<c_int>, of: u32) -> Result<GroupOfC> {
        let mut inverse = vec![-1; of as usize];
        for (rank, &absolute) in (0..).zip(&absolute) {
            inverse[absolute as usize] = rank;
        }
        let size = absolute.len() as c_int;
        let (to_absolute, from_absolute) = (list(&absolute)?, list(&inverse)?);
        Ok(GroupOfC { comm, unused: COMMS.null(), to_absolute, from_absolute, rank: rank as c_int, size })
    }

    /// What those have who are not in a group.
    pub fn nobody() -> GroupOfC {
        let (null, nothing) = (COMMS.null(), ptr::null_mut());
        GroupOfC { comm: null, unused: null, to_absolute: nothing, from_absolute: nothing, rank: -1, size: 0 }
    }

    /// The absolute ranks.
    pub fn absolute(&self) -> &[c_int] {
        match self.to_absolute.is_null() {
            true => &[],
            // SAFETY: made so long by `new`.
            false => unsafe { std::slice::from_raw_parts(self.to_absolute, self.size as usize) },
        }
    }

    /// Gives its lists back.
    ///
    /// # Safety
    /// Nobody uses a copy of the group any more.
    pub unsafe fn give_back(self) {
        // SAFETY: both are from `list`, or null.
        unsafe {
            libc::free(self.to_absolute.cast());
            libc::free(self.from_absolute.cast());
        }
    }
}

/// A list in memory of C.
fn list(numbers: &[c_int]) -> Result<*mut c_int> {
    // SAFETY: allocating is always allowed; what is written is as long.
    unsafe {
        let memory: *mut c_int = libc::malloc(size_of_val(numbers).max(1)).cast();
        if memory.is_null() {
            return Err(Error::new(Class::NoMem, "there is no memory for the list of a group"));
        }
        ptr::copy_nonoverlapping(numbers.as_ptr(), memory, numbers.len());
        Ok(memory)
    }
}

/// The group of an argument.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// It is null or points to a group of ARMCI.
pub unsafe fn given<'a>(group: *const GroupOfC) -> Result<&'a GroupOfC> {
    not_null("group", group)?;
    // SAFETY: by the caller.
    Ok(unsafe { &*group })
}
