//! What bodies get of arguments that are no handles.
//!
//! Each of these is made by a generated function from C values that, by MPI's
//! rules, are valid for the time of the call; a body must not keep them.

use crate::abi;
use crate::objects::Datatype;
use serried_engine::message::{ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT, SPECIAL_BELOW};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void, CStr};

/// # Errors
/// `Arg` for a null pointer.
#[inline(always)]
pub fn not_null<T>(name: &str, pointer: *const T) -> Result<()> {
    if pointer.is_null() {
        return Err(null(name));
    }
    Ok(())
}

#[cold]
fn null(name: &str) -> Error {
    Error::new(Class::Arg, format!("argument {name} is a null pointer"))
}

/// A count of items.
///
/// # Errors
/// `Count` when it is negative.
#[inline(always)]
pub fn count(name: &str, value: i64) -> Result<i64> {
    if value < 0 {
        return Err(negative(name, value));
    }
    Ok(value)
}

#[cold]
fn negative(name: &str, value: i64) -> Error {
    Error::new(Class::Count, format!("argument {name} is {value}; a count cannot be negative"))
}

/// The error of a datatype that has to be committed for what it is used for.
#[cold]
pub fn uncommitted(argument: &str, datatype: &Datatype) -> Error {
    let name = datatype.name();
    let name = if name.is_empty() { "a derived datatype".to_owned() } else { name };
    Error::new(
        Class::Type,
        format!("argument {argument} ({name}) is not committed; call MPI_Type_commit first"),
    )
}

/// The length of an array.
///
/// # Errors
/// `Arg` when it is negative.
#[inline]
pub fn number(name: &str, value: c_int) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::new(Class::Arg, format!("argument {name} is {value}; it cannot be negative")))
}

/// A rank, with this ABI's special values made the engine's.
#[inline]
pub fn rank(value: c_int) -> i32 {
    match value {
        0.. => value,
        abi::MPI_ANY_SOURCE => ANY_SOURCE,
        abi::MPI_PROC_NULL => PROC_NULL,
        abi::MPI_ROOT => ROOT,
        _ => value.max(SPECIAL_BELOW),
    }
}

/// A rank of the engine, with its special values made this ABI's.
#[inline]
pub fn rank_out(value: i32) -> c_int {
    match value {
        ANY_SOURCE => abi::MPI_ANY_SOURCE,
        PROC_NULL => abi::MPI_PROC_NULL,
        ROOT => abi::MPI_ROOT,
        _ => value,
    }
}

/// A tag, with this ABI's `MPI_ANY_TAG` made the engine's.
#[inline]
pub fn tag(value: c_int) -> i32 {
    match value {
        0.. => value,
        abi::MPI_ANY_TAG => ANY_TAG,
        _ => value.max(SPECIAL_BELOW),
    }
}

/// A rank of the engine as a person reads it.
pub fn rank_text(value: i32) -> String {
    match value {
        ANY_SOURCE => "MPI_ANY_SOURCE".to_owned(),
        PROC_NULL => "MPI_PROC_NULL".to_owned(),
        ROOT => "MPI_ROOT".to_owned(),
        _ => value.to_string(),
    }
}

/// A tag of the engine, with its `ANY_TAG` made this ABI's.
#[inline]
pub fn tag_out(value: i32) -> c_int {
    if value == ANY_TAG {
        return abi::MPI_ANY_TAG;
    }
    value
}

/// Whether a buffer argument is `MPI_IN_PLACE`.
#[inline]
pub fn is_in_place(buffer: *const c_void) -> bool {
    buffer == abi::MPI_IN_PLACE.cast_const()
}

/// Whether a buffer argument is null or `MPI_IN_PLACE`, which both lie at the very
/// beginning or end of all addresses: one comparison.
#[inline(always)]
pub fn is_special(buffer: *const c_void) -> bool {
    buffer.is_null() || is_in_place(buffer)
}

/// The handle behind a pointer, or the null value of a null pointer.
///
/// # Safety
/// `place` is null or can be read.
pub unsafe fn peek(place: *const abi::Handle) -> abi::Handle {
    if place.is_null() {
        return abi::MPI_COMM_NULL;
    }
    // SAFETY: by the contract.
    unsafe { place.read() }
}

