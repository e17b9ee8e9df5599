//! Reading memory of peers that are nearby, and lending memory to them ([`super::nearby`]).

use super::link::{Link, State};
use super::nearby::{Nearby, Windows};
use super::Wire;
use crate::job::NodeSegment;
use crate::memory::window::Window;
use crate::transport::AccessDescriptor;
use crate::{JobRank, LocalRank};

impl Wire {
    /// Peers of this machine may map the windows of this node, where there are some.
    pub fn let_map(&mut self, node: &'static NodeSegment, local: LocalRank) {
        self.own_node = node.windows().map(|_| (node, local));
    }

    /// The first frame of a connection has told who the peer is on its node.
    pub(super) fn is_told_of_node(&mut self, index: usize, word: u64) {
        if let Link { state: State::Up(connection), .. } = &mut self.links[index] {
            connection.pipe.nearby.is_told(word);
        }
    }

    fn windows_of(&self, index: usize) -> Option<&Windows> {
        match &self.links[index].state {
            State::Up(connection) => match &connection.pipe.nearby {
                Nearby::Open(windows) => Some(windows),
                _ => None,
            },
            _ => None,
        }
    }

    /// The program lends memory for a message to a peer: it may become one that a nearby peer can read.
    pub(super) fn lend_to(&self, peer: JobRank, address: *const u8, bytes: u64) {
        let index = self.by_rank.get(&peer).map(|&index| index as usize);
        if index.is_some_and(|index| self.windows_of(index).is_some()) {
            Window::of_process().lend(address as usize, bytes as usize, 1);
        }
    }

    /// Reads memory of a peer into pieces, if it is nearby and shared. Whether it has.
    ///
    /// # Safety
    /// The pieces must be writable memory that nothing else uses meanwhile, as long as the memory all together.
    pub(super) unsafe fn has_read(
        &self,
        index: usize,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
    ) -> bool {
        let Some(mut source) = self.windows_of(index).and_then(|windows| windows.find(memory)) else {
            return false;
        };
        for &(address, bytes) in pieces {
            // SAFETY: the memory is mapped for all these bytes; the pieces are the caller's.
            unsafe {
                source.copy_to_nonoverlapping(address as *mut u8, bytes);
                source = source.add(bytes);
            }
        }
        true
    }
}
