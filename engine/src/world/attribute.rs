//! What programs cache on communicators, datatypes and windows
//! (MPI-5.0 §7.7).
//!
//! A value is one word. Callbacks of the program run without any lock held, so
//! they may call back into the library, also on the same object: while a value's
//! delete callback runs it can still be read, but neither deleted again nor copied,
//! and what is set under its key is a value of its own.

use crate::{Class, Error, Result};
use std::fmt;
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

/// A key under which values are cached. It lives as long as somebody holds it, and
/// each cached value does.
pub struct Keyval {
    /// The word by which the face names it.
    word: usize,
    copy: CopyFunction,
    delete: DeleteFunction,
}

impl Keyval {
    /// A new key.
    pub fn new(word: usize, copy: CopyFunction, delete: DeleteFunction) -> Keyval {
        Keyval { word, copy, delete }
    }

    fn call(&self, owner: usize, value: usize) -> Call {
        Call { owner, keyval: self.word, value }
    }
}

impl fmt::Debug for Keyval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyval({:#x})", self.word)
    }
}

/// The values cached on one object.
#[derive(Debug, Default)]
pub struct Attributes {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    /// In the order in which they were set.
    entries: Vec<Entry>,
    next: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Of all entries that this object ever had.
    number: u64,
    key: Arc<Keyval>,
    value: usize,
    /// Its delete callback runs.
    leaving: bool,
}

impl Entry {
    fn is_of(&self, key: &Arc<Keyval>) -> bool {
        Arc::ptr_eq(&self.key, key)
    }
}

impl Book {
    fn push(&mut self, key: Arc<Keyval>, value: usize) {
        self.entries.push(Entry { number: self.next, key, value, leaving: false });
        self.next += 1;
    }
}

/// So many values that callbacks set anew while an object's are deleted go with the others.
const MOST_SET_ANEW: u64 = 1000;

impl Attributes {
    /// The value under a key.
    pub fn get(&self, key: &Arc<Keyval>) -> Option<usize> {
        self.lock().entries.iter().rev().find(|entry| entry.is_of(key)).map(|entry| entry.value)
    }

    /// Caches a value; one that is there is deleted first.
    ///
    /// # Errors
    /// What the delete callback of the old value says; the old value stays.
    pub fn set(&self, owner: usize, key: &Arc<Keyval>, value: usize) -> Result<()> {
        let is_old = |entry: &Entry| entry.is_of(key);
        self.delete_where(owner, is_old, |book| book.push(key.clone(), value))
    }

    /// Deletes the value under a key, if there is one.
    ///
    /// # Errors
    /// What the delete callback says; the value stays.
    pub fn delete(&self, owner: usize, key: &Arc<Keyval>) -> Result<()> {
        self.delete_where(owner, |entry| entry.is_of(key), |_| ())
    }

    /// Deletes everything, last set first (MPI-5.0 §11.2.4 demands this order
    /// of `MPI_COMM_SELF`; it serves every object).
    ///
    /// # Errors
    /// What a delete callback says; that value and those set before it stay.
    pub fn delete_all(&self, owner: usize) -> Result<()> {
        self.delete_where(owner, |_| true, |_| ())
    }

    /// Deletes the values that are meant, last set first, also those that callbacks
    /// set meanwhile; then does the last thing before anybody else sees that they are gone.
    fn delete_where(
        &self,
        owner: usize,
        meant: impl Fn(&Entry) -> bool,
        last: impl FnOnce(&mut Book),
    ) -> Result<()> {
        let mut book = self.lock();
        let most = book.next + MOST_SET_ANEW;
        loop {
            let found = book.entries.iter_mut().rev().find(|entry| !entry.leaving && meant(entry));
            let Some(entry) = found else { break };
            if entry.number > most {
                return Err(endless());
            }
            entry.leaving = true;
            let entry = entry.clone();
            drop(book);
            let outcome = (entry.key.delete)(entry.key.call(owner, entry.value));
            book = self.lock();
            book.left(&entry, outcome.is_ok());
            outcome?;
        }
        last(&mut book);
        Ok(())
    }

