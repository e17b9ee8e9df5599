//! What a job that was started by another one learns of that: the first words of its universe, and its parents.
//!
//! It lies in a memory file that all of its ranks inherit, beside the universe:
//!
//! ```text
//! magic | number of rank 0 | context with the parents | number of parents | bytes of the port | a word for each parent | port
//! ```
//!
//! Parents of the same universe are named. Others wait at a port, and the job connects to it when it begins.

use super::switchboard::Line;
use super::universe::{self, Universe};
use super::ProcessName;
use crate::memory::segment;
use crate::memory::system_calls;
use crate::{Class, Error, Result};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

const MAGIC: u64 = u64::from_le_bytes(*b"serbirth");

/// How this job came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Birth {
    /// The number of its rank 0 in the universe.
    pub base: u32,
    /// The context that it shares with its parents.
    pub context: u64,
    /// The group of its parents.
    pub parents: Vec<ProcessName>,
    /// Where the parents wait, if they are not of this universe.
    pub port: Option<String>,
}

impl Birth {
    /// Writes it, for the job to be started.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn write(&self) -> Result<OwnedFd> {
        let port = self.port.as_deref().unwrap_or_default();
        let head = [MAGIC, u64::from(self.base), self.context, self.parents.len() as u64, port.len() as u64];
        let words = head.into_iter().chain(self.parents.iter().map(|&parent| u64::from(parent)));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).chain(port.bytes()).collect();
        file_of(&bytes)
    }

    /// Reads it.
    ///
    /// # Errors
    /// `Intern` for what is none.
    pub fn read(descriptor: OwnedFd) -> Result<Birth> {
        parse(&bytes_of(descriptor)?).ok_or_else(garbled)
    }
}

/// A memory file with the bytes of a birth, for ranks to inherit.
///
/// # Errors
/// `NoMem`.
pub fn file_of(bytes: &[u8]) -> Result<OwnedFd> {
    let none = || Error::new(Class::NoMem, "there is no memory for starting a job");
    let raw = system_calls::memory_file(c"serried-birth", libc::MFD_CLOEXEC);
    if raw < 0 {
        return Err(none());
    }
    // SAFETY: the system has just made it for us.
    let mut file = unsafe { File::from_raw_fd(raw) };
    file.write_all(bytes).map_err(|_| none())?;
    Ok(file.into())
}

/// The bytes of a birth.
///
/// # Errors
/// `Intern` for what is none.
pub fn bytes_of(descriptor: OwnedFd) -> Result<Vec<u8>> {
    let mut bytes = vec![0; segment::length(descriptor.as_fd())? as usize];
    // All ranks share one place in the file, which is left alone.
    File::from(descriptor).read_exact_at(&mut bytes, 0).map_err(|_| garbled())?;
    Ok(bytes)
}

#[cold]
fn garbled() -> Error {
    Error::new(Class::Intern, "the words of the job that has started this one are garbled")
}

fn parse(bytes: &[u8]) -> Option<Birth> {
    let (head, rest) = bytes.split_at_checked(5 * 8)?;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let [magic, base, context, count, port_bytes] = [0, 1, 2, 3, 4].map(|at| word(&head[8 * at..8 * at + 8]));
    let (parents, port) = rest.split_at_checked(usize::try_from(count).ok()?.checked_mul(8)?)?;
    let port =
        std::str::from_utf8(port).ok().filter(|port| port.len() as u64 == port_bytes && magic == MAGIC)?;
    Some(Birth {
        base: base as u32,
        context,
        parents: parents.chunks_exact(8).map(|bytes| ProcessName(word(bytes))).collect(),
        port: (!port.is_empty()).then(|| port.to_owned()),
    })
}

/// A job's way into the universe of which it is not the first job. A job on several hosts has none.
#[derive(Debug)]
pub struct Descent {
    /// How it came about.
    pub birth: Birth,
    first: Option<OwnedFd>,
}

impl Descent {
    /// From the descriptors that its ranks inherit.
    ///
    /// # Errors
    /// `Intern` for what is none.
    pub fn open(first: Option<OwnedFd>, birth: OwnedFd) -> Result<Descent> {
        if let Some(first) = &first {
            segment::length(first.as_fd())?;
        }
        Ok(Descent { birth: Birth::read(birth)?, first })
    }

    /// Joins the universe as a rank of a job of `size` ranks, with its line to a launcher.
    ///
    /// # Errors
    /// As [`universe::join`]; `Intern` where there is none.
    pub fn join(&self, rank: u32, size: u32, line: Option<Line>) -> Result<Universe> {
        let none = || Error::new(Class::Intern, "a job on several hosts is in no universe");
        let first = self.first.as_ref().ok_or_else(none)?.try_clone();
        let first =
            first.map_err(|cause| Error::new(Class::NoMem, format!("no descriptor is left: {cause}")))?;
        universe::join(first, self.birth.base, rank, size, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_birth_is_read_as_it_was_written_and_by_all() {
        let parents = vec![ProcessName::new(0, 0), ProcessName::new(0, 7)];
        let birth = Birth { base: 9, context: 1 << 59 | 4, parents, port: None };
        let written = birth.write().unwrap();
        for _ in 0..2 {
            assert_eq!(Birth::read(written.try_clone().unwrap()).unwrap(), birth);
        }
        let other = Birth { parents: Vec::new(), port: Some("a port".to_owned()), ..birth };
        assert_eq!(Birth::read(other.write().unwrap()).unwrap(), other);
    }
}
