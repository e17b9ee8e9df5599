//! Operations as phases in which one rank of each node speaks for it.

use super::joined::joined;
use super::{follow, Hierarchy};
use crate::collective::members::Role;
use crate::collective::temporary::Temporary;
use crate::collective::{Blocks, Data, Members, Operation, Root, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// What some of the ranks do together.
pub struct Phase {
    /// Who takes part, as ranks of the communicator.
    pub ranks: Vec<u32>,
    /// My place and their number.
    pub members: Members,
    /// Whether they share a node.
    pub within: bool,
    /// Whether it may run while the phase across before it is still on its way.
    pub beside: bool,
    /// What is done.
    pub work: Work,
    /// Memory of it and of the phases after it.
    memory: Vec<Temporary>,
}

/// What is done in a phase.
pub enum Work {
    /// An operation; roots are places among those who take part.
    Together(Operation),
    /// Steps without messages, of one rank.
    Alone(Schedule),
}

impl Phase {
    /// The phase as messages between ranks of the communicator.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn schedule(self) -> Result<Schedule> {
        let mut schedule = match self.work {
            Work::Together(operation) => operation.schedule(self.members)?.between(&self.ranks),
            Work::Alone(schedule) => schedule,
        };
        schedule.keep(self.memory);
        Ok(schedule)
    }
}

/// The phases of an operation with some root, as they are written down.
pub(super) struct Writing<'a> {
    pub of: &'a Hierarchy,
    /// The rank that speaks for each node.
    pub speakers: Vec<u32>,
    phases: Vec<Phase>,
    pub memory: Vec<Temporary>,
}

impl Hierarchy {
    /// The lowest rank of each node speaks for it, or the root if it is there.
    pub(super) fn writing(&self, root: Option<Root>) -> Writing<'_> {
        let root = root.map(|root| self.rank_of(root));
        let speaker = |ranks: &Vec<u32>| root.filter(|root| ranks.contains(root)).unwrap_or(ranks[0]);
        let speakers = self.nodes.iter().map(speaker).collect();
        Writing { of: self, speakers, phases: Vec::new(), memory: Vec::new() }
    }

    pub(super) fn rank_of(&self, root: Root) -> u32 {
        match (Members { rank: self.rank, size: self.size, remote: None }).role(root) {
            Role::Leaf(root) => root,
            _ => self.rank,
        }
    }

    /// The blocks of the ranks of a node.
    fn slice(&self, node: usize, block: &dyn Fn(u32) -> Data) -> Result<Data> {
        joined(self.nodes[node].iter().map(|&rank| block(rank)))
    }

    fn slices(&self, block: &dyn Fn(u32) -> Data) -> Result<Blocks> {
        (0..self.nodes.len()).map(|node| self.slice(node, block)).collect()
    }
}

