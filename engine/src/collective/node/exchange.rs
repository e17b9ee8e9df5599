//! Operations in which a member knows only its own blocks: gatherv, scatterv,
//! allgatherv, alltoallv, alltoallw, and those on neighbourhoods.
//!
//! A member publishes a *table* that says for each of its blocks how long it is and
//! where: behind the table, as far as there is room, else in its memory (*lent*). The
//! others look up what is for them and take it.
//!
//! # Ownership
//! As in `large.rs`: one epoch begins the operation. Another one ends it if anybody
//! has lent something; that stands in the first word of a table, so all who have
//! waited for the tables know it alike. Only in gatherv no member sees the tables of
//! all others; there it is always counted.

use super::large::root_of;
use super::reach::{Reach, Whole};
use super::seat::{Copied, Seat, Wait};
use crate::collective::temporary::Temporary;
use crate::collective::{schedule, Data, Neighbourhood, Root, Sent};
use crate::{Class, Error, Result};

/// A line of a table. The first one stands for the table itself: `place` is 0 or the
/// address of a table that is too long for a slot, `bytes` the number of entries.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Where the block is: an address, or, below [`LOWEST`], counted from the table.
    place: u64,
    /// How long it is; and for whom, in the bits from [`MEMBER`] on.
    bytes: u64,
}

const ENTRY: usize = std::mem::size_of::<Entry>();
/// Where memory of a program may begin: beyond what a slot holds.
const LOWEST: u64 = 64 << 10;
const MEMBER: u32 = 48;
const LENGTH: u64 = (1 << MEMBER) - 1;
/// In the first word: something is lent.
const LENT: u64 = 1 << 63;
/// For every member.
const ANY: u32 = 0x7fff;

impl Entry {
    fn new(place: u64, bytes: u64, member: u32) -> Entry {
        Entry { place, bytes: bytes & LENGTH | u64::from(member) << MEMBER }
    }

    fn length(&self) -> u64 {
        self.bytes & LENGTH
    }

    fn is_for(&self, member: u32) -> bool {
        let whose = (self.bytes & !LENT) >> MEMBER;
        whose == u64::from(ANY) || whose == u64::from(member)
    }
}

/// What I have published.
struct Offer {
    epoch: u64,
    is_lent: bool,
    /// Memory that the others read.
    _copies: Vec<Whole>,
    _table: Vec<Entry>,
}

/// Publishes blocks. `copied`: what comes takes the place of what is sent.
async fn offer(
    seat: &Seat,
    blocks: &[(u32, &Data)],
    copied: bool,
    by: &(impl Wait + Reach),
) -> Result<Offer> {
    let head = (blocks.len() + 1) * ENTRY;
    let fits = head as u64 <= seat.slot();
    let mut used = if fits { head } else { ENTRY };
    let (mut table, mut copies) = (Vec::with_capacity(blocks.len()), Vec::new());
    let mut inside = Vec::new();
    for &(member, data) in blocks {
        let bytes = data.bytes();
        let place = if bytes == 0 {
            0
        } else if fits && used as u64 + bytes <= seat.slot() {
            inside.push((used, data));
            used += bytes as usize;
            (used as u64) - bytes
        } else {
            let whole = if copied { Whole::copied(data)? } else { Whole::to_read(data)? };
            by.lend(seat, whole.address, bytes);
            copies.push(whole);
            copies[copies.len() - 1].address as u64
        };
        table.push(Entry::new(place, bytes, member));
    }
    let is_lent = !copies.is_empty() || !fits;
    let elsewhere = if fits { 0 } else { table.as_ptr() as u64 };
    let first = Entry { place: elsewhere, bytes: table.len() as u64 | if is_lent { LENT } else { 0 } };
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    seat.publish_table(epoch, used, |target| {
        // SAFETY: the table and the blocks behind it have `used` bytes together, and
        // the place is ours; the program lends the blocks.
        unsafe {
            target.cast::<Entry>().write_unaligned(first);
            if fits {
                let to = target.add(ENTRY).cast::<Entry>();
                std::ptr::copy_nonoverlapping(table.as_ptr(), to, table.len());
            }
            for (at, data) in inside {
                schedule::copy(data, &Data { address: target.add(at), ..Data::packed(data.bytes()) });
            }
        }
    });
    Ok(Offer { epoch, is_lent, _copies: copies, _table: table })
}

