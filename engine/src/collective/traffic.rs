//! What a rank sends to each other one, and expects of it, by its arguments: so that
//! calls in which ranks say different things can be compared.

use super::neighbour::Sent;
use super::reduce_scatter::Counts;
use super::{Data, Members, Operation, Root};

/// Bytes to each peer, and from each.
pub type Traffic = (Vec<u64>, Vec<u64>);

impl Operation {
    /// Bytes to each peer and from each; `None` where all ranks say the same, which is
    /// in [`Operation::outline`].
    pub fn traffic(&self, members: &Members) -> Option<Traffic> {
        let nothing = || vec![0; members.peers() as usize];
        let bytes = |blocks: &[Data]| blocks.iter().map(Data::bytes).collect::<Vec<u64>>();
        // Of blocks at the root; others have none. With itself it has to agree alone.
        let at_root = |blocks: &[Data]| if blocks.is_empty() { nothing() } else { bytes(blocks) };
        let with_root = |root: &Root, data: &Option<Data>| {
            let mut with = nothing();
            if let (Root::Rank(root), Some(data)) = (root, data) {
                with[*root as usize] = data.bytes();
            }
            with
        };
        match self {
            Operation::Gatherv { root, send, receive } => Some((with_root(root, send), at_root(receive))),
            Operation::Scatterv { root, send, receive } => Some((at_root(send), with_root(root, receive))),
            Operation::Allgatherv { send, receive } => {
                let mine =
                    send.as_ref().or_else(|| receive.get(members.rank as usize)).map_or(0, Data::bytes);
                Some((vec![mine; receive.len()], bytes(receive)))
            }
            Operation::Alltoallw { send, receive } => {
                Some((bytes(send.as_deref().unwrap_or(receive)), bytes(receive)))
            }
            Operation::ReduceScatter { receive, counts: Counts::Each(counts), .. }
                if members.remote.is_none() =>
            {
                let size = receive.datatype.size();
                let parts: Vec<u64> = counts.iter().map(|count| count.saturating_mul(size)).collect();
                let mine = parts.get(members.rank as usize).copied().unwrap_or_default();
                let from = vec![mine; parts.len()];
                Some((parts, from))
            }
            Operation::Neighbours { hood, send, receive } => {
                let (mut to, mut from) = (nothing(), nothing());
                for (edge, peer) in hood.destinations.iter().enumerate() {
                    let block = match send {
                        Sent::Same(data) => Some(data),
                        Sent::Each(blocks) => blocks.get(edge),
                    };
                    if let (Some(peer), Some(block)) = (peer, block) {
                        to[*peer as usize] += block.bytes();
                    }
                }
                for (peer, block) in hood.sources.iter().zip(receive) {
                    if let Some(peer) = peer {
                        from[*peer as usize] += block.bytes();
                    }
                }
                Some((to, from))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Blocks;
    use crate::datatype::{Basic, Datatype};

    fn data(count: u64) -> Data {
        let int = Datatype::basic(Basic::Int32);
        Data { address: std::ptr::dangling_mut(), count, datatype: int.into() }
    }

    fn blocks<const N: usize>(counts: [u64; N]) -> Blocks {
        counts.into_iter().map(data).collect()
    }

    #[test]
    fn what_a_root_expects_is_what_others_send() {
        let members = |rank| Members { rank, size: 2, remote: None };
        let root = Operation::Gatherv { root: Root::Rank(1), send: None, receive: blocks([3, 1]) };
        let other = Operation::Gatherv { root: Root::Rank(1), send: Some(data(3)), receive: Blocks::new() };
        assert_eq!(root.traffic(&members(1)), Some((vec![0, 0], vec![12, 4])));
        assert_eq!(other.traffic(&members(0)), Some((vec![0, 12], vec![0, 0])));
        assert!(Operation::Barrier.traffic(&members(0)).is_none());
    }

    #[test]
    fn in_place_stands_for_what_is_received() {
        let members = Members { rank: 1, size: 2, remote: None };
        let all = Operation::Allgatherv { send: None, receive: blocks([3, 1]) };
        assert_eq!(all.traffic(&members), Some((vec![4, 4], vec![12, 4])));
        let each = Operation::Alltoallw { send: None, receive: blocks([3, 1]) };
        assert_eq!(each.traffic(&members), Some((vec![12, 4], vec![12, 4])));
    }
}