impl Writing<'_> {
    /// What has been written down.
    pub(super) fn phases(mut self) -> Vec<Phase> {
        if let Some(last) = self.phases.last_mut() {
            last.memory = self.memory;
            // Nothing uses the memory any more when it is over.
            last.beside = false;
        }
        self.phases
    }

    pub(super) fn i_speak(&self) -> bool {
        self.speakers[self.of.mine] == self.of.rank
    }

    /// My node's speaker, as a place in my node.
    pub(super) fn speaker(&self) -> Root {
        let place = self.of.node().iter().position(|&rank| rank == self.speakers[self.of.mine]);
        Root::Rank(place.unwrap_or(0) as u32)
    }

    /// The node of the root, as a place among the speakers.
    pub(super) fn node_of(&self, root: Root) -> Root {
        let root = self.of.rank_of(root);
        Root::Rank(self.speakers.iter().position(|&speaker| speaker == root).unwrap_or(0) as u32)
    }

    /// Within my node, if there is anybody else.
    pub(super) fn within(&mut self, operation: Operation) {
        let ranks = self.of.node().to_vec();
        self.phase(ranks, true, operation);
    }

    /// Among the speakers, of whom I am one.
    pub(super) fn across(&mut self, operation: Operation) {
        let ranks = self.speakers.clone();
        self.phase(ranks, false, operation);
    }

    pub(super) fn phase(&mut self, ranks: Vec<u32>, within: bool, operation: Operation) {
        let place = ranks.iter().position(|&rank| rank == self.of.rank).unwrap_or(0) as u32;
        let members = Members { rank: place, size: ranks.len() as u32, remote: None };
        let work = Work::Together(operation);
        self.phases.push(Phase { ranks, members, within, beside: false, work, memory: Vec::new() });
    }

    /// By myself.
    pub(super) fn alone(&mut self, steps: Schedule) {
        let (ranks, members) = (vec![self.of.rank], Members { rank: 0, size: 1, remote: None });
        let work = Work::Alone(steps);
        self.phases.push(Phase { ranks, members, within: false, beside: false, work, memory: Vec::new() });
    }

    /// Copies data of mine.
    pub(super) fn copy(&mut self, from: Data, to: Data) {
        let mut steps = Schedule::new();
        steps.copy(from, to);
        self.alone(steps);
    }

    /// The last phase may run while the phase across before it is on its way.
    pub(super) fn beside(&mut self) {
        if let Some(last) = self.phases.last_mut() {
            last.beside = true;
        }
    }

    /// Room for `number` blocks like one, as bytes: the first of them.
    pub(super) fn room(&mut self, block: &Data, number: usize) -> Result<Data> {
        let bytes = Data::packed(block.bytes());
        let (memory, _) = Temporary::new(bytes.times(number as u32)?.count, &bytes.datatype)?;
        let first = Data { address: memory.address(), ..bytes };
        self.memory.push(memory);
        Ok(first)
    }

    /// Room for data like these.
    pub(super) fn temporary(&mut self, like: &Data) -> Result<Data> {
        let (memory, room) = Temporary::new(like.count, &like.datatype)?;
        self.memory.push(memory);
        Ok(room)
    }

    pub(super) fn barrier(mut self) -> Self {
        self.within(Operation::Barrier);
        if self.i_speak() {
            self.across(Operation::Barrier);
        }
        self.within(Operation::Barrier);
        self
    }

    pub(super) fn broadcast(mut self, root: Root, data: &Data) -> Self {
        if self.i_speak() {
            self.across(Operation::Broadcast { root: self.node_of(root), data: data.clone() });
        }
        let root = self.speaker();
        self.within(Operation::Broadcast { root, data: data.clone() });
        self
    }

    pub(super) fn allreduce(
        mut self,
        send: Option<&Data>,
        receive: &Data,
        operator: &Arc<Operator>,
    ) -> Result<Self> {
        let whole = Some(receive.clone());
        self = self.reduced_here(send, receive, whole, operator);
        if self.i_speak() {
            let (receive, operator) = (receive.clone(), operator.into());
            self.across(Operation::Allreduce { send: None, receive, operator });
        }
        let root = self.speaker();
        self.within(Operation::Broadcast { root, data: receive.clone() });
        Ok(self)
    }

    /// The speaker gets in `target` what its node contributes.
    fn reduced_here(
        mut self,
        send: Option<&Data>,
        mine: &Data,
        target: Option<Data>,
        operator: &Arc<Operator>,
    ) -> Self {
        let (root, operator) = (self.speaker(), operator.into());
        let (send, receive) = match self.i_speak() {
            true => (send.cloned(), target),
            false => (Some(send.unwrap_or(mine).clone()), None),
        };
        self.within(Operation::Reduce { root, send, receive, operator });
        self
    }

    pub(super) fn reduce(
        mut self,
        root: Root,
        send: Option<&Data>,
        receive: Option<&Data>,
        mine: &Data,
        operator: &Arc<Operator>,
    ) -> Result<Self> {
        let is_root = self.of.rank_of(root) == self.of.rank;
        let target = match (is_root, self.i_speak()) {
            (true, _) => receive.cloned(),
            (false, true) => Some(self.temporary(mine)?),
            (false, false) => None,
        };
        self = self.reduced_here(send, mine, target.clone(), operator);
        if self.i_speak() {
            let (root, operator) = (self.node_of(root), operator.into());
            let (send, receive) = if is_root { (None, target) } else { (target, None) };
            self.across(Operation::Reduce { root, send, receive, operator });
        }
        Ok(self)
    }

    /// The speaker gets the blocks of its node. Those that `follow` each other are all alike.
    fn gathered_here(&mut self, send: Option<Data>, blocks: Option<Blocks>, follow: bool) {
        let (root, blocks) = (self.speaker(), blocks.unwrap_or_default());
        self.within(match follow {
            true => Operation::Gather { root, send, receive: blocks.first().cloned() },
            false => Operation::Gatherv { root, send, receive: blocks },
        });
    }

    /// What the speaker has for the ranks of its node; as for `gathered_here`.
    fn scattered_here(&mut self, blocks: Option<Blocks>, receive: Option<Data>, follow: bool) {
        let (root, blocks) = (self.speaker(), blocks.unwrap_or_default());
        self.within(match follow {
            true => Operation::Scatter { root, send: blocks.first().cloned(), receive },
            false => Operation::Scatterv { root, send: blocks, receive },
        });
    }

    /// The blocks of the ranks of my node, where I speak for it: in the root's buffer, or packed in
    /// memory of ours, which then is all that the root exchanges with me. And whether they follow
    /// each other, which all ranks of my node know.
    fn here(
        &mut self,
        root: Root,
        of_all: Option<&Data>,
        mine: Option<&Data>,
    ) -> Result<(Option<Blocks>, Option<Data>, bool)> {
        let ranks = self.of.node();
        let at_root = self.node_of(root) == Root::Rank(self.of.mine as u32);
        let follows = !at_root || follow(ranks);
        let is_root = self.of.rank_of(root) == self.of.rank;
        Ok(match (is_root, self.i_speak(), mine) {
            (true, ..) => {
                let of_node = |all: &Data| ranks.iter().map(|&rank| all.blocks(rank, 1)).collect();
                (of_all.map(of_node), None, follows)
            }
            (false, true, Some(mine)) => {
                let first = self.room(mine, ranks.len())?;
                let places = 0..ranks.len() as u32;
                let blocks = places.map(|place| first.blocks(place, 1)).collect();
                (Some(blocks), Some(first.times(ranks.len() as u32)?), follows)
            }
            _ => (None, None, follows),
        })
    }

    /// At the root, the blocks of each node together.
    fn of_nodes(&self, root: Root, of_all: Option<&Data>) -> Result<Blocks> {
        match of_all.filter(|_| self.of.rank_of(root) == self.of.rank) {
            Some(all) => self.of.slices(&|rank| all.blocks(rank, 1)),
            None => Ok(Blocks::new()),
        }
    }

    pub(super) fn gather(mut self, root: Root, send: Option<&Data>, receive: Option<&Data>) -> Result<Self> {
        let (blocks, whole, follow) = self.here(root, receive, send)?;
        self.gathered_here(send.cloned(), blocks, follow);
        if self.i_speak() {
            let receive = self.of_nodes(root, receive)?;
            self.across(Operation::Gatherv { root: self.node_of(root), send: whole, receive });
        }
        Ok(self)
    }

    pub(super) fn scatter(mut self, root: Root, send: Option<&Data>, receive: Option<&Data>) -> Result<Self> {
        let (blocks, whole, follow) = self.here(root, send, receive)?;
        if self.i_speak() {
            let send = self.of_nodes(root, send)?;
            self.across(Operation::Scatterv { root: self.node_of(root), send, receive: whole });
        }
        self.scattered_here(blocks, receive.cloned(), follow);
        Ok(self)
    }

    /// Allgather, and allgatherv with blocks that are not alike.
    pub(super) fn allgather(
        mut self,
        send: Option<&Data>,
        block: &dyn Fn(u32) -> Data,
        alike: bool,
    ) -> Result<Self> {
        let ranks = self.of.node();
        let own = block(self.of.rank);
        let (send, blocks) = match self.i_speak() {
            true => (send.cloned(), Some(ranks.iter().map(|&rank| block(rank)).collect())),
            false => (Some(send.unwrap_or(&own).clone()), None),
        };
        self.gathered_here(send, blocks, alike && follow(ranks));
        if self.i_speak() {
            let receive = self.of.slices(block)?;
            self.across(Operation::Allgatherv { send: None, receive });
        }
        let (root, data) = (self.speaker(), joined((0..self.of.size).map(block))?);
        self.within(Operation::Broadcast { root, data });
        Ok(self)
    }
}