/// The table of a member that has arrived.
struct Table<'a, By> {
    seat: &'a Seat,
    member: u32,
    base: *const u8,
    /// Bytes that the member has published.
    bytes: u64,
    first: Entry,
    by: &'a By,
}

impl<'a, By: Reach> Table<'a, By> {
    fn of(seat: &'a Seat, member: u32, epoch: u64, by: &'a By) -> Result<Self> {
        let Some((base, bytes)) = seat.table(member, epoch).filter(|&(_, bytes)| bytes >= ENTRY) else {
            return Err(another(seat, member));
        };
        // SAFETY: published, and so it stays until I arrive at the next epoch.
        let first = unsafe { base.cast::<Entry>().read_unaligned() };
        Ok(Table { seat, member, base, bytes: bytes as u64, first, by })
    }

    fn is_lent(&self) -> bool {
        self.first.bytes & LENT != 0
    }

    fn number(&self) -> u64 {
        self.first.bytes & !LENT
    }

    fn entry(&self, index: u64) -> Result<Entry> {
        if index >= self.number() {
            return Err(another(self.seat, self.member));
        }
        let mut entry = Entry::default();
        let place = index * ENTRY as u64;
        if self.first.place != 0 {
            let to = (&raw mut entry).cast();
            let mut copies = self.seat.chooser(Copied::Exchange);
            let from = self.first.place + place;
            // SAFETY: the member has lent its table; the entry is ours.
            unsafe { self.by.read(self.seat, self.member, from, to, ENTRY, &mut copies)? };
        } else if place + 2 * (ENTRY as u64) <= self.bytes {
            // SAFETY: within what the member has published.
            entry = unsafe { self.base.add(ENTRY + place as usize).cast::<Entry>().read_unaligned() };
        }
        Ok(entry)
    }

    /// Takes the `nth` block that is for me, looking from entry `from` on.
    fn take(&self, from: u64, nth: u32, data: &Data) -> Result<()> {
        let mut left = nth;
        for index in from..self.number() {
            let entry = self.entry(index)?;
            if entry.is_for(self.seat.rank) {
                if left == 0 || entry.is_for(ANY) {
                    return self.copy(entry, data);
                }
                left -= 1;
            }
        }
        Err(another(self.seat, self.member))
    }

