//! Whose results have data of a rank: who has to know that they are not to be had.

use super::{Members, Operation, Role, Root};

impl Operation {
    /// The peers whose results have data of this rank, or depend on them, by its arguments. They end the operation only once this
    /// rank has taken part.
    pub fn readers(&self, members: &Members) -> Vec<u32> {
        let all = || (0..members.peers()).collect::<Vec<u32>>();
        // Of a root, or with one.
        let all_of = |root: Root| if members.role(root) == Role::Root { all() } else { Vec::new() };
        let only = |root: Root| match members.role(root) {
            Role::Leaf(root) => vec![root],
            Role::Root | Role::Absent => Vec::new(),
        };
        let mut readers: Vec<u32> = match (self.traffic(members), self) {
            (Some((bytes, _)), _) => all().into_iter().filter(|&peer| bytes[peer as usize] > 0).collect(),
            (None, Operation::Barrier) => Vec::new(),
            (None, Operation::Broadcast { root, .. } | Operation::Scatter { root, .. }) => all_of(*root),
            (None, Operation::Reduce { root, .. } | Operation::Gather { root, .. }) => only(*root),
            (None, Operation::Scan { .. } | Operation::Exscan { .. }) => {
                (members.rank + 1..members.size).collect()
            }
            (None, _) => all(),
        };
        readers.retain(|&peer| !members.is_me(peer));
        readers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Blocks, Counts, Data};
    use crate::datatype::{Basic, Datatype};
    use crate::reduce::{Builtin, Operator};
    use std::sync::Arc;

    fn data(count: u64) -> Data {
        let int = Datatype::basic(Basic::Int32);
        Data { address: std::ptr::dangling_mut(), count, datatype: int.into() }
    }

    fn of(rank: u32) -> Members {
        Members { rank, size: 4, remote: None }
    }

    #[test]
    fn results_have_data_of_roots_or_of_those_below_or_of_all() {
        let root = Root::Rank(2);
        let broadcast = Operation::Broadcast { root, data: data(3) };
        assert_eq!((broadcast.readers(&of(2)), broadcast.readers(&of(1))), (vec![0, 1, 3], vec![]));
        let gather = Operation::Gather { root, send: Some(data(3)), receive: None };
        assert_eq!((gather.readers(&of(2)), gather.readers(&of(1))), (vec![], vec![2]));
        let operator = || Arc::new(Operator::builtin(Builtin::Sum)).into();
        let scan = Operation::Scan { send: None, receive: data(3), operator: operator() };
        assert_eq!((scan.readers(&of(3)), scan.readers(&of(1))), (vec![], vec![2, 3]));
        let all = Operation::Allreduce { send: None, receive: data(3), operator: operator() };
        assert_eq!(all.readers(&of(0)), vec![1, 2, 3]);
    }

    #[test]
    fn who_gets_no_bytes_reads_none() {
        let blocks: Blocks = [3, 0, 1, 2].into_iter().map(data).collect();
        let each = Operation::Alltoallw { send: None, receive: blocks.clone() };
        assert_eq!(each.readers(&of(3)), vec![0, 2]);
        let scatter = Operation::Scatterv { root: Root::Rank(0), send: blocks, receive: None };
        assert_eq!(scatter.readers(&of(0)), vec![2, 3]);
        let operator = Arc::new(Operator::builtin(Builtin::Sum)).into();
        let counts = Counts::Each(vec![0, 4, 4, 0]);
        let parts = Operation::ReduceScatter { send: None, receive: data(8), counts, operator };
        assert_eq!(parts.readers(&of(0)), vec![1, 2]);
    }

    #[test]
    fn in_an_intercommunicator_it_is_the_other_group() {
        let members = Members { rank: 1, size: 2, remote: Some(3) };
        let all = Operation::Allgather { send: Some(data(1)), receive: data(1) };
        assert_eq!(all.readers(&members), vec![0, 1, 2]);
        let broadcast = |root| Operation::Broadcast { root, data: data(1) };
        assert_eq!(broadcast(Root::Me).readers(&members), vec![0, 1, 2]);
        assert_eq!(broadcast(Root::Nobody).readers(&members), Vec::<u32>::new());
        let send = Some(data(1));
        let gather = Operation::Gather { root: Root::Rank(2), send, receive: None };
        assert_eq!(gather.readers(&members), vec![2]);
    }
}
