//! Operations in which a member knows only its own blocks: gatherv, scatterv,
//! allgatherv, alltoallv, alltoallw, and those on neighbourhoods.
//!
//! A member publishes a *table* that says for each of its blocks how long it is and
//! where: behind the table, as far as there is room, else in its memory (*lent*). The
//! others look up what is for them and take it.
//!
//! # Ownership
//! As in `zero_copy.rs`: one epoch begins the operation. Another one ends it if anybody
//! has lent something, other than copies that stay behind; that stands in the first word of a table, so all who have
//! waited for the tables know it alike. None does where members do the work of each other
//! (`work_sharing/arrivals.rs`, `work_sharing/irregular.rs`), nor in gatherv, where no member sees the tables of
//! all others: there the root says in the head of the block that it has taken all.

use crate::collective::node::buffer::expected::{Expected, Incoming};
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::buffer::short_table::publish_short;
use crate::collective::node::buffer::table::Table;
use crate::collective::node::buffer::table_entry::ANY;
use crate::collective::node::buffer::table_writer::{lend_together, Long, OwnTable};
use crate::collective::node::protocol::member::Member;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::until::Until;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::node::work_sharing::arrivals::{may_expect, Arrivals};
use crate::collective::node::work_sharing::irregular;
use crate::collective::{schedule, Data, Neighbourhood, Root, Sent};
use crate::Result;
use smallvec::{smallvec, SmallVec};

/// Blocks, and for which member each is; those of few are kept in place.
type BlocksOfMembers<'a> = SmallVec<[(u32, &'a Data); 4]>;

/// Ends an operation in which somebody has lent something.
async fn end(party: &Party<'_, impl Wait, impl PeerMemory>, i_have: bool) -> Result<()> {
    let last = party.arrive_at_next();
    if i_have {
        party.wait_for_all(last).await?;
    }
    Ok(())
}

