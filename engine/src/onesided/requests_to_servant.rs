//! What an origin asks a target to do for it, where it cannot reach into the target's memory: the words of the
//! messages. The target's servant answers each (`engine::onesided::serving`).

use super::{Element, Lock};
use crate::datatype::Basic;
use crate::reduce::Builtin;
use crate::{Class, Error, Result};

/// The most bytes of data that go with one message.
pub const MOST_BYTES: u64 = 32 << 10;
/// The most that go with one request to a server that fetches what is long.
pub const MOST_LONG: u64 = 256 << 10;
/// A request with all that belongs to it, or an answer, that is longer does not go through a buffer of a server: the other one
/// fetches it.
pub const BUFFER_BYTES: usize = MOST_BYTES as usize + 1024;
/// Words before the data.
pub const WORDS: usize = 6;
/// Bytes of them.
pub const HEAD_BYTES: usize = 8 * WORDS;

/// What is asked for; addresses are the target's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// So many bytes from there.
    Read(u64, u64),
    /// That the data are written there.
    Write(u64),
    /// That so many elements from there on are changed by the data, and whether they are to be told as
    /// they were.
    Change {
        /// Where they begin.
        address: u64,
        /// How many.
        count: u64,
        /// How they are changed.
        builtin: Builtin,
        /// What they are.
        element: Element,
        /// Whether the answer has what they were.
        tell: bool,
    },
    /// That so many bytes there are changed to the second half of the data if they are the first half.
    Swap(u64, u64),
    /// The lock of the target, or one of its mutexes.
    Lock(Lock, Option<u32>),
    /// The same, alone, if nobody has it or waits for it.
    TryLock(Option<u32>),
    /// That it is given back.
    Unlock(Lock, Option<u32>),
    /// The piece of attached memory in which so many bytes from an address on lie.
    Find(u64, u64),
    /// That descriptors of the pieces of device memory in which so many bytes lie are passed to the socket whose name the data
    /// are; the answer has how long each piece is.
    Pass(u64, u64),
    /// Several of these, one after the other: the data are their records ([`Ask::record`]). The answer has theirs, one behind
    /// the other. If the lock of the target is taken for them, its first byte says what has become of that ([`Taking`]).
    Several(Locking),
    /// The same of many pieces, of any lengths. First in the data come so many words that say where they lie
    /// (`piece_heads.rs`).
    Many(Many, u64),
    /// That a server fetches so many bytes to there, from memory that the server of the one who asks lends it: the data are the
    /// descriptor.
    Take(u64, u64),
    /// That a server lends so many bytes from there; the answer is the descriptor.
    Lend(u64, u64),
}

/// What is done with the lock of the target's segment, which servers alone do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locking {
    /// It is taken so before. If others have it, nothing else is done.
    pub take: Option<Lock>,
    /// It is given back afterwards, that was taken so.
    pub give: Option<Lock>,
}

/// What has become of a lock that was to be taken before something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Taking {
    /// Others have it: nothing was done.
    Waits = 0,
    /// It was taken, and all was done.
    Done = 1,
    /// It was taken, but not all could be done.
    Refused = 2,
}

/// What is done with many pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// They are read.
    Read,
    /// They are written.
    Write,
    /// Their elements are changed.
    Change {
        /// How.
        builtin: Builtin,
        /// What they are.
        element: Element,
        /// Whether the answer has what they were.
        tell: bool,
    },
}

