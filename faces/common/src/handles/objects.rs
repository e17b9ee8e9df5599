//! Handles that are addresses: a predefined one is the address of an object that the
//! library exports, any other its 32 bits and a tag.
//!
//! A program that is not position independent has a copy of such an object, and the
//! dynamic linker makes the copy's address that of the object for everybody. So the
//! addresses are asked of the dynamic linker (a list of pointers, which it fills in),
//! never compiled in, and nothing is read at an address that a program passes: it is
//! looked up among those of the list. A wild pointer is no handle, and no crash.

use super::form::Handle;
use super::{DYNAMIC, KIND_SHIFT};
use rustc_hash::FxHashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::marker::PhantomData;

/// An exported object and what its address stands for.
#[derive(Debug)]
pub struct Object {
    raw: u32,
    address: *const c_void,
}

// SAFETY: the address is only compared.
unsafe impl Sync for Object {}

impl Object {
    /// The object at an address; its 32 bits are a kind and a number below 128.
    pub const fn new(raw: u32, address: *const c_void) -> Object {
        Object { raw, address }
    }
}

/// Slots of an index: a power of two, several times what an ABI has of objects.
const SLOTS: usize = 1024;

/// The objects of an ABI by their addresses and by their bits.
#[derive(Debug)]
pub struct Index {
    /// Address and bits, at the first free slot from [`slot`] on; 0 where none is.
    slots: Box<[(usize, u32); SLOTS]>,
    addresses: FxHashMap<u32, usize>,
}

/// Where the search for an address begins: objects lie some hundred bytes apart.
#[inline]
fn slot(address: usize) -> usize {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.ilog2())
}

impl Index {
    /// An index of these objects.
    pub fn new(objects: &[Object]) -> Index {
        assert!(objects.len() < SLOTS / 2, "the index is too small for the objects of this ABI");
        let mut index = Index { slots: Box::new([(0, 0); SLOTS]), addresses: FxHashMap::default() };
        for object in objects {
            let address = object.address as usize;
            let mut place = slot(address);
            while index.slots[place].0 != 0 {
                place = (place + 1) % SLOTS;
            }
            index.slots[place] = (address, object.raw);
            index.addresses.insert(object.raw, address);
        }
        index
    }

    /// The bits of the object at an address; 0 if none is there.
    #[inline]
    fn raw_at(&self, address: usize) -> u32 {
        let mut place = slot(address);
        loop {
            let (known, raw) = self.slots[place];
            if known == address || known == 0 {
                return raw;
            }
            place = (place + 1) % SLOTS;
        }
    }
}

/// The predefined handles of an ABI.
pub trait Predefinitions: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// The index of its objects.
    fn index() -> &'static Index;
}

/// A handle that is an address or has a tag, as Open MPI has them.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectHandle<P>(*const c_void, PhantomData<P>);

// SAFETY: the address is only compared.
unsafe impl<P: Send> Send for ObjectHandle<P> {}
// SAFETY: as above.
unsafe impl<P: Sync> Sync for ObjectHandle<P> {}

impl<P> ObjectHandle<P> {
    /// The handle that is the address of an object.
    pub const fn new(object: *const c_void) -> ObjectHandle<P> {
        ObjectHandle(object, PhantomData)
    }
}

impl<P: Predefinitions> Handle for ObjectHandle<P> {
    #[inline]
    fn raw(self) -> u32 {
        let word = self.word();
        if word & 1 == 0 {
            return P::index().raw_at(word);
        }
        u32::try_from(word >> 1).ok().filter(|raw| raw & DYNAMIC == DYNAMIC).unwrap_or(0)
    }

    /// An object is aligned, so a tag of 1 in the lowest bit makes no address of one.
    #[inline]
    fn from_raw(raw: u32) -> Self {
        match raw & DYNAMIC {
            DYNAMIC => Self::from_word((raw as usize) << 1 | 1),
            _ => Self::from_word(P::index().addresses.get(&raw).copied().unwrap_or(0)),
        }
    }

    #[inline]
    fn predefined_place(raw: u32) -> usize {
        (raw & 0x7f) as usize
    }

    #[inline]
    fn word(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn from_word(word: usize) -> Self {
        Self::new(word as *const c_void)
    }

    /// Fortran knows a predefined handle by its number among those of its kind, and
    /// any other by its bits, which are a negative number.
    fn to_integer(self) -> c_int {
        match self.raw() {
            raw if raw & DYNAMIC == DYNAMIC => raw as c_int,
            0 => -1,
            raw => Self::predefined_place(raw) as c_int,
        }
    }

    fn from_integer(kind: u32, integer: c_int) -> Self {
        match u32::try_from(integer) {
            Ok(number) => Self::from_raw(kind << KIND_SHIFT | number & 0x7f),
            Err(_) => Self::from_raw(integer as u32),
        }
    }
}

impl<P> fmt::LowerHex for ObjectHandle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&(self.0 as usize), f)
    }
}