/// As [`peek`], of a file.
///
/// # Safety
/// As there.
pub unsafe fn peek_file(place: *const abi::FileHandle) -> abi::FileHandle {
    if place.is_null() {
        return abi::MPI_FILE_NULL;
    }
    // SAFETY: by the contract.
    unsafe { place.read() }
}

/// An array of counts or displacements, of either width.
#[derive(Clone, Copy, Debug)]
pub enum Counts {
    /// Of `int`.
    Narrow(*const c_int),
    /// Of `MPI_Aint` or `MPI_Count`.
    Wide(*const i64),
}

impl From<*const c_int> for Counts {
    fn from(first: *const c_int) -> Counts {
        Counts::Narrow(first)
    }
}

impl From<*const i64> for Counts {
    fn from(first: *const i64) -> Counts {
        Counts::Wide(first)
    }
}

impl Counts {
    /// Whether there is no array.
    pub fn is_null(&self) -> bool {
        match self {
            Counts::Narrow(first) => first.is_null(),
            Counts::Wide(first) => first.is_null(),
        }
    }

    /// The value at `index`, which must lie in the array that MPI says the
    /// program passes; 0 when there is no array.
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        if self.is_null() {
            return 0;
        }
        // SAFETY: the program passes an array as long as MPI says.
        unsafe {
            match self {
                Counts::Narrow(first) => i64::from(first.add(index).read()),
                Counts::Wide(first) => first.add(index).read(),
            }
        }
    }

    /// The first `length` values.
    ///
    /// # Errors
    /// `Arg` when there is no array and `length` is not 0.
    pub fn to_vec(self, name: &str, length: usize) -> Result<Vec<i64>> {
        if length > 0 && self.is_null() {
            return Err(Error::new(Class::Arg, format!("argument {name} is a null pointer")));
        }
        Ok((0..length).map(|index| self.get(index)).collect())
    }
}

/// An array of ints that a call reads.
#[derive(Clone, Copy, Debug)]
pub struct Ints {
    name: &'static str,
    first: *const c_int,
}

impl Ints {
    /// # Safety
    /// `first` is a special value of MPI, null, or an array as long as MPI says.
    pub unsafe fn new(name: &'static str, first: *const c_int) -> Ints {
        Ints { name, first }
    }

    /// Where it lies, to compare with special values (`MPI_UNWEIGHTED`).
    pub fn address(&self) -> *const c_int {
        self.first
    }

    /// The value at `index`, which must lie in the array.
    #[inline]
    pub fn get(&self, index: usize) -> c_int {
        if self.first.is_null() {
            return 0;
        }
        // SAFETY: by the contract of `new`.
        unsafe { self.first.add(index).read() }
    }

    /// The first `length` values.
    ///
    /// # Errors
    /// `Arg` when there is no array and `length` is not 0.
    pub fn to_vec(self, length: usize) -> Result<Vec<c_int>> {
        if length > 0 {
            not_null(self.name, self.first)?;
        }
        Ok((0..length).map(|index| self.get(index)).collect())
    }
}

/// An array of numbers that a call fills.
#[derive(Clone, Copy, Debug)]
pub struct OutArray<T> {
    name: &'static str,
    first: *mut T,
}

impl<T: Copy> OutArray<T> {
    /// # Safety
    /// `first` is a special value of MPI, null, or an array as long as MPI says.
    pub unsafe fn new(name: &'static str, first: *mut T) -> OutArray<T> {
        OutArray { name, first }
    }

    /// Where it lies, to compare with special values (`MPI_UNWEIGHTED`).
    pub fn address(&self) -> *mut T {
        self.first
    }

    /// Stores a value at `index`, which must lie in the array.
    ///
    /// # Errors
    /// `Arg` when there is no array.
    #[inline]
    pub fn set(&self, index: usize, value: T) -> Result<()> {
        not_null(self.name, self.first)?;
        // SAFETY: by the contract of `new`.
        unsafe { self.first.add(index).write(value) };
        Ok(())
    }

    /// The value at `index`, which must lie in the array and have been set.
    ///
    /// # Errors
    /// `Arg` when there is no array.
    pub fn get(&self, index: usize) -> Result<T> {
        not_null(self.name, self.first)?;
        // SAFETY: by the contract of `new`.
        Ok(unsafe { self.first.add(index).read() })
    }
}

/// Where a call puts a value (flag, rank, keyval); some calls read it too.
#[derive(Clone, Copy, Debug)]
pub struct OutValue<T>(*mut T);

