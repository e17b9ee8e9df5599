//! Point-to-point synchronisation, ordering and locks (OpenSHMEM 1.6 chapters 9.12 to 9.14).

use crate::common::entry::Call;
use crate::shmem::element::Word;
use crate::shmem::handles::{pe, shmem_ctx_t, CONTEXTS, SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
use crate::shmem::state::{shmem, Shmem};
use serried_engine::engine::symmetric::Remote;
use serried_engine::engine::Engine;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{self, Ordering};

/// How a word is compared with a value.
#[derive(Clone, Copy)]
enum Comparison {
    Equal,
    NotEqual,
    Greater,
    LessOrEqual,
    Less,
    GreaterOrEqual,
}

impl Comparison {
    fn new(cmp: c_int) -> Result<Comparison> {
        use Comparison::*;
        let all = [Equal, NotEqual, Greater, LessOrEqual, Less, GreaterOrEqual];
        let found = usize::try_from(cmp).ok().and_then(|cmp| all.get(cmp)).copied();
        found.ok_or_else(|| {
            Error::new(
                Class::Arg,
                format!("argument cmp is {cmp}; it must be one of SHMEM_CMP_EQ, NE, GT, LE, LT and GE"),
            )
        })
    }

    #[inline]
    fn holds<T: Ord>(self, word: T, value: T) -> bool {
        match self {
            Comparison::Equal => word == value,
            Comparison::NotEqual => word != value,
            Comparison::Greater => word > value,
            Comparison::LessOrEqual => word <= value,
            Comparison::Less => word < value,
            Comparison::GreaterOrEqual => word >= value,
        }
    }
}

/// What words are compared with.
enum Values<T> {
    /// All with this.
    One(T),
    /// Each with its own.
    Each(*const T),
}

/// Words that are looked at, and what they are to be.
struct Condition<T> {
    words: *const T,
    count: usize,
    /// Those that are not 0 are left out; null: none.
    status: *const c_int,
    comparison: Comparison,
    values: Values<T>,
}

impl<T: Word> Condition<T> {
    /// Words of this PE.
    fn new(
        shmem: &Shmem,
        words: *const T,
        count: usize,
        status: *const c_int,
        (cmp, values): (c_int, Values<T>),
    ) -> Result<Condition<T>> {
        let comparison = Comparison::new(cmp)?;
        if count > 0 {
            check_words(shmem, words.cast(), size_of::<T>())?;
            if matches!(&values, Values::Each(each) if each.is_null()) {
                return Err(Error::new(Class::Buffer, "argument cmp_values is a null pointer"));
            }
        }
        Ok(Condition { words, count, status, comparison, values })
    }

    /// Whether a word counts.
    #[inline]
    fn counts(&self, index: usize) -> bool {
        // SAFETY: null, or as many as words, as the program says.
        self.status.is_null() || unsafe { *self.status.add(index) } == 0
    }

    #[inline]
    fn holds(&self, index: usize) -> bool {
        // SAFETY: the program's words, aligned, and values.
        unsafe {
            let value = match &self.values {
                Values::One(value) => *value,
                Values::Each(values) => *values.add(index),
            };
            self.comparison.holds(T::load(self.words.add(index)), value)
        }
    }

    fn is_empty(&self) -> bool {
        !(0..self.count).any(|index| self.counts(index))
    }

    fn all(&self) -> bool {
        (0..self.count).all(|index| !self.counts(index) || self.holds(index))
    }

    fn any(&self) -> Option<usize> {
        (0..self.count).find(|&index| self.counts(index) && self.holds(index))
    }

    /// Fills in which hold; how many.
    fn some(&self, indices: *mut usize) -> usize {
        let held = (0..self.count).filter(|&index| self.counts(index) && self.holds(index));
        held.enumerate().fold(0, |_, (place, index)| {
            // SAFETY: the program has room for as many as there are words.
            unsafe { indices.add(place).write(index) };
            place + 1
        })
    }

    fn wait_all(&self, shmem: &Shmem) -> Result<()> {
        match self.all() {
            true => Ok(()),
            false => shmem.engine.watch(&shmem.symmetric, || self.all()),
        }
    }

    /// The index of a word that holds; the largest number if none is looked at.
    fn wait_any(&self, shmem: &Shmem) -> Result<usize> {
        if self.is_empty() {
            return Ok(usize::MAX);
        }
        shmem.engine.watch(&shmem.symmetric, || self.any().is_some())?;
        Ok(self.any().unwrap_or(usize::MAX))
    }

    fn wait_some(&self, shmem: &Shmem, indices: *mut usize) -> Result<usize> {
        if self.is_empty() {
            return Ok(0);
        }
        shmem.engine.watch(&shmem.symmetric, || self.any().is_some())?;
        Ok(self.some(indices))
    }

    fn test_all(&self, shmem: &Shmem) -> Result<c_int> {
        shmem.engine.glance(&shmem.symmetric, || self.all()).map(c_int::from)
    }

    fn test_any(&self, shmem: &Shmem) -> Result<usize> {
        shmem.engine.glance(&shmem.symmetric, || self.any().is_some())?;
        Ok(self.any().unwrap_or(usize::MAX))
    }

    fn test_some(&self, shmem: &Shmem, indices: *mut usize) -> Result<usize> {
        shmem.engine.glance(&shmem.symmetric, || self.any().is_some())?;
        Ok(self.some(indices))
    }
}

/// Words that are waited for are symmetric, for nobody else could change them.
fn check_words(shmem: &Shmem, address: *const u8, size: usize) -> Result<()> {
    if !(address as usize).is_multiple_of(size) {
        let sentence = format!("argument ivar: the address {address:p} is no multiple of {size}");
        return Err(Error::new(Class::Disp, sentence));
    }
    let remote = Remote { name: "ivar", address: address.cast_mut(), pe: shmem.symmetric.rank() };
    shmem.engine.check_symmetric(&shmem.symmetric, remote)
}

/// `shmem_wait_until`.
#[inline]
pub fn wait_until<T: Word>(_call: &Call, ivar: *mut T, cmp: c_int, cmp_value: T) -> Result<()> {
    let shmem = shmem()?;
    let values = Values::One(cmp_value);
    Condition::new(shmem, ivar, 1, std::ptr::null(), (cmp, values))?.wait_all(shmem)
}

/// `shmem_wait`: until it is something else.
pub fn wait<T: Word>(call: &Call, ivar: *mut T, cmp_value: T) -> Result<()> {
    wait_until(call, ivar, 1, cmp_value)
}

/// `shmem_signal_wait_until`.
pub fn signal_wait_until(call: &Call, sig_addr: *mut u64, cmp: c_int, cmp_value: u64) -> Result<u64> {
    let shmem = shmem()?;
    let values = Values::One(cmp_value);
    let condition = Condition::new(shmem, sig_addr, 1, std::ptr::null(), (cmp, values))?;
    // The value that was found, even if it changes right after.
    let found = std::cell::Cell::new(0);
    shmem.engine.watch(&shmem.symmetric, || {
        // SAFETY: checked above.
        found.set(unsafe { u64::load(sig_addr) });
        condition.comparison.holds(found.get(), cmp_value)
    })?;
    let _ = call;
    Ok(found.get())
}

/// The functions on several words: with one value and with a vector of values.
macro_rules! of_many {
    ($($one:ident $vector:ident $method:ident -> $returned:ty;)*) => {$(
        /// With one value.
        pub fn $one<T: Word>(
            _call: &Call, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, cmp_value: T,
        ) -> Result<$returned> {
            let shmem = shmem()?;
            Condition::new(shmem, ivars, nelems, status, (cmp, Values::One(cmp_value)))?.$method(shmem)
        }
        /// With a value for each.
        pub fn $vector<T: Word>(
            _call: &Call, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, cmp_values: *const T,
        ) -> Result<$returned> {
            let shmem = shmem()?;
            Condition::new(shmem, ivars, nelems, status, (cmp, Values::Each(cmp_values)))?.$method(shmem)
        }
    )*};
}

of_many! {
    wait_until_all wait_until_all_vector wait_all -> ();
    wait_until_any wait_until_any_vector wait_any -> usize;
    test_all test_all_vector test_all -> c_int;
    test_any test_any_vector test_any -> usize;
}

/// The same, for those that give indices.
macro_rules! of_some {
    ($($one:ident $vector:ident $method:ident;)*) => {$(
        /// With one value.
        pub fn $one<T: Word>(
            _call: &Call, ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
            cmp_value: T,
        ) -> Result<usize> {
            let shmem = shmem()?;
            check_indices(indices, nelems)?;
            Condition::new(shmem, ivars, nelems, status, (cmp, Values::One(cmp_value)))?.$method(shmem, indices)
        }
        /// With a value for each.
        pub fn $vector<T: Word>(
            _call: &Call, ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
            cmp_values: *const T,
        ) -> Result<usize> {
            let shmem = shmem()?;
            check_indices(indices, nelems)?;
            Condition::new(shmem, ivars, nelems, status, (cmp, Values::Each(cmp_values)))?.$method(shmem, indices)
        }
    )*};
}

of_some! {
    wait_until_some wait_until_some_vector wait_some;
    test_some test_some_vector test_some;
}

fn check_indices(indices: *mut usize, nelems: usize) -> Result<()> {
    match indices.is_null() && nelems > 0 {
        false => Ok(()),
        true => Err(Error::new(Class::Buffer, "argument indices is a null pointer")),
    }
}

/// `shmem_test`.
pub fn test<T: Word>(_call: &Call, ivar: *mut T, cmp: c_int, cmp_value: T) -> Result<c_int> {
    let shmem = shmem()?;
    Condition::new(shmem, ivar, 1, std::ptr::null(), (cmp, Values::One(cmp_value)))?.test_all(shmem)
}

/// Does something with the engine for a context. One is like another; nothing is done for the invalid one.
fn settle(call: &Call, ctx: shmem_ctx_t, how: impl FnOnce(&Engine) -> Result<()>) -> Result<()> {
    if ctx == SHMEM_CTX_INVALID {
        return shmem().map(drop);
    }
    if ctx != SHMEM_CTX_DEFAULT && CONTEXTS.get(call, ctx).is_none() {
        return Err(CONTEXTS.no_object("ctx", ctx));
    }
    how(shmem()?.engine)
}

/// `shmem_fence`: what this PE has written to another one comes before what it writes to it next. The server of another
/// node keeps to that order by itself.
#[inline]
pub fn fence(call: &Call, ctx: shmem_ctx_t) -> Result<()> {
    settle(call, ctx, |_| {
        atomic::fence(Ordering::SeqCst);
        Ok(())
    })
}

/// `shmem_quiet`.
#[inline]
pub fn quiet(call: &Call, ctx: shmem_ctx_t) -> Result<()> {
    settle(call, ctx, Engine::quiet)
}

/// `shmem_pe_quiet`.
pub fn pe_quiet(call: &Call, ctx: shmem_ctx_t, target_pes: *const c_int, npes: usize) -> Result<()> {
    if npes > 0 && target_pes.is_null() {
        return Err(Error::new(Class::Buffer, "argument target_pes is a null pointer"));
    }
    for index in 0..npes {
        // SAFETY: as many as the program says.
        pe("target_pes", unsafe { *target_pes.add(index) })?;
    }
    quiet(call, ctx)
}

/// `shmem_udcflush`, and the others that are about caches: here these are coherent, and loads and stores can be ordered.
pub fn udcflush(_call: &Call) -> Result<()> {
    shmem()?.engine.quiet()
}

/// `shmem_udcflush_line`.
pub fn udcflush_line(call: &Call, _dest: *mut c_void) -> Result<()> {
    udcflush(call)
}

/// `shmem_set_lock`.
pub fn set_lock(_call: &Call, lock: *mut c_long) -> Result<()> {
    let shmem = shmem()?;
    shmem.engine.take_lock(&shmem.symmetric, lock.cast())
}

/// `shmem_test_lock`: 0 if it has been taken.
pub fn test_lock(_call: &Call, lock: *mut c_long) -> Result<c_int> {
    let shmem = shmem()?;
    Ok(c_int::from(!shmem.engine.try_lock(&shmem.symmetric, lock.cast())?))
}

/// `shmem_clear_lock`.
pub fn clear_lock(_call: &Call, lock: *mut c_long) -> Result<()> {
    let shmem = shmem()?;
    shmem.engine.give_lock(&shmem.symmetric, lock.cast())
}
