//! Reduce (MPI-5.0 §6.9.1).

use super::halving::{self, Shares};
use super::members::Role;
use super::partial::Partial;
use super::selection::{self, Reduction};
use super::tree::Folded;
use super::{inter, Data, Members, Root, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// The root gets the combination of everybody's `send` in `receive`, which
/// counts at the root only; without `send` the root's part is in place.
///
/// # Errors
/// `Op` when the operator does not take the type; `NoMem`.
pub fn reduce(
    members: Members,
    root: Root,
    send: Option<Data>,
    receive: Option<Data>,
    operator: &Arc<Operator>,
) -> Result<Schedule> {
    let bytes = send.as_ref().or(receive.as_ref()).map_or(0, Data::bytes);
    let algorithm = selection::choose(&selection::REDUCTION, members.size, bytes);
    build(members, root, send, receive, operator, algorithm)
}

pub(super) fn build(
    members: Members,
    root: Root,
    send: Option<Data>,
    receive: Option<Data>,
    operator: &Arc<Operator>,
    algorithm: Reduction,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    if members.remote.is_some() {
        inter::reduce(&mut schedule, members, root, send, receive, operator)?;
        return Ok(schedule);
    }
    let (root, receive) = match members.role(root) {
        Role::Leaf(root) => (root, None),
        _ => (members.rank, receive),
    };
    let Some(partial) = Partial::new(operator, send.as_ref(), receive.as_ref()) else { return Ok(schedule) };
    operator.check(&partial.value.datatype)?;
    if let Some(exact) = operator.exact(&partial.value.datatype) {
        super::exact::reduce(&mut schedule, members, root, &partial.value, receive.as_ref(), exact)?;
        return Ok(schedule);
    }
    let folded = Folded::new(members.size, root);
    let climb = Climb { schedule: &mut schedule, folded, rank: members.rank, root, partial };
    match algorithm {
        _ if climb.partial.value.bytes() == 0 => {}
        Reduction::Tree => climb.tree(receive.as_ref())?,
        Reduction::Halving => climb.halving(receive.as_ref())?,
    }
    Ok(schedule)
}

/// The way of one rank's part up to the root.
struct Climb<'a> {
    schedule: &'a mut Schedule,
    folded: Folded,
    rank: u32,
    root: u32,
    partial: Partial,
}

impl Climb<'_> {
    /// Gives all to the host of my seat, or takes over my guest's part. Says
    /// whether I go on.
    fn fold(&mut self, seat: u32) -> Result<bool> {
        let host = self.folded.host(seat);
        if host != self.rank {
            self.schedule.send(host, self.partial.value.clone());
            return Ok(false);
        }
        if let Some(guest) = self.folded.guest(seat) {
            self.partial.fold_from(self.schedule, guest, guest < host)?;
        }
        Ok(true)
    }

    /// The seat that speaks for the block of `1 << level` seats around `seat`:
    /// the root's, else the first.
    fn speaker(&self, seat: u32, level: u32) -> u32 {
        let root = self.folded.seat(self.root);
        if seat >> level == root >> level {
            root
        } else {
            seat >> level << level
        }
    }

    fn tree(mut self, receive: Option<&Data>) -> Result<()> {
        let seat = self.folded.seat(self.rank);
        if !self.fold(seat)? {
            return Ok(());
        }
        for level in 0..self.folded.levels() {
            let other = self.speaker(seat ^ (1 << level), level);
            let peer = self.folded.host(other);
            if self.speaker(seat, level + 1) != seat {
                self.schedule.send(peer, self.partial.value.clone());
                return Ok(());
            }
            self.partial.fold_from(self.schedule, peer, other < seat)?;
        }
        if let Some(receive) = receive {
            self.partial.settle(self.schedule, receive, (0, receive.count));
        }
        Ok(())
    }

    fn halving(mut self, receive: Option<&Data>) -> Result<()> {
        let seat = self.folded.seat(self.rank);
        if !self.fold(seat)? {
            return Ok(());
        }
        let shares = Shares::even(self.folded.seats(), self.partial.value.count);
        halving::reduce(self.schedule, &self.folded, seat, &shares, &mut self.partial)?;
        let Some(receive) = receive else {
            let (first, count) = shares.share(&self.folded, seat);
            if count > 0 {
                self.schedule.send(self.root, self.partial.value.items(first, count));
            }
            return Ok(());
        };
        for other in 0..self.folded.seats() {
            let (first, count) = shares.share(&self.folded, other);
            if other == seat {
                self.partial.settle(self.schedule, receive, (first, count));
            } else if count > 0 {
                self.schedule.receive(self.folded.host(other), receive.items(first, count));
            }
        }
        Ok(())
    }
}
