//! Memory of devices that members of one node lend to each other, so that an origin copies it by itself.
//!
//! The owner writes what others need into its blocks area when the memory is exposed. An origin maps it at its first
//! operation there. Where one of both cannot be, the owner's servant does what is asked, as ever.

use crate::device::borrowing;
use crate::device::borrowing::Mapping;
use crate::device::lent::{Lent, Way, MOST_PIECES};
use crate::device::{self, DeviceMemory, MemoryKind};
use crate::engine::Engine;
use crate::message::{listen_for_descriptors, pass_descriptors, take_descriptor};
use crate::onesided::{Ask, DevicePiece, Entry, Exposure, Kind, Region};
use crate::{Class, Error, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError};

/// Mappings that an exposure keeps of memory that is attached and detached.
const MOST_KEPT: usize = 32;

impl Engine {
    /// Tells the processes of this node how they map memory of which so many bytes at an address are exposed: 1 + where, in the
    /// blocks area; 0 if they cannot. What the program has mapped by itself has no handle, but descriptors.
    pub(super) fn lend_to_node(&self, memory: &DeviceMemory, (address, bytes): (u64, u64)) -> u64 {
        let part = (address as usize, bytes as usize);
        self.tell_node(memory, |memory| {
            borrowing::lend(memory).or_else(|error| borrowing::describe_all(memory, part).map_err(|_| error))
        })
    }

    fn tell_node(&self, memory: &DeviceMemory, lend: impl Fn(&DeviceMemory) -> Result<Lent>) -> u64 {
        if self.job.node.local_ranks() == 1 || memory.kind != MemoryKind::CUDA {
            return 0;
        }
        let Ok(lent) = lend(memory) else { return 0 };
        let Some(offset) = self.pool().lend_plain(size_of::<Lent>().next_multiple_of(64)) else { return 0 };
        // SAFETY: just lent, so long; others read it when they have been told where it is.
        unsafe { self.described_at(offset).write_unaligned(lent) };
        1 + offset as u64
    }

    fn described_at(&self, offset: usize) -> *mut Lent {
        self.job.node.blocks_area(self.job.local_rank).wrapping_add(offset).cast()
    }

    /// The same for messages from so many bytes at an address: what was told of an allocation stands for further ones.
    /// Memory in pieces is told of piece by piece, each with the place of the next one.
    pub fn lend_for_messages(&self, memory: &DeviceMemory, (address, bytes): (usize, usize)) -> u64 {
        let pieces = device::pieces_up_to(memory, address + bytes, MOST_PIECES);
        let Ok(Some(pieces)) = pieces else { return 0 };
        let places: Vec<u64> = pieces.iter().map(|piece| self.told_of(piece)).collect();
        if places.contains(&0) {
            return 0;
        }
        for pair in places.windows(2) {
            // SAFETY: told of by this rank; peers that read it meanwhile find one place or the other.
            unsafe { (&raw mut (*self.described_at(pair[0] as usize - 1)).next).write_unaligned(pair[1]) };
        }
        places[0]
    }

    fn told_of(&self, memory: &DeviceMemory) -> u64 {
        let known = |told: &[(u64, u64)]| told.iter().find(|one| one.0 == memory.number).map(|one| one.1);
        let told = || self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known(&told()) {
            return place;
        }
        // Memory that the program has mapped by itself has no handle.
        let place = self.tell_node(memory, |memory| {
            borrowing::lend(memory).or_else(|error| borrowing::describe(memory).map_err(|_| error))
        });
        let mut told = told();
        told.push((memory.number, place));
        let oldest = if told.len() > MOST_KEPT { Some(told.remove(0)) } else { None };
        drop(told);
        // A peer that still reads it there finds the number of another allocation.
        if let Some(offset) = oldest.and_then(|one| one.1.checked_sub(1)) {
            self.pool().take_back(offset as usize);
        }
        place
    }

    /// Memory is not exposed any more.
    pub(super) fn lend_no_more(&self, piece: DevicePiece) {
        if let Some(offset) = piece.lent.checked_sub(1) {
            self.pool().take_back(offset as usize);
        }
    }

    /// Maps memory of another member, if it can be.
    pub(super) fn map_device(&self, exposure: &Exposure, owner: u32, entry: Entry, region: &mut Region) {
        let Some(offset) = entry.lent.checked_sub(1) else { return };
        let Some(local) = self.local_rank(&exposure.communicator, owner) else { return };
        let base = self.job.node.blocks_area(local.0);
        // SAFETY: the owner has written it there before it told us.
        let lent = unsafe { base.add(offset as usize).cast::<Lent>().read_unaligned() };
        let Ok(mapping) = borrowing::map(&lent).or_else(|error| self.import_device(region, &lent, error))
        else {
            return;
        };
        region.device = Some(mapping.memory());
        region.here = mapping.here(entry.address);
        let mut kept = exposure.mappings.lock().unwrap_or_else(PoisonError::into_inner);
        if exposure.kind == Kind::Dynamic && kept.iter().any(|one| one.is_of_same(&mapping)) {
            drop(kept);
        } else {
            if exposure.kind == Kind::Dynamic && kept.len() == MOST_KEPT {
                kept.remove(0);
            }
            kept.push(Arc::clone(&mapping));
        }
        region.mapping = Some(mapping);
    }

    /// Maps memory in pieces, of which its owner's servant passes descriptors. What does not go is not tried again.
    fn import_device(&self, region: &Region, lent: &Lent, error: Error) -> Result<Arc<Mapping>> {
        if lent.way != Way::DESCRIPTOR || borrowing::is_refused(lent) {
            return Err(error);
        }
        self.ask_for_pieces(region, lent).inspect_err(|error| borrowing::refuse(lent, error))
    }

    fn ask_for_pieces(&self, region: &Region, lent: &Lent) -> Result<Arc<Mapping>> {
        let (listener, name) = listen_for_descriptors()
            .ok_or_else(|| Error::new(Class::Other, "there is no socket to pass descriptors of memory"))?;
        let mut answer = [0u8; 8 * MOST_PIECES];
        self.ask(region.servant, Ask::Pass(region.address, region.bytes), &name.to_ne_bytes(), &mut answer)?;
        let lengths =
            answer.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")));
        let lengths = lengths.filter(|&length| length > 0);
        let taken = lengths.map(|length| Ok((length, take_descriptor(&listener)?)));
        let taken: Vec<(u64, OwnedFd)> = taken.collect::<Result<_>>()?;
        let pieces: Vec<_> = taken.iter().map(|(length, descriptor)| (*length, descriptor.as_fd())).collect();
        borrowing::import(lent, &pieces)
    }

    /// No operation on other members' memory comes any more: before they may give it back to the driver.
    pub(super) fn unmap_devices(&self, exposure: &Exposure) {
        let kept = std::mem::take(&mut *exposure.mappings.lock().unwrap_or_else(PoisonError::into_inner));
        kept.iter().for_each(|mapping| mapping.give_back());
    }
}

/// Passes descriptors of pieces of own memory to a socket of another member: how long each piece is.
pub(super) fn pass_pieces(memory: (u64, u64), name: &[u8]) -> Result<Vec<u8>> {
    let name = name.try_into().map_err(|_| Error::new(Class::Intern, "a socket has no such name"))?;
    let mut lengths = pass_descriptors(memory, u128::from_ne_bytes(name))?;
    lengths.resize(MOST_PIECES, 0);
    Ok(lengths.into_iter().flat_map(u64::to_ne_bytes).collect())
}
