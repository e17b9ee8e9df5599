//! What a rank writes, piece by piece of the file.

use super::access_of_call::{Access, Items};
use super::pieces::Pieces;
use super::transfer::with_stage;

/// What this rank writes, piece by piece of the file.
pub(super) struct Source<'a> {
    items: &'a Items,
    pieces: Pieces<'a>,
    /// What is left of the piece at hand.
    piece: (u64, u64),
    /// Bytes of data before it.
    done: u64,
}

impl<'a> Source<'a> {
    /// All that an access writes to offsets from `first` on.
    pub fn new(access: &'a Access, first: u64) -> Source<'a> {
        let done = access.view.position_at(first).saturating_sub(access.position).min(access.bytes);
        let pieces = Pieces::new(&access.view, access.position + done, access.bytes - done);
        Source { items: &access.items, pieces, piece: (0, 0), done }
    }

    /// Puts all that belongs to offsets from `first` to `end` to its place behind `to`.
    pub fn put(&mut self, first: u64, end: u64, to: *mut u8) {
        match self.items.dense() {
            Some(source) => self.each(end, |done, offset, bytes| {
                // SAFETY: the program lends the items; the place is within the window, and mine alone.
                unsafe {
                    let to = to.add((offset - first) as usize);
                    std::ptr::copy_nonoverlapping(source.add(done as usize), to, bytes as usize);
                }
            }),
            None => self.put_staged(first, end, to),
        }
    }

    /// The items.
    pub fn items(&self) -> &'a Items {
        self.items
    }

    /// As [`Source::put`], for items with gaps: some at a time are packed, and then put where they belong.
    fn put_staged(&mut self, first: u64, end: u64, to: *mut u8) {
        let (items, total) = (self.items, self.items.bytes());
        with_stage(|stage| {
            let (mut from, mut staged) = (self.done, 0u64);
            self.each(end, |done, offset, bytes| {
                let mut put = 0;
                while put < bytes {
                    let at = done + put;
                    if at >= from + staged {
                        (from, staged) = (at, (stage.len() as u64).min(total - at));
                        // SAFETY: the program lends the items; the stage is ours.
                        unsafe {
                            items.datatype.pack(
                                items.address,
                                items.count,
                                from,
                                &mut stage[..staged as usize],
                            )
                        };
                    }
                    let now = (from + staged - at).min(bytes - put);
                    let source = &stage[(at - from) as usize..][..now as usize];
                    // SAFETY: the place is within the window, and mine alone.
                    unsafe {
                        let to = to.add((offset + put - first) as usize);
                        std::ptr::copy_nonoverlapping(source.as_ptr(), to, source.len());
                    }
                    put += now;
                }
            });
        });
    }

    /// Goes on to the offset `end`: bytes of data before each part of a piece, its offset, and its bytes.
    #[inline]
    pub fn each(&mut self, end: u64, mut put: impl FnMut(u64, u64, u64)) {
        loop {
            if self.piece.1 == 0 {
                match self.pieces.next() {
                    Some(piece) => self.piece = piece,
                    None => return,
                }
            }
            let (offset, length) = self.piece;
            if offset >= end {
                return;
            }
            let now = length.min(end - offset);
            put(self.done, offset, now);
            self.done += now;
            self.piece = (offset + now, length - now);
        }
    }
}
