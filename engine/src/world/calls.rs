//! The collective operations that this rank has begun on a communicator: how
//! many, and the last two. Only read when the rank is asked what it does.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Root of an operation that has none.
pub const NO_ROOT: i32 = -1;

/// What was begun. MPI lets only one thread at a time begin a collective on a
/// communicator, so plain loads and stores do.
#[derive(Debug, Default)]
pub struct Calls {
    count: AtomicU64,
    last: [[AtomicU64; 2]; 2],
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The call, as the page knows it.
    pub name: u32,
    /// The root, [`NO_ROOT`] if there is none.
    pub root: i32,
    /// Bytes of one block.
    pub bytes: u64,
}

/// One of them, by its place in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    /// The call, as the page knows it.
    pub name: u32,
    /// How many there were with this one.
    pub number: u64,
}

impl Calls {
    /// Notes one more.
    #[inline]
    pub fn note(&self, begun: Begun) {
        let count = self.count.load(Relaxed);
        let [what, bytes] = &self.last[(count % 2) as usize];
        what.store(u64::from(begun.name) << 32 | u64::from(begun.root as u32), Relaxed);
        bytes.store(begun.bytes, Relaxed);
        self.count.store(count + 1, Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// The last one.
    #[inline]
    pub fn latest(&self) -> Numbered {
        let number = self.count();
        let [what, _] = &self.last[(number.wrapping_sub(1) % 2) as usize];
        Numbered { name: (what.load(Relaxed) >> 32) as u32, number }
    }

    /// The last one and the one before.
    pub fn last(&self) -> [Option<Begun>; 2] {
        let count = self.count();
        [1, 2].map(|back| {
            let [what, bytes] = &self.last[(count.checked_sub(back)? % 2) as usize];
            let what = what.load(Relaxed);
            Some(Begun { name: (what >> 32) as u32, root: what as u32 as i32, bytes: bytes.load(Relaxed) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_are_known() {
        let calls = Calls::default();
        let begun = |name| Begun { name, root: NO_ROOT, bytes: 8 };
        assert_eq!(calls.last(), [None, None]);
        calls.note(begun(4));
        assert_eq!(calls.last(), [Some(begun(4)), None]);
        calls.note(begun(5));
        calls.note(begun(6));
        assert_eq!((calls.last(), calls.count()), ([Some(begun(6)), Some(begun(5))], 3));
        assert_eq!(calls.latest(), Numbered { name: 6, number: 3 });
    }
}
