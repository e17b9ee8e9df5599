//! Memory of devices that processes of one node lend to each other: what a peer is told of an allocation, and what this
//! process has mapped of its peers.
//!
//! A peer is trusted once it has shown, by a secret in memory of its own, that what is mapped here is what it means; a few
//! failures end the trying. An allocation is mapped once, however many exposures it is in, and is given back with the last
//! use. One that was refused is not tried again.

use super::interface::{Device, DeviceMemory, Piece};
use super::lent::{Lent, Way, MOST_PIECES, SECRET_BYTES};
use super::presence;
use crate::lock_order::{self, Level};
use crate::{Class, Error, Result};
use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How often the secret of an owner is looked for in vain.
const MOST_TRIES: u32 = 3;
/// Allocations that stay mapped for messages.
const MOST_KEPT: usize = 32;
/// Refusals that are remembered.
const MOST_REFUSALS: usize = 256;

/// Owner and allocation.
type Key = (u64, u64);

/// What came of a key.
enum Known {
    /// It is mapped, for so many uses.
    Mapped(DeviceMemory, Way, usize),
    /// It cannot be, and why.
    Refused(String),
}

#[derive(Default)]
struct Table {
    all: Vec<(Key, Known)>,
    /// Owners that have shown their secret.
    proven: Vec<u64>,
    /// Owners whose secret could not be read, and how often.
    unproven: Vec<(u64, u32)>,
    /// Why something was refused last.
    why: Option<String>,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

fn with_table<T>(work: impl FnOnce(&mut Table) -> T) -> T {
    let mut table = lock_order::lock(&TABLE, Level::BORROWED);
    work(table.get_or_insert_default())
}

/// A use of a peer's memory that is mapped here.
#[derive(Debug)]
pub struct Mapping {
    key: Key,
    memory: DeviceMemory,
    /// Where it begins at its owner.
    first_there: u64,
    is_over: AtomicBool,
}

impl Mapping {
    /// The memory, as it lies in this process.
    pub fn memory(&self) -> DeviceMemory {
        self.memory
    }

    /// Where an address of the owner lies here.
    pub fn here(&self, there: u64) -> usize {
        self.memory.first + there.wrapping_sub(self.first_there) as usize
    }

    /// Where an address of the owner lies here, and how many bytes are from there on.
    pub fn part_from(&self, there: u64) -> Option<(usize, u64)> {
        let begin = there.checked_sub(self.first_there)?;
        let left = (self.memory.bytes as u64).checked_sub(begin).filter(|&left| left > 0)?;
        Some((self.memory.first + begin as usize, left))
    }

    /// Whether both are uses of one allocation.
    pub fn is_of_same(&self, other: &Mapping) -> bool {
        self.key == other.key
    }

