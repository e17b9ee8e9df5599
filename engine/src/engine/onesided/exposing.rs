//! Making exposures and freeing them.

use crate::engine::Engine;
use crate::onesided::{Exposure, Segment};
use crate::world::Communicator;
use crate::{Error, Result};
use std::sync::Arc;

/// What a member exposes in a new exposure. All members give the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// `bytes` bytes of the program's own at `address`.
    Given {
        /// Where it begins; anything if it has no bytes.
        address: *mut u8,
        /// Its length; negative is an error.
        bytes: i64,
    },
    /// So many bytes that the library allocates (zeroed, 64-byte aligned), wherever it likes.
    Allocated(i64),
    /// So many bytes that all members reach by plain loads and stores; `true`: each
    /// follows that of the rank before.
    Shared(i64, bool),
    /// Nothing yet.
    Dynamic,
}

impl Engine {
    /// Exposes memory to all members of a communicator (`MPI_Win_create`, `_allocate`,
    /// `_allocate_shared`, `_create_dynamic`; MPI-5.0 §12.2). Collective. `unit`: bytes of
    /// one unit of displacement here.
    ///
    /// # Errors
    /// `Comm` for an intercommunicator, `Size`, `Disp` for a unit that is not positive, `NoMem`;
    /// `RmaShared` when not all members share memory. All members fail if one does.
    pub fn expose(
        &self,
        _communicator: &Arc<Communicator>,
        _memory: Memory,
        _unit: i64,
    ) -> Result<Arc<Exposure>> {
        Err(Error::not_there_yet("an exposure of memory"))
    }

    /// Attaches memory to a dynamic exposure (`MPI_Win_attach`). Not collective.
    ///
    /// # Errors
    /// `RmaFlavor` for another kind; `RmaAttach` when it overlaps what is attached; `Size`.
    pub fn attach(&self, _exposure: &Exposure, _address: *mut u8, _bytes: i64) -> Result<()> {
        Err(Error::not_there_yet("memory that is attached"))
    }

    /// Detaches memory (`MPI_Win_detach`), named by the address at which it was attached.
    ///
    /// # Errors
    /// `RmaFlavor` for another kind; `RmaAttach` when nothing is attached there.
    pub fn detach(&self, _exposure: &Exposure, _address: *const u8) -> Result<()> {
        Err(Error::not_there_yet("memory that is attached"))
    }

    /// Where the segment of a member lies in this process (`MPI_Win_shared_query`); `None`
    /// as rank (`MPI_PROC_NULL`): that of the first member that has any. Where memory is not
    /// shared it has no bytes.
    ///
    /// # Errors
    /// `Rank`; `RmaFlavor` for a dynamic exposure.
    pub fn shared(&self, _exposure: &Exposure, _rank: Option<u32>) -> Result<Segment> {
        Err(Error::not_there_yet("a query of shared memory"))
    }

    /// Frees an exposure (`MPI_Win_free`). Collective. Memory that the library has allocated
    /// goes; attributes are the face's to delete before.
    ///
    /// # Errors
    /// `RmaSync` while an epoch of this member is open; nothing is freed then.
    pub fn unexpose(&self, _exposure: &Exposure) -> Result<()> {
        Err(Error::not_there_yet("an exposure of memory"))
    }
}
