//! From an address of this rank to the memory of another that it stands for.

use super::opening::{TABLE_BYTES, TABLE_ROWS};
use crate::engine::Engine;
use crate::onesided::Region;
use crate::symmetric::{Object, Places, Symmetric};
use crate::transport::{Means, OfferedMemory};
use crate::{Class, Error, JobRank, Result};

/// Symmetric memory of a rank, as the program names it.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// The argument that names it.
    pub name: &'static str,
    /// The corresponding address here.
    pub address: *mut u8,
    /// The rank in the job.
    pub pe: u32,
}

/// Where a rank has its memory for this process.
pub(super) type Found<'a> = (&'a Region, u64);

impl Engine {
    /// Where symmetric memory lies.
    ///
    /// # Errors
    /// `RmaRange` when the address is not symmetric, or beyond what is.
    #[inline]
    pub(super) fn find<'a>(
        &self,
        symmetric: &'a Symmetric,
        remote: Remote,
        bytes: usize,
    ) -> Result<Found<'a>> {
        match symmetric.chunk(remote.address as usize, bytes) {
            Some((chunk, offset)) => Ok((self.region_of(&chunk.exposure, remote.pe), offset as u64)),
            None => self.find_variable(symmetric, remote, bytes),
        }
    }

    #[inline(never)]
    fn find_variable<'a>(&self, symmetric: &'a Symmetric, remote: Remote, bytes: usize) -> Result<Found<'a>> {
        let (statics, address) = (&symmetric.statics, remote.address as u64);
        let after = statics.objects.partition_point(|object| object.address <= address);
        let Some(number) =
            after.checked_sub(1).filter(|&number| statics.objects[number].has(address, bytes as u64))
        else {
            return Err(not_symmetric(symmetric, remote, bytes));
        };
        let regions = &statics.of_peers[remote.pe as usize];
        if regions.get().is_none() {
            let _ = regions.set(self.variables_of(symmetric, remote.pe)?);
        }
        match regions.get().and_then(|regions| regions[number].as_ref()) {
            Some(region) => Ok((region, address - statics.objects[number].address)),
            None => Err(not_loaded(remote)),
        }
    }

    /// Where a rank has the objects that this one has.
    fn variables_of(&self, symmetric: &Symmetric, pe: u32) -> Result<Places> {
        let mut table = vec![0u64; TABLE_BYTES / 8];
        let heap = symmetric.heap();
        let region = self.region_of(&heap.chunks[0].0.exposure, pe);
        // SAFETY: as long; the rank has written its table there before anybody has come so far.
        unsafe { self.read_from(region, 0, table.as_mut_ptr().cast(), TABLE_BYTES as u64)? };
        drop(heap);
        let rows = (table[0] as usize).min(TABLE_ROWS);
        // SAFETY: rows of words, of which each bit pattern is one; the table has room for so many.
        let theirs = unsafe { std::slice::from_raw_parts(table[1..].as_ptr().cast::<Object>(), rows) };
        let region = |mine: &Object| {
            let object = theirs.iter().find(|theirs| theirs.key == mine.key)?;
            Some(self.find_region(&symmetric.statics.exposure, pe, object.entry()))
        };
        Ok(symmetric.statics.objects.iter().map(region).collect())
    }

    /// Whether an address is symmetric, and the rank's memory there within reach.
    pub fn is_symmetric(&self, symmetric: &Symmetric, remote: Remote) -> bool {
        self.find(symmetric, remote, 1).is_ok()
    }

    /// The same, with the reason.
    ///
    /// # Errors
    /// `RmaRange` when it is not.
    #[inline]
    pub fn check_symmetric(&self, symmetric: &Symmetric, remote: Remote) -> Result<()> {
        self.find(symmetric, remote, 1).map(|_| ())
    }

    /// Where symmetric memory of a rank lies in this process, if plain loads and stores reach it (`shmem_ptr`).
    pub fn pointer_to(&self, symmetric: &Symmetric, remote: Remote) -> Option<*mut u8> {
        let (region, offset) = self.find(symmetric, remote, 1).ok()?;
        let here = region.here(offset, 1)?;
        if !region.own {
            if let Some(bell) = &region.bell {
                bell.watchers.point();
            }
        }
        Some(here)
    }

    /// Whether the memory of a rank is within reach without its help.
    pub fn reaches(&self, pe: u32) -> bool {
        pe == self.rank()
            || matches!(
                self.lanes.at(0).lock().transport.means(JobRank(pe)),
                Means::Direct | Means::CrossMemory
            )
    }
}

#[cold]
fn not_symmetric(symmetric: &Symmetric, remote: Remote, bytes: usize) -> Error {
    let Remote { name, address, .. } = remote;
    let begins = symmetric.chunk(address as usize, 1).is_some()
        || symmetric.statics.objects.iter().any(|object| object.has(address as u64, 1));
    let sentence = match begins {
        true => format!(
            "argument {name}: {bytes} bytes at {address:p} go beyond the symmetric memory that begins there; is the \
             number of elements right?"
        ),
        false => format!(
            "argument {name}: {address:p} is no symmetric address; it must lie in a block of shmem_malloc or be a \
             global or static variable of the program or of a library that was loaded before shmem_init"
        ),
    };
    Error::new(Class::RmaRange, sentence)
}

#[cold]
fn not_loaded(remote: Remote) -> Error {
    let sentence = format!(
        "argument {}: {:p} is a variable of a library that PE {} has not loaded, or has in another version",
        remote.name, remote.address, remote.pe
    );
    Error::new(Class::RmaRange, sentence)
}
