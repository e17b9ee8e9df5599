//! Messages copied aside: small ones that have no room with the receiver, and that
//! the transport has no memory to load, and whose sends are complete all the same.
//!
//! They have a budget (`SERRIED_MEMORY`). When it is spent, sends wait until the
//! receiver takes something. It is overdrawn in one case: a blocking send waits
//! for a receiver that itself waits in MPI, since long, for something else. With
//! endless buffers such a program would go on; so it does here.

use super::work::Work;
use super::{Buffer, EAGER_BYTES};
use crate::core::Core;
use crate::memory;
use crate::observe::page::Share;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Having held this many bytes is a burst, after which memory goes back.
const BURST_BYTES: u64 = 4 << 20;

/// The budget. All lanes have it together: what they hold is on the page.
#[derive(Debug)]
pub struct Aside {
    limit: u64,
    bytes: u64,
    most: u64,
    overdrawn: bool,
    told: Share,
}

impl Aside {
    /// Nothing is held yet, and never more than `limit` bytes.
    pub fn new(limit: u64) -> Aside {
        Aside { limit, bytes: 0, most: 0, overdrawn: false, told: Share::default() }
    }

    /// Whether there is room for a message, while `held` bytes are in all lanes.
    pub fn has_room(&self, held: &AtomicU64, bytes: u64) -> bool {
        self.overdrawn || held.load(Relaxed) + bytes <= self.limit
    }

    /// A message is held.
    pub fn hold(&mut self, held: &AtomicU64, bytes: u64) {
        self.bytes += bytes;
        self.most = self.most.max(self.bytes);
        self.told.tell(held, self.bytes);
    }

    /// It has gone.
    pub fn let_go(&mut self, held: &AtomicU64, bytes: u64) {
        self.bytes -= bytes;
        self.told.tell(held, self.bytes);
        self.overdrawn &= self.bytes > self.limit;
        if self.bytes == 0 && std::mem::take(&mut self.most) > BURST_BYTES {
            memory::give_back();
        }
    }
}

impl Core {
    /// Copies a message aside.
    pub(super) fn set_aside(&mut self, buffer: &Buffer) -> (Buffer, Option<Box<[u8]>>) {
        self.hold_aside(buffer.bytes());
        copy(buffer)
    }

    /// Completes a small blocking send by a copy: the request goes its way alone
    /// from now on. `false` if its data are on their way, or it would be beyond
    /// the budget and `must_it` says that it need not.
    pub(crate) fn relieve(&mut self, index: u32, must_it: impl FnOnce() -> bool) -> bool {
        let request = &mut self.requests[index];
        let Work::Send(send) = &mut request.work else { return false };
        let (bytes, begun) = (send.buffer.bytes(), send.wanted > 0);
        if begun || !send.private || bytes > EAGER_BYTES {
            return false;
        }
        if !self.aside.has_room(&self.page.memory.aside, bytes) {
            if !must_it() {
                return false;
            }
            self.aside.overdrawn = true;
        }
        (send.buffer, send.owned) = copy(&send.buffer);
        request.detached = true;
        self.hold_aside(bytes);
        true
    }

    fn hold_aside(&mut self, bytes: u64) {
        self.aside.hold(&self.page.memory.aside, bytes);
    }
}

/// A copy of the data that lives as long as the send.
fn copy(buffer: &Buffer) -> (Buffer, Option<Box<[u8]>>) {
    let bytes = buffer.bytes();
    let mut copy = vec![0u8; bytes as usize].into_boxed_slice();
    // SAFETY: the program lends the buffer; the copy has its length.
    unsafe { buffer.pack(0, copy.as_mut_ptr(), copy.len()) };
    (Buffer::Dense { address: copy.as_mut_ptr(), bytes }, Some(copy))
}
