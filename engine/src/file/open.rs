//! Opening and deleting (MPI-5.0 §14.2.1, §14.2.3).

use super::alike::agree;
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

/// Refuses names that stand for several files: `words` are of each rank an outcome, its node, and the numbers of its file.
/// Nodes may number the files of a file system that they share in their own way, so only ranks of one are compared.
fn check_one_file(words: &[u64], name: &str) -> Result<()> {
    let ranks: Vec<&[u64]> = words.chunks(4).collect();
    let first_of = |node| ranks.iter().position(|words| words[1] == node).unwrap_or(0);
    let differs = |(rank, words): (usize, &&[u64])| {
        let first = first_of(words[1]);
        (ranks[first][2..] != words[2..]).then_some((first, rank))
    };
    match ranks.iter().enumerate().find_map(differs) {
        None => Ok(()),
        Some((first, rank)) => {
            let message = format!(
                "argument filename stands for different files at ranks {first} and {rank}; here it is {name}, and it must \
                 stand for one file at all ranks"
            );
            Err(Error::new(Class::NotSame, message))
        }
    }
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
/// What is wrong with the mode that was `wanted`; `NotSame` where the modes differ, or the files that names stand for; what
/// the file system says, in its class.
pub fn open(
    team: &dyn Team,
    communicator: Arc<Communicator>,
    name: &str,
    wanted: Result<Mode>,
    info: Option<&Info>,
    counters: &'static FileCounters,
) -> Result<File> {
    let (path, hints) = (path_of(name), Hints::new(info));
    let modes = wanted.as_ref().map(|mode| [mode.number()]).map_err(Error::clone);
    hints.agree_on_safety(agree(team, name, [("amode", Mode::in_words)], modes, hints.is_safe())?);
    let mode = wanted?;
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
    let identity = opened.as_ref().ok().and_then(Ufs::identity).unwrap_or_default();
    let opened = opened.and_then(|file| opening.driver(file));
    let words = [word_of(&opened), team.node(), identity[0], identity[1]];
    let all = if team.size() > 1 { team.gather(&words)? } else { words.to_vec() };
    let (driver, verified) = opened?;
    if let Some((rank, words)) = all.chunks(4).enumerate().find(|(_, words)| words[0] != 0) {
        return Err(of_other(rank as u32, "open", name, words[0]));
    }
    check_one_file(&all, name)?;
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
            file.seek_shared(team, 0, Ok(super::Whence::End))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ranks_of_one_node_compare_the_numbers_of_their_files() {
        let of = |node, number| [0, node, 8, number];
        let check = |ranks: &[[u64; 4]]| check_one_file(&ranks.concat(), "f");
        assert!(check(&[of(0, 5), of(1, 6), of(0, 5), of(1, 6)]).is_ok());
        let error = check(&[of(0, 5), of(1, 6), of(0, 5), of(1, 7)]).unwrap_err();
        assert!(error.class() == Class::NotSame && error.to_string().contains("at ranks 1 and 3"), "{error}");
    }
}
