//! Long gather and scatter, straight between the buffers of the program.
//!
//! Every member but the root does its own copy: into the root's buffer, or from
//! there. In a gather nobody but the root waits for the end.

use super::helped;
use super::large::{given, root_of, take, taken, together};
use super::lent::Lent;
use super::reach::Reach;
use super::seat::{Copied, Seat, Wait};
use super::target::Target;
use super::whole::Whole;
use crate::collective::{schedule, Data, Root};
use crate::Result;

/// Blocks of all to a root.
pub(super) async fn gather(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    if helped::wants(seat) {
        return helped::rooted::gather(seat, root, send, receive, by).await;
    }
    let root = root_of(seat, root);
    if let (Some(receive), true) = (receive, root == seat.rank) {
        return collect(seat, send, receive, by).await;
    }
    let Some(send) = send else { return Ok(()) };
    let whole = Whole::packed(seat, send)?;
    let epoch = seat.begin();
    seat.arrive(epoch);
    seat.member(root, epoch, by).await?;
    let done = seat.told(root, epoch, whole.bytes).and_then(|lent| {
        let copies = seat.chooser(Copied::Written);
        let target = Target::of(&lent, u64::from(seat.size) * whole.bytes);
        let at = u64::from(seat.rank) * whole.bytes;
        let block = (whole.address.cast_const(), whole.bytes as usize);
        // SAFETY: the root has lent room for a block of each, and this one is mine.
        unsafe { target.write((seat, root), at, block, copies, by) }
    });
    let last = seat.begin();
    seat.arrive(last);
    done
}

/// The root's part: the others write their blocks.
async fn collect(seat: &Seat, send: Option<&Data>, receive: &Data, by: &(impl Wait + Reach)) -> Result<()> {
    let all = receive.times(seat.size)?;
    let whole = Whole::to_be_written(seat, &all, by)?;
    let lent = Lent::new(0, 0, receive.bytes()).with_result(&whole);
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    seat.tell(epoch, lent);
    whole.put_own(seat, receive, send);
    together(seat, by).await?;
    whole.finish(&all);
    Ok(())
}

/// Blocks of a root to all.
pub(super) async fn scatter(
    seat: &Seat,
    root: Root,
    send: Option<&Data>,
    receive: Option<&Data>,
    by: &(impl Wait + Reach),
) -> Result<()> {
    if helped::wants(seat) {
        return helped::rooted::scatter(seat, root, send, receive, by).await;
    }
    let root = root_of(seat, root);
    if let (Some(send), true) = (send, root == seat.rank) {
        let mut whole = Whole::to_read(seat, &send.times(seat.size)?, 1, by)?;
        let epoch = seat.begin();
        Lent::of(seat, &whole).tell(seat, epoch, by).await?;
        if let Some(receive) = receive {
            // SAFETY: the program lends both, and the face has seen that they are apart.
            unsafe { schedule::copy(&send.blocks(seat.rank, 1), receive) };
        }
        return given(seat, epoch, &mut whole, by).await;
    }
    let Some(receive) = receive else { return Ok(()) };
    let epoch = seat.begin();
    seat.arrive(epoch);
    seat.member(root, epoch, by).await?;
    let block = receive.bytes();
    let (offset, total) = (u64::from(seat.rank) * block, u64::from(seat.size).saturating_mul(block));
    let done = take(seat, (root, epoch), offset, total, receive, Copied::Broadcast, by);
    taken(seat, (root, epoch));
    done
}
