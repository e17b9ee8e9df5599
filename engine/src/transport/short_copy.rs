//! Copying the payload of a packet: mostly a few bytes, which are moved without a call.

/// Copies bytes, the few of most messages without a call.
///
/// # Safety
/// Both sides must have `bytes` bytes and not overlap each other.
#[inline(always)]
pub unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: each branch stays inside `bytes`, by its condition.
    unsafe {
        if bytes > 64 {
            std::ptr::copy_nonoverlapping(source, target, bytes);
        } else if bytes >= 32 {
            copy_ends::<[u128; 2]>(source, target, bytes);
        } else if bytes >= 16 {
            copy_ends::<u128>(source, target, bytes);
        } else if bytes >= 8 {
            copy_ends::<u64>(source, target, bytes);
        } else if bytes >= 4 {
            copy_ends::<u32>(source, target, bytes);
        } else {
            for place in 0..bytes {
                target.add(place).write(source.add(place).read());
            }
        }
    }
}

/// Copies the first and the last `T` of `bytes` bytes.
///
/// # Safety
/// `size_of::<T>() <= bytes <= 2 * size_of::<T>()`, and as for [`copy`].
#[inline(always)]
unsafe fn copy_ends<T: Copy>(source: *const u8, target: *mut u8, bytes: usize) {
    let last = bytes - std::mem::size_of::<T>();
    // SAFETY: by the caller; both are read before either is written.
    unsafe {
        let head = source.cast::<T>().read_unaligned();
        let tail = source.add(last).cast::<T>().read_unaligned();
        target.cast::<T>().write_unaligned(head);
        target.add(last).cast::<T>().write_unaligned(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_copied_whole_and_not_a_byte_more() {
        let source: Vec<u8> = (1..=100).collect();
        for bytes in 0..=100 {
            let mut target = [0u8; 120];
            // SAFETY: both sides are long enough.
            unsafe { copy(source.as_ptr(), target.as_mut_ptr(), bytes) };
            assert_eq!(target[..bytes], source[..bytes]);
            assert!(target[bytes..].iter().all(|&byte| byte == 0), "{bytes}");
        }
    }
}
