//! The ledger of collective calls, for `SERRIED_CHECK`: what each rank has called,
//! where all others can read it.
//!
//! A rank that begins a collective writes its call down and then looks what the
//! other members have written under the same number. Of two ranks, the one that
//! comes later sees the other's call, so a mistake is found when the second one
//! makes its call, without a message and without a wait.
//!
//! Where the ranks say different things in one call (the counts of `MPI_Alltoallv`), an
//! entry also tells what the rank sends to each other member and expects of it. Where
//! they must say the same of more than fits an entry (the extents of a grid), it tells
//! the arguments as words, whose meaning the ranks know from the function.
//!
//! # Ownership
//! A rank alone writes its ledger. `number` is 0 while an entry is written, then its
//! number (release); a reader takes it (acquire), reads, and takes it again behind a
//! fence. Entries share places, so one may be gone: then nothing is compared.
//! Bytes to and from members, and arguments, stand in a ring of words: `next` counts the words that
//! have been given away, and is moved before they are written, so a reader that finds
//! it still within a round of the words that it has read knows that they were right.

use std::sync::atomic::{fence, AtomicU64, Ordering, Ordering::Relaxed};

/// Places of a ledger.
const PLACES: usize = 1024;
/// Words of the ring.
const WORDS: usize = 8192;
/// Bytes of a ledger.
pub const BYTES: usize = std::mem::size_of::<Pages>();

#[repr(C)]
struct Pages {
    entries: [Entry; PLACES],
    next: AtomicU64,
    words: [AtomicU64; WORDS],
}

#[repr(C, align(64))]
struct Entry {
    number: AtomicU64,
    context: AtomicU64,
    /// Name (low 16 bits), operator (next 16), root.
    what: AtomicU64,
    bytes: AtomicU64,
    /// The place of its words in the ring, and how many members they are for, or
    /// [`ARGUMENTS`] and how many words; 0: none.
    words_at: AtomicU64,
    members: AtomicU64,
}

/// Set in `members` when the words are arguments.
const ARGUMENTS: u64 = 1 << 63;

/// Bytes to each member, and from each.
pub type Traffic<'a> = (&'a [u64], &'a [u64]);

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the rank whose ledger it is.
    To,
    /// To it.
    From,
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
    pages: &'a Pages,
}

impl<'a> Ledger<'a> {
    /// The ledger at `base`.
    ///
    /// # Safety
    /// [`BYTES`] bytes, zero at first, aligned to 64, mapped as long as `'a`.
    pub unsafe fn new(base: *const u8) -> Ledger<'a> {
        // SAFETY: by the caller; every bit pattern is a valid one of atomics.
        Ledger { pages: unsafe { &*base.cast::<Pages>() } }
    }

    fn entry(&self, context: u64, number: u64) -> &Entry {
        // Communicators are spread over the places; calls on one follow each other.
        let first = context.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &self.pages.entries[(first.wrapping_add(number) % PLACES as u64) as usize]
    }

    /// Writes down call `number` (from 1) on a communicator. Others compare with it what they write
    /// down from now on.
    pub fn write(&self, context: u64, number: u64, call: Call, traffic: Option<Traffic>) {
        let keep = |(to, from): Traffic| {
            let words_at = self.keep(to.len() + from.len(), to.iter().chain(from))?;
            (to.len() == from.len()).then_some((words_at, to.len() as u64))
        };
        self.put(context, number, call, traffic.and_then(keep));
    }

    /// The same with arguments as words.
    pub fn write_arguments(&self, context: u64, number: u64, call: Call, words: &[u64]) {
        let words_at = self.keep(words.len(), words.iter());
        self.put(context, number, call, words_at.map(|at| (at, ARGUMENTS | words.len() as u64)));
    }

    fn put(&self, context: u64, number: u64, call: Call, words: Option<(u64, u64)>) {
        let (words_at, members) = words.unwrap_or_default();
        let entry = self.entry(context, number);
        entry.number.store(0, Relaxed);
        fence(Ordering::Release); // ledger: paired with `read` and `words`
        entry.context.store(context, Relaxed);
        let what = u64::from(call.name) | u64::from(call.operator) << 16 | u64::from(call.root as u32) << 32;
        entry.what.store(what, Relaxed);
        entry.bytes.store(call.bytes, Relaxed);
        entry.words_at.store(words_at, Relaxed);
        entry.members.store(members, Relaxed);
        entry.number.store(number, Ordering::Release); // ledger: paired with `read` and `words`
        fence(Ordering::SeqCst); // written before anything of others is read
    }

    /// Puts words into the ring, and says where they are; nothing if they are too many.
    fn keep<'b>(&self, length: usize, words: impl Iterator<Item = &'b u64>) -> Option<u64> {
        if length > WORDS {
            return None;
        }
        let at = self.pages.next.load(Relaxed);
        self.pages.next.store(at + length as u64, Relaxed);
        fence(Ordering::Release); // words: paired with `words`
        for (place, word) in (at..).zip(words) {
            self.pages.words[place as usize % WORDS].store(*word, Relaxed);
        }
        Some(at)
    }

    /// Words of call `number`, if it and they are still there: `which` says where in
    /// the ring, by the place of the first and `members` of the entry.
    fn words(
        &self,
        context: u64,
        number: u64,
        which: impl Fn(u64, u64) -> Option<std::ops::Range<u64>>,
    ) -> Option<Vec<u64>> {
        let entry = self.entry(context, number);
        if entry.number.load(Ordering::Acquire) != number || entry.context.load(Relaxed) != context {
            return None;
        }
        let (at, members) = (entry.words_at.load(Relaxed), entry.members.load(Relaxed));
        let word = |place: u64| self.pages.words[place as usize % WORDS].load(Relaxed);
        let words = which(at, members)?.take(WORDS).map(word).collect();
        fence(Ordering::Acquire); // words, ledger: paired with `keep` and `put`
        let kept = self.pages.next.load(Relaxed) <= at + WORDS as u64;
        (kept && entry.number.load(Relaxed) == number).then_some(words)
    }

    /// What call `number` says of bytes to a member of the communicator, or from it,
    /// if it says that and is still there.
    pub fn bytes(&self, context: u64, number: u64, way: Way, member: u32) -> Option<u64> {
        let which = |at, members| {
            let place = at + u64::from(member) + if way == Way::To { 0 } else { members };
            (members & ARGUMENTS == 0 && u64::from(member) < members).then_some(place..place + 1)
        };
        self.words(context, number, which)?.first().copied()
    }

    /// The words of the arguments of call `number`, if it has any and they are still
    /// there.
    pub fn arguments(&self, context: u64, number: u64) -> Option<Vec<u64>> {
        let which = |at, members| (members & ARGUMENTS != 0).then_some(at..at + (members & !ARGUMENTS));
        self.words(context, number, which)
    }

    /// Call `number` on a communicator, if it was written down and is still there.
    pub fn read(&self, context: u64, number: u64) -> Option<Call> {
        let entry = self.entry(context, number);
        if entry.number.load(Ordering::Acquire) != number || entry.context.load(Relaxed) != context {
            return None;
        }
        let (what, bytes) = (entry.what.load(Relaxed), entry.bytes.load(Relaxed));
        fence(Ordering::Acquire); // ledger: paired with `put`
        let (name, operator, root) =
            ((what & 0xffff) as u32, (what >> 16) as u16, (what >> 32) as u32 as i32);
        (entry.number.load(Relaxed) == number).then_some(Call { name, operator, root, bytes })
    }
}

