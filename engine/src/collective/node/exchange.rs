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
//! waited for the tables know it alike. None does where members do the work of each other
//! (`helped/awaited.rs`, `helped/uneven.rs`). Only in gatherv no member sees the tables of
//! all others; there it is always counted.

use super::helped::awaited::{Arrivals, Awaiting, Incoming};
use super::helped::{self, uneven};
use super::large::{others, root_of};
use super::reach::Reach;
use super::seat::{Seat, Wait};
use super::table::{lend_together, offer, Long, Offer, Table, ANY};
use crate::collective::{schedule, Data, Neighbourhood, Root, Sent};
use crate::Result;

/// Ends an operation in which somebody has lent something.
async fn end(seat: &Seat, offer: &Offer, by: &impl Wait) -> Result<()> {
    let last = seat.begin();
    seat.arrive(last);
    if offer.is_lent {
        seat.all(last, by).await?;
    }
    Ok(())
}

/// Publishes blocks, waits for all tables, and takes what comes. `own` is done as soon as the blocks are
/// published; `is_ordered`: each member publishes a block for each, in their order.
async fn with_all(
    seat: &Seat,
    (blocks, long): (&[(u32, &Data)], Long),
    (mut incoming, is_ordered): (impl Iterator<Item = Incoming<'_>> + Clone, bool),
    by: &(impl Wait + Reach),
    own: impl FnOnce(),
) -> Result<()> {
    let is_helped = Awaiting::may_be(seat, incoming.clone().count());
    let awaiting = is_helped.then(|| Awaiting::new(seat, incoming.clone(), by)).transpose()?;
    let offer = offer(seat, blocks, awaiting.as_ref(), long, by).await?;
    own();
    seat.all(offer.epoch, by).await?;
    let (mut lent, mut all_await) = (false, true);
    for member in 0..seat.size {
        let table = Table::of(seat, member, offer.epoch, by)?;
        lent |= table.is_lent();
        all_await &= table.awaited().is_some();
    }
    if let (true, true, Some(awaiting)) = (lent, all_await, &awaiting) {
        let arrivals = Arrivals { seat, epoch: offer.epoch, is_ordered };
        return arrivals.run(awaiting, incoming, by).await;
    }
    let from = if is_ordered { seat.rank.into() } else { 0 };
    let done = incoming
        .try_for_each(|(source, nth, data)| Table::of(seat, source, offer.epoch, by)?.take(from, nth, data));
    if lent {
        end(seat, &offer, by).await?;
    }
    done
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
    let blocks = [(ANY, send.unwrap_or(mine))];
    let incoming = from_others(seat, receive, by);
    with_all(seat, (&blocks, Long::Lent(seat.size - 1)), (incoming, false), by, || own(send, Some(mine)))
        .await
}

/// One block of each other member.
fn from_others<'a, By: Reach>(
    seat: &Seat,
    receive: &'a [Data],
    by: &By,
) -> impl Iterator<Item = Incoming<'a>> + Clone + use<'a, By> {
    if helped::wants(seat) {
        lend_together(seat, receive, by);
    }
    others(seat).map(|member| (member, 0, &receive[member as usize]))
}

/// Blocks that lie by member, with `nothing` for this one, which has its own already.
fn for_others<'a>(seat: &Seat, blocks: &'a [Data], nothing: &'a Data) -> Vec<(u32, &'a Data)> {
    let mine = |member| member == seat.rank;
    (0..seat.size)
        .zip(blocks)
        .map(|(member, data)| (member, if mine(member) { nothing } else { data }))
        .collect()
}

/// A block of everybody for everybody.
pub(super) async fn alltoallw(
    seat: &Seat,
    send: Option<&[Data]>,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let nothing = Data::nothing();
    if let Some(send) = send {
        lend_together(seat, send, by);
    }
    let blocks = for_others(seat, send.unwrap_or(receive), &nothing);
    let (incoming, me) = (from_others(seat, receive, by), seat.rank as usize);
    let long = if send.is_some() { Long::Lent(1) } else { Long::Copied };
    let own = || own(send.map(|send| &send[me]), Some(&receive[me]));
    with_all(seat, (&blocks, long), (incoming, true), by, own).await
}

/// A block along each edge of a topology.
pub(super) async fn neighbours(
    seat: &Seat,
    hood: &Neighbourhood,
    send: &Sent,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let destinations = &hood.neighbours.destinations;
    let (blocks, readers): (Vec<(u32, &Data)>, _) = match send {
        Sent::Same(data) => (vec![(ANY, data)], destinations.len() as u32),
        Sent::Each(blocks) => {
            lend_together(seat, blocks, by);
            let edges = destinations.iter().zip(blocks);
            (edges.filter_map(|(member, data)| Some(((*member)?, data))).collect(), 1)
        }
    };
    // Of several edges from one rank, the blocks come in the order of its buffer.
    let mut incoming: Vec<Incoming> = Vec::with_capacity(receive.len());
    for (source, index) in hood.incoming() {
        let nth = incoming.iter().filter(|block| block.0 == source).count() as u32;
        incoming.push((source, nth, &receive[index]));
    }
    with_all(seat, (&blocks, Long::Lent(readers)), (incoming.iter().copied(), false), by, || ()).await
}

/// Blocks of all at a root.
pub(super) async fn gatherv(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: &[Data],
    by: &(impl Wait + Reach),
) -> Result<()> {
    let (root, is_helped) = (root_of(seat, root), uneven::wants(seat));
    if root != seat.rank {
        let Some(send) = send else { return Ok(()) };
        let offer = offer(seat, &[(ANY, send)], None, Long::Lent(1), by).await?;
        if is_helped {
            return uneven::give(seat, root, &offer, by).await;
        }
        let last = seat.begin();
        seat.arrive(last);
        return match offer.is_lent {
            true => seat.member(root, last, by).await,
            false => Ok(()),
        };
    }
    if is_helped {
        return uneven::collect(seat, receive, by, || own(send, receive.get(root as usize))).await;
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
    let (root, is_helped) = (root_of(seat, root), uneven::wants(seat));
    if root == seat.rank {
        let nothing = Data::nothing();
        lend_together(seat, send, by);
        let blocks = for_others(seat, send, &nothing);
        let offer = offer(seat, &blocks, None, Long::Lent(1), by).await?;
        own(send.get(root as usize), receive);
        return match (offer.is_lent, is_helped) {
            (true, true) => uneven::deal_out(seat, offer.epoch, by).await,
            (true, false) => end(seat, &offer, by).await,
            (false, _) => Ok(()),
        };
    }
    let Some(receive) = receive else { return Ok(()) };
    if is_helped {
        return uneven::get(seat, root, receive, by).await;
    }
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
