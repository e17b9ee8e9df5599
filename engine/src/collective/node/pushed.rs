//! A long broadcast of two members with a core each: the root writes into the buffer of the other.
//!
//! A member that takes all of it waits for each line twice: until the root's core has sent it, and,
//! where that core has read the buffer before, until it has given the old one up. The root has its
//! own lines at hand and waits once. Longer data, which no cache keeps, both copy at once, each a
//! half. (In an allgather or alltoall, where both copy at once anyway, it depends: `swap.rs`.)
//!
//! # Ownership
//! As in `large.rs`: at the first epoch the root has lent its data, and the other the buffer that
//! they go to. What stands there says which part of it is the root's to write ([`pushed`]); the
//! other writes all the rest. Who has arrived at the last epoch has done so.

use super::large::{taken, together};
use super::lent::Lent;
use super::reach::{settled, Reach, Reaches};
use super::seat::{Copied, Seat, Wait};
use super::whole::Whole;
use crate::collective::Data;
use crate::Result;
use std::ops::Range;

/// Data up to so many bytes are written by the root alone.
const ALONE: u64 = 256 << 10;
/// The halves of longer data begin at a multiple of so many bytes.
const GRAIN: u64 = 4096;

/// Whether a broadcast is done so; all members know it alike. Not where ranks share cores: the
/// other would wait for a turn of the root.
pub(super) fn wants(seat: &Seat) -> bool {
    seat.size == 2 && settled(seat, Reaches::ToWrite) && !seat.block().shape().is_wide()
}

/// The part that the root writes of a buffer that the other has lent.
fn pushed(buffer: &Lent) -> Range<u64> {
    let [head, tail] = buffer.apart.map(u64::from);
    if !buffer.open && head + tail == 0 {
        return 0..0;
    }
    let first = if buffer.bytes <= ALONE { 0 } else { (buffer.bytes / 2).next_multiple_of(GRAIN) };
    let last = buffer.bytes - tail;
    first.clamp(head, last)..last
}

/// The root's part.
pub(super) async fn give(seat: &Seat, data: &Data, by: &(impl Wait + Reach)) -> Result<()> {
    let (mut whole, other) = (Whole::to_read(seat, data, 1, by)?, 1 - seat.rank);
    let lent = Lent::of(seat, &whole);
    let epoch = seat.begin();
    lent.tell(seat, epoch, by).await?;
    if whole.stay_behind(seat, epoch) {
        return Ok(());
    }
    seat.all(epoch, by).await?;
    let done = seat.told(other, epoch, whole.bytes).and_then(|buffer| {
        let part = pushed(&buffer);
        let (at, bytes) = (part.start as usize, (part.end - part.start) as usize);
        if bytes == 0 {
            return Ok(());
        }
        let copies = seat.chooser(Copied::Pushed);
        let (to, from) = (buffer.receive + part.start, whole.address.wrapping_add(at));
        // SAFETY: the other has lent this part until the last epoch and leaves it to me.
        unsafe { by.write(seat, other, to, from, bytes, copies) }
    });
    together(seat, by).await?;
    done
}

/// The other's part.
pub(super) async fn get(seat: &Seat, data: &Data, by: &(impl Wait + Reach)) -> Result<()> {
    let (mut whole, root) = (Whole::to_write(data)?, 1 - seat.rank);
    whole.plain = by.lend(seat, (whole.address, whole.bytes), 1);
    let buffer = Lent::new(0, 0, whole.bytes).with_result(&whole);
    let epoch = seat.begin();
    seat.room(epoch, by).await?;
    seat.tell(epoch, buffer);
    seat.member(root, epoch, by).await?;
    let lent = match seat.told(root, epoch, whole.bytes) {
        Ok(lent) => lent,
        Err(error) => {
            // Neither writes anything, and the root may have come to another operation.
            taken(seat, (root, epoch));
            return Err(error);
        }
    };
    let part = if lent.is_copy { 0..0 } else { pushed(&buffer) };
    let done = [0..part.start, part.end..whole.bytes].into_iter().try_for_each(|rest| {
        if rest.is_empty() {
            return Ok(());
        }
        let target = whole.address.wrapping_add(rest.start as usize);
        let (from, bytes) = ((seat, root, epoch), (rest.end - rest.start) as usize);
        let copies = seat.chooser(Copied::Broadcast);
        // SAFETY: the root has lent its data until the last epoch; nobody else writes this
        // part of the target, which the program lends or which is ours.
        unsafe { lent.read(from, rest.start, target, bytes, copies, by) }
    });
    if !lent.is_copy {
        together(seat, by).await?;
    }
    whole.finish(data);
    done
}