    /// The use ends, whoever still holds this.
    pub fn give_back(&self) {
        if self.is_over.swap(true, Ordering::SeqCst) {
            return;
        }
        with_table(|table| {
            let Some(place) = table.all.iter().position(|one| one.0 == self.key) else { return };
            if let Known::Mapped(memory, way, uses) = &mut table.all[place].1 {
                *uses -= 1;
                if *uses == 0 {
                    if let Some(driver) = presence::driver() {
                        driver.unmap(memory, *way);
                    }
                    table.all.swap_remove(place);
                }
            }
        });
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// What other processes of the node need to map an allocation.
///
/// # Errors
/// What the driver says: memory of pools, and managed memory, cannot be lent.
pub fn lend(memory: &DeviceMemory) -> Result<Lent> {
    let driver = presence::driver().ok_or_else(super::gone)?;
    driver.lend(memory).inspect_err(|error| with_table(|table| table.why = Some(error.message().to_owned())))
}

/// Whether it is known that an allocation cannot be mapped.
pub fn is_refused(lent: &Lent) -> bool {
    let key = (lent.owner, lent.number);
    with_table(|table| table.all.iter().any(|one| one.0 == key && matches!(one.1, Known::Refused(_))))
}

/// What they need to map memory that the program has mapped by itself, all pieces in which so many bytes at an address lie; the
/// number is that of this description alone. Its owner is asked for descriptors.
///
/// # Errors
/// What the driver says; where these are too many pieces, or not all of one device.
pub fn describe_all(memory: &DeviceMemory, (address, bytes): (usize, usize)) -> Result<Lent> {
    /// Numbers of allocations have other bits.
    const OF_ITS_OWN: u64 = 1 << 63;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let pieces = super::pieces_up_to(memory, address + bytes, MOST_PIECES)?.ok_or_else(is_not_whole)?;
    let mut lent = describe(memory)?;
    for next in &pieces[1..] {
        lent.bytes += describe(next)?.bytes;
    }
    lent.number = OF_ITS_OWN | NEXT.fetch_add(1, Ordering::Relaxed);
    Ok(lent)
}

/// Memory that cannot be lent in pieces.
pub fn is_not_whole() -> Error {
    Error::new(
        Class::Other,
        "the memory lies in too many pieces, on several devices, or not all of it is there",
    )
}

/// What they need to map a piece of memory that the program has mapped by itself, beside a descriptor.
///
/// # Errors
/// What the driver says.
pub fn describe(memory: &DeviceMemory) -> Result<Lent> {
    let driver = presence::driver().ok_or_else(super::gone)?;
    driver.describe(memory)
}

/// That descriptor.
///
/// # Errors
/// As [`describe`].
pub fn export(memory: &DeviceMemory) -> Result<OwnedFd> {
    presence::driver().ok_or_else(super::gone)?.export(memory)
}

/// Maps memory that a peer lends.
///
/// # Errors
/// Why it cannot be: `why_not` keeps the words.
pub fn map(lent: &Lent) -> Result<Arc<Mapping>> {
    map_by(lent, None)
}

/// Maps memory whose owner has passed descriptors of its pieces: how long each is, and it.
///
/// # Errors
/// As [`map`].
pub fn import(lent: &Lent, pieces: &[(u64, BorrowedFd)]) -> Result<Arc<Mapping>> {
    map_by(lent, Some(pieces))
}

/// It cannot be mapped, and shall not be tried again.
pub fn refuse(lent: &Lent, why: &Error) {
    with_table(|table| table.refuse((lent.owner, lent.number), why.message()));
}

/// The same, with descriptors if it is got so.
fn map_by(lent: &Lent, pieces: Option<&[(u64, BorrowedFd)]>) -> Result<Arc<Mapping>> {
    let driver = presence::driver().ok_or_else(super::gone)?;
    let key = (lent.owner, lent.number);
    let memory = with_table(|table| {
        match table.all.iter_mut().find(|one| one.0 == key).map(|one| &mut one.1) {
            Some(Known::Mapped(memory, _, uses)) => {
                *uses += 1;
                return Ok(*memory);
            }
            Some(Known::Refused(why)) => return Err(Error::new(Class::Other, why.clone())),
            None => {}
        }
        let mapped = match (lent.way, pieces) {
            (Way::HANDLE, _) => table.try_to_map(driver, lent),
            (_, Some(pieces)) => driver.import(lent, pieces),
            (_, None) => return Err(Error::new(Class::Other, "its owner has to pass a descriptor of it")),
        };
        match mapped {
            Ok(memory) => {
                table.all.push((key, Known::Mapped(memory, lent.way, 1)));
                Ok(memory)
            }
            Err(error) => {
                table.refuse(key, error.message());
                Err(error)
            }
        }
    })?;
    Ok(Arc::new(Mapping { key, memory, first_there: lent.first, is_over: AtomicBool::new(false) }))
}

/// The same for a message: it stays mapped for further ones, as long as not many others come.
///
/// # Errors
/// As [`map`].
pub fn map_for_messages(lent: &Lent) -> Result<Arc<Mapping>> {
    keep_mapped(lent, None)
}

/// The same of a piece whose owner has passed its descriptor.
///
/// # Errors
/// As [`map`].
pub fn import_for_messages(lent: &Lent, descriptor: BorrowedFd) -> Result<Arc<Mapping>> {
    keep_mapped(lent, Some(&[(lent.bytes, descriptor)]))
}

fn keep_mapped(lent: &Lent, pieces: Option<&[(u64, BorrowedFd)]>) -> Result<Arc<Mapping>> {
    static KEPT: Mutex<VecDeque<Arc<Mapping>>> = Mutex::new(VecDeque::new());
    let key = (lent.owner, lent.number);
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = kept().iter().find(|one| one.key == key) {
        return Ok(Arc::clone(found));
    }
    // No other lock is taken under this one, here or when the oldest goes.
    let mapping = map_by(lent, pieces)?;
    let mut all = kept();
    all.push_back(Arc::clone(&mapping));
    let oldest = if all.len() > MOST_KEPT { all.pop_front() } else { None };
    drop(all);
    drop(oldest);
    Ok(mapping)
}

impl Table {
    fn try_to_map(&mut self, driver: &dyn Device, lent: &Lent) -> Result<DeviceMemory> {
        if !self.proven.contains(&lent.owner) {
            self.prove(driver, lent)?;
        }
        driver.map(lent, lent.handle, lent.bytes)
    }

    fn prove(&mut self, driver: &dyn Device, lent: &Lent) -> Result<()> {
        let place = self.unproven.iter().position(|one| one.0 == lent.owner).unwrap_or_else(|| {
            self.unproven.push((lent.owner, 0));
            self.unproven.len() - 1
        });
        if self.unproven[place].1 == MOST_TRIES {
            return Err(Error::new(Class::Other, self.why.clone().unwrap_or_default()));
        }
        self.unproven[place].1 += 1;
        check_secret(driver, lent)?;
        self.unproven.swap_remove(place);
        self.proven.push(lent.owner);
        Ok(())
    }

    fn refuse(&mut self, key: Key, why: &str) {
        self.why = Some(why.to_owned());
        if self.all.len() < MOST_REFUSALS {
            self.all.push((key, Known::Refused(why.to_owned())));
        }
    }
}

/// Reads the secret of a peer out of its memory.
fn check_secret(driver: &dyn Device, lent: &Lent) -> Result<()> {
    let memory = driver.map(lent, lent.proof.handle, SECRET_BYTES as u64)?;
    let mut found = [0u8; SECRET_BYTES];
    let piece = Piece { to: found.as_mut_ptr(), from: memory.first as *const u8, bytes: SECRET_BYTES };
    // SAFETY: mapped above, as long; the other is ours.
    let copied = unsafe { driver.copy(&memory, &[piece]) };
    driver.unmap(&memory, Way::HANDLE);
    copied?;
    match found == lent.proof.secret {
        true => Ok(()),
        false => {
            Err(Error::new(Class::Other, "what the CUDA driver maps of a peer is not what the peer means"))
        }
    }
}

/// Why memory could not be lent or mapped last; `None` if all could.
pub fn why_not() -> Option<String> {
    with_table(|table| table.why.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::interface::Slab;
    use crate::device::lent::{Proof, HANDLE_BYTES};
    use crate::device::{Chunk, Combining, MemoryKind, Spreading};
    use std::sync::atomic::AtomicU32;

    /// A driver whose handles are memory of this process; `opened` counts what has been mapped.
    #[derive(Default)]
    struct Driver {
        opened: AtomicU32,
        closed: AtomicU32,
    }

    impl Device for Driver {
        fn find(&self, _: *const u8) -> Result<Option<DeviceMemory>> {
            Ok(None)
        }

        unsafe fn copy(&self, _: &DeviceMemory, pieces: &[Piece]) -> Result<()> {
            for piece in pieces {
                // SAFETY: by the caller.
                unsafe { std::ptr::copy(piece.from, piece.to, piece.bytes) };
            }
            Ok(())
        }

        fn slab(&'static self, _: &DeviceMemory) -> Result<Option<Box<dyn Slab>>> {
            Ok(None)
        }

        unsafe fn copy_spread(&self, _: &DeviceMemory, _: &Spreading, _: &mut Chunk) -> Result<bool> {
            Ok(false)
        }

        fn combines(&self, _: &Combining) -> Result<bool> {
            Ok(false)
        }

        unsafe fn combine(&self, _: &Combining) -> Result<bool> {
            Ok(false)
        }

        fn lend(&self, _: &DeviceMemory) -> Result<Lent> {
            Ok(Lent::default())
        }

        fn map(&self, _: &Lent, handle: [u8; HANDLE_BYTES], bytes: u64) -> Result<DeviceMemory> {
            self.opened.fetch_add(1, Ordering::Relaxed);
            let first = u64::from_ne_bytes(handle[..8].try_into().expect("8 bytes")) as usize;
            let kind = MemoryKind::CUDA;
            Ok(DeviceMemory { kind, first, bytes: bytes as usize, number: 0, device: 0, context: 0 })
        }

        fn describe(&self, _: &DeviceMemory) -> Result<Lent> {
            Ok(Lent::default())
        }

        fn export(&self, _: &DeviceMemory) -> Result<OwnedFd> {
            Err(Error::new(Class::Other, "no memory here has a descriptor"))
        }

        fn import(&self, _: &Lent, _: &[(u64, BorrowedFd)]) -> Result<DeviceMemory> {
            Err(Error::new(Class::Other, "no memory here has a descriptor"))
        }

        fn unmap(&self, _: &DeviceMemory, _: Way) {
            self.closed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn handle_of(memory: &[u8]) -> [u8; HANDLE_BYTES] {
        let mut handle = [0; HANDLE_BYTES];
        handle[..8].copy_from_slice(&(memory.as_ptr() as u64).to_ne_bytes());
        handle
    }

    #[test]
    fn an_owner_is_trusted_once_it_has_shown_its_secret() {
        let (there, secret) = ([7u8; 64], [3u8; SECRET_BYTES]);
        let proof = Proof { handle: handle_of(&secret), secret };
        let lent = |number| Lent {
            owner: 5,
            number,
            bytes: 64,
            handle: handle_of(&there),
            proof,
            ..Lent::default()
        };
        let (driver, mut table) = (Driver::default(), Table::default());
        assert_eq!(table.try_to_map(&driver, &lent(1)).unwrap().first, there.as_ptr() as usize);
        assert_eq!(table.try_to_map(&driver, &lent(2)).unwrap().bytes, 64);
        let counts = (driver.opened.into_inner(), driver.closed.into_inner());
        assert_eq!(counts, (3, 1), "the secret once, each allocation once");
    }

    #[test]
    fn an_owner_whose_secret_is_another_is_left_alone_soon() {
        let secret = [3u8; SECRET_BYTES];
        let proof = Proof { handle: handle_of(&secret), secret: [4; SECRET_BYTES] };
        let lent = |number| Lent { owner: 5, number, proof, ..Lent::default() };
        let (driver, mut table) = (Driver::default(), Table::default());
        for number in 0..10 {
            let error = table.try_to_map(&driver, &lent(number)).unwrap_err();
            table.refuse((5, number), error.message());
            assert!(error.message().contains("is not what the peer means"));
        }
        let counts = (driver.opened.into_inner(), driver.closed.into_inner());
        assert_eq!(counts, (MOST_TRIES, MOST_TRIES));
    }
}
