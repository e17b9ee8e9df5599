//! Which ranks share a node, for whoever groups them: by the map of the job, or only pretended. Pretended nodes are
//! groups of ranks of one machine that behave as if they shared no memory with each other (`SERRIED_NODES`), for
//! tests of what ranks on several nodes do.

use super::NodeMap;

/// Which ranks of a job share a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// All of them.
    One,
    /// So many nodes of about as many ranks each, one after the other.
    Blocks(u32),
    /// So many nodes, to which the ranks are dealt in turn.
    Cyclic(u32),
    /// As the launcher has dealt them.
    Real(&'static NodeMap),
}

impl Nodes {
    /// From the words of the setting: `2` or `2:cyclic`.
    pub fn parse(text: &str) -> Option<Nodes> {
        let (number, cyclic) = match text.trim().split_once(':') {
            Some((number, "cyclic")) => (number, true),
            Some(_) => return None,
            None => (text.trim(), false),
        };
        match (number.parse().ok()?, cyclic) {
            (0, _) => None,
            (1, _) => Some(Nodes::One),
            (number, true) => Some(Nodes::Cyclic(number)),
            (number, false) => Some(Nodes::Blocks(number)),
        }
    }

    /// Whether there can be more than one.
    #[inline]
    pub fn are_several(self) -> bool {
        self != Nodes::One
    }

    /// The node of a rank of a job of `size` ranks.
    pub fn node_of(self, rank: u32, size: u32) -> u32 {
        match self {
            Nodes::One => 0,
            Nodes::Blocks(number) => {
                let number = number.min(size.max(1));
                (u64::from(rank) * u64::from(number) / u64::from(size.max(1))) as u32
            }
            Nodes::Cyclic(number) => rank % number,
            Nodes::Real(map) => map.place_of(rank).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Nodes;

    fn of(text: &str, size: u32) -> Vec<u32> {
        let nodes = Nodes::parse(text).unwrap();
        (0..size).map(|rank| nodes.node_of(rank, size)).collect()
    }

    #[test]
    fn ranks_are_dealt_in_blocks_or_in_turn() {
        assert_eq!(of("1", 3), [0, 0, 0]);
        assert_eq!(of("2", 4), [0, 0, 1, 1]);
        assert_eq!(of("2", 5), [0, 0, 0, 1, 1]);
        assert_eq!(of("3:cyclic", 5), [0, 1, 2, 0, 1]);
        assert_eq!(of("9", 3), [0, 1, 2]);
    }

    #[test]
    fn what_means_nothing_is_none() {
        for nonsense in ["", "0", "-1", "two", "2:", "2:blocks", "2,2"] {
            assert_eq!(Nodes::parse(nonsense), None, "{nonsense}");
        }
    }
}
