//! The routines of this library, made from the tables: each turns its arguments into those of C and calls the C
//! function. SAFETY of all of them: a program passes what MPI says for the routine, as its compiler passes it.
#![allow(missing_docs, non_snake_case, unused_mut, unused_variables, unused_imports)]
#![allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks)]

use crate::abi::{self, *};
use crate::integers::{fits, narrow, widen, Cell, Ints};
use crate::refusal::refused;
use crate::section::{CfiDescriptor, Copied, Described, Kept, NativeDescriptor};
use crate::{by_hand, handles, lengths, special, text};
use std::ffi::{c_char, c_int, c_void};

/// Gives the program the error code, if it wants it: in mpi_f08 `ierror` is optional.
#[inline]
unsafe fn report(ierror: *mut Fint, code: c_int) {
    if !ierror.is_null() {
        ierror.write(widen(code));
    }
}

/// An index of C as Fortran counts: from 1.
#[inline]
unsafe fn index_from_one(index: *mut c_int) {
    if *index >= 0 {
        *index += 1;
    }
}

/// As many indices as there are.
unsafe fn indices_from_one(first: *mut c_int, count: *const c_int) {
    for place in 0..usize::try_from(*count).unwrap_or(0) {
        index_from_one(first.add(place));
    }
}

/// The names of a routine: functions that jump there, whatever its arguments are.
macro_rules! also {
    ($target:path: $($name:ident)*) => {$(
        #[unsafe(naked)]
        #[no_mangle]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $target);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $target);
        }
    )*};
}

/// Functions that compare two handles, which come as addresses of integers.
#[allow(unused_macros)] // as below
macro_rules! compared {
    ($operator:tt $($name:ident)*) => {$(
        #[no_mangle]
        pub unsafe extern "C" fn $name(first: *const c_int, second: *const c_int) -> c_int {
            c_int::from(*first $operator *second)
        }
    )*};
}

/// Tells the C library, before the program begins, where the program has sentinels: C compares with them.
#[allow(unused_macros)] // as below
macro_rules! told {
    ($($name:ident $symbol:ident + $offset:literal),*) => {
        #[cfg(not(test))] // unit tests are linked without a C library
        unsafe extern "C" fn tell() {
            extern "C" {
                $(static mut $name: *const c_void;)*
            }
            $((&raw mut $name).write((&raw const $symbol).cast::<u8>().wrapping_add($offset).cast());)*
        }
        #[cfg(not(test))]
        #[used]
        #[link_section = ".init_array"]
        static TELL: unsafe extern "C" fn() = tell;
    };
}

/// `MPI_Sizeof` of a variable of so many bytes.
#[allow(unused_macros)] // our own modules need none
macro_rules! sized {
    ($name:ident $bytes:literal) => {
        #[no_mangle]
        pub unsafe extern "C" fn $name(_variable: *const c_void, size: *mut Fint, ierror: *mut Fint) {
            size.write($bytes);
            report(ierror, abi::MPI_SUCCESS);
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
