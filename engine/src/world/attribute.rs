//! What programs cache on communicators, datatypes and windows
//! (MPI-5.0 §7.7).
//!
//! A value is one word. Callbacks of the program run without any lock held, so
//! they may call back into the library, also on the same object.

use crate::Result;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a callback is told.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The word by which the face names the object (its handle).
    pub owner: usize,
    /// The word by which the face names the keyval.
    pub keyval: usize,
    /// The cached value.
    pub value: usize,
}

/// Called when the owner is duplicated: the value for the duplicate, or `None`
/// to leave it out.
pub type CopyFunction = Box<dyn Fn(Call) -> Result<Option<usize>> + Send + Sync>;
/// Called when the value is deleted or replaced.
pub type DeleteFunction = Box<dyn Fn(Call) -> Result<()> + Send + Sync>;

/// A key under which values are cached. Freeing it leaves cached values alone.
pub struct Keyval {
    /// The word by which the face names it; set by the face.
    pub word: AtomicUsize,
    copy: CopyFunction,
    delete: DeleteFunction,
}

impl Keyval {
    /// A new key.
    pub fn new(copy: CopyFunction, delete: DeleteFunction) -> Keyval {
        Keyval { word: AtomicUsize::new(0), copy, delete }
    }

    fn call(&self, owner: usize, value: usize) -> Call {
        Call { owner, keyval: self.word.load(Relaxed), value }
    }
}

impl fmt::Debug for Keyval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyval({:#x})", self.word.load(Relaxed))
    }
}

/// The values cached on one object, in the order in which they were set.
#[derive(Debug, Default)]
pub struct Attributes {
    entries: Mutex<Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: Arc<Keyval>,
    value: usize,
}

impl Attributes {
    /// The value under a key.
    pub fn get(&self, key: &Arc<Keyval>) -> Option<usize> {
        self.lock().iter().find(|entry| Arc::ptr_eq(&entry.key, key)).map(|entry| entry.value)
    }

    /// Caches a value; one that is there is deleted first.
    ///
    /// # Errors
    /// What the delete callback of the old value says; the old value stays.
    pub fn set(&self, owner: usize, key: &Arc<Keyval>, value: usize) -> Result<()> {
        self.delete(owner, key)?;
        self.lock().push(Entry { key: key.clone(), value });
        Ok(())
    }

    /// Deletes the value under a key, if there is one.
    ///
    /// # Errors
    /// What the delete callback says; the value stays.
    pub fn delete(&self, owner: usize, key: &Arc<Keyval>) -> Result<()> {
        if let Some(value) = self.get(key) {
            (key.delete)(key.call(owner, value))?;
            self.lock().retain(|entry| !Arc::ptr_eq(&entry.key, key));
        }
        Ok(())
    }

    /// Deletes everything, last set first (MPI-5.0 §11.4.1 demands this order
    /// of `MPI_COMM_SELF`; it serves every object).
    ///
    /// # Errors
    /// What a delete callback says; that value and those set before it stay.
    pub fn delete_all(&self, owner: usize) -> Result<()> {
        loop {
            let Some(last) = self.lock().last().cloned() else { return Ok(()) };
            self.delete(owner, &last.key)?;
        }
    }

    /// The attributes of a duplicate of `owner`.
    ///
    /// # Errors
    /// What a copy callback says; what was copied before is deleted again.
    pub fn copy_all(&self, owner: usize) -> Result<Attributes> {
        let entries = self.lock().clone();
        let copies = Attributes::default();
        for Entry { key, value } in entries {
            match (key.copy)(key.call(owner, value)) {
                Ok(Some(value)) => copies.lock().push(Entry { key, value }),
                Ok(None) => {}
                Err(error) => {
                    let _ = copies.delete_all(owner); // the first error is the one to tell
                    return Err(error);
                }
            }
        }
        Ok(copies)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Error};

    type Log = Arc<Mutex<Vec<(char, usize, usize)>>>;

    fn logging(
        log: &Log,
        copy: impl Fn(usize) -> Result<Option<usize>> + Send + Sync + 'static,
    ) -> Arc<Keyval> {
        let (copies, deletes) = (log.clone(), log.clone());
        Arc::new(Keyval::new(
            Box::new(move |call| {
                copies.lock().unwrap().push(('c', call.owner, call.value));
                copy(call.value)
            }),
            Box::new(move |call| {
                deletes.lock().unwrap().push(('d', call.owner, call.value));
                if call.value == 13 {
                    return Err(Error::new(Class::Other, "the callback refused"));
                }
                Ok(())
            }),
        ))
    }

    #[test]
    fn copies_follow_the_callback_and_deletes_go_last_set_first() {
        let log = Log::default();
        let (kept, dropped) = (logging(&log, |value| Ok(Some(value + 1))), logging(&log, |_| Ok(None)));
        let attributes = Attributes::default();
        attributes.set(5, &kept, 1).unwrap();
        attributes.set(5, &dropped, 2).unwrap();
        let copies = attributes.copy_all(5).unwrap();
        assert_eq!((copies.get(&kept), copies.get(&dropped)), (Some(2), None));
        attributes.delete_all(5).unwrap();
        assert_eq!(*log.lock().unwrap(), [('c', 5, 1), ('c', 5, 2), ('d', 5, 2), ('d', 5, 1)]);
        assert_eq!(attributes.get(&kept), None);
    }

    #[test]
    fn replacing_deletes_the_old_value() {
        let log = Log::default();
        let key = logging(&log, |_| Ok(None));
        let attributes = Attributes::default();
        attributes.set(0, &key, 1).unwrap();
        attributes.set(0, &key, 2).unwrap();
        assert_eq!(*log.lock().unwrap(), [('d', 0, 1)]);
        assert_eq!(attributes.get(&key), Some(2));
        attributes.delete(0, &logging(&log, |_| Ok(None))).unwrap();
    }

    #[test]
    fn a_refused_delete_keeps_the_value_and_a_refused_copy_takes_back_the_others() {
        let log = Log::default();
        let good = logging(&log, |value| Ok(Some(value)));
        let bad = logging(&log, |_| Err(Error::new(Class::Other, "no copy")));
        let attributes = Attributes::default();
        attributes.set(0, &good, 7).unwrap();
        attributes.set(0, &bad, 13).unwrap();
        assert!(attributes.delete(0, &bad).is_err() && attributes.set(0, &bad, 1).is_err());
        assert_eq!(attributes.get(&bad), Some(13));
        assert_eq!(attributes.copy_all(0).unwrap_err().message(), "no copy");
        assert!(log.lock().unwrap().ends_with(&[('c', 0, 7), ('c', 0, 13), ('d', 0, 7)]));
    }

    #[test]
    fn a_callback_may_use_the_same_object() {
        let attributes = Arc::new(Attributes::default());
        let inner = attributes.clone();
        let key =
            Arc::new(Keyval::new(Box::new(|_| Ok(None)), Box::new(move |_| inner.copy_all(0).map(drop))));
        attributes.set(0, &key, 1).unwrap();
        attributes.delete(0, &key).unwrap();
    }
}
