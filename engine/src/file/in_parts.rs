//! Nonblocking access (MPI-5.0 §14.4.2, §14.4.3): done in parts, by whoever waits or tests.

use super::access_of_call::{Access, Items, Place};
use super::opened::File;
use crate::Result;
use std::sync::Arc;

/// Bytes moved at a time.
const PART: u64 = 1 << 20;

/// An access under way. Collective ones go on by themselves too: a rank waits for nobody in them.
pub struct Transfer {
    file: Arc<File>,
    access: Access,
    writing: bool,
    /// Bytes of the file moved so far.
    moved: u64,
}

// SAFETY: the program lends the memory to the operation until it is complete, whichever thread goes on with it.
unsafe impl Send for Transfer {}

impl Transfer {
    /// Settles the place of an access; nothing is moved yet.
    ///
    /// # Errors
    /// What is wrong with the call.
    pub fn new(file: &Arc<File>, place: Place, items: &Items, writing: bool) -> Result<Transfer> {
        let access = file.access(place, items, writing)?;
        Ok(Transfer { file: file.clone(), access, writing, moved: 0 })
    }

    /// Goes on; when it is done, the bytes of data in memory.
    ///
    /// # Errors
    /// What the file system says; it is over then.
    pub fn go_on(&mut self) -> Result<Option<u64>> {
        let Transfer { file, access, .. } = self;
        let left = access.bytes - self.moved;
        // What must be seen as one is moved at once.
        if file.is_atomic() || !access.view.representation.is_native() {
            let moved = file.move_alone(access, self.writing)?;
            return Ok(Some(access.in_memory(moved)));
        }
        let part = PART.min(left);
        let moved = match self.writing {
            true => file.write_part(access, self.moved, part).map(|()| part)?,
            false => file.read_part(access, self.moved, part)?,
        };
        self.moved += moved;
        Ok((moved < part || moved == left).then(|| access.in_memory(self.moved)))
    }
}
