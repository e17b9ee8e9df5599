//! From what the system says to an error of its class, with the file and what was done.

use super::team::Team;
use crate::{Class, Error, Result};
use std::io;

/// The class of an error of the system (MPI-5.0 §14.9).
fn class_of(error: &io::Error) -> Class {
    match error.raw_os_error() {
        Some(libc::ENOENT) => Class::NoSuchFile,
        Some(libc::EEXIST) => Class::FileExists,
        Some(libc::EACCES | libc::EPERM) => Class::Access,
        Some(libc::EROFS) => Class::ReadOnly,
        Some(libc::ENOSPC | libc::EFBIG) => Class::NoSpace,
        Some(libc::EDQUOT) => Class::Quota,
        Some(libc::ETXTBSY | libc::EBUSY) => Class::FileInUse,
        Some(libc::ENAMETOOLONG | libc::ENOTDIR | libc::ELOOP | libc::EISDIR) => Class::BadFile,
        Some(libc::ENOMEM) => Class::NoMem,
        Some(libc::EOPNOTSUPP) => Class::UnsupportedOperation,
        _ => Class::Io,
    }
}

/// What to do about it, where there is something.
fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOENT) => "; check the path, or open it in a mode that creates it",
        Some(libc::EEXIST) => "; delete it first, or open it in a mode that takes an existing one",
        Some(libc::ENOSPC) => "; the file system is full",
        Some(libc::EFBIG) => {
            "; the file would be longer than the file system or a limit of this process allows"
        }
        Some(libc::EROFS) => "; the file system can only be read",
        _ => "",
    }
}

/// The error of an operation on a file: `what` is a verb (`"write"`).
#[cold]
pub fn failed(what: &str, name: &str, error: &io::Error) -> Error {
    Error::new(class_of(error), format!("cannot {what} the file {name}: {error}{}", advice(error)))
}

/// The classes that ranks tell each other, by number.
const CLASSES: [Class; 16] = [
    Class::Other,
    Class::NoSuchFile,
    Class::FileExists,
    Class::Access,
    Class::ReadOnly,
    Class::NoSpace,
    Class::Quota,
    Class::FileInUse,
    Class::BadFile,
    Class::NoMem,
    Class::UnsupportedOperation,
    Class::Io,
    Class::Amode,
    Class::Arg,
    Class::Type,
    Class::UnsupportedDatarep,
];

/// An outcome as a word: 0 for success.
pub fn word_of<T>(outcome: &Result<T>) -> u64 {
    match outcome {
        Ok(_) => 0,
        Err(error) => 1 + CLASSES.iter().position(|&class| class == error.class()).unwrap_or(0) as u64,
    }
}

/// The class of a failure, by its word.
pub fn class_of_word(word: u64) -> Class {
    CLASSES.get((word - 1) as usize).copied().unwrap_or(Class::Other)
}

/// The failure of another rank, by its word.
pub fn of_other(rank: u32, what: &str, name: &str, word: u64) -> Error {
    Error::new(
        class_of_word(word),
        format!("rank {rank} could not {what} the file {name}, which it does for all"),
    )
}

/// The outcome at `rank`, which has done something for all, at all ranks.
pub fn agree_with(team: &dyn Team, rank: u32, what: &str, name: &str, mine: Result<()>) -> Result<()> {
    let mut told = [word_of(&mine)];
    team.tell(rank, &mut told)?;
    match (mine, told[0]) {
        (Err(error), _) => Err(error),
        (Ok(()), 0) => Ok(()),
        (Ok(()), word) => Err(of_other(rank, what, name, word)),
    }
}
