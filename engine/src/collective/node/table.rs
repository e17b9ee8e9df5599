//! Tables of blocks, which members publish where each knows only its own (`exchange.rs`).
//!
//! What follows a table in its slot are short blocks, as many as there is room for, and the
//! ends of long ones that others would have to read through the kernel (as in `lent.rs`). Where
//! members do the work of each other (`helped/awaited.rs`) it stands before these what a member awaits.

use super::helped::awaited::{Awaited, Awaiting};
use super::reach::Reach;
use super::seat::{Copied, Seat, Wait};
use super::whole::Whole;
use crate::collective::temporary::Temporary;
use crate::collective::{schedule, Data};
use crate::{Class, Error, Result};

/// A line of a table. The first one stands for the table itself: `place` is 0 or the
/// address of a table that is too long for a slot, `bytes` the number of entries.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Where the block is: an address, or, below [`LOWEST`], counted from the table; or so where its
    /// [`Apart`] is.
    place: u64,
    /// How long it is; and for whom, in the bits from [`MEMBER`] on.
    bytes: u64,
}

/// A block that is lent, but for ends that others do not reach by plain loads: behind this lie the
/// one at its beginning and the one at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Apart {
    address: u64,
    head: u32,
    tail: u32,
}

const APART: u64 = std::mem::size_of::<Apart>() as u64;
const ENTRY: usize = std::mem::size_of::<Entry>();
/// Where memory of a program may begin: beyond what a slot holds.
const LOWEST: u64 = 64 << 10;
const MEMBER: u32 = 48;
const LENGTH: u64 = (1 << MEMBER) - 1;
/// In the first line: something is lent. In others: the ends of the block lie apart.
const LENT: u64 = 1 << 63;
/// In the first line: what the member awaits follows the table. How much, in the bits from
/// [`MEMBER`] on.
const AWAITS: u64 = 1 << 62;
const AWAITED: usize = std::mem::size_of::<Awaited>();
/// The member of a block that is for all.
pub(super) const ANY: u32 = 0x7fff;

impl Entry {
    fn new(place: u64, bytes: u64, member: u32) -> Entry {
        Entry { place, bytes: bytes & LENGTH | u64::from(member) << MEMBER }
    }

    fn length(&self) -> u64 {
        self.bytes & LENGTH
    }

    fn is_apart(&self) -> bool {
        self.bytes & LENT != 0
    }

    fn is_for(&self, member: u32) -> bool {
        let whose = (self.bytes & !LENT) >> MEMBER;
        whose == u64::from(ANY) || whose == u64::from(member)
    }
}

/// A block that a member has published.
pub(super) struct Block(Entry);

impl Block {
    /// How long it is.
    pub fn bytes(&self) -> u64 {
        self.0.length()
    }
}

/// What I have published.
pub(super) struct Offer {
    pub epoch: u64,
    pub is_lent: bool,
    /// Memory that the others read.
    _copies: Vec<Whole>,
    _table: Vec<Entry>,
}

