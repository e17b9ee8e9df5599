//! Where the words of ranks for the server of their node lie in the node segment. What they mean, the engine knows.

use super::node_segment::{NodeSegment, SERVER_AT, SERVER_BYTES};
use crate::Result;

impl NodeSegment {
    /// Address of the words of a local rank for the server of its node, 4 KiB aligned, valid as long as `self`.
    pub fn server_area(&self, local_rank: u32) -> *mut u8 {
        // SAFETY: inside the mapping, by the layout above.
        unsafe { self.segment.base().add(self.part(local_rank) + SERVER_AT) }
    }

    /// Reserves them before they are touched.
    ///
    /// # Errors
    /// `NoMem` when the limits of the machine do not allow it.
    pub fn reserve_server(&self, local_rank: u32) -> Result<()> {
        self.segment.reserve(self.part(local_rank) + SERVER_AT, SERVER_BYTES)
    }
}