const _: () = assert!(std::mem::size_of::<Entry>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_under_its_number_until_its_place_is_taken() {
        let memory = vec![0u64; BYTES / 8 + 8];
        let base = memory.as_ptr().cast::<u8>();
        // SAFETY: as long as it has to be, with room for the alignment; lives until the end.
        let ledger = unsafe { Ledger::new(base.add(base.align_offset(64))) };
        let call = Call { name: 7, operator: USER, root: -1, bytes: 1 << 40 };
        assert_eq!(ledger.read(2, 1), None);
        ledger.write(2, 1, call, None);
        assert_eq!(ledger.read(2, 1), Some(call));
        assert_eq!((ledger.read(2, 2), ledger.read(4, 1)), (None, None));
        ledger.write(2, 1 + PLACES as u64, Call { root: 3, ..call }, None);
        assert_eq!(ledger.read(2, 1), None);
    }

    #[test]
    fn bytes_to_and_from_members_are_kept_for_a_round_of_the_ring() {
        let memory = vec![0u64; BYTES / 8 + 8];
        let base = memory.as_ptr().cast::<u8>();
        // SAFETY: as above.
        let ledger = unsafe { Ledger::new(base.add(base.align_offset(64))) };
        let call = Call { name: 7, operator: 0, root: -1, bytes: 0 };
        ledger.write(2, 1, call, Some((&[10, 11], &[20, 21])));
        ledger.write(2, 2, call, None);
        assert_eq!(ledger.bytes(2, 1, Way::To, 1), Some(11));
        assert_eq!(ledger.bytes(2, 1, Way::From, 0), Some(20));
        assert_eq!((ledger.bytes(2, 1, Way::From, 2), ledger.bytes(2, 2, Way::To, 0)), (None, None));
        let many = vec![5; WORDS / 2];
        ledger.write(2, 3, call, Some((&many, &many)));
        assert_eq!(ledger.bytes(2, 1, Way::To, 1), None);
        assert_eq!(ledger.bytes(2, 3, Way::From, 4000), Some(5));
        ledger.write(2, 4, call, Some((&vec![5; WORDS], &vec![5; WORDS])));
        assert_eq!(ledger.bytes(2, 4, Way::To, 0), None);
        ledger.write_arguments(2, 5, call, &[1, 9]);
        assert_eq!((ledger.arguments(2, 5), ledger.bytes(2, 5, Way::To, 0)), (Some(vec![1, 9]), None));
        assert_eq!((ledger.arguments(2, 4), ledger.arguments(2, 3)), (None, None));
        ledger.write_arguments(2, 6, call, &vec![5; WORDS]);
        assert_eq!((ledger.arguments(2, 5), ledger.arguments(2, 6).unwrap().len()), (None, WORDS));
    }
}