/// What goes into a slot behind a table.
struct Inside<'a> {
    /// Bytes that are in use.
    used: u64,
    room: u64,
    /// Whole blocks, and where they go.
    blocks: Vec<(u64, &'a Data)>,
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
    fn put_ends(&mut self, whole: &Whole, entry: Entry) -> Entry {
        let (head, tail) = whole.beyond_reach();
        if head + tail == 0 {
            return entry;
        }
        let Some(place) = self.take(APART + head + tail) else { return entry };
        let apart = Apart { address: whole.address as u64, head: head as u32, tail: tail as u32 };
        self.ends.push((place, apart, whole.bytes));
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
/// then.
pub(super) fn lend_together(seat: &Seat, blocks: &[Data], by: &impl Reach) {
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
    if let Some((address, bytes)) = all {
        by.lend(seat, (address, bytes), 1);
    }
}

/// How the blocks are offered that are too long for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Long {
    /// Where they lie: so many others read each.
    Lent(u32),
    /// As copies: what comes takes their place.
    Copied,
}

/// Whether a table of so many blocks and a list of what a member awaits fit into a slot.
pub(super) fn has_room(seat: &Seat, blocks: usize, awaited: usize) -> bool {
    ((blocks + 1) * ENTRY + awaited * AWAITED) as u64 <= seat.slot()
}

/// Publishes blocks, and what this member awaits, as far as there is room.
pub(super) async fn offer(
    seat: &Seat,
    blocks: &[(u32, &Data)],
    awaiting: Option<&Awaiting>,
    long: Long,
    by: &(impl Wait + Reach),
) -> Result<Offer> {
    let lines = (blocks.len() + 1) * ENTRY;
    let awaited = awaiting.map(|awaiting| &awaiting.list[..]);
    let awaited = awaited.filter(|list| has_room(seat, blocks.len(), list.len()));
    let head = lines + awaited.map_or(0, |list| list.len() * AWAITED);
    let fits = head as u64 <= seat.slot();
    let (mut table, mut copies) = (Vec::with_capacity(blocks.len()), Vec::new());
    let (used, room) = if fits { (head as u64, seat.slot()) } else { (ENTRY as u64, 0) };
    let mut inside = Inside { used, room, blocks: Vec::new(), ends: Vec::new() };
    for &(member, data) in blocks {
        let bytes = data.bytes();
        let entry = |place| Entry::new(place, bytes, member);
        table.push(if bytes == 0 {
            entry(0)
        } else if let Some(place) = inside.take(bytes) {
            inside.blocks.push((place, data));
            entry(place)
        } else {
            let whole = match long {
                Long::Copied => Whole::copied(seat, data, by)?,
                Long::Lent(readers) => Whole::to_read(seat, data, readers, by)?,
            };
            let entry = inside.put_ends(&whole, entry(whole.address as u64));
            copies.push(whole);
            entry
        });
    }
    let is_lent = !copies.is_empty() || !fits;
    let elsewhere = if fits { 0 } else { table.as_ptr() as u64 };
    let number = table.len() as u64 | if is_lent { LENT } else { 0 };
    let awaits = awaited.map_or(0, |list| AWAITS | (list.len() as u64) << MEMBER);
    let first = Entry { place: elsewhere, bytes: number | awaits };
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    seat.publish_table(epoch, inside.used as usize, |target| {
        // SAFETY: the table and what is behind it have `used` bytes together, and
        // the place is ours; the program lends the blocks.
        unsafe {
            target.cast::<Entry>().write_unaligned(first);
            if fits {
                let to = target.add(ENTRY).cast::<Entry>();
                std::ptr::copy_nonoverlapping(table.as_ptr(), to, table.len());
                let (list, to) = (awaited.unwrap_or_default(), target.add(lines).cast::<Awaited>());
                std::ptr::copy_nonoverlapping(list.as_ptr(), to, list.len());
            }
            inside.write(target);
        }
    });
    Ok(Offer { epoch, is_lent, _copies: copies, _table: table })
}

/// The table of a member that has arrived.
pub(super) struct Table<'a, By> {
    seat: &'a Seat,
    member: u32,
    base: *const u8,
    /// Bytes that the member has published.
    bytes: u64,
    first: Entry,
    by: &'a By,
}

impl<'a, By: Reach> Table<'a, By> {
    pub fn of(seat: &'a Seat, member: u32, epoch: u64, by: &'a By) -> Result<Self> {
        let Some((base, bytes)) = seat.table(member, epoch).filter(|&(_, bytes)| bytes >= ENTRY) else {
            return Err(another(seat, member));
        };
        // SAFETY: published, and so it stays until I arrive at the next epoch.
        let first = unsafe { base.cast::<Entry>().read_unaligned() };
        Ok(Table { seat, member, base, bytes: bytes as u64, first, by })
    }

    pub fn is_lent(&self) -> bool {
        self.first.bytes & LENT != 0
    }

    fn number(&self) -> u64 {
        self.first.bytes & LENGTH
    }

