//! Safe checkpoints (hint `serried_atomic_replace`): a file is written beside the one that it shall replace, and takes
//! its place at close, in one step of the file system.
//!
//! The new file is named after the old one. The rank that makes it holds a lock on it, so a second job that wants to
//! replace the same file is refused, while what a killed job has left is taken over. If anything has failed that was to
//! change the file, at any rank, it does not take the place, and all ranks are told.

use super::driver::Driver;
use super::failure::{agree_with, failed};
use super::hints::Hints;
use super::mode::Mode;
use super::team::Team;
use super::ufs::Ufs;
use super::watched::Watched;
use crate::{Class, Error, Result};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the name of the new file ends with.
const ENDING: &str = ".serried-new";

/// A file that is written beside another.
pub(super) struct Replacement {
    /// Where it is written.
    pub new: PathBuf,
    /// Whose place it takes.
    pub target: PathBuf,
    /// Only if there is none.
    exclusive: bool,
}

/// A path with something behind its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl Replacement {
    /// How the file of a name is replaced, if it is: the hint asks for it, and the program makes a new file.
    pub fn wanted(name: &str, mode: &Mode, hints: &Hints) -> Option<Replacement> {
        let wanted =
            hints.replaces() && mode.create && mode.writes() && !mode.delete_on_close && !mode.append;
        wanted.then(|| {
            // Behind a symbolic link lies what is meant.
            let target = fs::canonicalize(name).unwrap_or_else(|_| name.into());
            Replacement { new: beside(&target, ENDING), target, exclusive: mode.exclusive }
        })
    }

    /// Makes the new file, empty, with the permissions of the old one. For one rank.
    ///
    /// # Errors
    /// `FileExists` where there must be none, `FileInUse` where another job writes it; what the file system says.
    pub fn make(&self, mode: &Mode, permissions: u32) -> Result<Ufs> {
        let name = self.target.to_string_lossy();
        let old = fs::metadata(&self.target);
        if self.exclusive && old.is_ok() {
            return Err(failed("open", &name, &io::Error::from_raw_os_error(libc::EEXIST)));
        }
        let mode = Mode { exclusive: false, ..*mode };
        let file = loop {
            let file = Ufs::open(&self.new.to_string_lossy(), &mode, true, permissions)?;
            if !file.hold()? {
                let message = format!(
                    "cannot replace the file {name}: another job is doing so, and writes {}",
                    self.new.display()
                );
                return Err(Error::new(Class::FileInUse, message));
            }
            // It may have taken its place while we waited for it.
            if fs::metadata(&self.new).is_ok_and(|there| file.is_inode(there.dev(), there.ino())) {
                break file;
            }
        };
        file.set_size(0)?;
        if let Ok(old) = old {
            fs::set_permissions(&self.new, old.permissions())
                .map_err(|error| failed("set the permissions of", &name, &error))?;
        }
        Ok(file)
    }

    /// Lets the new file take the place, if nothing has failed at any rank; `before` and `after` are done by the rank
    /// that does it.
    ///
    /// # Errors
    /// `Io` where a change of it has failed; what the file system says. The old file is whole then.
    pub fn finish(
        &self,
        team: &dyn Team,
        driver: &Watched,
        before: impl FnOnce() -> Result<()>,
        after: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let name = self.target.to_string_lossy();
        let all = team.gather(&[driver.has_failed().into()])?;
        let spoiled = all.iter().position(|&failed| failed != 0);
        let done = match (team.rank(), spoiled) {
            (0, None) => before().and_then(|()| self.replace(driver)).and_then(|()| after()),
            _ => Ok(()),
        };
        if team.rank() == 0 && (spoiled.is_some() || done.is_err()) {
            let _ = fs::remove_file(&self.new); // there is nothing that could be done about it
        }
        agree_with(team, 0, "replace", &name, done)?;
        match spoiled {
            None => Ok(()),
            Some(rank) => {
                let message = format!("the file {name} is not replaced, and the old one is left as it was: rank {rank} could not write all of the new one");
                Err(Error::new(Class::Io, message))
            }
        }
    }

    fn replace(&self, driver: &Watched) -> Result<()> {
        driver.sync()?;
        let told = |error: io::Error| failed("replace", &self.target.to_string_lossy(), &error);
        if self.exclusive {
            // A link is refused where there is a file, and a renaming is not.
            fs::hard_link(&self.new, &self.target).map_err(told)?;
            let _ = fs::remove_file(&self.new);
        } else {
            fs::rename(&self.new, &self.target).map_err(told)?;
        }
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().as_bytes().is_empty());
        let folder = fs::File::open(folder.unwrap_or(Path::new("."))).map_err(told)?;
        match folder.sync_all() {
            // Not all file systems have something to write out for a folder.
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(told(error)),
            _ => Ok(()),
        }
    }
}
