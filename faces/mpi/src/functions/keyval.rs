//! Keyvals: the numbers of keys under which programs cache values, and the
//! program's callbacks behind them (MPI-5.0 §7.7).

use super::attribute::integer;
use crate::callbacks::{CopyAttribute, CopyProxy, DeleteAttribute, DeleteProxy};
use crate::handle::Handle;
use crate::{abi, codes};
use serried_engine::world::attribute::{Call, Keyval};
use serried_engine::{Class, Error, Result};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Keyvals for one kind of object.
///
/// A number lives as long as its key: that is, after the program has freed it, as
/// long as a value is cached under it or a call uses it (MPI-5.0 §7.7.2).
pub struct Keyvals {
    /// The numbers of this kind begin after it.
    base: c_int,
    noun: &'static str,
    known: Mutex<BTreeMap<c_int, Known>>,
}

/// What a number stands for.
struct Known {
    key: Weak<Keyval>,
    /// The program's own hold, until it frees the key.
    given: Option<Arc<Keyval>>,
    proxies: Arc<OnceLock<Proxies>>,
}

/// What calls the callbacks of a key instead of us, where they are not C's.
#[derive(Clone, Copy, Debug)]
pub struct Proxies {
    /// Calls the copy function.
    pub copy: CopyProxy,
    /// Calls the delete function.
    pub delete: DeleteProxy,
}

/// The number of a key, which holds it: it is free again when it is dropped.
pub struct Number {
    of: &'static Keyvals,
    number: c_int,
    proxies: Arc<OnceLock<Proxies>>,
}

impl Drop for Number {
    fn drop(&mut self) {
        self.of.lock().remove(&self.number);
    }
}

/// For communicators.
pub static OF_COMMUNICATORS: Keyvals = Keyvals::new(1 << 24, "communicators");
/// For datatypes.
pub static OF_DATATYPES: Keyvals = Keyvals::new(2 << 24, "datatypes");
/// For windows.
pub static OF_WINDOWS: Keyvals = Keyvals::new(3 << 24, "windows");

const MOST: usize = 1 << 20;

impl Keyvals {
    const fn new(base: c_int, noun: &'static str) -> Keyvals {
        Keyvals { base, noun, known: Mutex::new(BTreeMap::new()) }
    }

    /// Makes a key that has a number: the lowest that is free.
    ///
    /// # Errors
    /// `NoMem` when a million exist.
    pub fn add(&'static self, make: impl FnOnce(Number) -> Keyval) -> Result<c_int> {
        let mut known = self.lock();
        if known.len() == MOST {
            return Err(Error::new(Class::NoMem, format!("a million keyvals for {} exist", self.noun)));
        }
        let last = known.last_key_value().map_or(self.base, |(number, _)| *number);
        let number = match (last - self.base) as usize == known.len() {
            true => last + 1,
            false => (self.base + 1..last).find(|number| !known.contains_key(number)).unwrap_or(last + 1),
        };
        let proxies = Arc::new(OnceLock::new());
        let key = Arc::new(make(Number { of: self, number, proxies: proxies.clone() }));
        known.insert(number, Known { key: Arc::downgrade(&key), given: Some(key), proxies });
        Ok(number)
    }

    /// The key of a number.
    ///
    /// # Errors
    /// `Keyval` when there is none.
    pub fn get(&self, name: &str, number: c_int) -> Result<Arc<Keyval>> {
        let found = self.lock().get(&number).and_then(|known| known.key.upgrade());
        found.ok_or_else(|| self.no_keyval(name, number))
    }

    /// Whether there is a key of this number.
    pub fn has(&self, number: c_int) -> bool {
        self.lock().contains_key(&number)
    }

    /// Has the callbacks of a key called by others.
    ///
    /// # Errors
    /// `Keyval` when there is none.
    pub fn set_proxies(&self, name: &str, number: c_int, proxies: Proxies) -> Result<()> {
        let known = self.lock().get(&number).map(|known| known.proxies.clone());
        let place = known.ok_or_else(|| self.no_keyval(name, number))?;
        place.set(proxies).map_err(|_| Error::new(Class::Keyval, "the key has such functions already"))
    }

    /// The program gives a key up. Values cached under it stay, and as long as there
    /// are any it may do so again: its callbacks and libraries each have a copy of the number.
    ///
    /// # Errors
    /// `Keyval` when there is none.
    pub fn free(&self, name: &str, number: c_int) -> Result<()> {
        let key = self.get(name, number)?;
        let given = self.lock().get_mut(&number).and_then(|known| known.given.take());
        drop((key, given)); // with the lock free, for they may be the last
        Ok(())
    }

