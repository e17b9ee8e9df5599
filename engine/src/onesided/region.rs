//! Where the exposed memory of a member is, for an origin.

use super::{MOST_BYTES, MOST_LONG};
use crate::device::borrowing::Mapping;
use crate::device::{DeviceMemory, MemoryKind};
use crate::progress::changes::Changes;
use crate::progress::watchers::Bell;
use crate::{Class, Error, JobRank, Result};
use std::ops::Range;
use std::sync::Arc;

/// A piece of exposed memory of a member, as this process reaches it.
#[derive(Clone, Debug)]
pub struct Region {
    /// Local rank of the process that has it, if that is on this node.
    pub(crate) peer: Option<JobRank>,
    /// Who is asked where its memory is out of reach.
    pub(crate) servant: Servant,
    /// How its elements are changed, on this node.
    pub(crate) changes: Option<Changes>,
    /// How its owner is told that it has changed, on this node.
    pub(crate) bell: Option<Bell>,
    /// Where it begins there.
    pub(crate) address: u64,
    /// Its length.
    pub(crate) bytes: u64,
    /// The part that all members reach by plain loads and stores: atomic instructions are used there, by
    /// its owner too, and nowhere else.
    pub(crate) direct: Range<u64>,
    /// Where it begins, or would, in this process: of use for `direct`, and all of it if it is this
    /// process's own.
    pub(crate) here: usize,
    /// It is this process's own.
    pub(crate) own: bool,
    /// It is the server of the node that reaches it so, for others.
    pub(crate) for_server: bool,
    /// The kind of memory. What is not the host's has no direct part.
    pub(crate) kind: MemoryKind,
    /// The driver of this process copies it, and knows it by this.
    pub(crate) device: Option<DeviceMemory>,
    /// It is another process's, and mapped here.
    pub(crate) mapping: Option<Arc<Mapping>>,
}

/// A member that is asked for what is out of reach, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Servant {
    /// The context of the messages.
    pub context: u64,
    /// Rank of the origin.
    pub me: u32,
    /// Rank of the member.
    pub member: u32,
    /// Its job rank.
    pub job_rank: JobRank,
    /// The node whose server does it; `None`: the member itself, when it makes progress.
    pub node: Option<u32>,
    /// Answers may come when the origin settles, and what is asked for may be held until then: memory that is used in
    /// epochs.
    pub may_answer_late: bool,
    /// Long blocks go whole: the server reaches all of the memory by plain loads and stores.
    pub takes_blocks: bool,
    /// Long requests go whole, and long answers.
    pub takes_long: bool,
}

impl Servant {
    /// The most bytes of data that go with one request, or are its answer.
    pub fn most_bytes(&self) -> u64 {
        match self.takes_long && self.node.is_some() {
            true => MOST_LONG,
            false => MOST_BYTES,
        }
    }
}

/// How some bytes of a region are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By everybody, by plain loads and stores and atomic instructions; here they lie.
    Direct(*mut u8),
    /// They are this process's own; others have to ask the kernel.
    Own(*mut u8),
    /// They lie there in the memory of a device, for the driver of this process.
    Device(*mut u8),
    /// They lie there in the process of their owner.
    Far(u64),
}

impl Region {
    /// The same memory, for operations whose answers may come later.
    pub(crate) fn answering_late(&self) -> Region {
        let mut late = self.clone();
        late.servant.may_answer_late = true;
        late
    }

    /// Where it begins in the process that has it.
    #[inline]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Where an address of the process that has it lies, or would, in this one.
    #[inline]
    pub(crate) fn mapped(&self, there: u64) -> *mut u8 {
        (self.here as u64).wrapping_add(there.wrapping_sub(self.address)) as *mut u8
    }

    /// The offset of so many bytes at an address of the process that has it.
    ///
    /// # Errors
    /// `RmaRange` when they are not all in the region.
    #[inline]
    pub(crate) fn place_of(&self, there: u64, bytes: u64) -> Result<u64> {
        match there.checked_sub(self.address) {
            Some(offset) if offset <= self.bytes && bytes <= self.bytes - offset => Ok(offset),
            _ => Err(not_inside(there, bytes, self)),
        }
    }

    /// Whether so many bytes at an address of the process that has it are in it.
    ///
    /// # Errors
    /// `RmaRange` when they are not.
    pub fn check(&self, there: u64, bytes: u64) -> Result<()> {
        self.place_of(there, bytes).map(drop)
    }

    /// Whether all members reach all of it by plain loads and stores.
    pub fn is_direct(&self) -> bool {
        self.direct == (0..self.bytes)
    }

    /// How bytes from `offset` on are reached, and how many of them: at least one, if `bytes` is not 0.
    #[inline]
    pub(crate) fn way(&self, offset: u64, bytes: u64) -> (Way, u64) {
        let here = (self.here as u64).wrapping_add(offset) as *mut u8;
        let end = offset + bytes;
        if self.direct.contains(&offset) {
            return (Way::Direct(here), end.min(self.direct.end) - offset);
        }
        let end = if offset < self.direct.start { end.min(self.direct.start) } else { end };
        let way = match (&self.device, self.own) {
            (Some(_), _) => Way::Device(here),
            (None, true) => Way::Own(here),
            (None, false) => Way::Far(self.address + offset),
        };
        (way, end - offset)
    }

