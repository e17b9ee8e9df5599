//! A memory barrier on the cores of all processes of the job, by the one that
//! needs it: so that the others need none.
//!
//! A sender publishes a packet and then looks whether the receiver sleeps.
//! Between the two a barrier is needed, and it costs as much as the message. Linux
//! lets the sleeper issue it for everybody (`membarrier(2)`, expedited and
//! global): it reaches every process that has registered.

use std::sync::atomic::{compiler_fence, Ordering};
use std::sync::OnceLock;

const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;
const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Makes this process one that [`everywhere`] reaches; `false` where the kernel
/// cannot, or a sandbox forbids it.
pub fn register() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(REGISTER_GLOBAL_EXPEDITED))
}

/// A full barrier in every registered process, as if each had issued it where it
/// is now. `false` if the kernel refuses.
pub fn everywhere() -> bool {
    membarrier(GLOBAL_EXPEDITED)
}

/// The other side of [`everywhere`]: keeps the compiler from moving a load before
/// a store.
#[inline]
pub fn counterpart() {
    compiler_fence(Ordering::SeqCst);
}
