//! Prefixes (scan and exscan) over nodes.
//!
//! *By nodes*: the ranks of a node make their prefixes, the last rank has the total of its node, these
//! ranks make prefixes of the totals, and each node puts what came before it in front of its own. That
//! groups the operands in another way than on one node, so it is for operators to which grouping does
//! not matter, and for nodes whose ranks follow each other.
//!
//! *By all operands*: where they are short, every node gets the operands of all ranks, and a rank combines
//! those that it needs, along the tree of one node. That is right for all operators and placements.
//!
//! Either way a message between two nodes takes the place of one for each rank. What is long and must be
//! grouped as on one node goes as if there were no nodes.

use super::order::is_free;
use super::plan::Writing;
use super::{follow, Hierarchy};
use crate::collective::tree::{Parts, Plan, Prefix};
use crate::collective::{Data, Operation, Schedule};
use crate::kept::Kept;
use crate::reduce::Operator;
use crate::Result;
use std::sync::Arc;

impl Hierarchy {
    /// Whether the total of a node may take the place of its ranks' operands.
    pub(super) fn has_totals(&self, operator: &Operator, data: &Data) -> bool {
        is_free(operator, data) && self.nodes.iter().all(|ranks| follow(ranks))
    }
}

impl Writing<'_> {
    /// Scan if `inclusive`, else exscan.
    pub(super) fn prefixes(
        self,
        inclusive: bool,
        send: Option<&Data>,
        receive: &Data,
        operator: &Kept<Operator>,
    ) -> Result<Self> {
        match self.of.has_totals(operator, receive) {
            true => self.prefixes_by_nodes(inclusive, send, receive, operator),
            false => self.prefixes_of_all(inclusive, send, receive, operator),
        }
    }

    fn prefixes_by_nodes(
        mut self,
        inclusive: bool,
        send: Option<&Data>,
        receive: &Data,
        operator: &Kept<Operator>,
    ) -> Result<Self> {
        self.speakers = self.of.nodes.iter().map(|ranks| ranks[ranks.len() - 1]).collect();
        let total = self.prefixes_here(inclusive, send, receive, operator)?;
        let is_first_node = self.of.mine == 0;
        let before = match is_first_node {
            true => None,
            false => Some(self.temporary(receive)?),
        };
        if let Some(total) = total {
            // The first of them gets nothing.
            let receive = before.as_ref().unwrap_or(&total).clone();
            self.across(Operation::Exscan { send: Some(total), receive, operator: operator.clone() });
        }
        let Some(before) = before else { return Ok(self) };
        let root = self.speaker();
        self.within(Operation::Broadcast { root, data: before.clone() });
        let mut steps = Schedule::new();
        match inclusive || self.of.node()[0] != self.of.rank {
            true => steps.reduce(operator, &before, receive),
            false => steps.copy(before, receive.clone()),
        }
        self.alone(steps);
        Ok(self)
    }

    /// Prefixes of my node; the speaker, who is its last rank, gets the total.
    fn prefixes_here(
        &mut self,
        inclusive: bool,
        send: Option<&Data>,
        receive: &Data,
        operator: &Kept<Operator>,
    ) -> Result<Option<Data>> {
        let (own, operator) = (send.cloned(), operator.clone());
        if inclusive {
            self.within(Operation::Scan { send: own, receive: receive.clone(), operator });
            return Ok(self.i_speak().then(|| receive.clone()));
        }
        let total = match self.i_speak() {
            true => Some(self.temporary(receive)?),
            false => None,
        };
        if let Some(total) = &total {
            self.copy(send.unwrap_or(receive).clone(), total.clone());
        }
        self.within(Operation::Exscan { send: own, receive: receive.clone(), operator: operator.clone() });
        if let Some(total) = total.as_ref().filter(|_| self.of.node().len() > 1) {
            let mut steps = Schedule::new();
            steps.reduce(&operator, receive, total);
            self.alone(steps);
        }
        Ok(total)
    }

    fn prefixes_of_all(
        mut self,
        inclusive: bool,
        send: Option<&Data>,
        receive: &Data,
        operator: &Arc<Operator>,
    ) -> Result<Self> {
        let mine = send.unwrap_or(receive);
        let all = self.temporary(&mine.times(self.of.size)?)?;
        let operand = |rank: u32| all.items(u64::from(rank) * mine.count, mine.count);
        self = self.allgather(Some(mine), &operand, true)?;
        let last = if inclusive { Some(self.of.rank) } else { self.of.rank.checked_sub(1) };
        if let Some(last) = last {
            let plan = Prefix(last);
            let mut steps = Schedule::new();
            combine(&mut steps, (plan, plan.top()), operator, &operand);
            steps.copy(operand(last), receive.clone());
            self.alone(steps);
        }
        Ok(self)
    }
}

/// Combines what is below `node` where its last operand lies; says which that is.
fn combine(
    steps: &mut Schedule,
    (plan, node): (Prefix, (u32, u32)),
    operator: &Arc<Operator>,
    operand: &dyn Fn(u32) -> Data,
) -> u32 {
    match plan.parts(node) {
        Parts::Rank(rank) => rank,
        Parts::Both(left, right) => {
            let left = combine(steps, (plan, left), operator, operand);
            let right = combine(steps, (plan, right), operator, operand);
            steps.reduce(operator, &operand(left), &operand(right));
            right
        }
    }
}
