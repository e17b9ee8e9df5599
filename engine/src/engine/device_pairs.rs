//! Whether ranks of a node map each other's memory of devices: tried, for people.

use super::onesided::Memory;
use super::Engine;
use crate::collective::Data;
use crate::datatype::{Basic, Datatype};
use crate::device::{borrowing, DeviceMemory};
use crate::onesided::{Assertions, Exposure, Target};
use crate::world::Communicator;
use crate::Result;
use std::ptr;
use std::sync::Arc;

/// Bytes of each rank that the others read.
pub const BYTES: usize = 64;

/// How this rank reads device memory of a peer: mapped, or why it is not.
pub type OfDevice = std::result::Result<(), String>;

impl Engine {
    /// Reads [`BYTES`] bytes at the beginning of the device memory of each other rank, and says how; `None` for ranks that
    /// have none. All ranks call it, and nothing else goes on meanwhile.
    ///
    /// # Errors
    /// What goes wrong on the way.
    pub fn try_devices(&self, memory: Option<DeviceMemory>) -> Result<Vec<(u32, Option<OfDevice>)>> {
        let world = Arc::new(Communicator::world(self.rank(), self.size()));
        let mine = match memory {
            Some(memory) => {
                Memory::OfDevice { address: memory.first as *mut u8, bytes: BYTES as i64, memory }
            }
            None => Memory::Given { address: ptr::null_mut(), bytes: 0 },
        };
        let exposure = self.expose(&world, mine, 1)?;
        self.lock_all(&exposure, Assertions::NONE)?;
        let others = (0..self.size()).filter(|&peer| peer != self.rank());
        let found = others.map(|peer| Ok((peer, self.try_device_of(&exposure, peer)?))).collect();
        self.unlock_all(&exposure)?;
        self.unexpose(&exposure)?;
        found
    }

    fn try_device_of(&self, exposure: &Exposure, peer: u32) -> Result<Option<OfDevice>> {
        if exposure.segment(peer)?.bytes == 0 {
            return Ok(None);
        }
        let (mut read, bytes) = ([0u8; BYTES], Datatype::basic(Basic::Packed));
        let origin = Data::new(read.as_mut_ptr(), 0, BYTES as i64, &bytes)?;
        let target = Target { rank: peer, displacement: 0, count: BYTES as i64, datatype: &bytes };
        self.get(exposure, &origin, &target)?;
        let region = self.region(exposure, peer)?;
        let why = || match exposure.told[peer as usize].lent {
            0 => "its owner cannot lend it".to_owned(),
            _ if region.peer.is_none() => "it is on another node".to_owned(),
            _ => borrowing::why_not().unwrap_or_else(|| "this rank uses no device".to_owned()),
        };
        Ok(Some(region.mapping.as_ref().map(drop).ok_or_else(why)))
    }
}