    /// All of it is reached by plain loads and stores, and begins here.
    pub(crate) fn lies_at(&mut self, here: usize) {
        (self.direct, self.here) = (0..self.bytes, here);
    }

    /// This process has changed something there: wakes its owner, if that waits for it.
    #[inline]
    pub fn changed(&self) {
        if let Some(bell) = &self.bell {
            bell.changed();
        }
    }

    /// Where bytes from `offset` on lie in this process, if plain loads and stores of it reach all of them.
    #[inline]
    pub(crate) fn here(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let direct = offset >= self.direct.start && offset + bytes <= self.direct.end;
        let all = direct || self.own && self.device.is_none();
        all.then(|| (self.here as u64).wrapping_add(offset) as *mut u8)
    }

    /// The offset of what a target of the span `(begin, end)` touches, where item 0 is at the displacement `at` in
    /// bytes.
    ///
    /// # Errors
    /// `RmaRange` when it goes beyond the region.
    #[inline]
    pub(crate) fn place(&self, at: i64, (begin, end): (i64, i64)) -> Result<u64> {
        let inside = |first: i64, last: i64| first >= 0 && last <= self.bytes as i64;
        match (at.checked_add(begin), at.checked_add(end)) {
            (Some(first), Some(last)) if inside(first, last) => Ok(first as u64),
            _ => Err(beyond(at, (begin, end), self.bytes)),
        }
    }
}

#[cold]
fn beyond(at: i64, (begin, end): (i64, i64), bytes: u64) -> Error {
    let (first, last) = (i128::from(at) + i128::from(begin), i128::from(at) + i128::from(end));
    let sentence = format!(
        "the target's bytes {first} up to {last} are not all in its window, which has {bytes} bytes: look at \
         displacement, count, datatype, and the displacement unit of the target"
    );
    Error::new(Class::RmaRange, sentence)
}

#[cold]
fn not_inside(there: u64, bytes: u64, region: &Region) -> Error {
    let Region { address, bytes: all, .. } = region;
    let sentence = format!(
        "{bytes} bytes at {there:#x} are not all in the {all} bytes that are exposed at {address:#x}"
    );
    Error::new(Class::RmaRange, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(own: bool) -> Region {
        Region {
            peer: Some(JobRank(1)),
            changes: None,
            bell: None,
            servant: Servant::default(),
            address: 1000,
            bytes: 100,
            direct: 20..60,
            here: 5000,
            own,
            for_server: false,
            kind: MemoryKind::HOST,
            device: None,
            mapping: None,
        }
    }

    #[test]
    fn pieces_are_reached_by_the_way_of_their_first_byte() {
        let far = region(false);
        assert_eq!(far.way(0, 50), (Way::Far(1000), 20));
        assert_eq!(far.way(20, 50), (Way::Direct(5020 as *mut u8), 40));
        assert_eq!(far.way(60, 40), (Way::Far(1060), 40));
        assert_eq!(region(true).way(5, 3), (Way::Own(5005 as *mut u8), 3));
        assert_eq!(far.here(20, 40), Some(5020 as *mut u8));
        assert_eq!((far.here(19, 2), far.here(59, 2)), (None, None));
        assert_eq!(region(true).here(0, 100), Some(5000 as *mut u8));
    }

    #[test]
    fn memory_of_a_device_is_the_drivers() {
        let kind = MemoryKind::CUDA;
        let memory = DeviceMemory { kind, first: 4096, bytes: 8192, number: 1, device: 0, context: 0 };
        let own = Region { kind, direct: 0..0, device: Some(memory), ..region(true) };
        assert_eq!(own.way(5, 30), (Way::Device(5005 as *mut u8), 30));
        assert_eq!((own.here(0, 8), own.here(8, 0)), (None, None));
        let far = Region { kind, direct: 0..0, ..region(false) };
        assert_eq!(far.way(5, 30), (Way::Far(1005), 30));
        assert_eq!(far.here(0, 1), None);
    }

    #[test]
    fn what_lies_beyond_is_refused() {
        let region = region(false);
        assert_eq!(region.place(40, (-8, 60)).unwrap(), 32);
        for (at, span) in [(40, (0, 61)), (-1, (0, 4)), (7, (-8, 0)), (i64::MAX, (0, 8)), (i64::MIN, (-8, 0))]
        {
            assert_eq!(region.place(at, span).unwrap_err().class(), Class::RmaRange);
        }
        assert_eq!(region.place_of(1040, 60).unwrap(), 40);
        for (there, bytes) in [(1040, 61), (999, 1), (1101, 0), (0, u64::MAX)] {
            assert_eq!(region.place_of(there, bytes).unwrap_err().class(), Class::RmaRange);
        }
    }
}
