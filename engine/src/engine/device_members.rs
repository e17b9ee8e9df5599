//! What ranks of one node tell each other for a collective that their devices do together.
//!
//! Who has a buffer on a device is known to nobody else, so all members of a communicator ask each other, if their
//! processes may have devices, and the operation is long enough (`device_reductions.rs`, `device_moves.rs`).

use super::Engine;
use crate::collective::node::Member;
use crate::collective::{Data, Operation};
use crate::datatype::{Basic, Datatype};
use crate::device::borrowing::{self, Mapping};
use crate::device::lent::Lent;
use crate::device::{self, DeviceMemory};
use crate::reduce::{Builtin, Operator};
use crate::Result;
use std::sync::Arc;

/// Memory of a rank, as it tells others. All zeros: it is not to be had.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Told {
    /// 1 + where it is described in its blocks area.
    pub lent: u64,
    pub address: u64,
    /// The number of the allocation.
    pub number: u64,
}

/// Data on a device, here or mapped.
pub(super) struct Found {
    pub address: usize,
    pub memory: DeviceMemory,
    /// `None`: it is mine.
    pub mapping: Option<Arc<Mapping>>,
}

impl Found {
    /// The device memory of this process in which an address lies.
    ///
    /// # Errors
    /// What the driver says.
    pub fn here(address: *mut u8) -> Result<Option<Found>> {
        let memory = device::find(address)?;
        Ok(memory.map(|memory| Found { address: address as usize, memory, mapping: None }))
    }
}

impl Engine {
    /// What others are told of memory here, of so many bytes from its address on.
    pub(super) fn told(&self, found: &Found, bytes: usize) -> Told {
        Told {
            lent: self.lend_for_messages(&found.memory, (found.address, bytes)),
            address: found.address as u64,
            number: found.memory.number,
        }
    }

    /// Maps memory that a member has told.
    pub(super) fn map_told(&self, me: &Member, member: u32, told: &Told, bytes: u64) -> Option<Found> {
        let base = self.job.node.blocks_area(me.peer(member).0);
        // SAFETY: the owner describes memory there, or has done so; its area is longer.
        let lent = unsafe { base.add(told.lent.checked_sub(1)? as usize).cast::<Lent>().read_unaligned() };
        let end = told.address.checked_add(bytes)?;
        if lent.number != told.number || told.address < lent.first || end > lent.first + lent.bytes {
            return None;
        }
        let mapping = borrowing::map_for_messages(&lent).ok()?;
        Some(Found { address: mapping.here(told.address), memory: mapping.memory(), mapping: Some(mapping) })
    }

    /// All members tell each other; `None` if it does not go over their block.
    ///
    /// # Errors
    /// As those of an allgather.
    pub(super) fn all_tell<T: Copy + Default>(&self, me: &Member, mut mine: T) -> Result<Option<Vec<T>>> {
        let mut all = vec![T::default(); me.size as usize];
        let bytes = |address: *mut T| Data {
            address: address.cast(),
            count: size_of::<T>() as u64,
            datatype: Datatype::shared(Basic::Packed).into(),
        };
        let (send, receive) = (Some(bytes(&raw mut mine)), bytes(all.as_mut_ptr()));
        match self.run_at(me, &Operation::Allgather { send, receive }, 0) {
            Some(done) => done.map(|()| Some(all)),
            None => Ok(None),
        }
    }

    /// Whether all members say so.
    ///
    /// # Errors
    /// As those of an allreduce.
    pub(super) fn all_members_say(&self, me: &Member, mine: bool) -> Result<bool> {
        let mut word = u32::from(mine);
        let (address, datatype) = ((&raw mut word).cast(), Datatype::shared(Basic::Uint32).into());
        let receive = Data { address, count: 1, datatype };
        let operator = Arc::new(Operator::builtin(Builtin::Min)).into();
        match self.run_at(me, &Operation::Allreduce { send: None, receive, operator }, 0) {
            Some(done) => done.map(|()| word != 0),
            None => Ok(false),
        }
    }
}
