//! Views and file pointers (MPI-5.0 §14.3, §14.4.3, §14.4.4).
//!
//! The shared pointer is one word that all ranks share ([`Shared`]): the low bits are the pointer in etypes, the high
//! ones say since which view it counts. Who sets a view tells nobody: the first rank that uses the pointer under it
//! begins anew at 0. So views are set without a word between ranks. Once in [`VIEWS`] the ranks meet, so that an old
//! number is never taken for a new one.

use super::access_of_call::{beyond, offset_of};
use super::alike::{agree, number, Argument};
use super::driver::Driver;
use super::opened::File;
use super::representation::Representation;
use super::team::{Shared, Team};
use super::view::View;
use crate::datatype::Datatype;
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Bits of the pointer: 4 PiB of bytes.
const POINTER_BITS: u32 = 52;
const POINTER: u64 = (1 << POINTER_BITS) - 1;
/// Numbers of views before they begin anew.
const VIEWS: u64 = 1 << (64 - POINTER_BITS);

/// What an offset counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The beginning of the view.
    Set,
    /// The pointer.
    Current,
    /// The end of the file.
    End,
}

fn whence_in_words(number: u64) -> String {
    ["MPI_SEEK_SET", "MPI_SEEK_CUR", "MPI_SEEK_END"].get(number as usize).copied().unwrap_or("?").to_owned()
}

/// What ranks must give alike where they set a view.
const AGREED: [Argument; 2] =
    [("etype (its extent in the file)", number), ("datarep", Representation::in_words)];

/// Views (§14.3).
impl File {
    /// Sets the view; both pointers are 0 then. What is `wanted` are the displacement, `None` for where the shared
    /// pointer is, for sequential files, and the representation; or what is wrong with them.
    ///
    /// # Errors
    /// What is wrong; as [`View::new`]; `Arg` where the displacement is not what the mode wants; `NotSame` where ranks
    /// differ and compare ([`Team::compares`]).
    pub fn set_view(
        &self,
        team: &dyn Team,
        types: (&Arc<Datatype>, &Arc<Datatype>),
        wanted: Result<(Option<u64>, Representation)>,
    ) -> Result<()> {
        let view = wanted.and_then(|wanted| self.new_view(types, wanted));
        // In a sequential file all have to have read the pointer before one begins anew.
        if team.compares() || self.mode.sequential {
            let words = |view: &View| [view.etype_extent(), view.representation.number()];
            agree(team, &self.name, AGREED, view.as_ref().map(words).map_err(Error::clone), 0)?;
        }
        let view = view?;
        let views = {
            let mut state = self.state();
            (state.view, state.pointer) = (Arc::new(view), 0);
            state.views += 1;
            state.views
        };
        if views % (VIEWS / 2) == 0 {
            team.meet()?;
            if self.shared.is_some() && team.rank() == 0 {
                self.change_shared(|_| Ok(0))?;
            }
            team.meet()?;
        }
        Ok(())
    }

    fn new_view(
        &self,
        (etype, filetype): (&Arc<Datatype>, &Arc<Datatype>),
        (displacement, representation): (Option<u64>, Representation),
    ) -> Result<View> {
        let displacement = match (displacement, self.mode.sequential) {
            (Some(displacement), false) => displacement,
            (None, true) => self.view().offset_of(self.shared_position()? * self.view().unit())?,
            (Some(_), true) => {
                let message = "a file opened for sequential access takes the current displacement only";
                return Err(Error::new(Class::Arg, format!("argument disp: {message}")));
            }
            (None, false) => {
                let message =
                    "argument disp: the current displacement is for files opened for sequential access";
                return Err(Error::new(Class::Arg, message));
            }
        };
        View::new(displacement, etype, filetype, representation, self.mode.writes())
    }

    /// The offset in bytes of an offset in etypes (§14.4.3).
    ///
    /// # Errors
    /// `Arg` for a negative offset or one too far.
    pub fn byte_offset(&self, offset: i64) -> Result<u64> {
        self.check_not_sequential()?;
        let (view, offset) = (self.view(), offset_of(offset)?);
        view.offset_of(offset.checked_mul(view.unit()).ok_or_else(|| beyond(offset))?)
    }

    /// The end of the file, in etypes of the view: the first one that begins at or after it.
    fn end(&self, view: &View) -> Result<u64> {
        Ok(view.position_at(self.driver.size()?).div_ceil(view.unit()))
    }
}

