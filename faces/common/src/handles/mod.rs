//! Handles: 32-bit values that stand for the engine's objects.
//!
//! A predefined handle has the value of its ABI. Any other is
//! `11 kind(4) generation(4) index(22)`, in all ABIs, so that a Fortran integer holds
//! it, and a handle freed twice is an error and not a crash. How a C type carries the
//! 32 bits is the [form](form) of the handle; the [table](table) knows it as a type,
//! so that no call asks for it.

#[allow(dead_code)] // each ABI has some of the forms
mod form;
#[allow(dead_code)] // as above
mod objects;
mod table;

pub use form::{Handle, IntegerHandle, PointerHandle};
pub use objects::{Index, Object, ObjectHandle, Predefinitions};
pub use table::{optional, required, Table};

const DYNAMIC: u32 = 0b11 << 30;
const KIND_SHIFT: u32 = 26;

/// The part of a handle that says that it is not predefined and of what kind.
pub const fn prefix(kind: u32) -> u32 {
    DYNAMIC | kind << KIND_SHIFT
}

#[cfg(test)]
mod tests;
