//! The table of blocks that another member has published, and how its blocks are read.

use crate::collective::node::buffer::expected::ExpectedBlock;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::buffer::table_entry::{
    Apart, Entry, TableBlock, ANY, APART, ENTRY, EXPECTED, EXPECTS, LENGTH, LENT, LOWEST, MEMBER, SHORT,
    SHORT_LINE,
};
use crate::collective::node::copying::copy_kind::CopyKind;
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::temporary::Temporary;
use crate::collective::{schedule, Data};
use crate::memory::copy::fetch;
use crate::{Class, Error, Result};

/// So much of a table and what is behind it is asked for at once.
const FETCHED: usize = 512;

/// The table of a member that has arrived.
pub(crate) struct Table<'a, Waits, Memory> {
    party: &'a Party<'a, Waits, Memory>,
    /// Whose it is.
    owner: u32,
    base: *const u8,
    /// Bytes that the member has published.
    bytes: u64,
    first: Entry,
}

impl<'a, Waits: Wait, Memory: PeerMemory> Table<'a, Waits, Memory> {
    /// The table of a member.
    ///
    /// # Errors
    /// `Other` if it has published something else: it is in another operation.
    #[inline]
    pub fn of(party: &'a Party<'a, Waits, Memory>, owner: u32, epoch: u64) -> Result<Self> {
        let Some((base, bytes)) = party.table(owner, epoch).filter(|&(_, bytes)| bytes >= SHORT_LINE) else {
            return Err(another(party.member, owner));
        };
        fetch(base, bytes.min(FETCHED));
        // SAFETY: published, and so it stays until I arrive at the next epoch.
        let mut first = Entry { bytes: unsafe { base.cast::<u64>().read_unaligned() }, place: 0 };
        if first.bytes & SHORT == 0 && bytes >= ENTRY {
            // SAFETY: as above.
            first = unsafe { base.cast::<Entry>().read_unaligned() };
        }
        Ok(Table { party, owner, base, bytes: bytes as u64, first })
    }

    /// Whether the member has lent something.
    pub fn is_lent(&self) -> bool {
        self.first.bytes & LENT != 0
    }

    fn number(&self) -> u64 {
        self.first.bytes & LENGTH
    }

