//! Files whose checksums are kept and verified (hint `serried_checksum`): a driver that verifies what it reads, and the
//! making of the sums by all ranks when a file that was written is closed.

use super::checksum::{self, crc32c, Sums, BLOCK};
use super::driver::Driver;
use super::failure::word_of;
use super::file_system::FileSystem;
use super::team::Team;
use crate::{Class, Error, Result};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Another driver, of which each block is verified when it is read for the first time.
pub(super) struct Verified {
    driver: Box<dyn Driver>,
    name: String,
    state: Mutex<State>,
}

struct State {
    /// The sums that may be those of the file: all blocks so far had these.
    candidates: Vec<Sums>,
    /// Blocks that were right, by bits.
    right: Vec<u64>,
    block: Vec<u8>,
}

impl Verified {
    /// A driver that verifies by the sums of a file.
    ///
    /// # Errors
    /// `Io` where the file has not the length that they are for; what the file system says.
    pub fn new(driver: Box<dyn Driver>, name: &str, mut candidates: Vec<Sums>) -> Result<Verified> {
        let size = driver.size()?;
        let lengths: Vec<u64> = candidates.iter().map(|sums| sums.size).collect();
        candidates.retain(|sums| sums.size == size);
        if candidates.is_empty() {
            let message = format!(
                "the file {name} has {size} bytes, and its checksums are those of {lengths:?} bytes: it was cut, or changed by a program that keeps no checksums"
            );
            return Err(Error::new(Class::Io, message));
        }
        let state = State { candidates, right: Vec::new(), block: Vec::new() };
        Ok(Verified { driver, name: name.to_owned(), state: Mutex::new(state) })
    }

    /// Verifies a block, unless that was done.
    fn verify(&self, number: u64) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { candidates, right, block } = &mut *state;
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if right.get(word).is_some_and(|bits| bits & bit != 0) {
            return Ok(());
        }
        let of = |sums: &Sums| sums.blocks.get(number as usize).copied();
        let Some(wanted) = candidates.first().and_then(of) else { return Ok(()) }; // behind the end
        block.resize(BLOCK as usize, 0);
        let length = self.driver.read(number * BLOCK, block)?;
        let sum = crc32c(&block[..length]);
        if !candidates.iter().any(|sums| of(sums) == Some(sum)) {
            return Err(self.damage(number, sum, wanted));
        }
        candidates.retain(|sums| of(sums) == Some(sum));
        if right.len() <= word {
            right.resize(word + 1, 0);
        }
        right[word] |= bit;
        Ok(())
    }

    #[cold]
    fn damage(&self, block: u64, sum: u32, wanted: u32) -> Error {
        let message = format!(
            "the file {} is damaged in block {block}, which are {BLOCK} bytes from offset {} on: its checksum is {sum:08x}, and {wanted:08x} when it was written; or a program has changed it that keeps no checksums",
            self.name,
            block * BLOCK
        );
        Error::new(Class::Io, message)
    }
}

impl Driver for Verified {
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<usize> {
        let end = offset.saturating_add(target.len() as u64).min(self.driver.size()?);
        (offset / BLOCK..end.div_ceil(BLOCK)).try_for_each(|block| self.verify(block))?;
        self.driver.read(offset, target)
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        self.driver.write(offset, source)
    }

    fn size(&self) -> Result<u64> {
        self.driver.size()
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.driver.set_size(size)
    }

    fn preallocate(&self, size: u64) -> Result<()> {
        self.driver.preallocate(size)
    }

    fn sync(&self) -> Result<()> {
        self.driver.sync()
    }

    fn lock(&self, offset: u64, bytes: u64, exclusive: bool) -> Result<()> {
        self.driver.lock(offset, bytes, exclusive)
    }

    fn unlock(&self, offset: u64, bytes: u64) -> Result<()> {
        self.driver.unlock(offset, bytes)
    }

    fn file_system(&self) -> FileSystem {
        self.driver.file_system()
    }
}

