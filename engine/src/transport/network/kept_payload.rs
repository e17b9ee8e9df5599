//! Payloads in memory of their own, as readers of a packet need them: they may look at as many bytes as a packet of one
//! line has.

use crate::transport::{Retained, INLINE_BYTES};

/// Bytes that a payload of `bytes` bytes is kept in.
pub fn room(bytes: usize) -> usize {
    bytes.max(INLINE_BYTES)
}

/// A copy of a payload, in memory of its own.
pub fn copy(payload: &[u8]) -> Box<[u8]> {
    if payload.len() == room(payload.len()) {
        return payload.into();
    }
    let mut copy = vec![0; room(payload.len())].into_boxed_slice();
    copy[..payload.len()].copy_from_slice(payload);
    copy
}

/// Retains a payload of `bytes` bytes, which lies in [`room`] bytes.
pub fn retain(payload: Box<[u8]>, bytes: u64, token: u64) -> Retained {
    debug_assert_eq!(payload.len(), room(bytes as usize));
    Retained { payload: Box::into_raw(payload).cast::<u8>(), bytes, token }
}

/// Gives the memory of one back.
///
/// # Safety
/// It must have been made by [`retain`], and be freed once.
pub unsafe fn free(retained: &Retained) {
    let bytes = room(retained.bytes as usize);
    let kept = std::ptr::slice_from_raw_parts_mut(retained.payload.cast_mut(), bytes);
    // SAFETY: `retain` has made it of a box of this length, and by the caller it is freed once.
    drop(unsafe { Box::from_raw(kept) });
}
