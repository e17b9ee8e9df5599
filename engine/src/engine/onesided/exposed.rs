//! What has been exposed: attaching memory, asking where it lies, and freeing.

use super::exposing::Memory;
use crate::collective::Operation;
use crate::device::{DeviceMemory, MemoryKind};
use crate::engine::Engine;
use crate::memory::window::{Children, Opened};
use crate::onesided::{DevicePiece, Entry, Exposure, Kind, Region, Segment, Servant, Told};
use crate::progress::changes::Changes;
use crate::transport::{AccessDescriptor, ExposedMemory, Routed};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// Attaching, asking and freeing.
impl Engine {
    /// Attaches memory to a dynamic exposure (`MPI_Win_attach`). Not collective.
    ///
    /// # Errors
    /// `RmaFlavor` for another kind; `RmaAttach` when it overlaps what is attached; `Size`.
    pub fn attach(&self, exposure: &Exposure, address: *mut u8, bytes: i64) -> Result<()> {
        only_dynamic(exposure)?;
        Memory::Given { address, bytes }.check(1)?;
        exposure.attached.check(address as u64, bytes as u64)?;
        let segment = Segment { address: address as u64, bytes: bytes as u64, unit: 1 };
        let mut told = Told { segment, ..Told::default() };
        self.open_up(&mut told);
        exposure.attached.add(told.entry(), exposure.control.seat(exposure.rank()));
        Ok(())
    }

    /// The same with memory of a device: this member does what others ask for with it.
    ///
    /// # Errors
    /// As [`Engine::attach`].
    pub fn attach_device(
        &self,
        exposure: &Arc<Exposure>,
        memory: DeviceMemory,
        (address, bytes): (*mut u8, i64),
    ) -> Result<()> {
        only_dynamic(exposure)?;
        Memory::OfDevice { address, bytes, memory }.check(1)?;
        let entry = Entry {
            address: address as u64,
            bytes: bytes as u64,
            kind: u64::from(memory.kind.0),
            ..Entry::default()
        };
        exposure.attached.check(entry.address, entry.bytes)?;
        self.serve_others_too(exposure)?;
        let lent = self.lend_to_node(&memory, (entry.address, entry.bytes));
        exposure.device_pieces.add(DevicePiece { address: entry.address, memory, lent });
        exposure.attached.add(Entry { lent, ..entry }, exposure.control.seat(exposure.rank()));
        Ok(())
    }

    /// As [`Engine::attach`], of memory that is opened already.
    pub(in crate::engine) fn attach_opened(&self, exposure: &Exposure, entry: Entry) -> Result<()> {
        exposure.attached.check(entry.address, entry.bytes)?;
        exposure.attached.add(entry, exposure.control.seat(exposure.rank()));
        Ok(())
    }

    /// Detaches memory (`MPI_Win_detach`), named by the address at which it was attached.
    ///
    /// # Errors
    /// `RmaFlavor` for another kind; `RmaAttach` when nothing is attached there.
    pub fn detach(&self, exposure: &Exposure, address: *const u8) -> Result<()> {
        only_dynamic(exposure)?;
        let entry = exposure.attached.remove(address as u64, exposure.control.seat(exposure.rank()))?;
        exposure.device_pieces.remove(entry.address).into_iter().for_each(|piece| self.lend_no_more(piece));
        self.close(entry);
        Ok(())
    }

    fn close(&self, entry: Entry) {
        if entry.memory_kind() != MemoryKind::HOST {
            return;
        }
        self.close_memory(entry.address, entry.bytes, entry.opened);
    }

    /// Opens memory of this process to the others on its node.
    pub(in crate::engine) fn open_memory(&self, address: u64, bytes: u64, children: Children) -> Opened {
        if self.job.node.local_ranks() == 1 {
            return Opened::whole(address, bytes);
        }
        let (opened, changes) = {
            let transport = &mut self.lanes.at(0).lock().transport;
            (transport.expose(address as *mut u8, bytes, children), transport.changes(JobRank(self.job.rank)))
        };
        changes.filter(|_| opened.is_adopted(address)).inspect(Changes::hide_words);
        opened
    }

