//! Types, constants, functions and sentinels of the ABI of this library, made from the tables.
#![allow(
    dead_code,
    missing_docs,
    non_upper_case_globals,
    non_snake_case,
    unused_imports,
    unused_unsafe,
    unused_variables
)]
#![allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks, clashing_extern_declarations)]

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// Memory that is exported for its address, and for what programs put there: so many integers of one type, which
/// gives its alignment.
#[repr(transparent)]
pub struct Exported<T, const COUNT: usize>(UnsafeCell<MaybeUninit<[T; COUNT]>>);

impl<T, const COUNT: usize> Exported<T, COUNT> {
    const fn new() -> Self {
        Exported(UnsafeCell::new(MaybeUninit::zeroed()))
    }
}

// SAFETY: nothing here reads or writes it.
unsafe impl<T, const COUNT: usize> Sync for Exported<T, COUNT> {}

/// What the C library expects and gives, under the name that the generated text has for this module.
mod abi {
    pub use super::*;
}

include!(concat!(env!("OUT_DIR"), "/abi.rs"));
