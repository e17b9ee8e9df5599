//! Operations as phases.

use super::order::is_free;
use super::Hierarchy;
use crate::collective::members::Role;
use crate::collective::temporary::Temporary;
use crate::collective::{Blocks, Data, Members, Operation, Root, Schedule};
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// An operation of some of the ranks.
pub struct Phase {
    /// Who takes part, as ranks of the communicator.
    pub ranks: Vec<u32>,
    /// My place and their number.
    pub members: Members,
    /// Whether they share a node.
    pub within: bool,
    /// What they do; roots are places among them.
    pub operation: Operation,
    /// Memory of it and of the phases after it.
    memory: Vec<Temporary>,
}

impl Phase {
    /// The phase as messages between ranks of the communicator.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn schedule(self) -> Result<Schedule> {
        let mut schedule = self.operation.schedule(self.members)?.between(&self.ranks);
        schedule.keep(self.memory);
        Ok(schedule)
    }
}

/// The phases of an operation with some root, as they are written down.
struct Writing<'a> {
    of: &'a Hierarchy,
    /// The rank that speaks for each node.
    speakers: Vec<u32>,
    phases: Vec<Phase>,
    memory: Vec<Temporary>,
}

impl Hierarchy {
    /// The operation as phases of mine; `None` if it does not go over the hierarchy.
    /// All members come to the same answer.
    ///
    /// # Errors
    /// `NoMem`, `Count` where blocks together do not fit 64 bits.
    pub fn phases(&self, operation: &Operation) -> Result<Option<Vec<Phase>>> {
        let may_reduce = |operator: &Operator, data: &Data| {
            operator.exact(&data.datatype).is_none() && (self.keeps_tree || is_free(operator, data))
        };
        let all = || self.writing(None);
        let writing = match operation {
            Operation::Barrier => all().barrier(),
            Operation::Broadcast { root, data } => self.writing(Some(*root)).broadcast(*root, data),
            Operation::Allreduce { send, receive, operator } if may_reduce(operator, receive) => {
                all().allreduce(send.as_ref(), receive, operator)?
            }
            Operation::Reduce { root, send, receive, operator } => {
                match send.as_ref().or(receive.as_ref()).filter(|data| may_reduce(operator, data)) {
                    Some(data) => self.writing(Some(*root)).reduce(
                        *root,
                        send.as_ref(),
                        receive.as_ref(),
                        data,
                        operator,
                    )?,
                    None => return Ok(None),
                }
            }
            Operation::Gather { root, send, receive } if self.contiguous => {
                self.writing(Some(*root)).gather(*root, send.as_ref(), receive.as_ref())?
            }
            Operation::Scatter { root, send, receive } if self.contiguous => {
                self.writing(Some(*root)).scatter(*root, send.as_ref(), receive.as_ref())?
            }
            Operation::Allgather { send, receive } if self.contiguous => {
                all().allgather(send.as_ref(), receive)?
            }
            _ => return Ok(None),
        };
        let Writing { mut phases, memory, .. } = writing;
        if let Some(last) = phases.last_mut() {
            last.memory = memory;
        }
        Ok(Some(phases))
    }

    /// The lowest rank of each node speaks for it, or the root if it is there.
    fn writing(&self, root: Option<Root>) -> Writing<'_> {
        let root = root.map(|root| self.rank_of(root));
        let speaker = |ranks: &Vec<u32>| root.filter(|root| ranks.contains(root)).unwrap_or(ranks[0]);
        let speakers = self.nodes.iter().map(speaker).collect();
        Writing { of: self, speakers, phases: Vec::new(), memory: Vec::new() }
    }

    fn rank_of(&self, root: Root) -> u32 {
        match (Members { rank: self.rank, size: self.size, remote: None }).role(root) {
            Role::Leaf(root) => root,
            _ => self.rank,
        }
    }

    /// The blocks of the ranks of a node, which follow each other.
    fn slice(&self, node: usize, whole: &Data) -> Data {
        whole.blocks(self.nodes[node][0], self.nodes[node].len() as u32)
    }

    fn slices(&self, whole: &Data) -> Blocks {
        (0..self.nodes.len()).map(|node| self.slice(node, whole)).collect()
    }
}

