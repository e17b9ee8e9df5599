//! A toy: a broadcast along a chain of ranks, piece by piece, so that a rank passes one piece on while the next one comes.

use crate::collective::{Data, Members, Schedule};
use crate::Result;

/// So many pieces, whatever the length: all ranks know it.
const PIECES: u64 = 4;

/// The part of one rank. Types may differ between ranks, so what travels is packed bytes.
pub fn chain(members: Members, root: u32, data: Data) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    let place = members.relative(root);
    let dense = data.as_packed();
    let is_staged = dense.is_none();
    let whole = match dense {
        Some(whole) => whole,
        None => schedule.packed(data.bytes())?,
    };
    if place == 0 && is_staged {
        schedule.copy(data.clone(), whole.clone());
    }
    let begin = |piece: u64| (u128::from(whole.count) * u128::from(piece) / u128::from(PIECES)) as u64;
    for piece in 0..PIECES {
        let part = whole.items(begin(piece), begin(piece + 1) - begin(piece));
        if place > 0 {
            schedule.receive(members.absolute(place - 1, root), part.clone());
            schedule.wait();
        }
        if place + 1 < members.size {
            schedule.send(members.absolute(place + 1, root), part);
        }
    }
    if place > 0 && is_staged {
        schedule.wait();
        schedule.copy(whole, data);
    }
    Ok(schedule)
}
