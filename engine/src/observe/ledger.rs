//! The ledger of collective calls, for `SERRIED_CHECK`: what each rank has called,
//! where all others can read it.
//!
//! A rank that begins a collective writes its call down and then looks what the
//! other members have written under the same number. Of two ranks, the one that
//! comes later sees the other's call, so a mistake is found when the second one
//! makes its call, without a message and without a wait.
//!
//! # Ownership
//! A rank alone writes its ledger. `number` is 0 while an entry is written, then its
//! number (release); a reader takes it (acquire), reads, and takes it again behind a
//! fence. Entries share places, so one may be gone: then nothing is compared.

use std::sync::atomic::{fence, AtomicU64, Ordering, Ordering::Relaxed};

/// Places of a ledger.
const PLACES: usize = 1024;
/// Bytes of a ledger.
pub const BYTES: usize = PLACES * std::mem::size_of::<Entry>();

#[repr(C, align(32))]
struct Entry {
    number: AtomicU64,
    context: AtomicU64,
    /// Name (low 16 bits), operator (next 16), root.
    what: AtomicU64,
    bytes: AtomicU64,
}

/// A collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function, as the page knows it.
    pub name: u32,
    /// 0: none; [`USER`]; else 1 + the number of one of MPI's own.
    pub operator: u16,
    /// The root; negative: none.
    pub root: i32,
    /// Bytes of one block.
    pub bytes: u64,
}

/// A reduction function of the program.
pub const USER: u16 = u16::MAX;

/// The ledger of one rank, mapped.
#[derive(Clone, Copy)]
pub struct Ledger<'a> {
    entries: &'a [Entry],
}

impl<'a> Ledger<'a> {
    /// The ledger at `base`.
    ///
    /// # Safety
    /// [`BYTES`] bytes, zero at first, aligned to 32, mapped as long as `'a`.
    pub unsafe fn new(base: *const u8) -> Ledger<'a> {
        // SAFETY: by the caller; every bit pattern is a valid entry of atomics.
        Ledger { entries: unsafe { std::slice::from_raw_parts(base.cast::<Entry>(), PLACES) } }
    }

    fn entry(&self, context: u64, number: u64) -> &Entry {
        // Communicators are spread over the places; calls on one follow each other.
        let first = context.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &self.entries[(first.wrapping_add(number) % PLACES as u64) as usize]
    }

    /// Writes down call `number` (from 1) on a communicator. What others write down
    /// from now on they compare with it.
    pub fn write(&self, context: u64, number: u64, call: Call) {
        let entry = self.entry(context, number);
        entry.number.store(0, Relaxed);
        fence(Ordering::Release); // ledger: paired with `read`
        entry.context.store(context, Relaxed);
        let what = u64::from(call.name) | u64::from(call.operator) << 16 | u64::from(call.root as u32) << 32;
        entry.what.store(what, Relaxed);
        entry.bytes.store(call.bytes, Relaxed);
        entry.number.store(number, Ordering::Release); // ledger: paired with `read`
        fence(Ordering::SeqCst); // written before anything of others is read
    }

    /// Call `number` on a communicator, if it was written down and is still there.
    pub fn read(&self, context: u64, number: u64) -> Option<Call> {
        let entry = self.entry(context, number);
        if entry.number.load(Ordering::Acquire) != number || entry.context.load(Relaxed) != context {
            return None;
        }
        let (what, bytes) = (entry.what.load(Relaxed), entry.bytes.load(Relaxed));
        fence(Ordering::Acquire); // ledger: paired with `write`
        let (name, operator, root) =
            ((what & 0xffff) as u32, (what >> 16) as u16, (what >> 32) as u32 as i32);
        (entry.number.load(Relaxed) == number).then_some(Call { name, operator, root, bytes })
    }
}

const _: () = assert!(std::mem::size_of::<Entry>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_under_its_number_until_its_place_is_taken() {
        let memory = vec![[0u64; 4]; PLACES + 1];
        let base = memory.as_ptr().cast::<u8>();
        // SAFETY: as long as it has to be, with room for the alignment; lives until the end.
        let ledger = unsafe { Ledger::new(base.add(base.align_offset(32))) };
        let call = Call { name: 7, operator: USER, root: -1, bytes: 1 << 40 };
        assert_eq!(ledger.read(2, 1), None);
        ledger.write(2, 1, call);
        assert_eq!(ledger.read(2, 1), Some(call));
        assert_eq!((ledger.read(2, 2), ledger.read(4, 1)), (None, None));
        ledger.write(2, 1 + PLACES as u64, Call { root: 3, ..call });
        assert_eq!(ledger.read(2, 1), None);
    }
}
