//! Doing what another member asks for with memory that it cannot reach: the same for a servant, which does it with the
//! memory of its own member, and for the server of a node, which does it with that of a rank of the node.

use super::device_lending::pass_pieces;
use super::served::{Finder, Served};
use crate::engine::Engine;
use crate::onesided::{Ask, Elements, Region, MOST_LONG};
use crate::{Class, Error, Result};

impl Engine {
    /// Does what is asked, and gives what the answer tells.
    pub(in crate::engine) fn obey(&self, served: &impl Served, ask: Ask, data: &[u8]) -> Result<Vec<u8>> {
        self.obey_at(&mut Finder::new(served), ask, data)
    }

    fn obey_at(&self, served: &mut Finder<impl Served>, ask: Ask, data: &[u8]) -> Result<Vec<u8>> {
        match ask {
            Ask::Read(address, bytes) => {
                let mut read = vec![0u8; bytes.min(MOST_LONG) as usize];
                self.with_served(served, address, read.len() as u64, |region, offset| {
                    // SAFETY: bytes of the own region.
                    unsafe { self.read_from(region, offset, read.as_mut_ptr(), read.len() as u64) }
                })?;
                Ok(read)
            }
            Ask::Write(address) => {
                self.with_served(served, address, data.len() as u64, |region, offset| {
                    // SAFETY: bytes of the own region.
                    unsafe { self.write_to(region, offset, data.as_ptr(), data.len() as u64) }
                })?;
                Ok(Vec::new())
            }
            Ask::Change { address, count, builtin, element, tell } => {
                let elements = Elements::known(builtin, element)?;
                let count = (count as usize).min(MOST_LONG as usize);
                let bytes = count * element.size();
                if !elements.only_reads() && data.len() < bytes {
                    return Err(Error::new(Class::Intern, "fewer elements came than are to be changed"));
                }
                let mut old = vec![0u8; if tell { bytes } else { 0 }];
                let result = if tell { old.as_mut_ptr() } else { std::ptr::null_mut() };
                let span = (count.max(1) - 1) * element.size() + element.span();
                self.with_served(served, address, span as u64, |region, offset| {
                    // SAFETY: elements of the own region; there are as many in the message.
                    unsafe { self.change(region, elements, (offset, count), (data.as_ptr(), result)) }
                })?;
                Ok(old)
            }
            Ask::Swap(address, bytes) => {
                let bytes = bytes as usize;
                let (Some(compare), Some(new)) = (data.get(..bytes), data.get(bytes..2 * bytes)) else {
                    return Err(Error::new(Class::Intern, "fewer bytes came than are to be compared"));
                };
                let mut old = vec![0u8; bytes];
                let items = (new.as_ptr(), compare.as_ptr(), old.as_mut_ptr());
                self.with_served(served, address, bytes as u64, |region, offset| {
                    // SAFETY: an element of the own region; the others have as many bytes.
                    unsafe { self.swap(region, (offset, bytes), items) }
                })?;
                Ok(old)
            }
            Ask::Find(address, bytes) => {
                let found = served.served.find(self, (address, bytes))?;
                let words = [found.address, found.bytes, found.kind, found.lent];
                Ok(words.into_iter().flat_map(u64::to_ne_bytes).collect())
            }
            Ask::Pass(address, bytes) => {
                served.served.region(self, (address, bytes))?.place_of(address, bytes)?;
                pass_pieces((address, bytes), data)
            }
            Ask::Several(_) => self.obey_several(served, data),
            Ask::Many(what, number) => self.obey_many(served, what, number, data),
            Ask::Lock(..) | Ask::TryLock(_) | Ask::Unlock(..) => Ok(Vec::new()),
            Ask::Take(..) | Ask::Lend(..) => {
                Err(Error::new(Class::Intern, "a servant is asked for what only servers do"))
            }
        }
    }

    /// The same with what the records of a message ask for, in their order.
    fn obey_several(&self, served: &mut Finder<impl Served>, mut records: &[u8]) -> Result<Vec<u8>> {
        let mut answers = Vec::new();
        while !records.is_empty() {
            let (ask, data) = Ask::take_record(&mut records)?;
            if matches!(ask, Ask::Several(_)) {
                return Err(Error::new(Class::Intern, "several operations came within one of several"));
            }
            add_answer(&mut answers, self.obey_at(served, ask, data)?);
        }
        Ok(answers)
    }

    /// Does something with bytes that a member exposes.
    fn with_served<T>(
        &self,
        served: &mut Finder<impl Served>,
        address: u64,
        bytes: u64,
        work: impl FnOnce(&Region, u64) -> Result<T>,
    ) -> Result<T> {
        let region = served.region(self, (address, bytes))?;
        let done = work(&region, region.place_of(address, bytes)?)?;
        region.changed();
        Ok(done)
    }
}

/// Adds an answer to others: the first one is not copied.
pub(in crate::engine) fn add_answer(answers: &mut Vec<u8>, one: Vec<u8>) {
    match answers.is_empty() {
        true => *answers = one,
        false => answers.extend(one),
    }
}