impl Ask {
    /// As the head of a message, to be answered with a tag.
    pub fn words(self, tag: i32) -> [u64; WORDS] {
        let lock = |lock| u64::from(lock == Lock::Exclusive);
        let which = |mutex: Option<u32>| mutex.map_or(0, |mutex| u64::from(mutex) + 1);
        let (what, at, count, more, tell) = match self {
            Ask::Read(address, bytes) => (1, address, bytes, 0, 0),
            Ask::Write(address) => (2, address, 0, 0, 0),
            Ask::Change { address, count, builtin, element, tell } => {
                (3, address, count, how(builtin, element), u64::from(tell))
            }
            Ask::Swap(address, bytes) => (4, address, bytes, 0, 0),
            Ask::Lock(kind, mutex) => (5, lock(kind), which(mutex), 0, 0),
            Ask::Unlock(kind, mutex) => (6, lock(kind), which(mutex), 0, 0),
            Ask::TryLock(mutex) => (8, 0, which(mutex), 0, 0),
            Ask::Find(address, bytes) => (7, address, bytes, 0, 0),
            Ask::Pass(address, bytes) => (12, address, bytes, 0, 0),
            Ask::Several(Locking { take, give }) => (13, perhaps(take), perhaps(give), 0, 0),
            Ask::Take(address, bytes) => (14, address, bytes, 0, 0),
            Ask::Lend(address, bytes) => (15, address, bytes, 0, 0),
            Ask::Many(Many::Read, number) => (9, number, 0, 0, 0),
            Ask::Many(Many::Write, number) => (10, number, 0, 0, 0),
            Ask::Many(Many::Change { builtin, element, tell }, number) => {
                (11, number, 0, how(builtin, element), u64::from(tell))
            }
        };
        [what, at, count, more, tell, tag as u64]
    }

    /// What a message asks for, the tag of the answer, and the data.
    ///
    /// # Errors
    /// `Intern` when it makes no sense.
    pub fn read(message: &[u8]) -> Result<(Ask, i32, &[u8])> {
        let Some((head, data)) = message.split_at_checked(HEAD_BYTES) else { return Err(garbled()) };
        let word = |at: usize| u64::from_ne_bytes(head[8 * at..8 * at + 8].try_into().expect("8 bytes"));
        let lock = |word| if word == 0 { Lock::Shared } else { Lock::Exclusive };
        let (at, count, more) = (word(1), word(2), word(3));
        let which = (count as u32).checked_sub(1);
        let ask = match word(0) {
            1 => Ask::Read(at, count),
            2 => Ask::Write(at),
            3 => {
                let (builtin, element) = read_how(more)?;
                Ask::Change { address: at, count, builtin, element, tell: word(4) != 0 }
            }
            4 => Ask::Swap(at, count),
            5 => Ask::Lock(lock(at), which),
            6 => Ask::Unlock(lock(at), which),
            8 => Ask::TryLock(which),
            7 => Ask::Find(at, count),
            12 => Ask::Pass(at, count),
            13 => Ask::Several(Locking { take: read_perhaps(at), give: read_perhaps(count) }),
            14 => Ask::Take(at, count),
            15 => Ask::Lend(at, count),
            9 => Ask::Many(Many::Read, at),
            10 => Ask::Many(Many::Write, at),
            11 => {
                let (builtin, element) = read_how(more)?;
                Ask::Many(Many::Change { builtin, element, tell: word(4) != 0 }, at)
            }
            _ => return Err(garbled()),
        };
        Ok((ask, word(5) as i32, data))
    }
}

/// Bytes at whose multiples the records of [`Ask::Several`] begin.
const RECORD_ALIGNMENT: usize = 16;

impl Ask {
    /// Adds it to the data of [`Ask::Several`]: its words, with the length of its data in place of a tag, and these, which
    /// `append` adds.
    pub fn record(self, bytes: usize, append: impl FnOnce(&mut Vec<u8>), to: &mut Vec<u8>) {
        to.reserve(HEAD_BYTES + bytes + RECORD_ALIGNMENT);
        to.extend(self.words(bytes as i32).iter().flat_map(|word| word.to_ne_bytes()));
        let end = to.len() + bytes;
        append(to);
        debug_assert_eq!(to.len(), end);
        to.resize(end.next_multiple_of(RECORD_ALIGNMENT), 0);
    }