/// The sums of a file that all ranks have written, made by all of them together: each reads a part.
///
/// # Errors
/// What the file system says, at all ranks.
pub(super) fn sum_up<D: Driver>(team: &dyn Team, open: impl FnOnce() -> Result<D>) -> Result<Sums> {
    team.meet()?;
    let opened = open().and_then(|driver| Ok((driver.size()?, driver)));
    // All have the size that the first rank has found; one that has not opened it says so below.
    let mut told = [opened.as_ref().map_or(0, |opened| opened.0)];
    team.tell(0, &mut told)?;
    let [size] = told;
    let blocks = size.div_ceil(BLOCK);
    let share = blocks.div_ceil(u64::from(team.size()));
    let first = share * u64::from(team.rank());
    let part = first.min(blocks)..(first + share).min(blocks);
    let mine = opened.and_then(|(_, driver)| sums_of(&driver, part));
    let mut words = vec![word_of(&mine)];
    words.extend(mine.as_deref().unwrap_or_default().iter().map(|&sum| u64::from(sum)));
    words.resize(1 + share as usize, 0);
    let all = team.gather(&words)?;
    mine?;
    let parts = || all.chunks(1 + share as usize);
    if let Some(rank) = parts().position(|part| part[0] != 0) {
        return Err(Error::new(
            Class::Io,
            format!("rank {rank} could not read what was written, for its checksums"),
        ));
    }
    let sums = parts().flat_map(|part| &part[1..]).map(|&sum| sum as u32);
    Ok(Sums { size, blocks: sums.take(blocks as usize).collect() })
}

fn sums_of(driver: &dyn Driver, blocks: std::ops::Range<u64>) -> Result<Vec<u32>> {
    let mut room = vec![0; BLOCK as usize];
    let mut sum = |block: u64| {
        let length = driver.read(block * BLOCK, &mut room)?;
        Ok(crc32c(&room[..length]))
    };
    blocks.map(&mut sum).collect()
}

/// Has the reads of a file verified, if there are sums of it.
///
/// # Errors
/// As [`Verified::new`] and [`checksum::find`].
pub(super) fn verifying(driver: Box<dyn Driver>, path: &Path) -> Result<(Box<dyn Driver>, bool)> {
    match checksum::find(path)? {
        None => Ok((driver, false)),
        Some(sums) => Ok((Box::new(Verified::new(driver, &path.to_string_lossy(), sums)?), true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::file_in_memory::Memory;
    use crate::file::Alone;

    fn written(bytes: usize) -> (Memory, Sums) {
        let memory = Memory::default();
        let data: Vec<u8> = (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect();
        memory.write(0, &data).unwrap();
        let sums = sum_up(&Alone, || Ok(memory.clone())).unwrap();
        (memory, sums)
    }

    #[test]
    fn damage_is_found_in_its_block_only() {
        let (memory, sums) = written(BLOCK as usize * 3 + 100);
        assert_eq!(sums.blocks.len(), 4);
        let verified = Verified::new(Box::new(memory.clone()), "data", vec![sums]).unwrap();
        let mut room = [0; 50];
        memory.write(BLOCK * 2 + 77, &[1]).unwrap();
        assert_eq!(verified.read(BLOCK - 10, &mut room).unwrap(), 50);
        assert_eq!(verified.read(BLOCK * 3 + 90, &mut room).unwrap(), 10);
        let error = verified.read(BLOCK * 2 - 10, &mut room).unwrap_err();
        assert!(error.class() == Class::Io && error.to_string().contains("block 2"), "{error}");
        memory.set_size(10).unwrap();
        assert!(Verified::new(Box::new(memory), "data", vec![]).is_err());
    }

    #[test]
    fn of_two_states_one_must_be_the_file_and_not_a_mixture() {
        let (memory, old) = written(BLOCK as usize * 2);
        let mut new = old.clone();
        memory.write(0, &[9; 1000]).unwrap();
        new.blocks[0] = sum_up(&Alone, || Ok(memory.clone())).unwrap().blocks[0];
        memory.write(BLOCK, &[8; 1000]).unwrap();
        new.blocks[1] = sum_up(&Alone, || Ok(memory.clone())).unwrap().blocks[1];
        let read = |at: u64, verified: &Verified| verified.read(at, &mut [0; 10]).is_ok();
        let verify =
            || Verified::new(Box::new(memory.clone()), "data", vec![old.clone(), new.clone()]).unwrap();
        let verified = verify();
        assert!(read(0, &verified) && read(BLOCK, &verified), "the new state");
        let (before, _) = written(BLOCK as usize * 2);
        let mut first = vec![0; BLOCK as usize];
        before.read(0, &mut first).unwrap();
        memory.write(0, &first).unwrap();
        let verified = verify();
        assert!(read(0, &verified) && !read(BLOCK, &verified), "the first block is old, the second one new");
    }
}