    /// What the member awaits, if it has said so.
    pub fn awaited(&self) -> Option<impl Iterator<Item = Awaited> + '_> {
        let number = (self.first.bytes & !(LENT | AWAITS)) >> MEMBER;
        let begin = (self.number() + 1).checked_mul(ENTRY as u64)?;
        let fits = begin.checked_add(number * AWAITED as u64)? <= self.bytes;
        (self.first.bytes & AWAITS != 0 && fits).then(|| {
            // SAFETY: within what the member has published.
            (0..number).map(move |index| unsafe {
                let list = self.base.add(begin as usize).cast::<Awaited>();
                list.add(index as usize).read_unaligned()
            })
        })
    }

    fn entry(&self, index: u64) -> Result<Entry> {
        if index >= self.number() {
            return Err(another(self.seat, self.member));
        }
        let mut entry = Entry::default();
        let place = index * ENTRY as u64;
        if self.first.place != 0 {
            let to = (&raw mut entry).cast();
            let copies = self.seat.chooser(Copied::Exchange);
            let from = self.first.place + place;
            // SAFETY: the member has lent its table; the entry is ours.
            unsafe { self.by.read(self.seat, self.member, from, to, ENTRY, copies)? };
        } else if place + 2 * (ENTRY as u64) <= self.bytes {
            // SAFETY: within what the member has published.
            entry = unsafe { self.base.add(ENTRY + place as usize).cast::<Entry>().read_unaligned() };
        }
        Ok(entry)
    }

    /// The `nth` block that is for a member, looking from entry `from` on.
    ///
    /// # Errors
    /// `Other` if there is none: that is another operation.
    pub fn find(&self, member: u32, from: u64, nth: u32) -> Result<Block> {
        let mut left = nth;
        for index in from..self.number() {
            let entry = self.entry(index)?;
            if entry.is_for(member) {
                if left == 0 || entry.is_for(ANY) {
                    return Ok(Block(entry));
                }
                left -= 1;
            }
        }
        Err(another(self.seat, self.member))
    }

    /// Takes the `nth` block that is for me, looking from entry `from` on.
    pub fn take(&self, from: u64, nth: u32, data: &Data) -> Result<()> {
        let block = self.find(self.seat.rank, from, nth)?;
        self.agree(&block, data.bytes())?;
        self.copy(block.0, data)
    }

    /// Checks that a block is not longer than what is awaited.
    ///
    /// # Errors
    /// `Truncate`.
    pub fn agree(&self, block: &Block, expected: u64) -> Result<()> {
        match block.bytes() > expected {
            true => Err(self.seat.disagree(self.member, block.bytes(), expected)),
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
            false => Err(another(self.seat, self.member)),
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
        let (_room, packed) = match place {
            Some(packed) => (None, packed),
            None => {
                let (room, packed) = Temporary::packed(length)?;
                (Some(room), packed)
            }
        };
        let target = packed.address;
        // SAFETY: the target is lent by the program, or ours.
        unsafe { self.read(&Block(entry), 0, (target, length as usize))? };
        if _room.is_some() {
            // SAFETY: as above.
            unsafe { schedule::copy(&Data { address: target, ..Data::packed(length) }, data) };
        }
        Ok(())
    }

    /// Where some bytes of a block can be read in this process, if they lie in one piece there.
    ///
    /// # Errors
    /// `Other` where the table is not right.
    pub fn direct(&self, block: &Block, at: u64, bytes: u64) -> Result<Option<*const u8>> {
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
        Ok(self.by.direct(self.seat, self.member, place + at, bytes))
    }

    /// Reads bytes from `at` on of a block.
    ///
    /// # Errors
    /// As [`Reach::read`].
    ///
    /// # Safety
    /// The target must have room for them, for nobody else meanwhile; they must be within the block.
    pub unsafe fn read(&self, block: &Block, at: u64, (target, bytes): (*mut u8, usize)) -> Result<()> {
        let (entry, copies) = (block.0, self.seat.chooser(Copied::Exchange));
        if let Some(found) = self.inside(entry)? {
            // SAFETY: within what the member has published; the target by the caller.
            unsafe { copies.copy(found.wrapping_add(at as usize), target, bytes) };
            return Ok(());
        }
        if !entry.is_apart() {
            let from = entry.place + at;
            // SAFETY: the member has lent so many bytes until the last epoch; the target by the caller.
            return unsafe { self.by.read(self.seat, self.member, from, target, bytes, copies) };
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
                self.by.read(self.seat, self.member, from, to(first), middle, copies)?;
            }
            let tail = ends.wrapping_add((head + second).wrapping_sub(last) as usize);
            std::ptr::copy_nonoverlapping(tail, to(second), (end - second) as usize);
        }
        Ok(())
    }

    /// Where a block lies whose ends lie apart, and where they do.
    fn apart(&self, entry: Entry) -> Result<(Apart, *const u8)> {
        let another = || another(self.seat, self.member);
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
fn another(seat: &Seat, member: u32) -> Error {
    let sentence = format!(
        "rank {} takes part in another operation, or with other blocks, than this rank ({}); all ranks of a \
         communicator must call the same collective operations in the same order (SERRIED_CHECK=1 says which \
         differ)",
        seat.name(member),
        seat.name(seat.rank)
    );
    Error::new(Class::Other, sentence)
}
