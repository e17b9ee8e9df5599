//! Where a call begins in the file, and what it moves (MPI-5.0 §14.4).

use super::opened::File;
use super::representation::Representation;
use super::view::View;
use crate::datatype::Datatype;
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Items in memory that a call reads into or writes from.
#[derive(Clone)]
pub struct Items {
    /// What displacements count from.
    pub address: *mut u8,
    /// How many.
    pub count: u64,
    /// Of what.
    pub datatype: Arc<Datatype>,
}

// SAFETY: the program lends the memory to the operation until it is complete, whichever thread goes on with it.
unsafe impl Send for Items {}

impl Items {
    /// Bytes of data in memory.
    pub fn bytes(&self) -> u64 {
        self.datatype.size().saturating_mul(self.count)
    }

    /// The block in which all of them lie, if they lie in one.
    pub fn dense(&self) -> Option<*mut u8> {
        self.datatype.dense(self.count).map(|(offset, _)| self.address.wrapping_offset(offset as isize))
    }

    /// Bytes of data in the file.
    pub(super) fn bytes_in(&self, representation: &Representation) -> Result<u64> {
        match representation {
            Representation::External32 => self.datatype.external_size(self.count),
            Representation::Registered(..) => representation.in_file(&self.datatype)?.bytes(self.count),
            Representation::Native | Representation::Internal => self.datatype.bytes(self.count),
        }
    }
}

/// Which pointer a call goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// None: at this offset, in etypes.
    At(i64),
    /// That of this rank.
    Individual,
    /// That of all.
    Shared,
}

/// A call with its place settled.
pub(super) struct Access {
    pub view: Arc<View>,
    pub items: Items,
    /// Where it begins, in bytes of data of the view.
    pub position: u64,
    /// How many bytes of the file it moves.
    pub bytes: u64,
}

impl Access {
    /// Bytes of data in memory for so many in the file, from the beginning on; whole items where the representation
    /// is another.
    pub fn in_memory(&self, moved: u64) -> u64 {
        if self.view.representation.is_native() {
            return moved;
        }
        match self.bytes / self.items.count.max(1) {
            0 => 0,
            each => moved / each * self.items.datatype.size(),
        }
    }
}

impl File {
    /// Settles the place of a call, and moves the pointer on.
    ///
    /// # Errors
    /// `Access` and `ReadOnly` for what the mode does not allow, `Arg` for a wrong offset, `Io` for part of an etype,
    /// `UnsupportedOperation` for a pointer that a sequential file has not.
    pub(super) fn access(&self, place: Place, items: &Items, writing: bool) -> Result<Access> {
        self.check_place(place)?;
        let mut access = self.access_unplaced(items, writing)?;
        let (view, bytes) = (access.view.clone(), access.bytes);
        let first = match place {
            Place::At(offset) => offset_of(offset)?,
            Place::Individual => self.advance(bytes / view.unit())?,
            Place::Shared => self.advance_shared(bytes / view.unit())?,
        };
        access.position = first.checked_mul(view.unit()).ok_or_else(|| beyond(first))?;
        view.hull(access.position, bytes)?;
        Ok(access)
    }

    /// A call whose place is not settled yet.
    pub(super) fn access_unplaced(&self, items: &Items, writing: bool) -> Result<Access> {
        self.check_way(writing)?;
        let view = self.view();
        let bytes = items.bytes_in(&view.representation)?;
        if bytes % view.unit() != 0 {
            let message = format!(
                "the {bytes} bytes to be moved are no multiple of the {} bytes of the etype: only whole etypes are \
                 accessed",
                view.unit()
            );
            return Err(Error::new(Class::Io, message));
        }
        Ok(Access { view, items: items.clone(), position: 0, bytes })
    }

    fn check_way(&self, writing: bool) -> Result<()> {
        if writing && !self.mode.writes() {
            let message = format!("the file {} was opened for reading only", self.name);
            return Err(Error::new(Class::ReadOnly, message));
        }
        if !writing && !self.mode.reads() {
            let message = format!("the file {} was opened for writing only", self.name);
            return Err(Error::new(Class::Access, message));
        }
        Ok(())
    }

    fn check_place(&self, place: Place) -> Result<()> {
        match place {
            Place::At(_) | Place::Individual => self.check_not_sequential(),
            Place::Shared => Ok(()),
        }
    }
}

/// An offset in etypes.
///
/// # Errors
/// `Arg` for a negative one.
pub(super) fn offset_of(offset: i64) -> Result<u64> {
    u64::try_from(offset)
        .map_err(|_| Error::new(Class::Arg, format!("argument offset is {offset}; it cannot be negative")))
}

#[cold]
pub(super) fn beyond(offset: u64) -> Error {
    Error::new(Class::Arg, format!("offset {offset} lies beyond 2^63 bytes, the most that a file can have"))
}
