//! Keyvals: the numbers of keys under which programs cache values, and the
//! program's callbacks behind them (MPI-5.0 §7.7).

use crate::callbacks::{CopyAttribute, DeleteAttribute};
use crate::{abi, codes};
use serried_engine::world::attribute::{Call, Keyval};
use serried_engine::{Class, Error, Result};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keyvals for one kind of object.
pub struct Keyvals {
    /// The numbers of this kind begin after it.
    base: c_int,
    noun: &'static str,
    known: Mutex<BTreeMap<c_int, Arc<Keyval>>>,
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

    /// Gives a key a number: the lowest that is free.
    ///
    /// # Errors
    /// `NoMem` when a million exist.
    pub fn add(&self, keyval: Keyval) -> Result<c_int> {
        let mut known = self.lock();
        if known.len() == MOST {
            return Err(Error::new(Class::NoMem, format!("a million keyvals for {} exist", self.noun)));
        }
        let last = known.last_key_value().map_or(self.base, |(number, _)| *number);
        let number = match (last - self.base) as usize == known.len() {
            true => last + 1,
            false => (self.base + 1..last).find(|number| !known.contains_key(number)).unwrap_or(last + 1),
        };
        keyval.word.store(number as usize, Relaxed);
        known.insert(number, Arc::new(keyval));
        Ok(number)
    }

    /// The key of a number.
    ///
    /// # Errors
    /// `Keyval` when there is none.
    pub fn get(&self, name: &str, number: c_int) -> Result<Arc<Keyval>> {
        self.lock().get(&number).cloned().ok_or_else(|| self.no_keyval(name, number))
    }

    /// Takes a number away; values cached under its key stay.
    ///
    /// # Errors
    /// `Keyval` when there is none.
    pub fn free(&self, name: &str, number: c_int) -> Result<()> {
        self.lock().remove(&number).map(drop).ok_or_else(|| self.no_keyval(name, number))
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<c_int, Arc<Keyval>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key with the program's callbacks.
pub fn with_callbacks(copy: *const c_void, delete: *const c_void, extra_state: *mut c_void) -> Keyval {
    let extra_state = extra_state as usize;
    let (copy, delete) = (Copy::of(copy), of_delete(delete));
    Keyval::new(
        Box::new(move |call| match copy {
            Copy::Never => Ok(None),
            Copy::Same => Ok(Some(call.value)),
            Copy::Ask(function) => ask(function, call, extra_state),
        }),
        Box::new(move |call| {
            let Some(function) = delete else { return Ok(()) };
            let (owner, keyval) = (abi::from_word(call.owner), call.keyval as c_int);
            // SAFETY: the program says that this is its delete callback.
            let code =
                unsafe { function(owner, keyval, call.value as *mut c_void, extra_state as *mut c_void) };
            check(code, "delete")
        }),
    )
}

#[derive(Clone, Copy)]
enum Copy {
    Never,
    Same,
    Ask(CopyAttribute),
}

impl Copy {
    fn of(function: *const c_void) -> Copy {
        if function.is_null() {
            return Copy::Never;
        }
        if abi::is_dup_fn(function) {
            return Copy::Same;
        }
        // SAFETY: not null, and the program says that it is a copy callback.
        Copy::Ask(unsafe { std::mem::transmute::<*const c_void, CopyAttribute>(function) })
    }
}

fn of_delete(function: *const c_void) -> Option<DeleteAttribute> {
    // SAFETY: null is `None`; otherwise the program says that it is a delete
    // callback.
    unsafe { std::mem::transmute::<*const c_void, Option<DeleteAttribute>>(function) }
}

fn ask(function: CopyAttribute, call: Call, extra_state: usize) -> Result<Option<usize>> {
    let (owner, keyval) = (abi::from_word(call.owner), call.keyval as c_int);
    let (extra_state, value) = (extra_state as *mut c_void, call.value as *mut c_void);
    let mut copied: *mut c_void = std::ptr::null_mut();
    let mut flag: c_int = 0;
    // SAFETY: the program says that this is its copy callback; the value goes
    // to a pointer, the flag to an int.
    let code = unsafe {
        function(owner, keyval, extra_state, value, std::ptr::from_mut(&mut copied).cast(), &mut flag)
    };
    check(code, "copy")?;
    Ok((flag != 0).then_some(copied as usize))
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