    fn copy(&self, entry: Entry, data: &Data) -> Result<()> {
        let length = entry.length();
        if length > data.bytes() {
            return Err(self.seat.disagree(self.member, length, data.bytes()));
        }
        if length == 0 {
            return Ok(());
        }
        if entry.place < LOWEST {
            if entry.place + length > self.bytes {
                return Err(another(self.seat, self.member));
            }
            let address = self.base.wrapping_add(entry.place as usize).cast_mut();
            // SAFETY: within what the member has published; the program lends the data.
            unsafe { schedule::copy(&Data { address, ..Data::packed(length) }, data) };
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
        let mut copies = self.seat.chooser(Copied::Exchange);
        let (target, bytes) = (packed.address, length as usize);
        // SAFETY: the member has lent so many bytes until the last epoch; the target
        // is lent by the program, or ours.
        unsafe { self.by.read(self.seat, self.member, entry.place, target, bytes, &mut copies)? };
        if _room.is_some() {
            // SAFETY: as above.
            unsafe { schedule::copy(&Data { address: target, ..Data::packed(length) }, data) };
        }
        Ok(())
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

/// Ends an operation in which somebody has lent something.
async fn end(seat: &Seat, offer: &Offer, by: &impl Wait) -> Result<()> {
    let last = seat.begin();
    seat.arrive(last);
    if offer.is_lent {
        seat.all(last, by).await?;
    }
    Ok(())
}

/// Waits for all tables, takes what `take` says, and ends the operation.
async fn with_all(
    seat: &Seat,
    offer: &Offer,
    by: &(impl Wait + Reach),
    take: impl FnOnce() -> Result<()>,
) -> Result<()> {
    seat.all(offer.epoch, by).await?;
    let mut lent = false;
    for member in 0..seat.size {
        lent |= Table::of(seat, member, offer.epoch, by)?.is_lent();
    }
    let done = take();
    if lent {
        end(seat, offer, by).await?;
    }
    done
}

/// The other members, beginning with the next one: so not all read from the same.
fn others(seat: &Seat) -> impl Iterator<Item = u32> {
    let (rank, size) = (seat.rank, seat.size);
    (1..size).map(move |step| (rank + step) % size)
}

/// Copies what a member sends to itself.
fn own(send: Option<&Data>, receive: Option<&Data>) {
    if let (Some(send), Some(receive)) = (send, receive) {
        // SAFETY: the program lends both, and the face has seen that they are apart.
        unsafe { schedule::copy(send, receive) };
    }
}

/// Everybody's block to everybody.
pub(super) async fn allgatherv(
    seat: &Seat,
    send: Option<&Data>,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let mine = &receive[seat.rank as usize];
    let offer = offer(seat, &[(ANY, send.unwrap_or(mine))], false, by).await?;
    own(send, Some(mine));
    with_all(seat, &offer, by, || {
        others(seat).try_for_each(|member| {
            Table::of(seat, member, offer.epoch, by)?.take(0, 0, &receive[member as usize])
        })
    })
    .await
}

/// A block of everybody for everybody.
pub(super) async fn alltoallw(
    seat: &Seat,
    send: Option<&[Data]>,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let nothing = Data::nothing();
    let blocks: Vec<(u32, &Data)> = (0..seat.size)
        .zip(send.unwrap_or(receive))
        .map(|(member, data)| (member, if member == seat.rank { &nothing } else { data }))
        .collect();
    let offer = offer(seat, &blocks, send.is_none(), by).await?;
    let me = seat.rank as usize;
    own(send.map(|send| &send[me]), Some(&receive[me]));
    with_all(seat, &offer, by, || {
        others(seat).try_for_each(|member| {
            let table = Table::of(seat, member, offer.epoch, by)?;
            table.take(u64::from(seat.rank), 0, &receive[member as usize])
        })
    })
    .await
}

/// A block along each edge of a topology.
pub(super) async fn neighbours(
    seat: &Seat,
    hood: &Neighbourhood,
    send: &Sent,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let blocks: Vec<(u32, &Data)> = match send {
        Sent::Same(data) => vec![(ANY, data)],
        Sent::Each(blocks) => {
            let edges = hood.neighbours.destinations.iter().zip(blocks);
            edges.filter_map(|(member, data)| Some(((*member)?, data))).collect()
        }
    };
    let offer = offer(seat, &blocks, false, by).await?;
    with_all(seat, &offer, by, || {
        // Of several edges from one rank, the blocks come in the order of its buffer.
        let mut seen: Vec<u32> = Vec::with_capacity(receive.len());
        for (source, index) in hood.incoming() {
            let nth = seen.iter().filter(|&&other| other == source).count() as u32;
            seen.push(source);
            Table::of(seat, source, offer.epoch, by)?.take(0, nth, &receive[index])?;
        }
        Ok(())
    })
    .await
}

/// Blocks of all at a root.
pub(super) async fn gatherv(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let root = root_of(seat, root);
    if root != seat.rank {
        let Some(send) = send else { return Ok(()) };
        let offer = offer(seat, &[(ANY, send)], false, by).await?;
        let last = seat.begin();
        seat.arrive(last);
        return match offer.is_lent {
            true => seat.member(root, last, by).await,
            false => Ok(()),
        };
    }
    let epoch = seat.begin();
    seat.arrive(epoch);
    own(send, receive.get(root as usize));
    seat.all(epoch, by).await?;
    let done = others(seat)
        .try_for_each(|member| Table::of(seat, member, epoch, by)?.take(0, 0, &receive[member as usize]));
    let last = seat.begin();
    seat.arrive(last);
    done
}

/// Blocks of a root for all.
pub(super) async fn scatterv(
    seat: &Seat,
    root: Root,
    send: &[Data],
    receive: Option<&Data>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    let root = root_of(seat, root);
    if root == seat.rank {
        let nothing = Data::nothing();
        let blocks: Vec<(u32, &Data)> = (0..seat.size)
            .zip(send)
            .map(|(member, data)| (member, if member == root { &nothing } else { data }))
            .collect();
        let offer = offer(seat, &blocks, false, by).await?;
        own(send.get(root as usize), receive);
        return match offer.is_lent {
            true => end(seat, &offer, by).await,
            false => Ok(()),
        };
    }
    let Some(receive) = receive else { return Ok(()) };
    let epoch = seat.begin();
    seat.arrive(epoch);
    seat.member(root, epoch, by).await?;
    let table = Table::of(seat, root, epoch, by)?;
    let done = table.take(u64::from(seat.rank), 0, receive);
    if table.is_lent() {
        let last = seat.begin();
        seat.arrive(last);
    }
    done
}
