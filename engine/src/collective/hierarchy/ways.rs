//! Which way an operation goes over the nodes.

use super::order::is_free;
use super::plan::{Phase, Writing};
use super::Hierarchy;
use crate::collective::selection::{self, over_nodes, NodeRule, OverNodes};
use crate::collective::{Data, Operation};
use crate::reduce::Operator;
use crate::Result;

impl Hierarchy {
    /// The operation as phases of mine; `None` if it does not go over the hierarchy.
    /// All members come to the same answer.
    ///
    /// # Errors
    /// `NoMem`, `Count` where blocks together do not fit 64 bits.
    pub fn phases(&self, operation: &Operation) -> Result<Option<Vec<Phase>>> {
        self.phases_by(self.way(operation), operation)
    }

    /// The same where the speakers of all nodes do the phase across in a way of their own.
    ///
    /// # Errors
    /// As above.
    pub fn phases_by_speakers(&self, operation: &Operation) -> Result<Option<Vec<Phase>>> {
        self.phases_by(OverNodes::BySpeakers, operation)
    }

    /// The way that the tables say, by what all members know.
    pub(super) fn way(&self, operation: &Operation) -> OverNodes {
        let of =
            |one: &Option<Data>, other: &Option<Data>| one.as_ref().or(other.as_ref()).map_or(0, Data::bytes);
        let all = |block: &Data| block.bytes().saturating_mul(self.size.into());
        let (table, bytes): (&[NodeRule], u64) = match operation {
            Operation::Barrier => return OverNodes::BySpeakers,
            Operation::Broadcast { data, .. } => (&over_nodes::BROADCAST, data.bytes()),
            Operation::Allreduce { receive, .. } => (&over_nodes::REDUCTION, receive.bytes()),
            Operation::Reduce { send, receive, .. } => (&over_nodes::REDUCTION, of(send, receive)),
            Operation::Gather { send, receive, .. } => (&over_nodes::ROOTED, of(receive, send)),
            Operation::Scatter { send, receive, .. } => (&over_nodes::ROOTED, of(send, receive)),
            Operation::Allgather { receive, .. } => (&over_nodes::ALLGATHER, all(receive)),
            Operation::Allgatherv { receive, .. } => {
                (&over_nodes::ALLGATHER, receive.iter().map(Data::bytes).sum())
            }
            Operation::Alltoall { receive, .. } => (&over_nodes::ALLTOALL, receive.bytes()),
            Operation::Scan { receive, operator, .. } | Operation::Exscan { receive, operator, .. } => {
                match self.has_totals(operator, receive) {
                    true => (&over_nodes::TOTALS, receive.bytes()),
                    false => (&over_nodes::OPERANDS, all(receive)),
                }
            }
            _ => return OverNodes::Directly,
        };
        selection::way_over_nodes(table, self.nodes.len(), self.carriers, bytes)
    }

    /// The phases of some way; of the next best, where the operation or the nodes do not allow it.
    pub(in crate::collective) fn phases_by(
        &self,
        way: OverNodes,
        operation: &Operation,
    ) -> Result<Option<Vec<Phase>>> {
        if way == OverNodes::Directly || !self.may_combine(operation) {
            return Ok(None);
        }
        let written = match way {
            OverNodes::ByAll => self.by_all(operation)?,
            _ => None,
        };
        let written = match written {
            Some(written) => Some(written),
            None => self.by_speakers(operation)?,
        };
        Ok(written.map(Writing::phases))
    }

    /// Whether combining by nodes first gives the bits of all ranks, if it combines.
    fn may_combine(&self, operation: &Operation) -> bool {
        let keeps = |operator: &Operator, data: &Data| {
            operator.exact(&data.datatype).is_none() && (self.keeps_tree || is_free(operator, data))
        };
        match operation {
            Operation::Allreduce { receive, operator, .. } => keeps(operator, receive),
            Operation::Reduce { send, receive, operator, .. } => {
                send.as_ref().or(receive.as_ref()).is_some_and(|data| keeps(operator, data))
            }
            Operation::Scan { receive, operator, .. } | Operation::Exscan { receive, operator, .. } => {
                receive.bytes() > 0 && operator.exact(&receive.datatype).is_none()
            }
            _ => true,
        }
    }

    fn by_speakers(&self, operation: &Operation) -> Result<Option<Writing<'_>>> {
        let all = || self.writing(None);
        Ok(Some(match operation {
            Operation::Barrier => all().barrier(),
            Operation::Broadcast { root, data } => self.writing(Some(*root)).broadcast(*root, data),
            Operation::Allreduce { send, receive, operator } => {
                all().allreduce(send.as_ref(), receive, operator)?
            }
            Operation::Reduce { root, send, receive, operator } => {
                let (send, receive) = (send.as_ref(), receive.as_ref());
                let Some(mine) = send.or(receive) else { return Ok(None) };
                self.writing(Some(*root)).reduce(*root, send, receive, mine, operator)?
            }
            Operation::Gather { root, send, receive } => {
                self.writing(Some(*root)).gather(*root, send.as_ref(), receive.as_ref())?
            }
            Operation::Scatter { root, send, receive } => {
                self.writing(Some(*root)).scatter(*root, send.as_ref(), receive.as_ref())?
            }
            Operation::Allgather { send, receive } => {
                receive.times(self.size)?;
                all().allgather(send.as_ref(), &|rank| receive.blocks(rank, 1), true)?
            }
            Operation::Allgatherv { send, receive } => {
                all().allgather(send.as_ref(), &|rank| receive[rank as usize].clone(), false)?
            }
            Operation::Scan { send, receive, operator } => {
                all().prefixes(true, send.as_ref(), receive, operator)?
            }
            Operation::Exscan { send, receive, operator } => {
                all().prefixes(false, send.as_ref(), receive, operator)?
            }
            _ => return Ok(None),
        }))
    }

    fn by_all(&self, operation: &Operation) -> Result<Option<Writing<'_>>> {
        let all = || self.writing(None);
        let several = self.carriers > 1;
        let even = several && self.is_even();
        Ok(Some(match operation {
            Operation::Broadcast { root, data } if several => {
                self.writing(Some(*root)).broadcast_by_all(*root, data)?
            }
            Operation::Allreduce { send, receive, operator } if several => {
                all().allreduce_by_all(send.as_ref(), receive, operator)?
            }
            Operation::Reduce { root, send, receive, operator } if several => {
                let (send, receive) = (send.as_ref(), receive.as_ref());
                let Some(mine) = send.or(receive) else { return Ok(None) };
                self.writing(Some(*root)).reduce_by_all(*root, send, receive, mine, operator)?
            }
            Operation::Allgather { send, receive } if even => {
                receive.times(self.size)?;
                all().allgather_by_all(send.as_ref(), &|rank| receive.blocks(rank, 1))?
            }
            Operation::Allgatherv { send, receive } if even => {
                all().allgather_by_all(send.as_ref(), &|rank| receive[rank as usize].clone())?
            }
            Operation::Alltoall { send, receive } if receive.bytes() > 0 => {
                for data in send.iter().chain([receive]) {
                    data.times(self.size)?;
                }
                all().alltoall_by_pairs(send.as_ref(), receive)?
            }
            _ => return Ok(None),
        }))
    }
}
