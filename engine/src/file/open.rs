//! Opening and deleting (MPI-5.0 §14.2.1, §14.2.3).

use super::checksum;
use super::failure::{failed, of_other, word_of};
use super::hints::Hints;
use super::locked::driver_for;
use super::mode::Mode;
use super::opened::{AtClose, File};
use super::replacement::Replacement;
use super::team::Team;
use super::ufs::Ufs;
use super::verified::verifying;
use super::watched::Watched;
use super::Driver;
use crate::observe::page::FileCounters;
use crate::world::{Communicator, Info};
use crate::{Class, Error, Result};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Words in front of a file name that say what file system it is on, which we see ourselves.
const PREFIXES: [&str; 10] =
    ["ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:", "daos:", "file:"];

/// The path in a name that may say the file system.
fn path_of(name: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// A file that is being opened.
struct Opening<'a> {
    team: &'a dyn Team,
    path: &'a str,
    mode: Mode,
    hints: Hints,
    replacement: Option<Replacement>,
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
    counters: &'static FileCounters,
) -> Result<File> {
    let (path, hints) = (path_of(name), Hints::new(info));
    let all = team.gather(&[mode.number(), hints.is_safe()])?;
    if all.chunks(2).any(|other| other[0] != mode.number()) {
        return Err(Error::new(Class::NotSame, "argument amode is not the same at all ranks"));
    }
    hints.agree_on_safety(all[1]);
    let replacement = Replacement::wanted(path, &mode, &hints);
    let opening = Opening { team, path, mode, hints, replacement };
    let first = (team.rank() == 0).then(|| opening.make());
    let mut told = [first.as_ref().map_or(0, word_of)];
    team.tell(0, &mut told)?;
    let opened = match first {
        Some(opened) => Ok(opened?),
        None if told[0] != 0 => return Err(of_other(0, "open", name, told[0])),
        None => opening.join(),
    };
    let opened = opened.and_then(|file| opening.driver(file));
    let words = if team.size() > 1 { team.gather(&[word_of(&opened)])? } else { vec![word_of(&opened)] };
    let (driver, verified) = opened?;
    if let Some(rank) = words.iter().position(|&word| word != 0) {
        return Err(of_other(rank as u32, "open", name, words[rank]));
    }
    opening.finish(communicator, Watched::new(driver, counters), verified)
}

impl Opening<'_> {
    /// Opens the file as the first rank.
    fn make(&self) -> Result<Ufs> {
        let permissions = self.hints.permissions();
        match &self.replacement {
            Some(replacement) => replacement.make(&self.mode, permissions),
            None => {
                let file = Ufs::open(self.path, &self.mode, true, permissions)?;
                if self.mode.writes() {
                    checksum::forget(Path::new(self.path));
                }
                Ok(file)
            }
        }
    }

    /// Opens it after the first rank.
    fn join(&self) -> Result<Ufs> {
        match &self.replacement {
            Some(replacement) => Ufs::open(&replacement.new.to_string_lossy(), &self.mode, false, 0),
            None => Ufs::open(self.path, &self.mode, false, 0),
        }
    }

    /// The driver of an open file, and whether it verifies.
    fn driver(&self, file: Ufs) -> Result<(Box<dyn Driver>, bool)> {
        let driver = driver_for(file, self.team.leaders().len(), self.mode.reads());
        match self.mode.read_only && self.hints.sums() {
            true => verifying(driver, Path::new(self.path)),
            false => Ok((driver, false)),
        }
    }

    fn finish(self, communicator: Arc<Communicator>, driver: Watched, verified: bool) -> Result<File> {
        let Opening { team, path, mode, hints, replacement } = self;
        let shared = team.share()?;
        let at_close = AtClose { sums: hints.sums() && mode.writes(), replacement };
        let hints = hints.on(&driver.file_system(), team);
        hints.tell_safety(at_close.replacement.is_some(), verified || at_close.sums);
        let mut file = File::new(path, mode, communicator, driver, (shared, hints));
        file.at_close = at_close;
        if mode.append && !mode.sequential {
            file.seek(0, super::Whence::End)?;
        }
        if mode.append && file.shared.is_some() {
            file.seek_shared(team, 0, super::Whence::End)?;
        }
        Ok(file)
    }
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
    }?;
    checksum::forget(Path::new(path));
    Ok(())
}