    /// The attributes of a duplicate of `owner`.
    ///
    /// # Errors
    /// What a copy callback says; what was copied before is deleted again.
    pub fn copy_all(&self, owner: usize) -> Result<Attributes> {
        let entries = self.lock().entries.clone();
        let copies = Attributes::default();
        for Entry { key, value, .. } in entries.into_iter().filter(|entry| !entry.leaving) {
            match (key.copy)(key.call(owner, value)) {
                Ok(Some(value)) => copies.lock().push(key, value),
                Ok(None) => {}
                Err(error) => {
                    let _ = copies.delete_all(owner); // the first error is the one to tell
                    return Err(error);
                }
            }
        }
        Ok(copies)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// After the delete callback of an entry: away with it, unless the callback
    /// refused and nothing newer has come under its key.
    fn left(&mut self, entry: &Entry, agreed: bool) {
        let newer = self.entries.iter().any(|other| other.number > entry.number && other.is_of(&entry.key));
        match self.entries.iter().position(|other| other.number == entry.number) {
            Some(place) if agreed || newer => drop(self.entries.remove(place)),
            Some(place) => self.entries[place].leaving = false,
            None => {}
        }
    }
}

#[cold]
fn endless() -> Error {
    let sentence =
        "the delete functions of the program's attributes keep setting attributes anew on the object \
                    that is to lose them; a delete function must not set what is deleted again";
    Error::new(Class::Keyval, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key whose copy callback leaves the value out.
    fn key(delete: impl Fn(Call) -> Result<()> + Send + Sync + 'static) -> Arc<Keyval> {
        Arc::new(Keyval::new(0, Box::new(|_| Ok(None)), Box::new(delete)))
    }

    type Log = Arc<Mutex<Vec<(char, usize, usize)>>>;

    fn logging(
        log: &Log,
        copy: impl Fn(usize) -> Result<Option<usize>> + Send + Sync + 'static,
    ) -> Arc<Keyval> {
        let (copies, deletes) = (log.clone(), log.clone());
        Arc::new(Keyval::new(
            0,
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
    fn a_callback_sees_the_value_but_neither_copies_nor_deletes_it_again() {
        let attributes = Arc::new(Attributes::default());
        let (inner, own) = (attributes.clone(), Arc::new(Mutex::new(None::<Arc<Keyval>>)));
        let (known, calls) = (own.clone(), Arc::new(Mutex::new(0)));
        let count = calls.clone();
        let key = key(move |call| {
            let key = known.lock().unwrap().clone().unwrap();
            *count.lock().unwrap() += 1;
            assert_eq!(inner.get(&key), Some(call.value));
            assert_eq!(inner.copy_all(0)?.get(&key), None);
            inner.delete(0, &key)
        });
        *own.lock().unwrap() = Some(key.clone());
        attributes.set(0, &key, 1).unwrap();
        attributes.delete(0, &key).unwrap();
        assert_eq!((attributes.get(&key), *calls.lock().unwrap()), (None, 1));
        own.lock().unwrap().take();
    }

    #[test]
    fn what_a_callback_sets_goes_too_and_an_endless_round_is_an_error() {
        let attributes = Arc::new(Attributes::default());
        let log = Log::default();
        let (inner, later) = (attributes.clone(), logging(&log, |_| Ok(None)));
        let set = later.clone();
        let first = key(move |_| inner.set(0, &set, 7));
        attributes.set(0, &first, 1).unwrap();
        attributes.delete_all(0).unwrap();
        assert_eq!(*log.lock().unwrap(), [('d', 0, 7)]);
        assert_eq!((attributes.get(&first), attributes.get(&later)), (None, None));
        // Each sets the other anew.
        let inner = Arc::downgrade(&attributes);
        let other = Arc::new(Mutex::new(None::<Arc<Keyval>>));
        let partner = other.clone();
        let one = key(move |_| {
            let partner = partner.lock().unwrap().clone().unwrap();
            inner.upgrade().map_or(Ok(()), |attributes| attributes.set(0, &partner, 1))
        });
        let (inner, partner) = (Arc::downgrade(&attributes), one.clone());
        let two = key(move |_| inner.upgrade().map_or(Ok(()), |attributes| attributes.set(0, &partner, 2)));
        *other.lock().unwrap() = Some(two);
        attributes.set(0, &one, 1).unwrap();
        let error = attributes.delete_all(0).unwrap_err();
        assert!(error.class() == Class::Keyval && error.message().contains("anew"));
        other.lock().unwrap().take();
    }

    #[test]
    fn a_key_lives_as_long_as_a_value_is_cached_under_it() {
        let (attributes, key) = (Attributes::default(), key(|_| Ok(())));
        let weak = Arc::downgrade(&key);
        attributes.set(0, &key, 1).unwrap();
        drop(key);
        let key = weak.upgrade().expect("the value holds the key");
        attributes.delete(0, &key).unwrap();
        drop(key);
        assert!(weak.upgrade().is_none());
    }
}
