//! Scatter and scatterv (MPI-5.0 §6.6).

use super::broadcast::Branch;
use super::members::Role;
use super::selection::{self, Rooted, WINDOW};
use super::{Data, Members, Root, Schedule};
use crate::Result;

/// Each peer gets its block of the root's `send`, the first of as many equal
/// blocks as peers. Without `receive` the root's own block stays in place.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits; `NoMem`.
pub fn scatter(members: Members, root: Root, send: Option<Data>, receive: Option<Data>) -> Result<Schedule> {
    let block = send.as_ref().or(receive.as_ref()).map_or(0, Data::bytes);
    let algorithm = match members.remote {
        Some(_) => Rooted::Linear,
        None => selection::choose(&selection::ROOTED, members.size, block),
    };
    build(members, root, send, receive, algorithm)
}

pub(super) fn build(
    members: Members,
    root: Root,
    send: Option<Data>,
    receive: Option<Data>,
    algorithm: Rooted,
) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    if let Some(send) = &send {
        send.times(members.peers())?;
    }
    match (algorithm, members.role(root), send) {
        (_, Role::Absent, _) => {}
        (Rooted::Linear, Role::Root, Some(send)) => {
            hand_out(&mut schedule, members, receive, &|peer| send.blocks(peer, 1));
        }
        (Rooted::Binomial, Role::Root, Some(send)) => trunk(&mut schedule, members, &send, receive)?,
        (Rooted::Linear, Role::Leaf(root), _) => take(&mut schedule, root, receive),
        (Rooted::Binomial, Role::Leaf(root), _) => branch(&mut schedule, members, root, receive)?,
        (_, Role::Root, None) => {}
    }
    Ok(schedule)
}

/// Scatter with a block of its own for each peer; `send` counts at the root.
///
/// # Errors
/// None today.
pub fn scatterv(members: Members, root: Root, send: &[Data], receive: Option<Data>) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    match members.role(root) {
        Role::Absent => {}
        Role::Leaf(root) => take(&mut schedule, root, receive),
        Role::Root => hand_out(&mut schedule, members, receive, &|peer| send[peer as usize].clone()),
    }
    Ok(schedule)
}

fn take(schedule: &mut Schedule, root: u32, receive: Option<Data>) {
    if let Some(receive) = receive.filter(|receive| receive.bytes() > 0) {
        schedule.receive(root, receive);
    }
}

/// The root sends a block to each peer, some at a time.
fn hand_out(schedule: &mut Schedule, members: Members, receive: Option<Data>, block: &dyn Fn(u32) -> Data) {
    let mut receive = receive;
    for peer in 0..members.peers() {
        let from = block(peer);
        if members.is_me(peer) {
            if let Some(receive) = receive.take() {
                schedule.copy(from, receive);
            }
        } else if from.bytes() > 0 {
            schedule.send(peer, from);
        }
        if peer % WINDOW == WINDOW - 1 {
            schedule.wait();
        }
    }
}

/// The root of a binomial tree. The blocks of a subtree are one message, which
/// may go round from the last rank to rank 0: then it needs a temporary.
fn trunk(schedule: &mut Schedule, members: Members, send: &Data, receive: Option<Data>) -> Result<()> {
    let Members { rank: root, size, .. } = members;
    let block = send.bytes();
    let children = Branch::new(0, size).children();
    for child in children.filter(|_| block > 0) {
        let (first, span) = (members.absolute(child.relative(), root), child.span());
        let until_end = size - first;
        if span <= until_end {
            schedule.send(first, send.blocks(first, span));
        } else {
            let packed = schedule.packed(block * u64::from(span))?;
            let (end, start) = (u64::from(until_end) * block, u64::from(span - until_end) * block);
            schedule.copy(send.blocks(first, until_end), packed.items(0, end));
            schedule.copy(send.blocks(0, span - until_end), packed.items(end, start));
            schedule.send(first, packed);
        }
    }
    if let Some(receive) = receive {
        schedule.copy(send.blocks(root, 1), receive);
    }
    Ok(())
}

/// Any other rank of a binomial tree: passes on, packed, what its subtree gets.
fn branch(schedule: &mut Schedule, members: Members, root: u32, receive: Option<Data>) -> Result<()> {
    let Some(receive) = receive.filter(|receive| receive.bytes() > 0) else { return Ok(()) };
    let branch = Branch::new(members.relative(root), members.size);
    let Some(parent) = branch.parent() else { return Ok(()) };
    let parent = members.absolute(parent, root);
    if branch.span() == 1 {
        schedule.receive(parent, receive);
        return Ok(());
    }
    let block = receive.bytes();
    let packed = schedule.packed(block * u64::from(branch.span()))?;
    schedule.receive(parent, packed.clone());
    schedule.wait();
    for child in branch.children() {
        let offset = u64::from(child.relative() - branch.relative()) * block;
        let data = packed.items(offset, u64::from(child.span()) * block);
        schedule.send(members.absolute(child.relative(), root), data);
    }
    schedule.copy(packed.items(0, block), receive);
    Ok(())
}
