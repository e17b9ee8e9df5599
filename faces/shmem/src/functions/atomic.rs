//! Atomic memory operations (OpenSHMEM 1.6 chapter 9.8). A call returns when the word has been changed, so the nonblocking
//! forms differ only in where the old value goes.

use crate::common::entry::Call;
use crate::shmem::element::Element;
use crate::shmem::handles::shmem_ctx_t;
use crate::shmem::state::shmem;
use serried_engine::reduce::Builtin;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// Changes a word; what it was goes to `old`.
#[inline]
fn change<T: Element>(
    call: &Call,
    ctx: shmem_ctx_t,
    word: (&'static str, *const T),
    builtin: Builtin,
    by: *const T,
    old: *mut T,
    pe: c_int,
) -> Result<()> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, (word.0, word.1.cast()), pe)?;
    shmem.engine.change_word(&shmem.symmetric, remote, (T::BASIC, builtin), (by.cast(), old.cast()))
}

#[inline]
fn fetch_and<T: Element>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    builtin: Builtin,
    by: T,
    pe: c_int,
) -> Result<T> {
    let mut old = MaybeUninit::<T>::uninit();
    change(call, ctx, ("dest", dest), builtin, &raw const by, old.as_mut_ptr(), pe)?;
    // SAFETY: filled by the change.
    Ok(unsafe { old.assume_init() })
}

/// `shmem_atomic_fetch`.
#[inline]
pub fn atomic_fetch<T: Element>(call: &Call, ctx: shmem_ctx_t, source: *const T, pe: c_int) -> Result<T> {
    let mut old = MaybeUninit::<T>::uninit();
    change(call, ctx, ("source", source), Builtin::NoOp, ptr::null(), old.as_mut_ptr(), pe)?;
    // SAFETY: filled by the fetch.
    Ok(unsafe { old.assume_init() })
}

/// `shmem_atomic_set`.
#[inline]
pub fn atomic_set<T: Element>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    value: T,
    pe: c_int,
) -> Result<()> {
    change(call, ctx, ("dest", dest), Builtin::Replace, &raw const value, ptr::null_mut(), pe)
}

/// `shmem_atomic_compare_swap`.
#[inline]
pub fn atomic_compare_swap<T: Element>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) -> Result<T> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, ("dest", dest.cast()), pe)?;
    let mut old = MaybeUninit::<T>::uninit();
    let items = ((&raw const value).cast(), (&raw const cond).cast(), old.as_mut_ptr().cast());
    shmem.engine.swap_word(&shmem.symmetric, remote, size_of::<T>(), items)?;
    // SAFETY: filled by the swap.
    Ok(unsafe { old.assume_init() })
}

/// `shmem_atomic_compare_swap_nbi`.
pub fn atomic_compare_swap_nbi<T: Element>(
    call: &Call,
    ctx: shmem_ctx_t,
    fetch: *mut T,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) -> Result<()> {
    check_fetch(fetch)?;
    give(fetch, atomic_compare_swap(call, ctx, dest, cond, value, pe)?);
    Ok(())
}

/// `shmem_atomic_fetch_nbi`.
pub fn atomic_fetch_nbi<T: Element>(
    call: &Call,
    ctx: shmem_ctx_t,
    fetch: *mut T,
    source: *const T,
    pe: c_int,
) -> Result<()> {
    check_fetch(fetch)?;
    give(fetch, atomic_fetch(call, ctx, source, pe)?);
    Ok(())
}

fn check_fetch<T>(fetch: *mut T) -> Result<()> {
    match fetch.is_null() {
        false => Ok(()),
        true => Err(Error::new(Class::Buffer, "argument fetch is a null pointer")),
    }
}

fn give<T>(fetch: *mut T, value: T) {
    // SAFETY: not null; the program lends it.
    unsafe { fetch.write_unaligned(value) };
}

/// The forms of an operation with an operand: fetching, not fetching, nonblocking.
macro_rules! with_operand {
    ($($builtin:ident: $fetching:ident $nonfetching:tt $nbi:ident;)*) => {$(
        /// The fetching form.
        #[inline]
        pub fn $fetching<T: Element>(call: &Call, ctx: shmem_ctx_t, dest: *mut T, value: T, pe: c_int) -> Result<T> {
            fetch_and(call, ctx, dest, Builtin::$builtin, value, pe)
        }
        /// The nonblocking form.
        pub fn $nbi<T: Element>(
            call: &Call, ctx: shmem_ctx_t, fetch: *mut T, dest: *mut T, value: T, pe: c_int,
        ) -> Result<()> {
            check_fetch(fetch)?;
            give(fetch, $fetching(call, ctx, dest, value, pe)?);
            Ok(())
        }
        with_operand! { @ $builtin $nonfetching }
    )*};
    (@ $builtin:ident -) => {};
    (@ $builtin:ident $nonfetching:ident) => {
        /// The form that does not fetch.
        #[inline]
        pub fn $nonfetching<T: Element>(call: &Call, ctx: shmem_ctx_t, dest: *mut T, value: T, pe: c_int) -> Result<()> {
            change(call, ctx, ("dest", dest), Builtin::$builtin, &raw const value, ptr::null_mut(), pe)
        }
    };
}

with_operand! {
    Replace: atomic_swap - atomic_swap_nbi;
    Sum: atomic_fetch_add atomic_add atomic_fetch_add_nbi;
    BitAnd: atomic_fetch_and atomic_and atomic_fetch_and_nbi;
    BitOr: atomic_fetch_or atomic_or atomic_fetch_or_nbi;
    BitXor: atomic_fetch_xor atomic_xor atomic_fetch_xor_nbi;
}

/// An integer that can be counted up.
pub trait One: Element {
    /// 1.
    const ONE: Self;
}

macro_rules! ones {
    ($($type:ty)*) => {$(
        impl One for $type {
            const ONE: $type = 1;
        }
    )*};
}
ones! { i32 i64 isize u32 u64 usize }

/// `shmem_atomic_fetch_inc`.
#[inline]
pub fn atomic_fetch_inc<T: One>(call: &Call, ctx: shmem_ctx_t, dest: *mut T, pe: c_int) -> Result<T> {
    atomic_fetch_add(call, ctx, dest, T::ONE, pe)
}

/// `shmem_atomic_inc`.
#[inline]
pub fn atomic_inc<T: One>(call: &Call, ctx: shmem_ctx_t, dest: *mut T, pe: c_int) -> Result<()> {
    atomic_add(call, ctx, dest, T::ONE, pe)
}

/// `shmem_atomic_fetch_inc_nbi`.
pub fn atomic_fetch_inc_nbi<T: One>(
    call: &Call,
    ctx: shmem_ctx_t,
    fetch: *mut T,
    dest: *mut T,
    pe: c_int,
) -> Result<()> {
    atomic_fetch_add_nbi(call, ctx, fetch, dest, T::ONE, pe)
}
