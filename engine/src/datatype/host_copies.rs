//! The host copies of all device buffers of one operation.

use super::device_data::HostCopy;
use super::Datatype;
use crate::device::stand_ins::Side;
use crate::device::DeviceMemory;
use crate::{Error, Result};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// What an operation does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It only reads it.
    Read,
    /// It may write it, all of it or a part. What it does not write keeps its value, for all of it is
    /// fetched before.
    Change,
}

/// Host memory in the place of the device buffers of an operation. They are fetched before it
/// begins and stored when it has ended.
#[derive(Default)]
pub struct HostCopies {
    all: Vec<(HostCopy, Use)>,
    /// The operation has begun, and what it has written is not stored yet.
    is_due: AtomicBool,
    /// Bytes of a partition; 0 where there are none.
    part_bytes: u64,
    /// Partitions that are stored already.
    parts: HashSet<u64>,
    /// Why buffers could not be fetched: the operation works on zeros, and none of it is stored.
    unfetched: Option<Error>,
}

impl HostCopies {
    /// The address that stands for a buffer in device memory.
    ///
    /// # Errors
    /// `NoMem`; what the driver says when it cannot copy.
    ///
    /// # Safety
    /// The program lends the buffer as long as the host copies are there.
    pub unsafe fn add(
        &mut self,
        memory: DeviceMemory,
        (address, count): (*mut u8, u64),
        datatype: &Arc<Datatype>,
        used: Use,
    ) -> Result<*mut u8> {
        let copy = HostCopy::new(memory, address, count, datatype)?;
        // SAFETY: by the caller.
        unsafe { copy.begin()? };
        let stands = copy.address();
        self.all.push((copy, used));
        self.is_due.store(true, Ordering::Relaxed);
        Ok(stands)
    }

    /// The same for an operation in which other ranks wait for this one. What the driver says, when asked whose the memory is or when it
    /// copies, is kept for the end ([`HostCopies::store`]).
    ///
    /// # Errors
    /// `NoMem`.
    ///
    /// # Safety
    /// As [`HostCopies::add`].
    pub unsafe fn add_in_any_case(
        &mut self,
        found: Result<Option<DeviceMemory>>,
        (address, count): (*mut u8, u64),
        datatype: &Arc<Datatype>,
        used: Use,
    ) -> Result<*mut u8> {
        let copy = match &found {
            Ok(Some(memory)) => HostCopy::new(*memory, address, count, datatype)?,
            _ => HostCopy::of_unknown(address, count, datatype)?,
        };
        // SAFETY: by the caller.
        let fetched = found.and_then(|_| unsafe { copy.begin() });
        let stands = copy.address();
        if let Err(error) = fetched {
            // SAFETY: no operation uses it yet.
            unsafe { copy.clear() };
            self.unfetched.get_or_insert(error);
        }
        self.all.push((copy, used));
        self.is_due.store(true, Ordering::Relaxed);
        Ok(stands)
    }

    /// Whether there are buffers that could not be fetched.
    pub fn are_unfetched(&self) -> bool {
        self.unfetched.is_some()
    }

    /// Whether there is something to store, or a failure to tell.
    pub fn are_needed_at_the_end(&self) -> bool {
        self.are_unfetched() || self.changed().next().is_some()
    }

    /// As [`HostCopies::begin_again`], of such an operation: whether all could be fetched.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn begin_in_any_case(&mut self) -> bool {
        self.unfetched = None;
        self.is_due.store(true, Ordering::Relaxed);
        for (copy, _) in &self.all {
            // SAFETY: by the caller.
            if let Err(error) = unsafe { copy.begin() } {
                // SAFETY: the operation has not begun.
                unsafe { copy.clear() };
                self.unfetched.get_or_insert(error);
            }
        }
        self.unfetched.is_none()
    }

    /// The same for large messages: of a block, data are copied to the host only where a peer does not map them, and from
    /// there only what messages have brought.
    ///
    /// # Errors
    /// As [`HostCopies::add`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn add_of_message(
        &mut self,
        memory: DeviceMemory,
        (address, count): (*mut u8, u64),
        datatype: &Arc<Datatype>,
        side: Side,
    ) -> Result<*mut u8> {
        let mut copy = HostCopy::new(memory, address, count, datatype)?;
        if !copy.stand_in(side) {
            // SAFETY: by the caller.
            unsafe { copy.begin()? };
        }
        let stands = copy.address();
        let used = if matches!(side, Side::Sent(_)) { Use::Read } else { Use::Change };
        self.all.push((copy, used));
        self.is_due.store(true, Ordering::Relaxed);
        Ok(stands)
    }

    /// Whether no buffer lies in device memory.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Copies the buffers to the host once more: the operation begins again.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The program lends the buffers.
    pub unsafe fn begin_again(&mut self) -> Result<()> {
        self.parts.clear();
        self.is_due.store(true, Ordering::Relaxed);
        // SAFETY: by the caller.
        self.all.iter().map(|(copy, _)| unsafe { copy.begin() }).fold(Ok(()), Result::and)
    }

    /// Copies what the operation may have written to the device; once.
    ///
    /// # Errors
    /// What the driver says, or has said when buffers were fetched; then nothing is stored.
    ///
    /// # Safety
    /// The program lends the buffers, and the operation has ended.
    pub unsafe fn store(&self) -> Result<()> {
        if !self.is_due.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(error) = &self.unfetched {
            return Err(error.clone());
        }
        // SAFETY: by the caller.
        self.changed().map(|copy| unsafe { self.store_rest(copy) }).fold(Ok(()), Result::and)
    }

    /// # Safety
    /// As [`HostCopies::store`].
    unsafe fn store_rest(&self, copy: &HostCopy) -> Result<()> {
        if self.parts.is_empty() || copy.stands_in() {
            // SAFETY: by the caller.
            return unsafe { copy.store(copy.all()) };
        }
        // The program may have changed what it has been told of before.
        let number = copy.all().end.div_ceil(self.part_bytes.max(1));
        let left = (0..number).filter(|part| !self.parts.contains(part));
        // SAFETY: by the caller.
        left.map(|part| unsafe { copy.store(self.part(part)) }).fold(Ok(()), Result::and)
    }

    fn changed(&self) -> impl Iterator<Item = &HostCopy> {
        self.all.iter().filter(|(_, used)| *used == Use::Change).map(|(copy, _)| copy)
    }

    /// Says how long partitions are.
    pub fn divide(&mut self, part_bytes: u64) {
        self.part_bytes = part_bytes;
    }

    fn part(&self, number: u64) -> Range<u64> {
        number * self.part_bytes..(number + 1) * self.part_bytes
    }

    /// Copies a partition to the host. One that stands in may be sent from the device later if it is longer than `eager`.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The program lends it.
    pub unsafe fn fetch_part(&self, number: u64, eager: u64) -> Result<()> {
        let is_direct = self.part_bytes > eager;
        // SAFETY: by the caller.
        let fetch = |(copy, _): &(HostCopy, Use)| unsafe { copy.fetch(self.part(number), is_direct) };
        self.all.iter().map(fetch).fold(Ok(()), Result::and)
    }

    /// Copies a partition that has come to the device; once.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The program lends it, and it has come.
    pub unsafe fn store_part(&mut self, number: u64) -> Result<()> {
        if !self.is_due.load(Ordering::Relaxed) || !self.parts.insert(number) {
            return Ok(());
        }
        // SAFETY: by the caller.
        self.changed().map(|copy| unsafe { copy.store(self.part(number)) }).fold(Ok(()), Result::and)
    }
}