// SAFETY: MPI lets any thread of the program complete a call.
unsafe impl<T: Send> Send for OutValue<T> {}

impl<T: Copy> OutValue<T> {
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// `place` is null or can be read and written for the time of the call, and of a nonblocking one until its
    /// request is complete.
    pub unsafe fn new(name: &str, place: *mut T) -> Result<OutValue<T>> {
        not_null(name, place)?;
        Ok(OutValue(place))
    }

    /// Stores the value.
    #[inline]
    pub fn set(&self, value: T) {
        // SAFETY: by the contract of `new`.
        unsafe { self.0.write(value) }
    }

    /// Reads the value.
    pub fn get(&self) -> T {
        // SAFETY: by the contract of `new`.
        unsafe { self.0.read() }
    }
}

impl OutValue<c_int> {
    /// Stores 1 or 0.
    pub fn set_flag(&self, value: bool) {
        self.set(c_int::from(value));
    }
}

/// Where a call puts a count, of either width; some calls read it too.
#[derive(Clone, Copy, Debug)]
pub enum OutCount {
    /// Of `int`.
    Narrow(*mut c_int),
    /// Of `MPI_Aint` or `MPI_Count`.
    Wide(*mut i64),
}

/// A pointer to a number of one of the two widths.
pub trait CountPlace {
    /// The place as a result of that width.
    fn place(self) -> OutCount;
}

impl CountPlace for *mut c_int {
    fn place(self) -> OutCount {
        OutCount::Narrow(self)
    }
}

impl CountPlace for *mut i64 {
    fn place(self) -> OutCount {
        OutCount::Wide(self)
    }
}

impl OutCount {
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// The pointer is null or can be read and written for the time of the call.
    pub unsafe fn new(name: &str, place: impl CountPlace) -> Result<OutCount> {
        let place = place.place();
        match place {
            OutCount::Narrow(pointer) => not_null(name, pointer)?,
            OutCount::Wide(pointer) => not_null(name, pointer)?,
        }
        Ok(place)
    }

    /// Stores the value; `MPI_UNDEFINED` where an `int` cannot hold it.
    pub fn set(&self, value: i64) {
        // SAFETY: by the contract of `new`.
        unsafe {
            match self {
                OutCount::Narrow(place) => place.write(c_int::try_from(value).unwrap_or(abi::MPI_UNDEFINED)),
                OutCount::Wide(place) => place.write(value),
            }
        }
    }

    /// Stores `MPI_UNDEFINED`.
    pub fn set_undefined(&self) {
        self.set(i64::from(abi::MPI_UNDEFINED));
    }

    /// Reads the value.
    pub fn get(&self) -> i64 {
        // SAFETY: by the contract of `new`.
        unsafe {
            match self {
                OutCount::Narrow(place) => i64::from(place.read()),
                OutCount::Wide(place) => place.read(),
            }
        }
    }
}

/// Stores an address where `place`, an argument that C passes as `void *`, points.
///
/// # Errors
/// `Arg` for a null pointer.
pub fn store_address(name: &str, place: *mut c_void, address: *mut u8) -> Result<()> {
    not_null(name, place)?;
    // SAFETY: MPI says that it is the address of a pointer.
    unsafe { place.cast::<*mut u8>().write_unaligned(address) };
    Ok(())
}

/// A C string argument, copied (bytes that are no UTF-8 become U+FFFD).
///
/// # Errors
/// `Arg` for a null pointer.
pub fn read_string(name: &str, text: *const c_char) -> Result<String> {
    not_null(name, text)?;
    // SAFETY: MPI says that the program passes a string with a 0 at its end.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Stores a string with its final 0 in an array of `capacity` chars, cut to
/// what fits at a character's boundary; gives the length without the 0.
///
/// # Errors
/// `Arg` for a null pointer or no capacity.
pub fn write_string(name: &str, place: *mut c_char, capacity: usize, text: &str) -> Result<usize> {
    not_null(name, place)?;
    let Some(room) = capacity.checked_sub(1) else {
        return Err(Error::new(Class::Arg, format!("argument {name} has no room for a string")));
    };
    let mut length = text.len().min(room);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: MPI says that the program passes an array of `capacity` chars,
    // and `length` is less.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), length);
        place.add(length).write(0);
    }
    Ok(length)
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
