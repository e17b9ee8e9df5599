//! The memory of the other members, as the large forms need it.

use crate::collective::node::protocol::access::Access;
use crate::collective::node::protocol::member::Member;
use crate::collective::scratch::Scratch;
use crate::memory::copy::Chooser;
use crate::Result;

/// How much of some memory others reach by plain loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachable {
    /// All.
    All,
    /// All but so many bytes at its beginning and so many at its end.
    Middle(u64, u64),
    /// Nothing.
    Nothing,
}

/// How a member reaches the memory of the others. The engine's own asks the
/// transport; tests have a simpler one.
pub trait PeerMemory {
    /// How the memory of all other members can be reached, wherever it lies.
    fn access(&self, me: &Member) -> Access;

    /// Provides memory for the wide halves of a block that this rank has lent.
    fn widen(&self, me: &Member) -> bool;

    /// The program lends this memory until the operation is complete: others are
    /// about to be told its address, and so many of them will want all of it. How much of it they reach by
    /// plain loads and stores.
    fn lend(&self, me: &Member, memory: (*const u8, u64), readers: u32) -> Reachable;

    /// Memory for `bytes` bytes that all others reach by plain loads and stores, if there is
    /// some and to copy data there takes less than to reach them where they lie.
    fn scratch(&self, me: &Member, bytes: u64) -> Option<Scratch>;

    /// Whether others can read all of this memory by plain loads.
    fn is_shared(&self, me: &Member, address: *const u8, bytes: u64) -> bool;

    /// Where a range of a member's memory lies in this process, if all of it can
    /// be read by plain loads.
    fn direct(&self, me: &Member, member: u32, address: u64, bytes: u64) -> Option<*const u8>;

    /// Reads a member's memory by the best means there is; plain loads and stores
    /// in the way of `copies`.
    ///
    /// # Errors
    /// The system's reason not to.
    ///
    /// # Safety
    /// The member must have lent the range and not write there meanwhile;
    /// `target` must have room and overlap it nowhere.
    unsafe fn read(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()>;

    /// Writes into a member's memory by the best means there is; plain stores in the
    /// way of `copies`.
    ///
    /// # Errors
    /// The system's reason not to.
    ///
    /// # Safety
    /// The member must have lent the range, and nobody else may touch it
    /// meanwhile; `source` must be readable.
    unsafe fn write(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()>;

    /// Has `make` write a range of a member's memory by plain stores, at the address that it
    /// is given, if the range can be written so here. `make` is short: who forks waits for it.
    ///
    /// # Errors
    /// What `make` reports.
    ///
    /// # Safety
    /// The member must have lent the range, and nobody else may touch it meanwhile.
    unsafe fn write_there(
        &self,
        me: &Member,
        member: u32,
        address: u64,
        bytes: u64,
        make: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Option<Result<()>>;
}
