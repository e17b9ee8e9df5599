//! How far apart two cores are, and what that means for a message: it is copied into a cell for the peer in the way that is
//! quickest ([`Chooser`]): plainly if its core is near and finds the data in a common cache, else past the caches.

use crate::memory::copy::Chooser;

/// What is known about the way to a peer.
#[derive(Debug, Default)]
pub struct Distance {
    copies: Chooser,
}

impl Distance {
    /// Copies `bytes` bytes for a reader on the other side.
    ///
    /// # Safety
    /// Both sides must have so many bytes and not overlap.
    #[inline]
    pub unsafe fn copy(&mut self, source: *const u8, target: *mut u8, bytes: usize) {
        // SAFETY: by the caller.
        unsafe { self.copies.copy(source, target, bytes) };
    }

    /// Whether lines that the peer has read are overwritten quickly.
    pub fn is_near(&self) -> bool {
        !self.copies.is_past_caches()
    }

    /// Whether a block of a few KiB had better go in a packet: plain stores are
    /// quick, and the next copy into a cell is not one that tells whether they are.
    #[inline]
    pub fn favours_letters(&mut self, bytes: usize) -> bool {
        self.copies.spares(bytes)
    }
}
