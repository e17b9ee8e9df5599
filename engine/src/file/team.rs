//! What collective calls on a file need of the other ranks that have opened it.

use crate::Result;
use std::sync::atomic::AtomicU64;

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

    /// A word that all share, zero at first; nothing if there is no memory that all reach.
    ///
    /// # Errors
    /// As [`Team::gather`].
    fn share(&self) -> Result<Option<Shared>>;

    /// Memory of mine that members of my node may reach by [`Team::fill`] and [`Team::find`]. Not collective.
    fn loan(&self, bytes: usize) -> Option<Box<dyn Loan>>;

    /// The members that write for their nodes: one each, in the order of ranks. Not collective.
    fn leaders(&self) -> Vec<u32>;
}

/// Memory that a member lends to others, until it is dropped.
pub trait Loan: Send + Sync {
    /// Its first byte, aligned as a page.
    fn address(&self) -> *mut u8;
}

/// A word that all members share.
pub struct Shared {
    word: *const AtomicU64,
    /// Gives the memory back when it is dropped.
    _owner: Option<Box<dyn Send + Sync>>,
}

// SAFETY: the word is atomic, and lives as the contract of `new` says.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The word at an address; `owner` is dropped with it.
    ///
    /// # Safety
    /// The word must stay mapped until this is dropped at every member, which they do together.
    pub unsafe fn new(word: *const AtomicU64, owner: Option<Box<dyn Send + Sync>>) -> Shared {
        Shared { word, _owner: owner }
    }

    /// The word.
    pub fn word(&self) -> &AtomicU64 {
        // SAFETY: by the contract of `new`.
        unsafe { &*self.word }
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

    fn share(&self) -> Result<Option<Shared>> {
        let word: Box<AtomicU64> = Box::default();
        // SAFETY: the owner keeps the word where it is.
        Ok(Some(unsafe { Shared::new(&raw const *word, Some(word)) }))
    }

    fn loan(&self, _: usize) -> Option<Box<dyn Loan>> {
        None
    }

    fn leaders(&self) -> Vec<u32> {
        vec![0]
    }
}
