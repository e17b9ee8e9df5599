//! Publishing a table of blocks.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::expected::{Expected, ExpectedBlock};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::buffer::table_entry::{
    Apart, Entry, APART, ENTRY, EXPECTED, EXPECTS, LENT, MEMBER,
};
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::retained::LONGEST;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::{schedule, Data};
use crate::Result;
use smallvec::SmallVec;

/// The table of this member. It is made first, and published where it lies: reading again what was just written waits
/// for all stores before it, and those that publish take as long as a way to another core.
pub(crate) struct OwnTable<'a> {
    /// The epoch in which it is published.
    pub epoch: u64,
    pub is_lent: bool,
    /// Its place is 0 if the entries follow in the slot.
    first: Entry,
    entries: Entries,
    /// What this member expects, behind the entries.
    expected: &'a [ExpectedBlock],
    inside: Inside<'a>,
    /// Memory that the others read.
    copies: Vec<Contiguous>,
    /// They stay behind.
    are_retained: bool,
}

/// Blocks whose entries are kept in place.
const FEW: usize = 4;
type Entries = SmallVec<[Entry; FEW]>;

/// What goes into a slot behind a table.
struct Inside<'a> {
    /// Bytes that are in use.
    used: u64,
    room: u64,
    /// Whole blocks, and where they go.
    blocks: SmallVec<[(u64, &'a Data); FEW]>,
    /// The ends of others, and where they go.
    ends: Vec<(u64, Apart, u64)>,
}

impl<'a> Inside<'a> {
    /// Room for so many bytes, if there is some.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let place = self.used;
        (place + bytes <= self.room).then(|| {
            self.used += bytes;
            place
        })
    }

    /// Puts the ends of a block that is lent there, if there is room.
    fn put_ends(&mut self, lent: &Contiguous, entry: Entry) -> Entry {
        let (head, tail) = lent.beyond_reach();
        if head + tail == 0 {
            return entry;
        }
        let Some(place) = self.take(APART + head + tail) else { return entry };
        let apart = Apart { address: lent.address as u64, head: head as u32, tail: tail as u32 };
        self.ends.push((place, apart, lent.bytes));
        Entry { place, bytes: entry.bytes | LENT }
    }

    /// Writes all of it.
    ///
    /// # Safety
    /// The slot must be ours.
    unsafe fn write(&self, slot: *mut u8) {
        for &(place, data) in &self.blocks {
            let address = slot.wrapping_add(place as usize);
            // SAFETY: by the caller; the program lends the blocks.
            unsafe { schedule::copy(data, &Data { address, ..Data::packed(data.bytes()) }) };
        }
        for &(place, apart, bytes) in &self.ends {
            let (from, head, tail) = (apart.address as *const u8, apart.head as usize, apart.tail as usize);
            // SAFETY: as above.
            unsafe {
                let to = slot.add(place as usize);
                to.cast::<Apart>().write_unaligned(apart);
                let to = to.add(APART as usize);
                std::ptr::copy_nonoverlapping(from, to, head);
                std::ptr::copy_nonoverlapping(from.add(bytes as usize - tail), to.add(head), tail);
            }
        }
    }
}

/// Lends blocks that lie one behind the other as one: a page that two of them share is in the middle
/// then. Blocks that have room in a slot are not lent.
pub(crate) fn lend_together(party: &Party<'_, impl Wait, impl PeerMemory>, blocks: &[Data]) {
    let mut all: Option<(*mut u8, u64)> = None;
    for (address, bytes) in blocks.iter().filter_map(Data::dense).filter(|block| block.1 > 0) {
        all = match all {
            None => Some((address, bytes)),
            Some((first, before)) if first.wrapping_add(before as usize) == address => {
                Some((first, before + bytes))
            }
            Some(_) => return,
        };
    }
    if let Some((address, bytes)) = all.filter(|all| all.1 > party.narrow()) {
        party.memory.lend(party.member, (address.cast_const(), bytes), 1);
    }
}

/// How the blocks are offered that are too long for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Long {
    /// Where they lie: so many others read each.
    Lent(u32),
    /// As copies: what comes takes their place.
    Copied,
}