    /// What the member expects, if it has said so.
    pub fn expected(&self) -> Option<impl Iterator<Item = ExpectedBlock> + '_> {
        let number = (self.first.bytes & !(LENT | EXPECTS | SHORT)) >> MEMBER;
        let begin = (self.number() + 1).checked_mul(ENTRY as u64)?;
        let fits = begin.checked_add(number * EXPECTED as u64)? <= self.bytes;
        (self.first.bytes & EXPECTS != 0 && fits).then(|| {
            // SAFETY: within what the member has published.
            (0..number).map(move |index| unsafe {
                let list = self.base.add(begin as usize).cast::<ExpectedBlock>();
                list.add(index as usize).read_unaligned()
            })
        })
    }

    fn entry(&self, index: u64) -> Result<Entry> {
        if index >= self.number() {
            return Err(another(self.party.member, self.owner));
        }
        if self.first.bytes & SHORT != 0 {
            return self.short_entry(index);
        }
        let mut entry = Entry::default();
        let place = index * ENTRY as u64;
        if self.first.place != 0 {
            let to = (&raw mut entry).cast();
            let copies = self.party.member.chooser(CopyKind::Exchange);
            let from = self.first.place + place;
            // SAFETY: the member has lent its table; the entry is ours.
            unsafe { self.party.memory.read(self.party.member, self.owner, from, to, ENTRY, copies)? };
        } else if place + 2 * (ENTRY as u64) <= self.bytes {
            // SAFETY: within what the member has published.
            entry = unsafe { self.base.add(ENTRY + place as usize).cast::<Entry>().read_unaligned() };
        }
        Ok(entry)
    }

    #[inline]
    fn short_entry(&self, index: u64) -> Result<Entry> {
        let place = (index + 1) * SHORT_LINE as u64;
        if place + SHORT_LINE as u64 > self.bytes {
            return Err(another(self.party.member, self.owner));
        }
        // SAFETY: within what the member has published.
        let line = unsafe { self.base.add(place as usize).cast::<u64>().read_unaligned() };
        Ok(Entry::of_short(line))
    }

    /// The `nth` block that is for a member, looking from entry `from` on.
    ///
    /// # Errors
    /// `Other` if there is none: that is another operation.
    pub fn find(&self, member: u32, from: u64, nth: u32) -> Result<TableBlock> {
        let mut left = nth;
        for index in from..self.number() {
            let entry = self.entry(index)?;
            if entry.is_for(member) {
                if left == 0 || entry.is_for(ANY) {
                    return Ok(TableBlock(entry));
                }
                left -= 1;
            }
        }
        Err(another(self.party.member, self.owner))
    }

    /// Takes the `nth` block that is for me, looking from entry `from` on.
    pub fn take(&self, from: u64, nth: u32, data: &Data) -> Result<()> {
        let block = self.find(self.party.rank, from, nth)?;
        self.agree(&block, data.bytes())?;
        self.copy(block.0, data)
    }

    /// Checks that a block is not longer than what is expected.
    ///
    /// # Errors
    /// `Truncate`.
    pub fn agree(&self, block: &TableBlock, expected: u64) -> Result<()> {
        match block.bytes() > expected {
            true => Err(self.party.disagree(self.owner, block.bytes(), expected)),
            false => Ok(()),
        }
    }

    /// Where a block lies in the slot of the member, if it is there.
    fn inside(&self, entry: Entry) -> Result<Option<*const u8>> {
        if entry.place >= LOWEST || entry.is_apart() {
            return Ok(None);
        }
        match entry.place + entry.length() <= self.bytes {
            true => Ok(Some(self.base.wrapping_add(entry.place as usize))),
            false => Err(another(self.party.member, self.owner)),
        }
    }

    fn copy(&self, entry: Entry, data: &Data) -> Result<()> {
        let length = entry.length();
        if length == 0 {
            return Ok(());
        }
        if let Some(found) = self.inside(entry)? {
            // SAFETY: within what the member has published; the program lends the data.
            unsafe { schedule::copy(&Data { address: found.cast_mut(), ..Data::packed(length) }, data) };
            return Ok(());
        }
        let place = data.as_packed();
        let (copy, packed) = match place {
            Some(packed) => (None, packed),
            None => {
                let (memory, packed) = Temporary::packed(length)?;
                (Some(memory), packed)
            }
        };
        let target = packed.address;
        // SAFETY: the target is lent by the program, or ours.
        unsafe { self.read(&TableBlock(entry), 0, (target, length as usize))? };
        if copy.is_some() {
            // SAFETY: as above.
            unsafe { schedule::copy(&Data { address: target, ..Data::packed(length) }, data) };
        }
        Ok(())
    }

    /// Where some bytes of a block can be read in this process, if they lie in one piece there.
    ///
    /// # Errors
    /// `Other` where the table is not right.
    pub fn direct(&self, block: &TableBlock, at: u64, bytes: u64) -> Result<Option<*const u8>> {
        if let Some(found) = self.inside(block.0)? {
            return Ok(Some(found.wrapping_add(at as usize)));
        }
        let place = match block.0.is_apart() {
            false => block.0.place,
            true => {
                let (apart, _) = self.apart(block.0)?;
                let middle = u64::from(apart.head)..block.bytes() - u64::from(apart.tail);
                if at < middle.start || at + bytes > middle.end {
                    return Ok(None);
                }
                apart.address
            }
        };
        Ok(self.party.memory.direct(self.party.member, self.owner, place + at, bytes))
    }

    /// Reads bytes from `at` on of a block.
    ///
    /// # Errors
    /// As [`PeerMemory::read`].
    ///
    /// # Safety
    /// The target must have room for them, for nobody else meanwhile; they must be within the block.
    pub unsafe fn read(&self, block: &TableBlock, at: u64, (target, bytes): (*mut u8, usize)) -> Result<()> {
        let (entry, copies) = (block.0, self.party.member.chooser(CopyKind::Exchange));
        if let Some(found) = self.inside(entry)? {
            // SAFETY: within what the member has published; the target by the caller.
            unsafe { copies.copy(found.wrapping_add(at as usize), target, bytes) };
            return Ok(());
        }
        if !entry.is_apart() {
            let from = entry.place + at;
            // SAFETY: the member has lent so many bytes until the last epoch; the target by the caller.
            return unsafe {
                self.party.memory.read(self.party.member, self.owner, from, target, bytes, copies)
            };
        }
        let (apart, ends) = self.apart(entry)?;
        let (head, last) = (u64::from(apart.head), entry.length() - u64::from(apart.tail));
        let end = at + bytes as u64;
        let first = head.clamp(at, end);
        let second = last.clamp(first, end);
        let to = |from: u64| target.wrapping_add((from - at) as usize);
        // SAFETY: the ends are within what the member has published, the rest as above.
        unsafe {
            std::ptr::copy_nonoverlapping(ends.wrapping_add(at as usize), target, (first - at) as usize);
            if first < second {
                let (from, middle) = (apart.address + first, (second - first) as usize);
                self.party.memory.read(self.party.member, self.owner, from, to(first), middle, copies)?;
            }
            let tail = ends.wrapping_add((head + second).wrapping_sub(last) as usize);
            std::ptr::copy_nonoverlapping(tail, to(second), (end - second) as usize);
        }
        Ok(())
    }

    /// Where a block lies whose ends lie apart, and where they do.
    fn apart(&self, entry: Entry) -> Result<(Apart, *const u8)> {
        let another = || another(self.party.member, self.owner);
        let behind = (entry.place + APART).min(self.bytes);
        // SAFETY: within what the member has published, if it is long enough for it.
        let apart = (entry.place + APART == behind)
            .then(|| unsafe { self.base.add(entry.place as usize).cast::<Apart>().read_unaligned() });
        let fits = |apart: &Apart| {
            let ends = u64::from(apart.head) + u64::from(apart.tail);
            ends <= entry.length() && behind + ends <= self.bytes
        };
        let apart = apart.filter(fits).ok_or_else(another)?;
        Ok((apart, self.base.wrapping_add(behind as usize)))
    }
}

#[cold]
fn another(me: &Member, member: u32) -> Error {
    let sentence = format!(
        "rank {} takes part in another operation, or with other blocks, than this rank ({}); all ranks of a \
         communicator must call the same collective operations in the same order (SERRIED_CHECK=1 says which \
         differ)",
        me.name(member),
        me.name(me.rank)
    );
    Error::new(Class::Other, sentence)
}
