//! Broadcast (MPI-5.0 §6.4).

use super::members::Role;
use super::selection::{self, Broadcast};
use super::{allgather, inter, Data, Members, Root, Schedule};
use crate::Result;

/// Everybody gets the root's `data`. Types may differ between ranks where
/// their signatures agree.
///
/// # Errors
/// `NoMem`.
pub fn broadcast(members: Members, root: Root, data: Data) -> Result<Schedule> {
    let algorithm = selection::choose(&selection::BROADCAST, members.size, data.bytes());
    build(members, root, data, algorithm)
}

pub(super) fn build(members: Members, root: Root, data: Data, algorithm: Broadcast) -> Result<Schedule> {
    let mut schedule = Schedule::new();
    if members.remote.is_some() {
        inter::broadcast(&mut schedule, members, root, data);
        return Ok(schedule);
    }
    let root = match members.role(root) {
        Role::Leaf(root) => root,
        _ => members.rank,
    };
    match algorithm {
        _ if data.bytes() == 0 || members.size == 1 => {}
        Broadcast::Binomial => binomial(&mut schedule, members, root, data),
        Broadcast::ScatterAllgather => scatter_allgather(&mut schedule, members, root, data)?,
    }
    Ok(schedule)
}

/// Where a rank stands in a binomial tree over relative ranks: its subtree is
/// the `span` ranks from itself on.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    size: u32,
    relative: u32,
    /// The largest power of two that divides `relative`; all of it at the root.
    reach: u32,
}

impl Branch {
    pub fn new(relative: u32, size: u32) -> Branch {
        let reach = if relative == 0 { size.next_power_of_two() } else { relative & relative.wrapping_neg() };
        Branch { size, relative, reach }
    }

    /// How many ranks the subtree has.
    pub fn span(&self) -> u32 {
        self.reach.min(self.size - self.relative)
    }

    pub fn parent(&self) -> Option<u32> {
        (self.relative > 0).then(|| self.relative - self.reach)
    }

    /// The children, the largest subtree first.
    pub fn children(self) -> impl Iterator<Item = Branch> {
        let halves = std::iter::successors(Some(self.reach / 2), |reach| Some(reach / 2));
        halves.take_while(|&reach| reach > 0).filter_map(move |reach| {
            let relative = self.relative.checked_add(reach).filter(|&relative| relative < self.size)?;
            Some(Branch { size: self.size, relative, reach })
        })
    }

    pub fn relative(&self) -> u32 {
        self.relative
    }
}

fn binomial(schedule: &mut Schedule, members: Members, root: u32, data: Data) {
    let branch = Branch::new(members.relative(root), members.size);
    if let Some(parent) = branch.parent() {
        schedule.receive(members.absolute(parent, root), data.clone());
        schedule.wait();
    }
    for child in branch.children() {
        schedule.send(members.absolute(child.relative(), root), data.clone());
    }
}

/// Works on packed bytes, as ranks may describe the same data by other types.
fn scatter_allgather(schedule: &mut Schedule, members: Members, root: u32, data: Data) -> Result<()> {
    let relative = members.relative(root);
    let dense = data.as_packed();
    let staged = dense.is_none();
    let whole = match dense {
        Some(whole) => whole,
        None => schedule.packed(data.bytes())?,
    };
    if relative == 0 && staged {
        schedule.copy(data.clone(), whole.clone());
    }
    let shares = |first: u32, number: u32| {
        let start =
            |share: u32| (u128::from(whole.count) * u128::from(share) / u128::from(members.size)) as u64;
        whole.items(start(first), start(first + number) - start(first))
    };
    let branch = Branch::new(relative, members.size);
    if let Some(parent) = branch.parent() {
        schedule.receive(members.absolute(parent, root), shares(relative, branch.span()));
        schedule.wait();
    }
    for child in branch.children() {
        schedule.send(members.absolute(child.relative(), root), shares(child.relative(), child.span()));
    }
    schedule.wait();
    let peer = |relative| members.absolute(relative, root);
    allgather::disseminate(schedule, relative, members.size, &peer, &|first, number| {
        vec![shares(first, number)]
    });
    if relative > 0 && staged {
        schedule.copy(whole, data);
    }
    Ok(())
}