/// Whether a table of so many blocks and a list of what a member expects fit into a slot.
pub(crate) fn has_room(me: &Member, blocks: usize, expected: usize) -> bool {
    ((blocks + 1) * ENTRY + expected * EXPECTED) as u64 <= me.slot()
}

impl<'a> OwnTable<'a> {
    /// Of blocks, and what this member expects, as far as there is room.
    ///
    /// # Errors
    /// `NoMem` for copies.
    pub fn new(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        blocks: &[(u32, &'a Data)],
        expected: Option<&'a Expected>,
        long: Long,
    ) -> Result<OwnTable<'a>> {
        let lines = (blocks.len() + 1) * ENTRY;
        let expected = expected.map(|expected| &expected.list[..]);
        let expected = expected.filter(|list| has_room(party.member, blocks.len(), list.len()));
        let head = lines + expected.map_or(0, |list| list.len() * EXPECTED);
        let fits = head as u64 <= party.slot();
        // A table that others read where it lies must stay there.
        let capacity = if fits { blocks.len() } else { blocks.len().max(FEW + 1) };
        let (mut entries, mut copies) = (Entries::with_capacity(capacity), Vec::new());
        let (used, room) = if fits { (head as u64, party.slot()) } else { (ENTRY as u64, 0) };
        let mut inside = Inside { used, room, blocks: SmallVec::new(), ends: Vec::new() };
        for &(member, data) in blocks {
            let bytes = data.bytes();
            let entry = |place| Entry::new(place, bytes, member);
            entries.push(if bytes == 0 {
                entry(0)
            } else if let Some(place) = inside.take(bytes) {
                inside.blocks.push((place, data));
                entry(place)
            } else {
                let copy = match long {
                    Long::Copied => Contiguous::copied(party, data)?,
                    Long::Lent(readers) => Contiguous::to_read(party, data, readers)?,
                };
                let entry = inside.put_ends(&copy, entry(copy.address as u64));
                copies.push(copy);
                entry
            });
        }
        // Copies that stay behind end with what lies in the slot.
        let copied: u64 = copies.iter().map(|copy| copy.bytes).sum();
        let stay = copied <= LONGEST && copies.iter().all(Contiguous::may_be_retained);
        let is_lent = !fits || !stay;
        let elsewhere = if fits { 0 } else { entries.as_ptr() as u64 };
        let number = entries.len() as u64 | if is_lent { LENT } else { 0 };
        let expects = expected.map_or(0, |list| EXPECTS | (list.len() as u64) << MEMBER);
        let first = Entry { place: elsewhere, bytes: number | expects };
        let (expected, are_retained) = (expected.unwrap_or_default(), stay && copied > 0);
        Ok(OwnTable { epoch: 0, is_lent, first, entries, expected, inside, copies, are_retained })
    }

    /// Publishes it.
    ///
    /// # Errors
    /// What waiting reports.
    pub async fn publish(&mut self, party: &Party<'_, impl Wait, impl PeerMemory>) -> Result<()> {
        self.epoch = party.begin();
        let used = self.inside.used;
        let room = if self.are_retained { used.max(party.narrow()) } else { used };
        party.wait_until_free(self.epoch, room).await?;
        // SAFETY: table and what is behind it have `used` bytes together, and the place is ours.
        let write = |target| unsafe { self.write(target) };
        party.publish_table(self.epoch, (used as usize, self.are_retained), write);
        if self.are_retained {
            party.retained().keep(party.half(), self.copies.drain(..).filter_map(Contiguous::into_copy));
        }
        Ok(())
    }

    /// Writes all that goes into the slot.
    ///
    /// # Safety
    /// The slot must be ours; the program lends the blocks.
    unsafe fn write(&self, slot: *mut u8) {
        // SAFETY: by the caller.
        unsafe {
            slot.cast::<Entry>().write_unaligned(self.first);
            if self.first.place == 0 {
                let to = slot.add(ENTRY).cast::<Entry>();
                std::ptr::copy_nonoverlapping(self.entries.as_ptr(), to, self.entries.len());
                let to = to.add(self.entries.len()).cast::<ExpectedBlock>();
                std::ptr::copy_nonoverlapping(self.expected.as_ptr(), to, self.expected.len());
            }
            self.inside.write(slot);
        }
    }
}
