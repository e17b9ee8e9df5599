//! Enumerations (MPI-5.0 §15.3.4): words for the values of variables and of
//! elements of events.

use super::{error, no_index, put, put_text, ready, Raw};
use crate::abi;
use crate::calls::NAMES;
use serried_engine::Result;
use std::ffi::{c_char, c_int};

/// Words for the numbers from 0.
pub struct Enumeration {
    name: &'static str,
    words: Words,
}

enum Words {
    These(&'static [&'static str]),
    /// The names of all calls.
    Calls,
}

/// How far a rank has come.
pub static STATES: Enumeration = Enumeration {
    name: "rank_state",
    words: Words::These(&["not started", "starting", "running", "finalized", "aborted"]),
};
/// Means of copying.
pub static MEANS: Enumeration =
    Enumeration { name: "means", words: Words::These(&["direct", "cross-memory", "memory-file", "cells"]) };
/// Calls, by the number that events give.
pub static CALLS: Enumeration = Enumeration { name: "mpi_call", words: Words::Calls };

impl Enumeration {
    /// Its handle.
    pub fn handle(&'static self) -> Raw {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn words(&self) -> &'static [&'static str] {
        match self.words {
            Words::These(words) => words,
            Words::Calls => &NAMES,
        }
    }

    fn of(handle: Raw) -> Result<&'static Enumeration> {
        let known = [&STATES, &MEANS, &CALLS].into_iter().find(|known| known.handle() == handle);
        known.ok_or_else(|| error(abi::MPI_T_ERR_INVALID_HANDLE, "this is no handle of an enumeration"))
    }
}

/// `MPI_T_enum_get_info`.
pub fn t_enum_get_info(
    enumtype: Raw,
    num: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> Result<()> {
    let _tool = ready()?;
    let found = Enumeration::of(enumtype)?;
    put(num, found.words().len() as c_int);
    put_text(found.name, name, name_len)
}

/// `MPI_T_enum_get_item`.
pub fn t_enum_get_item(
    enumtype: Raw,
    indx: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> Result<()> {
    let _tool = ready()?;
    let words = Enumeration::of(enumtype)?.words();
    let word = usize::try_from(indx).ok().and_then(|indx| words.get(indx));
    let word = word.ok_or_else(|| no_index("item of this enumeration", indx))?;
    put(value, indx);
    put_text(if word.is_empty() { "none" } else { word }, name, name_len)
}
