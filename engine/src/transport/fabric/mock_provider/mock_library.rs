//! The mock's library: two providers, one that wants everything and one that wants nothing.

use super::super::libfabric::Libfabric;
use super::super::structures::*;
use super::mock_objects::open_fabric;
use std::ffi::{c_char, c_int};

/// Wants memory registered on both sides, virtual addresses, keys of its own, and memory bound to endpoints.
pub fn strict() -> &'static Libfabric {
    static STRICT: Libfabric = library(offers::<true>);
    &STRICT
}

/// Wants nothing, has few keys, and copies no message at once.
pub fn scalable() -> &'static Libfabric {
    static SCALABLE: Libfabric = library(offers::<false>);
    &SCALABLE
}

type Offers =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;

const fn library(offers: Offers) -> Libfabric {
    Libfabric { version: own_version, offers, free, copy, open: open_fabric, text }
}

unsafe extern "C" fn own_version() -> u32 {
    version(1, 15)
}

unsafe extern "C" fn text(_: c_int) -> *const c_char {
    c"no such thing".as_ptr()
}

/// Nothing is ever freed: offers are few.
unsafe extern "C" fn free(_: *mut Info) {}

fn zeroed<T>() -> *mut T {
    // SAFETY: structures of numbers and pointers.
    Box::into_raw(Box::new(unsafe { std::mem::zeroed::<T>() }))
}

unsafe extern "C" fn copy(info: *const Info) -> *mut Info {
    // SAFETY: structures of ours; the parts are shared.
    unsafe {
        if let Some(info) = info.as_ref() {
            return Box::into_raw(Box::new(std::ptr::read(info)));
        }
        let info = zeroed::<Info>();
        ((*info).send, (*info).receive, (*info).endpoint) = (zeroed(), zeroed(), zeroed());
        ((*info).domain, (*info).fabric) = (zeroed(), zeroed());
        info
    }
}

unsafe extern "C" fn offers<const IS_STRICT: bool>(
    _: u32,
    _: *const c_char,
    _: *const c_char,
    _: u64,
    hints: *const Info,
    place: *mut *mut Info,
) -> c_int {
    const ALL: c_int =
        MEMORY_LOCAL | MEMORY_VIRTUAL | MEMORY_ALLOCATED | MEMORY_PROVIDERS_KEY | MEMORY_OF_ENDPOINT;
    // SAFETY: hints of the caller's, structures of ours, and a place for the answer.
    unsafe {
        assert_eq!((*(*hints).domain).memory_mode & ALL, ALL, "all that a provider may want is heeded");
        assert_eq!(((*(*hints).endpoint).kind, (*hints).mode), (RELIABLE_DATAGRAMS, CONTEXT | CONTEXT2));
        let info = copy(std::ptr::null());
        (*info).address_format = 15;
        (*(*info).send).inject_size = if IS_STRICT { 64 } else { 0 };
        (*(*info).endpoint).longest_message = 100_000;
        (*(*info).endpoint).protocol = 77;
        (*(*info).domain).memory_mode = if IS_STRICT { ALL } else { 0 };
        (*(*info).domain).key_size = if IS_STRICT { 8 } else { 1 };
        (*(*info).fabric).provider = c"cxi".as_ptr().cast_mut();
        place.write(info);
    }
    0
}
