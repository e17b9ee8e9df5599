//! What collective calls on a file need of the other ranks that have opened it.

use crate::Result;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The ranks that have opened a file together. Every call but the first four is collective: all members make the same
/// ones in the same order.
pub trait Team {
    /// My rank among them.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// Has `fill` write a range of a member's [`Loan`] by plain stores, at the address that it is given; `false`, and
    /// nothing is done, if that is not possible now.
    ///
    /// # Safety
    /// The member must have lent the range, and `fill` may touch no byte of it that anybody else touches meanwhile.
    unsafe fn fill(&self, member: u32, range: (u64, u64), fill: &mut dyn FnMut(*mut u8)) -> bool;

    /// Where a range of a member's [`Loan`] can be read by plain loads; nothing if it cannot.
    fn find(&self, member: u32, range: (u64, u64)) -> Option<*const u8>;

    /// The words of each at all, in the order of ranks; all give as many.
    ///
    /// # Errors
    /// What goes wrong with messages.
    fn gather(&self, words: &[u64]) -> Result<Vec<u64>>;

    /// The words of `root` at all.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn tell(&self, root: u32, words: &mut [u64]) -> Result<()>;

    /// Waits until all have come.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn meet(&self) -> Result<()>;

    /// Sends to each member the bytes for it, and gives those that each member has for me.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn exchange(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>>;

    /// A word that all share, zero at first; nothing if there is no memory for it.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn share(&self) -> Result<Option<Box<dyn Shared>>>;

    /// Memory of mine that members of my node may reach by [`Team::fill`] and [`Team::find`]. Not collective.
    fn loan(&self, bytes: usize) -> Option<Box<dyn Loan>>;

    /// The members that write for their nodes: one each, in the order of ranks. Not collective.
    fn leaders(&self) -> Vec<u32>;

    /// Whether they compare what all must give alike also where nothing else is told (`SERRIED_CHECK`): the same at all.
    fn compares(&self) -> bool {
        false
    }

    /// A number that members share if a path names one file for them: that of their node. Not collective.
    fn node(&self) -> u64 {
        0
    }
}

/// Memory that a member lends to others, until it is dropped.
pub trait Loan: Send + Sync {
    /// Its first byte, aligned as a page.
    fn address(&self) -> *mut u8;
}

/// A word that all members share.
pub trait Shared: Send + Sync {
    /// What it was when this member last looked, or as it is now where looking costs nothing.
    fn guess(&self) -> u64;

    /// Puts `new` in the place of `expected`, in one step; what it was.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn swap(&self, expected: u64, new: u64) -> Result<u64>;

    /// Nobody uses it any more. Collective.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn give_back(&self) -> Result<()>;
}

/// A word of which this process knows where it lies.
pub struct NearWord<W> {
    /// Keeps the word where it is.
    word: W,
}

impl<W: Deref<Target = AtomicU64>> NearWord<W> {
    /// Such a word.
    pub fn new(word: W) -> NearWord<W> {
        NearWord { word }
    }
}

impl<W: Deref<Target = AtomicU64> + Send + Sync> Shared for NearWord<W> {
    fn guess(&self) -> u64 {
        self.word.load(SeqCst)
    }

    fn swap(&self, expected: u64, new: u64) -> Result<u64> {
        Ok(self.word.compare_exchange(expected, new, SeqCst, SeqCst).unwrap_or_else(|found| found))
    }

    /// It goes when it is dropped.
    fn give_back(&self) -> Result<()> {
        Ok(())
    }
}

/// A rank by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Team for Alone {
    fn rank(&self) -> u32 {
        0
    }

    fn size(&self) -> u32 {
        1
    }

    unsafe fn fill(&self, _: u32, _: (u64, u64), _: &mut dyn FnMut(*mut u8)) -> bool {
        false
    }

    fn find(&self, _: u32, _: (u64, u64)) -> Option<*const u8> {
        None
    }

    fn gather(&self, words: &[u64]) -> Result<Vec<u64>> {
        Ok(words.to_vec())
    }

    fn tell(&self, _: u32, _: &mut [u64]) -> Result<()> {
        Ok(())
    }

    fn meet(&self) -> Result<()> {
        Ok(())
    }

    fn exchange(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        Ok(bytes.to_vec())
    }

    fn share(&self) -> Result<Option<Box<dyn Shared>>> {
        Ok(Some(Box::new(NearWord::new(Box::<AtomicU64>::default()))))
    }

    fn loan(&self, _: usize) -> Option<Box<dyn Loan>> {
        None
    }

    fn leaders(&self) -> Vec<u32> {
        vec![0]
    }
}