    /// A part of a shared window that lies with another member, or among the blocks of one, is changed by instructions,
    /// which its address does not tell.
    pub(super) fn mind_words_of(&self, exposure: &Exposure, mind: impl FnOnce(&Changes)) {
        let told = &exposure.told[exposure.rank() as usize];
        let is_elsewhere = told.owner != u64::from(exposure.rank()) || told.block != 0;
        if is_elsewhere && told.segment.bytes > 0 {
            let changes = self.lanes.at(0).lock().transport.changes(JobRank(self.job.rank));
            changes.as_ref().map(mind);
        }
    }

    /// Ends [`Engine::open_memory`].
    pub(super) fn close_memory(&self, address: u64, bytes: u64, opened: Opened) {
        let transport = &mut self.lanes.at(0).lock().transport;
        let changes = transport.changes(JobRank(self.job.rank));
        changes.filter(|_| opened.is_adopted(address)).inspect(Changes::hide_no_words);
        transport.unexpose(address as *mut u8, bytes, opened);
    }

    /// Where the segment of a member lies in this process (`MPI_Win_shared_query`); `None`
    /// as rank (`MPI_PROC_NULL`): that of the first member that has any. Where memory is not
    /// shared it has no bytes.
    ///
    /// # Errors
    /// `Rank`; `RmaFlavor` for a dynamic exposure.
    pub fn shared(&self, exposure: &Exposure, rank: Option<u32>) -> Result<Segment> {
        if exposure.kind == Kind::Dynamic {
            let sentence =
                "the window has no memory but what is attached to it, and that cannot be asked for";
            return Err(Error::new(Class::RmaFlavor, sentence));
        }
        let first = || exposure.told.iter().position(|one| one.segment.bytes > 0).unwrap_or(0) as u32;
        let rank = rank.unwrap_or_else(first);
        let segment = *exposure.segment(rank)?;
        let nothing = Segment { address: 0, bytes: 0, unit: segment.unit };
        // Segments in one piece have an address there even if they have no bytes.
        let region = self.region_of(exposure, rank);
        match region.here(0, segment.bytes) {
            Some(here) if region.own || !region.direct.is_empty() || segment.bytes == 0 => {
                Ok(Segment { address: here as u64, ..segment })
            }
            None if region.own => Ok(Segment { address: region.here as u64, ..segment }),
            _ => Ok(nothing),
        }
    }

