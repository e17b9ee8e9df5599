//! Opening and deleting (MPI-5.0 §14.2.1, §14.2.3).

use super::driver::Driver;
use super::failure::{failed, of_other, word_of};
use super::hints::Hints;
use super::mode::Mode;
use super::opened::File;
use super::team::Team;
use super::ufs::Ufs;
use crate::world::{Communicator, Info};
use crate::{Class, Error, Result};
use std::io;
use std::sync::Arc;

/// Words in front of a file name that say what file system it is on, which we see ourselves.
const PREFIXES: [&str; 10] =
    ["ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:", "daos:", "file:"];

/// The path in a name that may say the file system.
fn path_of(name: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// Opens a file together with the other members of a communicator, which belongs to the file from now on.
///
/// The first rank opens it, and so makes it if it has to be; the others follow. If one fails, all fail.
///
/// # Errors
/// `NotSame` where the modes differ; what the file system says, in its class.
pub fn open(
    team: &dyn Team,
    communicator: Arc<Communicator>,
    name: &str,
    mode: Mode,
    info: Option<&Info>,
) -> Result<File> {
    let path = path_of(name);
    let hints = Hints::new(info);
    if team.gather(&[mode.number()])?.iter().any(|&other| other != mode.number()) {
        return Err(Error::new(Class::NotSame, "argument amode is not the same at all ranks"));
    }
    let permissions = hints.permissions();
    let is_first = team.rank() == 0;
    let first = is_first.then(|| Ufs::open(path, &mode, true, permissions));
    let mut told = [first.as_ref().map_or(0, word_of)];
    team.tell(0, &mut told)?;
    let driver = match first {
        Some(opened) => opened?,
        None if told[0] != 0 => return Err(of_other(0, "open", name, told[0])),
        None => return join(team, communicator, (name, path), mode, hints),
    };
    finish(team, communicator, name, mode, hints, Ok(driver))
}

/// The part of those that come after the first.
fn join(
    team: &dyn Team,
    communicator: Arc<Communicator>,
    (name, path): (&str, &str),
    mode: Mode,
    hints: Hints,
) -> Result<File> {
    let opened = Ufs::open(path, &mode, false, 0);
    finish(team, communicator, name, mode, hints, opened)
}

/// Agrees on the outcome, and makes the file of it.
fn finish(
    team: &dyn Team,
    communicator: Arc<Communicator>,
    name: &str,
    mode: Mode,
    hints: Hints,
    opened: Result<Ufs>,
) -> Result<File> {
    let words = if team.size() > 1 { team.gather(&[word_of(&opened)])? } else { vec![word_of(&opened)] };
    let driver = opened?;
    if let Some(rank) = words.iter().position(|&word| word != 0) {
        return Err(of_other(rank as u32, "open", name, words[rank]));
    }
    let shared = team.share()?;
    let hints = hints.on(driver.kind(), team);
    let file = File::new(path_of(name), mode, communicator, Box::new(driver), (shared, hints));
    if mode.append && !mode.sequential {
        file.seek(0, super::Whence::End)?;
    }
    if mode.append && file.shared.is_some() {
        file.seek_shared(team, 0, super::Whence::End)?;
    }
    Ok(file)
}

/// Deletes a file. One that is open elsewhere goes on until it is closed there.
///
/// # Errors
/// `NoSuchFile` where there is none; what the file system says.
pub fn delete(name: &str) -> Result<()> {
    let path = path_of(name);
    match std::fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => Err(failed("delete", name, &io::Error::from_raw_os_error(libc::EISDIR))),
        _ => std::fs::remove_file(path).map_err(|error| failed("delete", name, &error)),
    }
}
