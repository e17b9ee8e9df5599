//! Splitting by color and by the machine (MPI-5.0 §7.4.2).

use super::inter::meet_over;
use crate::job::hardware::{KINDS, NODE};
use crate::job::ProcessName;
use crate::world::bootstrap_channel::{
    garbled, join, member_of, read_words, split as split_bytes, words, Allgather,
};
use crate::world::context;
use crate::world::{complete, BootstrapChannel, Communicator, Group, Info};
use crate::{Cause, Class, Error, Result};
use std::sync::Arc;

/// What a process says when it splits.
struct Entry {
    color: u64,
    key: i32,
    name: ProcessName,
    context: u64,
    /// Its color at each level of the hardware, if it is one of these, whichever divides those who say so.
    levels: Vec<u64>,
}

/// The color of those who do not want to be in any part.
const NOWHERE: u64 = u64::MAX;

/// `MPI_Comm_split`: a communicator for each color, ordered by key, then by
/// rank in the parent. `None` for those without a color (`MPI_UNDEFINED`), and
/// for those without partner on the other side of an intercommunicator.
///
/// # Errors
/// `Arg` when the color is negative.
pub fn split(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    color: Option<i32>,
    key: i32,
) -> Result<Option<Communicator>> {
    let color = match color.map(u64::try_from) {
        None => NOWHERE,
        Some(Ok(color)) => color,
        Some(Err(_)) => {
            return Err(Error::because(Class::Arg, Cause::NegativeColor(color.unwrap_or_default())))
        }
    };
    by_color(exchange, parent, (color, Vec::new()), key).map(|(made, _)| made)
}

/// With the level by which those were divided who left that open.
fn by_color(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    (color, levels): (u64, Vec<u64>),
    key: i32,
) -> Result<(Option<Communicator>, Option<usize>)> {
    let contexts = exchange.contexts();
    let is_full = parent.groups().any(|group| group.has_strangers());
    let name = contexts.named(contexts.job_rank(), is_full);
    let is_open = !levels.is_empty();
    let told = Entry { color, key, name, context: contexts.propose()?, levels };
    let within = parent.local().map_or(parent, |local| local);
    let gathered = complete(exchange, Allgather::new(within.collective_line(exchange)?, told.write()))?;
    let others = match parent.is_inter() {
        true => Some(split_bytes(&meet_over(exchange, parent, join(&gathered))?.their_note)?),
        false => None,
    };
    let (entries, level) = read_entries(&gathered)?;
    let own = entries.get(within.rank as usize).ok_or_else(garbled)?.color;
    let level = level.filter(|_| is_open && own != NOWHERE);
    if own == NOWHERE {
        return Ok((None, level));
    }
    let (members, first) = match part(exchange, &entries, own)? {
        (members, Some(first)) => (members, first),
        _ => return Err(garbled()),
    };
    let rank = members.rank_of(contexts.job_rank()).ok_or_else(garbled)?;
    let members = Arc::new(members);
    let made = match others {
        None => Communicator::new(first, members, rank),
        Some(others) => match part(exchange, &read_entries(&others)?.0, own)? {
            (remote, Some(theirs)) => {
                Communicator::new(first.min(theirs), members, rank).with_remote(Arc::new(remote), first + 2)
            }
            _ => return Ok((None, level)),
        },
    };
    Ok((Some(made.with_error_handler(parent.error_handler())), level))
}

/// The group of a color, and the context that its first member proposes.
fn part(exchange: &dyn BootstrapChannel, entries: &[Entry], color: u64) -> Result<(Group, Option<u64>)> {
    let mut chosen: Vec<_> = entries.iter().filter(|entry| entry.color == color).collect();
    chosen.sort_by_key(|entry| entry.key); // stable: equal keys stay in rank order
    let context = chosen.first().map(|entry| entry.context);
    let members = chosen.iter().map(|entry| member_of(exchange, entry.name.0));
    Ok((Group::new(members.collect::<Result<Vec<_>>>()?), context))
}

impl Entry {
    fn write(&self) -> Vec<u8> {
        let Entry { color, key, name, context, ref levels } = *self;
        words([color, key as u64, name.0, context].into_iter().chain(levels.iter().copied()))
    }

    fn read(bytes: &[u8]) -> Result<Entry> {
        match read_words(bytes)?[..] {
            [color, key, name, context, ref levels @ ..] if [0, LEVELS.len()].contains(&levels.len()) => {
                Ok(Entry {
                    color,
                    key: key as i32,
                    name: ProcessName(name),
                    context,
                    levels: levels.to_vec(),
                })
            }
            _ => Err(garbled()),
        }
    }
}

