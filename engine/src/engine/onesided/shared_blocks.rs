//! Memory of shared windows where it has no place in a window of its owner's process: blocks that all ranks of a node map.
//!
//! Short ones lie in the blocks area of the owner, in the node segment; long ones in the part of the file that the window
//! would have ([`spare_blocks`](crate::job)). Members tell each other 1 + the place of a block: below [`BLOCKS_BYTES`] in that
//! area, from there on in that part.

use super::exposing::ALIGNMENT;
use crate::engine::Engine;
use crate::job::node_segment::BLOCKS_BYTES;
use crate::onesided::Told;
use crate::world::Communicator;
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Where places in the part of the file begin.
const IN_FILE: u64 = BLOCKS_BYTES as u64;

impl Engine {
    /// Lends a block of this process to all members: 1 + its place, and its address.
    pub(super) fn lend_shared_block(&self, bytes: u64) -> Option<(u64, u64)> {
        let short = usize::try_from(bytes).ok().filter(|&bytes| bytes <= BLOCKS_BYTES);
        let short = short.and_then(|bytes| self.pool().lend_plain(bytes.next_multiple_of(ALIGNMENT)));
        let own = self.job.local_rank;
        let place = short.map(|place| place as u64);
        let place = place.or_else(|| Some(IN_FILE + self.spare_blocks.lend(&self.job.node, own, bytes)?))?;
        Some((1 + place, self.shared_block_at(own, 1 + place)?))
    }

    /// Where a byte of a block of a rank lies in this process; `None`: it is in none, or not mapped here.
    pub(super) fn shared_block_at(&self, local_rank: u32, block: u64) -> Option<u64> {
        let place = block.checked_sub(1)?;
        match place.checked_sub(IN_FILE) {
            Some(at) => self.spare_blocks.address(local_rank, at).map(|address| address as u64),
            None => Some(self.job.node.blocks_area(local_rank) as u64 + place),
        }
    }

    /// Takes a block of this process back that no member uses any more.
    pub(super) fn take_back_shared_block(&self, block: u64) {
        let Some(place) = block.checked_sub(1) else { return };
        match place.checked_sub(IN_FILE) {
            Some(at) => self.spare_blocks.take_back(&self.job.node, self.job.local_rank, at),
            None => self.pool().take_back(place as usize),
        }
    }

    /// Maps the blocks of other members that are not mapped anyway. Collective.
    ///
    /// # Errors
    /// `NoMem` where some member cannot map one: nothing is mapped then.
    pub(super) fn share_blocks(&self, parent: &Arc<Communicator>, told: &[Told]) -> Result<()> {
        if told.iter().all(|one| one.block <= IN_FILE) {
            return Ok(());
        }
        let share = |(owner, at, bytes)| self.spare_blocks.share(&self.job.node, owner, at, bytes);
        let is_mapped = self.blocks_of_others(parent, told).all(share);
        let all = self.all_say(parent, is_mapped).and_then(|all| match all {
            true => Ok(()),
            false => Err(Error::new(
                Class::NoMem,
                "a process cannot map the shared memory of all: look at its limit on address space (`ulimit -v`)",
            )),
        });
        all.inspect_err(|_| self.forget_blocks(parent, told))
    }

    /// Ends [`Engine::share_blocks`].
    pub(super) fn forget_blocks(&self, parent: &Communicator, told: &[Told]) {
        self.blocks_of_others(parent, told).for_each(|(owner, at, _)| self.spare_blocks.forget(owner, at));
    }

    /// Local rank of the owner, place in its part and length of the blocks that others have lent in their parts.
    fn blocks_of_others<'a>(
        &'a self,
        parent: &'a Communicator,
        told: &'a [Told],
    ) -> impl Iterator<Item = (u32, u64, u64)> + 'a {
        (0..).zip(told).filter_map(move |(member, first)| {
            let is_owner = first.owner == u64::from(member) && member != parent.rank;
            let at = first.block.checked_sub(1 + IN_FILE).filter(|_| is_owner)?;
            // Segments in one piece are all in the first member's block.
            let inside = told.iter().filter(|one| one.owner == first.owner && one.block > 0);
            let end = inside.map(|one| one.block + one.segment.bytes).max()?;
            Some((self.local_rank(parent, member)?.0, at, end - first.block))
        })
    }
}
