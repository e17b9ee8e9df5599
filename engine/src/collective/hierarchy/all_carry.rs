//! Long operations: every rank of a node carries a share to the ranks at its place on the others.
//!
//! Where one rank of a node speaks for it, the others wait while it sends. Here as many ranks of
//! each node as the smallest node has are *carriers*. The n-th carriers of all nodes do the
//! operation on the n-th share among themselves; before and after that, the ranks of a node
//! exchange shares over their memory. So there are as many streams between two nodes as carriers,
//! and each rank copies and combines a share only.
//!
//! A share is combined on each node first and then across, as the whole is by speakers. So the
//! tree is the same, and the bits are.

use super::joined::joined;
use super::plan::Writing;
use crate::collective::selection;
use crate::collective::{Blocks, Counts, Data, Operation, Root};
use crate::kept::Kept;
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

/// Shares of packed bytes begin at cache lines.
const LINE: u64 = 64;

impl Writing<'_> {
    /// My place among the carriers of my node.
    fn place(&self) -> Option<u32> {
        let place = self.of.node().iter().position(|&rank| rank == self.of.rank)?;
        (place < self.of.carriers).then_some(place as u32)
    }

    /// The shares of the ranks of my node; those that do not carry have none. All but the end of
    /// the last one are multiples of `unit` items.
    fn shares(&self, whole: &Data, unit: u64) -> Blocks {
        let carriers = self.of.carriers as u64;
        let start = |place: u64| match place >= carriers {
            true => whole.count,
            false => {
                (u128::from(whole.count) * u128::from(place) / u128::from(carriers)) as u64 / unit * unit
            }
        };
        let places = 0..self.of.node().len() as u64;
        places.map(|place| whole.items(start(place), start(place + 1) - start(place))).collect()
    }

    /// Of mine, all shares: mine.
    fn own(&self, shares: &Blocks) -> Data {
        let place = self.of.node().iter().position(|&rank| rank == self.of.rank).unwrap_or(0);
        shares[place].clone()
    }

    /// Among the ranks at my place on all nodes, if I carry and have a share.
    fn across_at_my_place(&mut self, share: &Data, operation: Operation) {
        let Some(place) = self.place().filter(|_| share.bytes() > 0) else { return };
        let ranks = self.of.nodes.iter().map(|ranks| ranks[place as usize]).collect();
        self.phase(ranks, false, operation);
    }

    /// Every carrier gets its share of what its node contributes: in `receive`, if that may be written
    /// while the others read what they contribute, else in memory of ours.
    fn share_reduced_here(
        &mut self,
        send: Option<&Data>,
        receive: Option<&Data>,
        mine: &Data,
        operator: &Arc<Operator>,
    ) -> Result<Data> {
        let shares = self.shares(mine, 1);
        let target = match (send, receive) {
            (Some(_), Some(receive)) => self.own(&self.shares(receive, 1)),
            _ => self.temporary(&self.own(&shares))?,
        };
        let counts = Counts::Each(shares.iter().map(|share| share.count).collect());
        let (send, receive, operator) = (Some(mine.clone()), target.clone(), operator.into());
        self.within(Operation::ReduceScatter { send, receive, counts, operator });
        Ok(target)
    }

    pub(super) fn allreduce_by_all(
        mut self,
        send: Option<&Data>,
        receive: &Data,
        operator: &Arc<Operator>,
    ) -> Result<Self> {
        let mine = send.unwrap_or(receive);
        let reduced = self.share_reduced_here(send, Some(receive), mine, operator)?;
        let shares = self.shares(receive, 1);
        let share = self.own(&shares);
        let from = (reduced.address != share.address).then_some(reduced);
        let operator = operator.into();
        self.across_at_my_place(
            &share,
            Operation::Allreduce { send: from, receive: share.clone(), operator },
        );
        self.within(Operation::Allgatherv { send: None, receive: shares });
        Ok(self)
    }

    pub(super) fn reduce_by_all(
        mut self,
        root: Root,
        send: Option<&Data>,
        receive: Option<&Data>,
        mine: &Data,
        operator: &Arc<Operator>,
    ) -> Result<Self> {
        let receive = receive.filter(|_| self.of.rank_of(root) == self.of.rank);
        let reduced = self.share_reduced_here(send, receive, mine, operator)?;
        let is_here = self.node_of(root) == Root::Rank(self.of.mine as u32);
        let (from, to) = match is_here {
            true => (None, Some(reduced.clone())),
            false => (Some(reduced.clone()), None),
        };
        let (node, operator) = (self.node_of(root), Kept::from(operator));
        self.across_at_my_place(
            &reduced,
            Operation::Reduce { root: node, send: from, receive: to, operator },
        );
        if is_here {
            let shares = receive.map_or(Blocks::new(), |receive| self.shares(receive, 1));
            let is_there = receive.is_some() && self.own(&shares).address == reduced.address;
            let (root, send) = (self.speaker(), (!is_there).then_some(reduced));
            self.within(Operation::Gatherv { root, send, receive: shares });
        }
        Ok(self)
    }

    /// Works on packed bytes, as ranks may describe the same data by other types. Long data go in
    /// segments: while one is on the way between nodes, those before it and after it are copied.
    pub(super) fn broadcast_by_all(mut self, root: Root, data: &Data) -> Result<Self> {
        let is_root = self.of.rank_of(root) == self.of.rank;
        let dense = data.as_packed();
        let is_staged = dense.is_none();
        let whole = match dense {
            Some(whole) => whole,
            None => self.temporary(&Data::packed(data.bytes()))?,
        };
        if is_staged && is_root {
            self.copy(data.clone(), whole.clone());
        }
        let node = self.node_of(root);
        let is_here = node == Root::Rank(self.of.mine as u32);
        let mut before = None;
        for segment in selection::segments(whole.count).map(|(first, count)| whole.items(first, count)) {
            let share = self.own(&self.shares(&segment, LINE));
            if is_here {
                self.share_out(is_root, &segment);
                self.beside();
            }
            self.across_at_my_place(&share, Operation::Broadcast { root: node, data: share.clone() });
            if let Some(before) = before.replace(segment) {
                self.spread_here(is_here, before);
                self.beside();
            }
        }
        if let Some(last) = before {
            self.spread_here(is_here, last);
        }
        if is_staged && !is_root {
            self.copy(whole, data.clone());
        }
        Ok(self)
    }

    /// The root gives each carrier of its node a share.
    fn share_out(&mut self, is_root: bool, whole: &Data) {
        let (root, shares) = (self.speaker(), self.shares(whole, LINE));
        let (send, receive) = match is_root {
            true => (shares, None),
            false => (Blocks::new(), Some(self.own(&shares))),
        };
        self.within(Operation::Scatterv { root, send, receive });
    }

    /// All of my node get the whole: of the root, whose data are only read, or of the carriers.
    fn spread_here(&mut self, is_here: bool, whole: Data) {
        let root = self.speaker();
        self.within(match is_here {
            true => Operation::Broadcast { root, data: whole },
            false => Operation::Allgatherv { send: None, receive: self.shares(&whole, LINE) },
        });
    }

    /// Everybody gets the blocks of those at its place on other nodes, then a node has them all.
    pub(super) fn allgather_by_all(
        mut self,
        send: Option<&Data>,
        block: &dyn Fn(u32) -> Data,
    ) -> Result<Self> {
        let of_place = |place: usize| self.of.nodes.iter().map(move |ranks| block(ranks[place]));
        let places: Result<Blocks> = (0..self.of.carriers).map(|place| joined(of_place(place))).collect();
        let place = self.place().unwrap_or(0);
        let receive = of_place(place as usize).collect();
        let ranks = self.of.nodes.iter().map(|ranks| ranks[place as usize]).collect();
        self.phase(ranks, false, Operation::Allgatherv { send: send.cloned(), receive });
        self.within(Operation::Allgatherv { send: None, receive: places? });
        Ok(self)
    }
}