    /// The first of such records, which goes.
    ///
    /// # Errors
    /// `Intern` when it makes no sense.
    pub fn take_record<'a>(records: &mut &'a [u8]) -> Result<(Ask, &'a [u8])> {
        let (ask, bytes, rest) = Ask::read(records)?;
        let data = usize::try_from(bytes).ok().and_then(|bytes| rest.get(..bytes)).ok_or_else(garbled)?;
        *records = rest.get(data.len().next_multiple_of(RECORD_ALIGNMENT)..).unwrap_or_default();
        Ok((ask, data))
    }
}

/// A lock or none, in a word.
fn perhaps(lock: Option<Lock>) -> u64 {
    match lock {
        None => 0,
        Some(Lock::Shared) => 1,
        Some(Lock::Exclusive) => 2,
    }
}

fn read_perhaps(word: u64) -> Option<Lock> {
    [None, Some(Lock::Shared), Some(Lock::Exclusive)]
        .into_iter()
        .find(|&lock| perhaps(lock) == word)
        .flatten()
}

/// How elements are changed, in a word.
fn how(builtin: Builtin, element: Element) -> u64 {
    (builtin as u64) << 32 | element.0 as u64
}

fn read_how(word: u64) -> Result<(Builtin, Element)> {
    let builtin = Builtin::all().find(|&one| one as u64 == word >> 32);
    let basic = Basic::all().get(word as u32 as usize);
    builtin.zip(basic).map(|(builtin, &basic)| (builtin, Element(basic))).ok_or_else(garbled)
}

#[cold]
fn garbled() -> Error {
    Error::new(
        Class::Intern,
        "a one-sided operation came that makes no sense: two versions of Serried in one job?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_what_is_read() {
        let element = Element(Basic::Float64);
        let change = Ask::Change { address: 4096, count: 7, builtin: Builtin::Sum, element, tell: true };
        let all =
            [Ask::Read(1, 2), Ask::Write(3), change, Ask::Swap(5, 8), Ask::Find(9, 4), Ask::Pass(4096, 512)];
        let moved = [Ask::Take(4096, 1 << 20), Ask::Lend(64, 1 << 17)];
        let locks =
            [Ask::Lock(Lock::Shared, None), Ask::Unlock(Lock::Exclusive, Some(0)), Ask::TryLock(Some(7))];
        let [none, shared, alone] = [None, Some(Lock::Shared), Some(Lock::Exclusive)];
        let several = [(none, none), (shared, none), (none, alone), (alone, alone)];
        let several = several.map(|(take, give)| Ask::Several(Locking { take, give }));
        let change = |tell| Many::Change { builtin: Builtin::Max, element, tell };
        let many = [Many::Read, Many::Write, change(false), change(true)];
        let many = many.map(|what| Ask::Many(what, 3));
        for (tag, ask) in all.into_iter().chain(moved).chain(locks).chain(several).chain(many).enumerate() {
            let mut message: Vec<u8> =
                ask.words(tag as i32).iter().flat_map(|word| word.to_ne_bytes()).collect();
            message.extend([1, 2, 3]);
            assert_eq!(Ask::read(&message).unwrap(), (ask, tag as i32, &[1u8, 2, 3][..]));
        }
        let (mut records, asks) = (Vec::new(), [Ask::Write(3), Ask::Read(1, 2), Ask::Swap(5, 8)]);
        for (number, ask) in asks.iter().enumerate() {
            ask.record(7 * number, |to| to.extend(&[7; 20][..7 * number]), &mut records);
        }
        let mut rest = &records[..];
        for (bytes, ask) in asks.into_iter().enumerate() {
            assert_eq!(Ask::take_record(&mut rest).unwrap(), (ask, &[7; 20][..7 * bytes]));
        }
        assert!(rest.is_empty() && Ask::take_record(&mut &records[..HEAD_BYTES + 60]).is_ok());
        assert!(Ask::take_record(&mut &records[HEAD_BYTES..2 * HEAD_BYTES + 6]).is_err());
        assert!(Ask::read(&[0; 10]).is_err() && Ask::read(&[0; HEAD_BYTES]).is_err());
    }
}