impl Writing<'_> {
    fn i_speak(&self) -> bool {
        self.speakers[self.of.mine] == self.of.rank
    }

    /// My node's speaker, as a place in my node.
    fn speaker(&self) -> Root {
        let place = self.of.node().iter().position(|&rank| rank == self.speakers[self.of.mine]);
        Root::Rank(place.unwrap_or(0) as u32)
    }

    /// The node of the root, as a place among the speakers.
    fn node_of(&self, root: Root) -> Root {
        let root = self.of.rank_of(root);
        Root::Rank(self.speakers.iter().position(|&speaker| speaker == root).unwrap_or(0) as u32)
    }

    /// Within my node, if there is anybody else.
    fn within(&mut self, operation: Operation) {
        let ranks = self.of.node().to_vec();
        self.phase(ranks, true, operation);
    }

    /// Among the speakers, of whom I am one.
    fn across(&mut self, operation: Operation) {
        let ranks = self.speakers.clone();
        self.phase(ranks, false, operation);
    }

    fn phase(&mut self, ranks: Vec<u32>, within: bool, operation: Operation) {
        let place = ranks.iter().position(|&rank| rank == self.of.rank).unwrap_or(0) as u32;
        let members = Members { rank: place, size: ranks.len() as u32, remote: None };
        self.phases.push(Phase { ranks, members, within, operation, memory: Vec::new() });
    }

    /// Room for `number` blocks like one, as bytes: the first of them.
    fn room(&mut self, block: &Data, number: usize) -> Result<Data> {
        let bytes = Data::packed(block.bytes());
        let (memory, _) = Temporary::new(bytes.times(number as u32)?.count, &bytes.datatype)?;
        let first = Data { address: memory.address(), ..bytes };
        self.memory.push(memory);
        Ok(first)
    }

    fn barrier(mut self) -> Self {
        self.within(Operation::Barrier);
        if self.i_speak() {
            self.across(Operation::Barrier);
        }
        self.within(Operation::Barrier);
        self
    }

    fn broadcast(mut self, root: Root, data: &Data) -> Self {
        if self.i_speak() {
            self.across(Operation::Broadcast { root: self.node_of(root), data: data.clone() });
        }
        let root = self.speaker();
        self.within(Operation::Broadcast { root, data: data.clone() });
        self
    }

    fn allreduce(mut self, send: Option<&Data>, receive: &Data, operator: &Arc<Operator>) -> Result<Self> {
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

    fn reduce(
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
            (false, true) => {
                let (memory, room) = Temporary::new(mine.count, &mine.datatype)?;
                self.memory.push(memory);
                Some(room)
            }
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

    fn gather(mut self, root: Root, send: Option<&Data>, receive: Option<&Data>) -> Result<Self> {
        let is_root = self.of.rank_of(root) == self.of.rank;
        let number = self.of.node().len();
        let target = match (is_root, self.i_speak(), send.or(receive)) {
            (true, ..) => receive.map(|receive| first_of(&self.of.slice(self.of.mine, receive), receive)),
            (false, true, Some(mine)) => Some(self.room(mine, number)?),
            _ => None,
        };
        let speaker = self.speaker();
        self.within(Operation::Gather { root: speaker, send: send.cloned(), receive: target.clone() });
        if self.i_speak() {
            let slices = receive.filter(|_| is_root).map_or(Blocks::new(), |receive| self.of.slices(receive));
            let whole = target.filter(|_| !is_root).map(|first| first.times(number as u32)).transpose()?;
            self.across(Operation::Gatherv { root: self.node_of(root), send: whole, receive: slices });
        }
        Ok(self)
    }

    fn scatter(mut self, root: Root, send: Option<&Data>, receive: Option<&Data>) -> Result<Self> {
        let is_root = self.of.rank_of(root) == self.of.rank;
        let number = self.of.node().len();
        let source = match (is_root, self.i_speak(), receive) {
            (true, ..) => send.map(|send| first_of(&self.of.slice(self.of.mine, send), send)),
            (false, true, Some(mine)) => Some(self.room(mine, number)?),
            _ => None,
        };
        if self.i_speak() {
            let slices = send.filter(|_| is_root).map_or(Blocks::new(), |send| self.of.slices(send));
            let whole =
                source.as_ref().filter(|_| !is_root).map(|first| first.times(number as u32)).transpose()?;
            self.across(Operation::Scatterv { root: self.node_of(root), send: slices, receive: whole });
        }
        let speaker = self.speaker();
        self.within(Operation::Scatter { root: speaker, send: source, receive: receive.cloned() });
        Ok(self)
    }

    fn allgather(mut self, send: Option<&Data>, receive: &Data) -> Result<Self> {
        let whole = receive.times(self.of.size)?;
        let own = receive.blocks(self.of.rank, 1);
        let (send, target) = match self.i_speak() {
            true => (send.cloned(), Some(first_of(&self.of.slice(self.of.mine, receive), receive))),
            false => (Some(send.unwrap_or(&own).clone()), None),
        };
        let root = self.speaker();
        self.within(Operation::Gather { root, send, receive: target });
        if self.i_speak() {
            let slices = self.of.slices(receive);
            self.across(Operation::Allgatherv { send: None, receive: slices });
        }
        self.within(Operation::Broadcast { root, data: whole });
        Ok(self)
    }
}

/// The first block of a slice of blocks like `block`.
fn first_of(slice: &Data, block: &Data) -> Data {
    Data { count: block.count, ..slice.clone() }
}