    /// Where the segment of a member is for this process.
    pub(in crate::engine) fn region_of<'a>(&self, exposure: &'a Exposure, rank: u32) -> &'a Region {
        exposure.regions[rank as usize].get_or_init(|| {
            let told = &exposure.told[rank as usize];
            let entry = told.entry();
            let mut region = self.find_region(exposure, told.owner as u32, entry);
            // Segments in one piece lie with the first member. Each is changed as its own member's memory all the same, or
            // all would wait for each other, and as that member exposes it again.
            if let Some(peer) = exposure.peers[rank as usize].filter(|_| told.owner != u64::from(rank)) {
                region.changes = self.reach(&region, |transport| transport.changes(peer));
            }
            let owner = self.local_rank(&exposure.communicator, told.owner as u32);
            if let Some(here) = owner.and_then(|owner| self.shared_block_at(owner.0, told.block)) {
                region.lies_at(here as usize);
            }
            if told.block != 0 {
                region.servant.takes_blocks = self.servers_move_blocks(region.servant, true);
            }
            region
        })
    }

    /// Where memory of a member is for this process.
    pub(in crate::engine) fn find_region(&self, exposure: &Exposure, owner: u32, entry: Entry) -> Region {
        let (peer, own) = (exposure.peers[owner as usize], owner == exposure.rank());
        let mut servant = self.servant_of(exposure, owner);
        servant.takes_blocks = self.servers_move_blocks(servant, entry.opened.part() == (0..entry.bytes));
        if entry.memory_kind() != MemoryKind::HOST {
            // No server of a node reaches it.
            servant.node = None;
        }
        let mut region = self.open_region(peer, servant, entry, (own, false));
        match own {
            _ if entry.memory_kind() == MemoryKind::HOST => {}
            true => region.device = exposure.device_pieces.at(entry.address),
            false => self.map_device(exposure, owner, entry, &mut region),
        }
        region
    }

    /// The same, for a process that may be on this node; for the server of the node if that is asked for.
    pub(in crate::engine) fn open_region(
        &self,
        peer: Option<JobRank>,
        servant: Servant,
        entry: Entry,
        (own, for_server): (bool, bool),
    ) -> Region {
        let mut region = Region {
            peer,
            servant,
            changes: None,
            bell: None,
            address: entry.address,
            bytes: entry.bytes,
            direct: entry.opened.part(),
            here: entry.address as usize,
            own,
            for_server,
            kind: entry.memory_kind(),
            device: None,
            mapping: None,
        };
        let Some(peer) = peer else {
            region.direct = 0..0;
            return region;
        };
        let part = AccessDescriptor::host(entry.opened.at, entry.opened.bytes());
        let is_mapped = !own && !region.direct.is_empty();
        let (changes, bell, exposed) = self.reach(&region, |transport| {
            let exposed = is_mapped.then(|| transport.exposed(peer, part)).flatten();
            (transport.changes(peer), transport.bell(peer), exposed)
        });
        (region.changes, region.bell) = (changes, bell);
        match exposed {
            Some(here) => region.here = (here as usize).wrapping_sub(entry.opened.first as usize),
            None if is_mapped => region.direct = 0..0,
            None => {}
        }
        region
    }

    /// The transport by which memory of a region is reached.
    #[inline]
    pub(in crate::engine) fn reach<T>(&self, region: &Region, work: impl FnOnce(&mut Routed) -> T) -> T {
        match region.for_server {
            false => work(&mut self.lanes.at(0).lock().transport),
            true => self.server_reaches(work),
        }
    }

    /// Frees an exposure (`MPI_Win_free`). Collective. Memory that the library has allocated
    /// goes; attributes are the face's to delete before.
    ///
    /// # Errors
    /// `RmaSync` while an epoch of this member is open; `ProcFailed` when a member has failed. Nothing is freed then.
    pub fn unexpose(&self, exposure: &Exposure) -> Result<()> {
        exposure.epochs.check_free()?;
        // Whatever has become of this member's operations, the others wait for it.
        let settled = self.settle_accesses(exposure.settled(None));
        fence(Ordering::SeqCst);
        self.unmap_devices(exposure);
        match exposure.ends_by_words {
            true => self.leave_together(&exposure.farewell).inspect_err(|_| exposure.epochs.end())?,
            false => self.run_collective(&exposure.communicator, &Operation::Barrier)?,
        }
        self.end_farewell(&exposure.farewell);
        self.leave_server(exposure)?;
        self.end_to_serve(exposure);
        exposure.device_pieces.take_all().into_iter().for_each(|piece| self.lend_no_more(piece));
        exposure.attached.take_all().into_iter().for_each(|entry| self.close(entry));
        self.mind_words_of(exposure, Changes::hide_no_words);
        self.forget_blocks(&exposure.communicator, &exposure.told);
        self.take_back(exposure.take_provided(), exposure.told[exposure.rank() as usize].control);
        exposure.communicator.free();
        settled
    }
}

fn only_dynamic(exposure: &Exposure) -> Result<()> {
    match exposure.kind {
        Kind::Dynamic => Ok(()),
        kind => Err(Error::new(
            Class::RmaFlavor,
            format!("memory is attached to dynamic windows only, and this one is of the kind {kind:?}"),
        )),
    }
}
