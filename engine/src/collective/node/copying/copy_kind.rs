//! Sorts of copies in collective operations, and how each is made.

use crate::memory::copy::Chooser;

/// What is copied from the memory of other members: each sort has its own way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyKind {
    Broadcast,
    Allgather,
    Alltoall,
    /// More than the caches hold.
    Beyond,
    /// Much more.
    FarBeyond,
    Reduction,
    Exchange,
    /// Into the memory of another.
    Written,
    /// The result of a reduction, to where others read it.
    Result,
    /// Into a slot, not from one.
    Slot,
    /// So are a few KiB.
    Short,
    /// Data of a root into the buffer of the other member.
    Pushed,
    /// Through the caches in any case.
    Cached,
}

/// How many sorts there are.
const SORTS: usize = CopyKind::Cached as usize + 1;

/// How to copy, by sort.
pub(crate) struct Choosers([Chooser; SORTS]);

impl Choosers {
    /// How to copy what is of a sort.
    pub fn of(&self, copied: CopyKind) -> &Chooser {
        &self.0[copied as usize]
    }
}

impl Default for Choosers {
    fn default() -> Choosers {
        let mut choosers: [Chooser; SORTS] = Default::default();
        choosers[CopyKind::Beyond as usize] = Chooser::beyond();
        choosers[CopyKind::FarBeyond as usize] = Chooser::always_past();
        choosers[CopyKind::Short as usize] = Chooser::to_be_read();
        choosers[CopyKind::Cached as usize] = Chooser::plain();
        Choosers(choosers)
    }
}
