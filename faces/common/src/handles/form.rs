//! The forms of a handle in C: how a C type carries the 32 bits that tables know.

use std::ffi::c_int;
use std::fmt;

/// A C type of handles.
pub trait Handle: Copy + Eq + fmt::Debug + fmt::LowerHex + Send + Sync + 'static {
    /// Its 32 bits; 0, which is no handle, for what cannot be one.
    fn raw(self) -> u32;

    /// The handle of bits that a table has made or [`Handle::raw`] has given.
    fn from_raw(raw: u32) -> Self;

    /// A place below 256 for each predefined handle of one kind.
    fn predefined_place(raw: u32) -> usize;

    /// As a word, by which the engine names an object to the program's functions.
    fn word(self) -> usize;

    /// The handle of such a word.
    fn from_word(word: usize) -> Self;

    /// As a Fortran integer (MPI-5.0 §19.3.4, §20.4).
    fn to_integer(self) -> c_int {
        self.raw() as c_int
    }

    /// The handle of such an integer, which is of this kind.
    fn from_integer(_kind: u32, integer: c_int) -> Self {
        Self::from_raw(integer as u32)
    }
}

/// The 32 bits in an int, as MPICH has them.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerHandle(c_int);

impl IntegerHandle {
    /// The handle of a value of the ABI.
    pub const fn new(value: u32) -> IntegerHandle {
        IntegerHandle(value as c_int)
    }
}

impl Handle for IntegerHandle {
    #[inline]
    fn raw(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn from_raw(raw: u32) -> Self {
        IntegerHandle(raw as c_int)
    }

    /// The low byte tells them apart, except that pair types (top bit) count anew
    /// from 0.
    #[inline]
    fn predefined_place(raw: u32) -> usize {
        ((raw & 0x7f) | (raw >> 31) << 7) as usize
    }

    #[inline]
    fn word(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline]
    fn from_word(word: usize) -> Self {
        IntegerHandle(word as c_int)
    }
}

impl fmt::LowerHex for IntegerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

/// The 32 bits in a pointer, as the standard ABI has them.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerHandle(usize);

impl PointerHandle {
    /// The handle of a value of the ABI.
    pub const fn new(value: u32) -> PointerHandle {
        PointerHandle(value as usize)
    }
}

impl Handle for PointerHandle {
    #[inline]
    fn raw(self) -> u32 {
        u32::try_from(self.0).unwrap_or(0)
    }

    #[inline]
    fn from_raw(raw: u32) -> Self {
        PointerHandle(raw as usize)
    }

    #[inline]
    fn predefined_place(raw: u32) -> usize {
        (raw & 0xff) as usize
    }

    #[inline]
    fn word(self) -> usize {
        self.0
    }

    #[inline]
    fn from_word(word: usize) -> Self {
        PointerHandle(word)
    }
}

impl fmt::LowerHex for PointerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}