    #[cold]
    fn no_keyval(&self, name: &str, number: c_int) -> Error {
        let noun = self.noun;
        let what = match number {
            abi::MPI_KEYVAL_INVALID => format!("argument {name} is MPI_KEYVAL_INVALID"),
            _ => format!(
                "argument {name} ({number}) is no keyval that the program made for {noun}, or has been freed"
            ),
        };
        Error::new(Class::Keyval, what)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<c_int, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The program's callbacks for a key, and the word that it gave for them.
struct Callbacks {
    copy: *const c_void,
    delete: *const c_void,
    extra_state: *mut c_void,
    /// It is free again when the callbacks are gone.
    number: Number,
}

// SAFETY: functions and a word, which MPI lets any thread use.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

/// A key with the program's callbacks.
pub fn with_callbacks(
    number: Number,
    copy: *const c_void,
    delete: *const c_void,
    extra_state: *mut c_void,
) -> Keyval {
    let word = number.number as usize;
    let callbacks = Arc::new(Callbacks { copy, delete, extra_state, number });
    let same = callbacks.clone();
    Keyval::new(word, Box::new(move |call| callbacks.copy(call)), Box::new(move |call| same.delete(call)))
}

impl Callbacks {
    /// In which language a value is, as proxies are told.
    fn language(value: usize) -> c_int {
        c_int::from(integer::of(value).is_some())
    }

    /// The value as a proxy gets it.
    fn of_fortran(value: usize) -> *mut c_void {
        integer::of(value).map_or(value, |integer| integer as usize) as *mut c_void
    }

    fn copy(&self, call: Call) -> Result<Option<usize>> {
        let is_integer = integer::of(call.value).is_some();
        if self.copy.is_null() {
            return Ok(None);
        }
        if is_duplicate(self.copy) {
            return Ok(Some(integer::of(call.value).map_or(call.value, integer::keep)));
        }
        let (handle, keyval) = (abi::Handle::from_word(call.owner), call.keyval as c_int);
        let mut copied: *mut c_void = std::ptr::null_mut();
        let mut flag: c_int = 0;
        let code = match self.number.proxies.get() {
            // SAFETY: the proxy knows the language of the program's callback.
            Some(proxies) => unsafe {
                let (value, language) = (Self::of_fortran(call.value), Self::language(call.value));
                let (integer, state) = (handle.to_integer(), self.extra_state);
                (proxies.copy)(self.copy, integer, keyval, state, language, value, &mut copied, &mut flag)
            },
            // SAFETY: the program says that this is its copy callback; the value goes
            // to a pointer, the flag to an int.
            None => unsafe {
                let function = std::mem::transmute::<*const c_void, CopyAttribute>(self.copy);
                let place = std::ptr::from_mut(&mut copied).cast();
                function(handle, keyval, self.extra_state, call.value as *mut c_void, place, &mut flag)
            },
        };
        check(code, "copy")?;
        let by_proxy = self.number.proxies.get().is_some();
        let word = match integer::of(copied as usize) {
            _ if is_integer && by_proxy => Some(copied as i64),
            Some(value) if !by_proxy => Some(value), // C passed the address on: its owner would free it
            _ => None,
        };
        Ok((flag != 0).then(|| word.map_or(copied as usize, integer::keep)))
    }

    fn delete(&self, call: Call) -> Result<()> {
        if !self.delete.is_null() {
            let (handle, keyval) = (abi::Handle::from_word(call.owner), call.keyval as c_int);
            let code = match self.number.proxies.get() {
                // SAFETY: the proxy knows the language of the program's callback.
                Some(proxies) => unsafe {
                    let (value, language) = (Self::of_fortran(call.value), Self::language(call.value));
                    (proxies.delete)(
                        self.delete,
                        handle.to_integer(),
                        keyval,
                        language,
                        value,
                        self.extra_state,
                    )
                },
                // SAFETY: the program says that this is its delete callback.
                None => unsafe {
                    let function = std::mem::transmute::<*const c_void, DeleteAttribute>(self.delete);
                    function(handle, keyval, call.value as *mut c_void, self.extra_state)
                },
            };
            check(code, "delete")?;
        }
        integer::forget(call.value);
        Ok(())
    }
}

/// Whether a copy function is `MPI_COMM_DUP_FN` or its kin. Where an ABI has several,
/// the others copy when they are called.
fn is_duplicate(function: *const c_void) -> bool {
    function == abi::MPI_COMM_DUP_FN.cast_const()
}

/// The code that a callback returned becomes that of the call.
fn check(code: c_int, which: &str) -> Result<()> {
    if code == abi::MPI_SUCCESS {
        return Ok(());
    }
    let text = codes::text_of(code).unwrap_or_else(|_| "an unknown code".to_owned());
    Err(Error::new(
        Class::User(code),
        format!("the program's {which} callback for an attribute returned {code} ({text})"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::world::attribute::Attributes;
    use std::ptr::{null, null_mut};

    fn made(keyvals: &'static Keyvals) -> c_int {
        keyvals.add(|number| with_callbacks(number, null(), null(), null_mut())).unwrap()
    }

    #[test]
    fn a_freed_number_lives_until_nothing_is_cached_under_it_and_comes_again() {
        static KEYVALS: Keyvals = Keyvals::new(5 << 24, "tests");
        let (cached, number) = (Attributes::default(), made(&KEYVALS));
        cached.set(0, &KEYVALS.get("k", number).unwrap(), 41).unwrap();
        KEYVALS.free("k", number).unwrap();
        KEYVALS.free("k", number).unwrap();
        let other = made(&KEYVALS);
        assert_ne!(other, number);
        let key = KEYVALS.get("k", number).unwrap();
        assert_eq!(cached.get(&key), Some(41));
        cached.delete(0, &key).unwrap();
        assert!(KEYVALS.get("k", number).is_ok(), "the call in progress holds it");
        drop(key);
        assert_eq!(KEYVALS.get("k", number).unwrap_err().class(), Class::Keyval);
        assert_eq!(KEYVALS.free("k", number).unwrap_err().class(), Class::Keyval);
        assert_eq!(made(&KEYVALS), number);
    }

    #[test]
    fn a_freed_number_that_nothing_is_cached_under_is_gone_at_once() {
        static KEYVALS: Keyvals = Keyvals::new(6 << 24, "tests");
        for _ in 0..3 {
            let number = made(&KEYVALS);
            assert_eq!(number, (6 << 24) + 1);
            KEYVALS.free("k", number).unwrap();
            assert!(KEYVALS.get("k", number).is_err());
        }
    }
}
