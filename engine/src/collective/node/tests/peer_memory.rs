//! How the members of tests reach the memory of others.

use super::*;
use crate::collective::temporary::Temporary;
use crate::memory::copy::Chooser;

/// All memory is one process's own here; some of it is kept from plain loads.
impl PeerMemory for Sleeper<'_> {
    fn access(&self, _: &Member) -> Access {
        Access::Write
    }

    fn widen(&self, _: &Member) -> bool {
        true
    }

    fn lend(&self, seat: &Member, (address, bytes): (*const u8, u64), _: u32) -> Reachable {
        let head = (address as u64 >> 3) % 8;
        match (self.is_shared(seat, address, bytes), head / 4) {
            (true, _) => Reachable::All,
            (false, 0) => Reachable::Middle(head.min(bytes / 2), (7 - head).min(bytes / 2)),
            (false, _) => Reachable::Nothing,
        }
    }

    fn scratch(&self, _: &Member, bytes: u64) -> Option<Scratch> {
        let is_there = bytes <= 32 << 10 && !bytes.is_multiple_of(3);
        is_there.then(|| Temporary::packed(bytes).unwrap().0.into())
    }

    fn is_shared(&self, _: &Member, address: *const u8, bytes: u64) -> bool {
        (address as u64 / 16 + bytes).is_multiple_of(2)
    }

    fn direct(&self, seat: &Member, member: u32, address: u64, bytes: u64) -> Option<*const u8> {
        let hidden = (u64::from(seat.rank + member) + address / 4096 + bytes).is_multiple_of(3);
        (!hidden).then_some(address as *const u8)
    }

    unsafe fn read(
        &self,
        _: &Member,
        _: u32,
        address: u64,
        target: *mut u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { copies.copy(address as *const u8, target, bytes) };
        Ok(())
    }

    unsafe fn write(
        &self,
        _: &Member,
        _: u32,
        address: u64,
        source: *const u8,
        bytes: usize,
        copies: &Chooser,
    ) -> Result<()> {
        self.writes.set(self.writes.get() + 1);
        // SAFETY: by the caller.
        unsafe { copies.copy(source, address as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn write_there(
        &self,
        _: &Member,
        _: u32,
        address: u64,
        _: u64,
        make: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Option<Result<()>> {
        (!(address / 4096).is_multiple_of(3)).then(|| make(address as *mut u8))
    }
}