/// What all have said. Those who left their level open have the color that they have at the coarsest one at which not all of
/// them are in one part; which one it is.
fn read_entries(all: &[Vec<u8>]) -> Result<(Vec<Entry>, Option<usize>)> {
    let mut entries = all.iter().map(|bytes| Entry::read(bytes)).collect::<Result<Vec<_>>>()?;
    let open = || entries.iter().map(|entry| &entry.levels).filter(|levels| !levels.is_empty());
    let divides = |level: &usize| open().zip(open().skip(1)).any(|(one, next)| one[*level] != next[*level]);
    let level = (0..LEVELS.len()).find(divides);
    for entry in entries.iter_mut().filter(|entry| !entry.levels.is_empty()) {
        entry.color = level.map_or(NOWHERE, |level| entry.levels[level]);
    }
    Ok((entries, level))
}

/// The number of this process's node, and where members were started apart, that of its universe with it.
fn node_among(exchange: &dyn BootstrapChannel, members: &Communicator) -> u64 {
    let node = exchange.node();
    let strangers = exchange.contexts().strangers();
    match strangers.filter(|_| members.groups().any(|group| group.has_strangers())) {
        Some(strangers) => {
            let both = [strangers.own().mark(), u64::from(node)];
            context::hash(both.into_iter().flat_map(u64::to_le_bytes)) << 32
        }
        None => u64::from(node) << 32,
    }
}

/// What hardware can be split by, from coarse to fine.
const LEVELS: [&str; 1 + KINDS.len()] = [NODE, KINDS[0], KINDS[1], KINDS[2], KINDS[3], KINDS[4]];

/// The color of this process at each level: the node in the upper half, the
/// part of it in the lower.
fn parts(exchange: &dyn BootstrapChannel, members: &Communicator) -> [u64; LEVELS.len()] {
    let node = node_among(exchange, members);
    let mut colors = [node; LEVELS.len()];
    for (color, part) in colors[1..].iter_mut().zip(exchange.place()) {
        *color = part.map_or(NOWHERE, |part| node | u64::from(part));
    }
    colors
}

/// What `MPI_Comm_split_type` splits by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitType {
    /// `MPI_COMM_TYPE_SHARED`: those who can share memory.
    Shared,
    /// `MPI_COMM_TYPE_HW_GUIDED`: those on one instance of the resource that
    /// the info key `mpi_hw_resource_type` names.
    HardwareGuided,
    /// `MPI_COMM_TYPE_HW_UNGUIDED`: the next smaller part of the machine.
    HardwareUnguided,
    /// `MPI_COMM_TYPE_RESOURCE_GUIDED`: as `HardwareGuided`, or those in the
    /// process set that the info key `mpi_pset_name` names.
    ResourceGuided,
}

/// `MPI_Comm_split_type`. `None` as the type for those who do not want to be in
/// any part (`MPI_UNDEFINED`). A resource that is not known, or to which a
/// process is not confined, leaves it without a part. `HardwareUnguided` says in
/// `info` what it has split by.
///
/// # Errors
/// `Intern` when no context ids are left.
pub fn split_type(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    split_type: Option<SplitType>,
    key: i32,
    info: Option<&Info>,
) -> Result<Option<Communicator>> {
    let get = |key| info.and_then(|info| info.get(key));
    let hardware = || {
        let wanted = get("mpi_hw_resource_type");
        let level = LEVELS.iter().position(|name| Some(*name) == wanted.as_deref());
        level.map_or(NOWHERE, |level| parts(exchange, parent)[level])
    };
    let mut levels = Vec::new();
    let color = match split_type {
        None => NOWHERE,
        Some(SplitType::HardwareUnguided) => {
            levels.extend(parts(exchange, parent));
            NOWHERE
        }
        Some(SplitType::Shared) => parts(exchange, parent)[0],
        Some(SplitType::HardwareGuided) => hardware(),
        Some(SplitType::ResourceGuided) => match get("mpi_pset_name").as_deref() {
            Some("mpi://WORLD") => 0,
            Some("mpi://SELF") => u64::from(exchange.contexts().outward(exchange.contexts().job_rank())),
            _ => hardware(),
        },
    };
    let (made, level) = by_color(exchange, parent, (color, levels), key)?;
    if let (Some(level), Some(info)) = (level, info) {
        info.set("mpi_hw_resource_type", LEVELS[level])?;
    }
    Ok(made)
}