/// Publishes blocks, waits for all tables, and takes what comes. `own` is done as soon as the blocks are
/// published; `is_ordered`: each member publishes a block for each, in their order.
async fn with_all(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    (blocks, long): (&[(u32, &Data)], Long),
    (mut incoming, is_ordered): (impl Iterator<Item = Incoming<'_>> + Clone, bool),
    own: impl FnOnce(),
) -> Result<()> {
    let shares_work = may_expect(party.member, incoming.clone().count());
    let expected = shares_work.then(|| Expected::new(party, incoming.clone())).transpose()?;
    let mut mine = None;
    // A table that says what its member expects has long lines.
    let short = match shares_work {
        true => None,
        false => publish_short(party, blocks.iter().copied()).await?,
    };
    let (epoch, i_have_lent) = match short {
        Some(epoch) => (epoch, false),
        None => {
            let mine = mine.insert(OwnTable::new(party, blocks, expected.as_ref(), long)?);
            mine.publish(party).await?;
            (mine.epoch, mine.is_lent)
        }
    };
    own();
    party.wait_for_all(epoch).await?;
    let (mut lent, mut all_expect) = (false, true);
    for member in 0..party.size {
        let table = Table::of(party, member, epoch)?;
        lent |= table.is_lent();
        all_expect &= table.expected().is_some();
    }
    if let (true, true, Some(expected)) = (lent, all_expect, &expected) {
        return Arrivals { party, epoch, is_ordered }.run(expected, incoming).await;
    }
    let from = if is_ordered { party.rank.into() } else { 0 };
    let done =
        incoming.try_for_each(|(source, nth, data)| Table::of(party, source, epoch)?.take(from, nth, data));
    if lent {
        end(party, i_have_lent).await?;
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
pub(crate) async fn allgatherv(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&Data>,
    receive: &[Data],
) -> Result<()> {
    let mine = &receive[party.rank as usize];
    let blocks = [(ANY, send.unwrap_or(mine))];
    let incoming = from_others(party, receive);
    with_all(party, (&blocks, Long::Lent(party.size - 1)), (incoming, false), || own(send, Some(mine))).await
}

/// One block of each other member.
fn from_others<'a, Waits: Wait, Memory: PeerMemory>(
    party: &Party<'_, Waits, Memory>,
    receive: &'a [Data],
) -> impl Iterator<Item = Incoming<'a>> + Clone + use<'a, Waits, Memory> {
    if party.shares_work() {
        lend_together(party, receive);
    }
    party.others().map(|member| (member, 0, &receive[member as usize]))
}

/// Blocks that lie by member, with `nothing` for this one, which has its own already.
fn for_others<'a>(
    me: &Member,
    blocks: &'a [Data],
    nothing: &'a Data,
) -> impl Iterator<Item = (u32, &'a Data)> + Clone {
    let rank = me.rank;
    (0..me.size).zip(blocks).map(move |(member, data)| (member, if member == rank { nothing } else { data }))
}

/// A block of everybody for everybody.
pub(crate) async fn alltoallw(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    send: Option<&[Data]>,
    receive: &[Data],
) -> Result<()> {
    let nothing = Data::nothing();
    if let Some(send) = send {
        lend_together(party, send);
    }
    let blocks: BlocksOfMembers = for_others(party.member, send.unwrap_or(receive), &nothing).collect();
    let (incoming, rank) = (from_others(party, receive), party.rank as usize);
    let long = if send.is_some() { Long::Lent(1) } else { Long::Copied };
    let own = || own(send.map(|send| &send[rank]), Some(&receive[rank]));
    with_all(party, (&blocks, long), (incoming, true), own).await
}

/// A block along each edge of a topology.
pub(crate) async fn neighbours(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    hood: &Neighbourhood,
    send: &Sent,
    receive: &[Data],
) -> Result<()> {
    let destinations = &hood.destinations;
    let (blocks, readers): (BlocksOfMembers, _) = match send {
        Sent::Same(data) => (smallvec![(ANY, data)], destinations.len() as u32),
        Sent::Each(blocks) => {
            lend_together(party, blocks);
            let edges = destinations.iter().zip(blocks);
            (edges.filter_map(|(member, data)| Some(((*member)?, data))).collect(), 1)
        }
    };
    // Of several edges from one rank, the blocks come in the order of its buffer.
    let mut incoming = SmallVec::<[Incoming; 4]>::with_capacity(receive.len());
    for (source, index) in hood.incoming() {
        let nth = incoming.iter().filter(|block| block.0 == source).count() as u32;
        incoming.push((source, nth, &receive[index]));
    }
    with_all(party, (&blocks, Long::Lent(readers)), (incoming.iter().copied(), false), || ()).await
}

/// Blocks of all at a root.
pub(crate) async fn gatherv(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: Option<&Data>,
    receive: &[Data],
) -> Result<()> {
    let (root, shares_work) = (party.root_of(root), irregular::applies(party.member));
    if root != party.rank {
        let Some(send) = send else { return Ok(()) };
        if !shares_work && publish_short(party, std::iter::once((ANY, send))).await?.is_some() {
            return Ok(());
        }
        let mut mine = OwnTable::new(party, &[(ANY, send)], None, Long::Lent(1))?;
        mine.publish(party).await?;
        if shares_work {
            return irregular::give(party, root, &mine).await;
        }
        return match mine.is_lent {
            true => party.wait(Until::Taken(root, mine.epoch)).await,
            false => Ok(()),
        };
    }
    if shares_work {
        return irregular::collect(party, receive, || own(send, receive.get(root as usize))).await;
    }
    let epoch = party.arrive_at_next();
    own(send, receive.get(root as usize));
    party.wait_for_all(epoch).await?;
    let (mut lent, mut done) = (false, Ok(()));
    for member in party.others() {
        let taken = Table::of(party, member, epoch).and_then(|table| {
            lent |= table.is_lent();
            table.take(0, 0, &receive[member as usize])
        });
        done = done.and(taken);
    }
    // A table that is none may be of a member that has lent something.
    if lent || done.is_err() {
        party.has_taken(epoch);
    }
    done
}

/// Blocks of a root for all.
pub(crate) async fn scatterv(
    party: &Party<'_, impl Wait, impl PeerMemory>,
    root: Root,
    send: &[Data],
    receive: Option<&Data>,
) -> Result<()> {
    let (root, shares_work) = (party.root_of(root), irregular::applies(party.member));
    if root == party.rank {
        let nothing = Data::nothing();
        if publish_short(party, for_others(party.member, send, &nothing)).await?.is_some() {
            own(send.get(root as usize), receive);
            return Ok(());
        }
        lend_together(party, send);
        let blocks: BlocksOfMembers = for_others(party.member, send, &nothing).collect();
        let mut mine = OwnTable::new(party, &blocks, None, Long::Lent(1))?;
        mine.publish(party).await?;
        own(send.get(root as usize), receive);
        return match (mine.is_lent, shares_work) {
            (true, true) => irregular::deal_out(party, mine.epoch).await,
            (true, false) => end(party, true).await,
            (false, _) => Ok(()),
        };
    }
    let Some(receive) = receive else { return Ok(()) };
    if shares_work {
        return irregular::get(party, root, receive).await;
    }
    let epoch = party.arrive_at_next();
    party.wait_for(root, epoch).await?;
    let table = Table::of(party, root, epoch)?;
    let done = table.take(u64::from(party.rank), 0, receive);
    if table.is_lent() {
        party.arrive_at_next();
    }
    done
}
