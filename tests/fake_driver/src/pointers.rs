//! What the driver says of addresses.

use crate::memory::{Ordering, Sort};
use crate::state::call;
use crate::{Address, Answer, INVALID_VALUE, NOT_SUPPORTED};
use std::ffi::{c_int, c_uint, c_void};

/// Stores what is asked about an address: zeros for memory of the host, as CUDA does.
///
/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuPointerGetAttributes(
    number: c_uint,
    attributes: *const c_int,
    places: *const *mut c_void,
    address: Address,
) -> Answer {
    call("cuPointerGetAttributes", |state| {
        let found = state.memory.find(address as usize);
        for index in 0..number as usize {
            // SAFETY: by the caller: as many attributes and places of their types.
            unsafe {
                let place = places.add(index).read();
                let word = |value: usize| place.cast::<u64>().write(value as u64);
                let half = |value: u32| place.cast::<u32>().write(value);
                match attributes.add(index).read() {
                    1 => word(found.map_or(0, |one| one.context)),
                    2 => half(found.map_or(0, |_| 2)),
                    7 => word(found.map_or(0, |one| one.number as usize)),
                    8 => half(u32::from(found.is_some_and(|one| one.sort == Sort::Managed))),
                    9 => half(found.map_or(-2i32 as u32, |_| 0)),
                    11 => word(found.map_or(0, |one| one.first)),
                    12 => word(found.map_or(0, |one| one.bytes)),
                    _ => return Err(INVALID_VALUE),
                }
            }
        }
        state.memory.change(address as usize, |one| {
            if one.sort != Sort::Managed && one.ordering == Ordering::Unseen {
                one.ordering = Ordering::Seen;
            }
        });
        Ok(())
    })
}

/// Only that copies of the program are ordered (`SYNC_MEMOPS`), of memory that belongs to a context.
///
/// # Safety
/// As CUDA's.
#[no_mangle]
pub unsafe extern "C" fn cuPointerSetAttribute(
    _value: *const c_void,
    which: c_int,
    address: Address,
) -> Answer {
    call("cuPointerSetAttribute", |state| match state.memory.find(address as usize) {
        Some(one) if which == 6 && one.sort == Sort::Device => {
            state.memory.change(address as usize, |one| one.ordering = Ordering::Strict);
            Ok(())
        }
        // As a driver 580 answers for mapped memory.
        Some(one) if which == 6 && matches!(one.sort, Sort::Pool | Sort::Virtual) => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    })
}
