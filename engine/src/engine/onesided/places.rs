//! Places of the origin, which an operation goes through as it goes through the memory of the target.

/// What elements are changed by, and where what they were goes. Null: nothing, nowhere.
pub(super) type Places = (*const u8, *mut u8);

/// Both places further on.
pub(super) fn step_both((from, to): Places, bytes: usize) -> Places {
    (step(from.cast_mut(), bytes).cast_const(), step(to, bytes))
}

/// Further on, unless there is nothing.
pub(super) fn step(address: *mut u8, bytes: usize) -> *mut u8 {
    if address.is_null() {
        address
    } else {
        address.wrapping_add(bytes)
    }
}
