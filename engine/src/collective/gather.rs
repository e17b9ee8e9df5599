//! Gather and gatherv (MPI-5.0 §6.5).

use super::broadcast::Branch;
use super::members::Role;
use super::selection::{self, Rooted, WINDOW};
use super::{Data, Members, Root, Schedule};
use crate::Result;

/// The root gets everybody's `send`. `receive`, at the root, is the first of as
/// many equal blocks as peers; without `send` the root's block is in place.
///
/// # Errors
/// `Count` when the blocks together do not fit 64 bits; `NoMem`.
pub fn gather(members: Members, root: Root, send: Option<Data>, receive: Option<Data>) -> Result<Schedule> {
    let block = receive.as_ref().or(send.as_ref()).map_or(0, Data::bytes);
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
    if let Some(receive) = &receive {
        receive.times(members.peers())?;
    }
    match (algorithm, members.role(root), receive) {
        (_, Role::Absent, _) => {}
        (Rooted::Linear, Role::Root, Some(receive)) => {
            collect(&mut schedule, members, send, &|peer| receive.blocks(peer, 1));
        }
        (Rooted::Binomial, Role::Root, Some(receive)) => trunk(&mut schedule, members, send, &receive)?,
        (Rooted::Linear, Role::Leaf(root), _) => hand_in(&mut schedule, root, send),
        (Rooted::Binomial, Role::Leaf(root), _) => branch(&mut schedule, members, root, send)?,
        (_, Role::Root, None) => {}
    }
    Ok(schedule)
}

/// Gather with a block of its own for each peer; `receive` counts at the root.
///
/// # Errors
/// None today.
pub fn gatherv(members: Members, root: Root, send: Option<Data>, receive: &[Data]) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    match members.role(root) {
        Role::Absent => {}
        Role::Leaf(root) => hand_in(&mut schedule, root, send),
        Role::Root => collect(&mut schedule, members, send, &|peer| receive[peer as usize].clone()),
    }
    Ok(schedule)
}

fn hand_in(schedule: &mut Schedule, root: u32, send: Option<Data>) {
    if let Some(send) = send.filter(|send| send.bytes() > 0) {
        schedule.send(root, send);
    }
}

/// The root receives a block from each peer, some at a time.
fn collect(schedule: &mut Schedule, members: Members, send: Option<Data>, block: &dyn Fn(u32) -> Data) {
    let mut send = send;
    for peer in 0..members.peers() {
        let to = block(peer);
        if members.is_me(peer) {
            if let Some(send) = send.take() {
                schedule.copy(send, to);
            }
        } else if to.bytes() > 0 {
            schedule.receive(peer, to);
        }
        if peer % WINDOW == WINDOW - 1 {
            schedule.wait();
        }
    }
}

/// The root of a binomial tree. The blocks of a subtree are one message, which
/// may go round from the last rank to rank 0: then it needs a temporary.
fn trunk(schedule: &mut Schedule, members: Members, send: Option<Data>, receive: &Data) -> Result<()> {
    let Members { rank: root, size, .. } = members;
    let block = receive.bytes();
    if let Some(send) = send {
        schedule.copy(send, receive.blocks(root, 1));
    }
    if block == 0 {
        return Ok(());
    }
    let mut wrapped = None;
    for child in Branch::new(0, size).children() {
        let (first, span) = (members.absolute(child.relative(), root), child.span());
        if span <= size - first {
            schedule.receive(first, receive.blocks(first, span));
        } else {
            let packed = schedule.packed(block * u64::from(span))?;
            schedule.receive(first, packed.clone());
            wrapped = Some((first, span, packed));
        }
    }
    schedule.wait();
    if let Some((first, span, packed)) = wrapped {
        let until_end = size - first;
        let (end, start) = (u64::from(until_end) * block, u64::from(span - until_end) * block);
        schedule.copy(packed.items(0, end), receive.blocks(first, until_end));
        schedule.copy(packed.items(end, start), receive.blocks(0, span - until_end));
    }
    Ok(())
}

/// Any other rank of a binomial tree: passes on, packed, what its subtree sends.
fn branch(schedule: &mut Schedule, members: Members, root: u32, send: Option<Data>) -> Result<()> {
    let Some(send) = send.filter(|send| send.bytes() > 0) else { return Ok(()) };
    let branch = Branch::new(members.relative(root), members.size);
    let Some(parent) = branch.parent() else { return Ok(()) };
    let parent = members.absolute(parent, root);
    if branch.span() == 1 {
        schedule.send(parent, send);
        return Ok(());
    }
    let block = send.bytes();
    let packed = schedule.packed(block * u64::from(branch.span()))?;
    schedule.copy(send, packed.items(0, block));
    for child in branch.children() {
        let offset = u64::from(child.relative() - branch.relative()) * block;
        let data = packed.items(offset, u64::from(child.span()) * block);
        schedule.receive(members.absolute(child.relative(), root), data);
    }
    schedule.wait();
    schedule.send(parent, packed);
    Ok(())
}