/// The pointer of this rank (§14.4.3).
impl File {
    /// Where it is, in etypes.
    ///
    /// # Errors
    /// `UnsupportedOperation` for a sequential file.
    pub fn position(&self) -> Result<u64> {
        self.check_not_sequential()?;
        Ok(self.state().pointer)
    }

    /// Moves it.
    ///
    /// # Errors
    /// `Arg` for a place before the beginning of the view.
    pub fn seek(&self, offset: i64, whence: Whence) -> Result<()> {
        self.check_not_sequential()?;
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => self.state().pointer,
            Whence::End => self.end(&self.view())?,
        };
        self.state().pointer = moved(from, offset)?;
        Ok(())
    }

    /// Moves it on by so many etypes; where it was.
    pub(super) fn advance(&self, etypes: u64) -> Result<u64> {
        let mut state = self.state();
        let before = state.pointer;
        state.pointer =
            before.checked_add(etypes).filter(|&p| p <= i64::MAX as u64).ok_or_else(|| beyond(before))?;
        Ok(before)
    }
}

fn moved(from: u64, by: i64) -> Result<u64> {
    from.checked_add_signed(by).filter(|&to| to <= i64::MAX as u64).ok_or_else(|| {
        Error::new(
            Class::Arg,
            format!("argument offset ({by}) would move the file pointer from {from} out of the view"),
        )
    })
}

/// The pointer of all (§14.4.4).
impl File {
    fn shared(&self) -> Result<&dyn Shared> {
        self.shared.as_deref().ok_or_else(|| {
            let message = format!(
                "the file {} has no shared file pointer: when it was opened, rank 0 had no memory left for one; close \
                 files and free windows that are not used any more",
                self.name
            );
            Error::new(Class::UnsupportedOperation, message)
        })
    }

    /// Changes the pointer in one step; what it was.
    fn change_shared(&self, change: impl Fn(u64) -> Result<u64>) -> Result<u64> {
        let (word, view) = (self.shared()?, self.state().views % VIEWS);
        let mut found = word.guess();
        loop {
            let pointer = if found >> POINTER_BITS == view { found & POINTER } else { 0 };
            let next = change(pointer)?;
            if next > POINTER {
                return Err(beyond(next));
            }
            match word.swap(found, next | view << POINTER_BITS)? {
                was if was == found => return Ok(pointer),
                was => found = was,
            }
        }
    }

    /// Where it is, in etypes.
    ///
    /// # Errors
    /// `UnsupportedOperation` where there is none.
    pub fn shared_position(&self) -> Result<u64> {
        self.change_shared(Ok)
    }

    /// Moves it on by so many etypes; where it was.
    pub(super) fn advance_shared(&self, etypes: u64) -> Result<u64> {
        self.change_shared(|pointer| pointer.checked_add(etypes).ok_or_else(|| beyond(pointer)))
    }

    /// Moves it, for all. Instead of what the offset counts from there may be what is wrong with that.
    ///
    /// # Errors
    /// `Arg` for a place before the beginning of the view; `NotSame` where ranks want it at different places.
    pub fn seek_shared(&self, team: &dyn Team, offset: i64, whence: Result<Whence>) -> Result<()> {
        let mine = whence.clone().map(|whence| [offset as u64, whence as u64]);
        agree(team, &self.name, [("offset", number), ("whence", whence_in_words)], mine, 0)?;
        let whence = whence?;
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => self.shared_position()?,
            Whence::End => self.end(&self.view())?,
        };
        let to = moved(from, offset);
        team.meet()?; // all have read it
        if let (Ok(to), 0) = (&to, team.rank()) {
            self.change_shared(|_| Ok(*to))?;
        }
        team.meet()?;
        to.map(drop)
    }

    /// The place of each rank's data in rank order (§14.4.4): where mine begin, in etypes.
    pub(super) fn advance_ordered(&self, team: &dyn Team, etypes: u64) -> Result<u64> {
        let all = team.gather(&[etypes])?;
        let total = all.iter().fold(0u64, |sum, &each| sum.saturating_add(each));
        let first = if team.rank() == 0 { self.advance_shared(total) } else { Ok(0) };
        let mut told = [*first.as_ref().unwrap_or(&u64::MAX)];
        team.tell(0, &mut told)?;
        first?;
        if told[0] == u64::MAX {
            return Err(Error::new(
                Class::UnsupportedOperation,
                "rank 0 could not move the shared file pointer",
            ));
        }
        let before: u64 = all[..team.rank() as usize].iter().sum();
        Ok(told[0] + before)
    }
}
