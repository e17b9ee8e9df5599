//! Shared objects that are not counted where they live as long as the process.
//!
//! To count a reference takes a locked instruction, and another one when it goes: with two
//! buffers and an operator that is a tenth of the time of a short collective. MPI's own
//! datatypes and operators are made once and never freed, so nobody has to count them.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// Objects of which some live as long as the process.
///
/// # Safety
/// [`Lasting::lasts`] always gives the same answer for an object, and where it says yes, one
/// counted reference is never given back ([`for_ever`]).
pub unsafe trait Lasting {
    /// Whether this one is never freed.
    fn lasts(&self) -> bool;
}

/// A new object that is never freed.
pub fn for_ever<T>(object: T) -> Arc<T> {
    let made = Arc::new(object);
    std::mem::forget(Arc::clone(&made));
    made
}

/// A reference to a shared object, counted if it has to be.
#[derive(Debug)]
pub struct Kept<T: Lasting>(ManuallyDrop<Arc<T>>);

impl<T: Lasting> From<&Arc<T>> for Kept<T> {
    #[inline]
    fn from(object: &Arc<T>) -> Self {
        Kept(ManuallyDrop::new(match object.lasts() {
            // SAFETY: the reference that is never given back (`Lasting`) keeps the object; this
            // one is not given back either (`drop`).
            true => unsafe { Arc::from_raw(Arc::as_ptr(object)) },
            false => Arc::clone(object),
        }))
    }
}

impl<T: Lasting> From<Arc<T>> for Kept<T> {
    #[inline]
    fn from(object: Arc<T>) -> Self {
        Kept::from(&object)
    }
}

impl<T: Lasting> Clone for Kept<T> {
    #[inline]
    fn clone(&self) -> Self {
        Kept::from(&*self.0)
    }
}

impl<T: Lasting> Deref for Kept<T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: Lasting> Drop for Kept<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.lasts() {
            // SAFETY: this reference was counted when it was made, and is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(bool);

    // SAFETY: the answer does not change; the test makes those that last by `for_ever`.
    unsafe impl Lasting for Thing {
        fn lasts(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn only_what_can_be_freed_is_counted() {
        for (lasts, counts) in [(false, [2, 3, 1]), (true, [2, 2, 2])] {
            let thing = if lasts { for_ever(Thing(true)) } else { Arc::new(Thing(false)) };
            let kept = Kept::from(&thing);
            assert_eq!(Arc::strong_count(&thing), counts[0]);
            let again = Kept::from(Arc::clone(&kept.clone()));
            assert_eq!((Arc::strong_count(&thing), again.0 .0), (counts[1], lasts));
            drop((kept, again));
            assert_eq!(Arc::strong_count(&thing), counts[2]);
        }
    }
}
