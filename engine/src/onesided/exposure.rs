//! What the members of a communicator expose to each other.

use crate::world::{Communicator, Group};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Where exposed memory comes from (MPI-5.0 §12.2, `MPI_WIN_CREATE_FLAVOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program has brought it.
    Created,
    /// The library has allocated it.
    Allocated,
    /// The same, and all members reach all of it by plain loads and stores.
    Shared,
    /// It is attached and detached later.
    Dynamic,
}

/// What a member exposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins: in the process of the member, or where
    /// [`Exposure::shared`] gives it, in this one.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Bytes of a unit of displacement.
    pub unit: u64,
}

/// An exposure of memory (MPI: a window), made and freed by all members together.
#[derive(Debug)]
pub struct Exposure {
    kind: Kind,
    communicator: Arc<Communicator>,
    segments: Box<[Segment]>,
}

impl Exposure {
    #[allow(dead_code)] // made as soon as the engine makes them
    pub(crate) fn new(kind: Kind, communicator: Arc<Communicator>, segments: Box<[Segment]>) -> Exposure {
        Exposure { kind, communicator, segments }
    }

    /// Where its memory comes from.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its members: a communicator of its own, which no program sees. What programs give
    /// an exposure (name, hints, attributes, error handler) is kept there.
    pub fn communicator(&self) -> &Arc<Communicator> {
        &self.communicator
    }

    /// Its members.
    pub fn group(&self) -> &Arc<Group> {
        &self.communicator.group
    }

    /// My rank among them.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.communicator.rank
    }

    /// How many they are.
    #[inline]
    pub fn size(&self) -> u32 {
        self.segments.len() as u32
    }

    /// What I expose; of dynamic memory nothing.
    pub fn own(&self) -> Segment {
        self.segments[self.rank() as usize]
    }

    /// What a member exposes, its address being the one there.
    ///
    /// # Errors
    /// `Rank` when there is no such member.
    #[inline]
    pub fn segment(&self, rank: u32) -> Result<&Segment> {
        self.segments.get(rank as usize).ok_or_else(|| no_member(rank, self.size()))
    }
}

#[cold]
fn no_member(rank: u32, size: u32) -> Error {
    let sentence = format!("rank {} is none of this window's, which has {size} members", rank as i32);
    Error::new(Class::Rank, sentence)
}
