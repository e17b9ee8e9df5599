//! Integers of the program: as wide as its compiler makes them. Those of a program with an `INTEGER` of 8 bytes
//! (`-fdefault-integer-8`) are wider than the ints of C, which gets copies, and whose results are copied back.
#![allow(dead_code)] // a library whose integers are C's passes them on and needs little from here
#![allow(clippy::useless_conversion)] // where the two are the same

pub use crate::abi::Fint;
use crate::abi::Status;
use crate::special;
use std::ffi::c_int;

/// Whether the program's integers are C's.
const ARE_ALIKE: bool = size_of::<Fint>() == size_of::<c_int>();
/// So many ints are a status.
const STATUS: usize = size_of::<Status>() / size_of::<c_int>();

/// An integer as C has it. What C cannot have becomes the nearest that it can have, which no call takes for right.
#[inline]
pub fn narrow(value: Fint) -> c_int {
    long(value).clamp(c_int::MIN.into(), c_int::MAX.into()) as c_int
}

/// Whether C can have an integer as it is.
#[inline]
pub fn fits(value: Fint) -> bool {
    i64::from(narrow(value)) == long(value)
}

/// An integer as wide as an address.
#[inline]
pub fn long(value: Fint) -> i64 {
    i64::from(value)
}

/// An int of C as the program has it.
#[inline]
pub fn widen(value: c_int) -> Fint {
    Fint::from(value)
}

/// Where a call stores one int, or changes it.
pub struct Cell {
    place: *mut Fint,
    before: c_int,
    now: c_int,
}

impl Cell {
    /// With what stands there, which may be anything.
    ///
    /// # Safety
    /// An integer of the program can be read there.
    pub unsafe fn new(place: *mut Fint) -> Cell {
        // SAFETY: by the contract.
        let now = narrow(unsafe { place.read() });
        Cell { place, before: now, now }
    }

    /// What C gets.
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        &raw mut self.now
    }

    /// What C has stored.
    pub fn get(&self) -> c_int {
        self.now
    }

    /// Stores something before C does.
    pub fn set(&mut self, value: c_int) {
        self.now = value;
    }

    /// Gives the program what the call has stored. What it has left alone stays as it was.
    ///
    /// # Safety
    /// The place can be written.
    pub unsafe fn store(&self) {
        if self.now != self.before {
            // SAFETY: by the contract.
            unsafe { self.place.write(widen(self.now)) };
        }
    }
}

/// An array of integers that a call reads or changes.
pub struct Ints {
    place: *mut Fint,
    /// What C gets instead of a copy: a sentinel of its own, or the array itself.
    instead: Option<*mut c_int>,
    before: Vec<c_int>,
    now: Vec<c_int>,
}

impl Ints {
    /// So many integers; none where the number is negative. Sentinels become C's.
    ///
    /// # Safety
    /// They can be read there.
    pub unsafe fn new(place: *mut Fint, length: i64) -> Ints {
        let meant = special::ints(place.cast());
        // SAFETY: by the contract.
        unsafe { Ints::with((meant != place.cast() || ARE_ALIKE).then_some(meant), place, length) }
    }

    /// So many statuses, in the ints that they are made of.
    ///
    /// # Safety
    /// They can be read there.
    pub unsafe fn statuses(place: *mut Fint, number: i64) -> Ints {
        let ignored = special::statuses(place.cast());
        let instead = (ignored != place.cast() || ARE_ALIKE).then_some(ignored.cast());
        // SAFETY: by the contract.
        unsafe { Ints::with(instead, place, number.saturating_mul(STATUS as i64)) }
    }

    /// One status.
    ///
    /// # Safety
    /// It can be read there.
    pub unsafe fn status(place: *mut Fint) -> Ints {
        let ignored = special::status(place.cast());
        let instead = (ignored != place.cast() || ARE_ALIKE).then_some(ignored.cast());
        // SAFETY: by the contract.
        unsafe { Ints::with(instead, place, STATUS as i64) }
    }

    /// # Safety
    /// So many integers can be read there, unless there is something instead.
    unsafe fn with(instead: Option<*mut c_int>, place: *mut Fint, length: i64) -> Ints {
        let length = if instead.is_some() { 0 } else { usize::try_from(length).unwrap_or(0) };
        // SAFETY: by the contract.
        let now: Vec<c_int> = (0..length).map(|index| narrow(unsafe { place.add(index).read() })).collect();
        Ints { place, instead, before: now.clone(), now }
    }

    /// What C gets.
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        self.instead.unwrap_or(self.now.as_mut_ptr())
    }

    /// Whether C can have all of them as they are.
    ///
    /// # Safety
    /// They can be read where the program has them.
    pub unsafe fn fit(&self) -> bool {
        // SAFETY: by the contract.
        (0..self.before.len()).all(|index| fits(unsafe { self.place.add(index).read() }))
    }

    /// Gives the program those that the call has changed.
    ///
    /// # Safety
    /// They can be written.
    pub unsafe fn store(&self) {
        for (index, (now, before)) in self.now.iter().zip(&self.before).enumerate() {
            if now != before {
                // SAFETY: by the contract.
                unsafe { self.place.add(index).write(widen(*now)) };
            }
        }
    }
}

/// A status of C, lent to a function of the program as the integers that it has for one.
///
/// # Safety
/// The status can be read and written, also if nothing has been stored there.
pub unsafe fn with_status<T>(status: *mut Status, function: impl FnOnce(*mut Fint) -> T) -> T {
    let first: *mut c_int = status.cast();
    // SAFETY: by the contract.
    let mut ints: [Fint; STATUS] = std::array::from_fn(|index| widen(unsafe { first.add(index).read() }));
    let result = function(ints.as_mut_ptr());
    for (index, value) in ints.into_iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { first.add(index).write(narrow(value)) };
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_c_cannot_have_is_the_nearest_that_it_can_have() {
        assert_eq!((narrow(-5), widen(-5), narrow(Fint::MAX)), (-5, -5, c_int::MAX));
        assert_eq!(narrow(Fint::MIN), c_int::MIN);
        assert!(fits(-5) && fits(c_int::MAX.into()));
        assert_eq!(fits(Fint::MAX), ARE_ALIKE);
    }

    #[test]
    fn only_what_a_call_has_changed_is_stored() {
        let mut place: [Fint; 3] = [7, Fint::MAX, 9];
        // SAFETY: three integers.
        unsafe {
            let mut ints = Ints::with(None, place.as_mut_ptr(), 3);
            assert_eq!(ints.as_mut_ptr().read(), 7);
            ints.as_mut_ptr().add(2).write(-1);
            ints.store();
            let mut cell = Cell::new(&raw mut place[0]);
            cell.store();
            cell.set(-3);
            cell.store();
        }
        assert_eq!(place, [-3, Fint::MAX, -1]);
    }
}
