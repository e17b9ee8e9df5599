//! Sizes, consistency and the end (MPI-5.0 §14.2.4 to §14.2.6, §14.6.1).

use super::alike::{agree, number};
use super::checksum::{self, Sums};
use super::driver::Driver;
use super::failure;
use super::file_system::FileSystem;
use super::mode::Mode;
use super::opened::{AtClose, File};
use super::team::Team;
use super::ufs::Ufs;
use super::verified::sum_up;
use crate::{Class, Error, Result};
use std::path::Path;

impl File {
    /// The size in bytes.
    ///
    /// # Errors
    /// What the file system says.
    pub fn size(&self) -> Result<u64> {
        self.driver.size()
    }

    /// The file system that it lies on.
    pub fn file_system(&self) -> FileSystem {
        self.driver.file_system()
    }

    /// Has one rank do something for all, between two meetings.
    fn once(&self, team: &dyn Team, what: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        team.meet()?;
        let done = if team.rank() == 0 { work() } else { Ok(()) };
        failure::agree_with(team, 0, what, &self.name, done)
    }

    /// A size on which all agree.
    fn agreed_size(&self, team: &dyn Team, size: i64) -> Result<u64> {
        let wanted = u64::try_from(size)
            .map_err(|_| Error::new(Class::Arg, format!("argument size is {size}; it cannot be negative")));
        agree(team, &self.name, [("size", number)], wanted.clone().map(|size| [size]), 0)?;
        wanted
    }

    fn check_changes(&self) -> Result<()> {
        match self.mode.writes() {
            true => Ok(()),
            false => {
                let message = format!("the file {} was opened for reading only", self.name);
                Err(Error::new(Class::ReadOnly, message))
            }
        }
    }

    /// Cuts the file or makes it longer.
    ///
    /// # Errors
    /// `ReadOnly`; `Arg` for a negative size; `NotSame`; what the file system says.
    pub fn set_size(&self, team: &dyn Team, size: i64) -> Result<()> {
        self.check_changes()?;
        let size = self.agreed_size(team, size)?;
        self.once(team, "resize", || self.driver.set_size(size))
    }

    /// Reserves room; the file never becomes shorter.
    ///
    /// # Errors
    /// As [`File::set_size`].
    pub fn preallocate(&self, team: &dyn Team, size: i64) -> Result<()> {
        self.check_changes()?;
        let size = self.agreed_size(team, size)?;
        self.once(team, "reserve room for", || self.driver.preallocate(size))
    }

    /// Brings what all ranks have written to the device.
    ///
    /// # Errors
    /// What the file system says.
    pub fn sync(&self, team: &dyn Team) -> Result<()> {
        let done = self.once(team, "write out", || match self.mode.writes() {
            true => self.driver.sync(),
            false => Ok(()),
        });
        self.late_failure().and(done)
    }

    /// Chooses whether conflicting accesses of ranks are in some order.
    ///
    /// # Errors
    /// `NotSame` where ranks want different things.
    pub fn set_atomicity(&self, team: &dyn Team, atomic: bool) -> Result<()> {
        agree(team, &self.name, [("flag", number)], Ok([atomic.into()]), 0)?;
        self.set_atomic(atomic);
        Ok(())
    }

    /// Waits for all, and deletes the file if that was asked for at opening. The handle is of no use then.
    ///
    /// # Errors
    /// `Other` while a split collective is under way; what the file system says to the deletion.
    pub fn close(&self, team: &dyn Team) -> Result<()> {
        self.check_no_split()?;
        super::behind::flush(); // and lets go of the file
        let done = match &self.at_close {
            _ if self.mode.delete_on_close => self.once(team, "delete", || super::delete(&self.name)),
            AtClose { sums: false, replacement: None } => team.meet(),
            at_close => self.finish(team, at_close),
        };
        let given_back = self.shared.as_ref().map_or(Ok(()), |shared| shared.give_back());
        self.late_failure().and(done).and(given_back)
    }

    /// Makes checksums, and has the file take the place of another.
    fn finish(&self, team: &dyn Team, at_close: &AtClose) -> Result<()> {
        let target =
            at_close.replacement.as_ref().map_or(Path::new(&self.name), |replacement| &replacement.target);
        let written = at_close.replacement.as_ref().map_or(target, |replacement| &replacement.new);
        let sums = at_close.sums.then(|| {
            // The handle of the program may be for writing only.
            let mode = Mode { read_only: true, ..Mode::default() };
            sum_up(team, || Ufs::open(&written.to_string_lossy(), &mode, false, 0))
        });
        let sums = sums.transpose()?;
        let keep = |states: &[Sums]| checksum::keep(target, states);
        let Some(replacement) = &at_close.replacement else {
            return self.once(team, "keep the checksums of", || sums.map_or(Ok(()), |sums| keep(&[sums])));
        };
        let before = || match (&sums, checksum::find(target)) {
            (Some(new), Ok(Some(old))) => keep(&[&old[..], std::slice::from_ref(new)].concat()),
            (Some(new), _) => keep(std::slice::from_ref(new)),
            (None, _) => Ok(()),
        };
        let after = || match &sums {
            Some(new) => keep(std::slice::from_ref(new)),
            None => {
                checksum::forget(target);
                Ok(())
            }
        };
        replacement.finish(team, &self.driver, before, after)
    }
}
