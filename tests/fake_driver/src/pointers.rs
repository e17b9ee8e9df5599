//! What the driver says of addresses.

use crate::memory::Sort;
use crate::state::call;
use crate::{Address, Answer, INVALID_VALUE};
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
        let reserved = state.memory.virtual_memory.range_of(address as usize);
        let range = match (found, reserved) {
            (Some(_), Some(all)) => (all.program, all.bytes),
            (Some(one), None) => (one.first, one.bytes),
            _ => (0, 0),
        };
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
                    11 => word(range.0),
                    12 => word(range.1),
                    18 => word(found.map_or(0, |one| one.bytes)),
                    19 => word(found.map_or(0, |one| one.first)),
                    _ => return Err(INVALID_VALUE),
                }
            }
        }
        Ok(())
    })
}
