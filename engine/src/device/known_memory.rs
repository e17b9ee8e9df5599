//! Memory that is the host's for certain, so that no driver is asked about it: the window of this
//! rank, where malloc takes memory from, the program's image with its heap, and the main stack.

use crate::memory::window::Window;
use std::sync::OnceLock;

/// A stack that is longer than this is not known as one.
const STACK: usize = 8 << 20;

/// Whether an address is surely memory of the host.
pub(super) fn is_of_host(address: *const u8) -> bool {
    let address = address as usize;
    Window::of_process().contains(address) || is_of_image(address) || is_of_main_stack(address)
}

/// Where the program's image begins and where its stack ends.
fn bounds() -> (usize, usize) {
    static BOUNDS: OnceLock<(usize, usize)> = OnceLock::new();
    // SAFETY: asks for words of the auxiliary vector.
    let word = |which| unsafe { libc::getauxval(which) } as usize;
    // The kernel puts the random bytes of a program above its stack.
    *BOUNDS.get_or_init(|| (word(libc::AT_PHDR) & !4095, word(libc::AT_RANDOM)))
}

/// The image, its variables and the heap behind them; nothing is mapped in between.
fn is_of_image(address: usize) -> bool {
    // SAFETY: tells where the heap ends.
    let end = unsafe { libc::sbrk(0) } as usize;
    let begin = bounds().0;
    begin != 0 && (begin..end).contains(&address)
}

/// The stack above this call, if this is the main thread.
fn is_of_main_stack(address: usize) -> bool {
    let here = 0u8;
    let (here, end) = (&raw const here as usize, bounds().1);
    end.checked_sub(here).is_some_and(|length| length <= STACK) && (here..end).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU8;

    static ZEROED: AtomicU8 = AtomicU8::new(0);

    #[test]
    fn variables_are_the_hosts_and_mapped_memory_is_not_known() {
        assert!(is_of_host(ZEROED.as_ptr()));
        // SAFETY: a mapping of our own.
        let mapped = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0)
        };
        assert!(!is_of_host(mapped.cast()));
        // SAFETY: mapped above.
        unsafe { libc::munmap(mapped, 4096) };
    }
}
