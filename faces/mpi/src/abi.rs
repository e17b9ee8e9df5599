//! Types and values of the ABI of this library, made from its file: `Handle` and
//! `FileHandle`, `Status`, every constant, the objects that it exports.
#![allow(dead_code, missing_docs, non_upper_case_globals, non_snake_case, clippy::all, clippy::pedantic)]
#![allow(unused_imports, unused_variables)] // what an ABI needs of them differs

use crate::attribute_functions;
use crate::common::handles::{Index, IntegerHandle, Object, ObjectHandle, PointerHandle, Predefinitions};
use serried_engine::datatype::{Basic, Edge};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicPtr;
use std::sync::LazyLock;

/// Memory that is exported for its address, and for what programs put there: so many
/// integers of one type, which gives its alignment.
#[repr(transparent)]
pub struct Memory<T, const COUNT: usize>(UnsafeCell<[T; COUNT]>);

impl<T, const COUNT: usize> Memory<T, COUNT> {
    const fn new() -> Self {
        // SAFETY: zeros are a value of integers.
        Memory(unsafe { MaybeUninit::zeroed().assume_init() })
    }
}

// SAFETY: nothing here reads or writes it.
unsafe impl<T, const COUNT: usize> Sync for Memory<T, COUNT> {}

include!(concat!(env!("OUT_DIR"), "/abi.rs"));
