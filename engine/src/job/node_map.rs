//! `PMI_process_mapping`: which rank lives on which node, as Hydra, Intel's
//! Hydra and Slurm write it: `(vector,(first node,nodes,ranks per node),…)`,
//! the blocks repeated until every rank has its node.

use crate::{Class, Error, Result};

/// The node of each of `size` ranks. A map without blocks (Hydra writes
/// `(vector,0)` for one rank) puts all on node 0.
///
/// # Errors
/// `Other` when the map is not of this form.
pub fn parse(map: &str, size: u32) -> Result<Vec<u32>> {
    let malformed =
        || Error::new(Class::Other, format!("the launcher's PMI_process_mapping makes no sense: {map}"));
    let blocks =
        map.trim().strip_prefix("(vector,").and_then(|rest| rest.strip_suffix(')')).ok_or_else(malformed)?;
    let mut numbers = Vec::new();
    for block in blocks.split(['(', ')']).map(|text| text.trim_matches(',')).filter(|text| text.contains(','))
    {
        for number in block.split(',') {
            numbers.push(number.trim().parse::<u32>().map_err(|_| malformed())?);
        }
    }
    if numbers.is_empty() {
        return Ok(vec![0; size as usize]);
    }
    if numbers.len() % 3 != 0 || numbers.chunks(3).all(|block| block[1] == 0 || block[2] == 0) {
        return Err(malformed());
    }
    Ok(repeat(&numbers, size as usize))
}

fn repeat(numbers: &[u32], size: usize) -> Vec<u32> {
    let mut nodes = Vec::with_capacity(size);
    while nodes.len() < size {
        for block in numbers.chunks(3) {
            for node in block[0]..block[0].saturating_add(block[1]) {
                let room = size - nodes.len();
                nodes.extend(std::iter::repeat_n(node, room.min(block[2] as usize)));
                if nodes.len() == size {
                    return nodes;
                }
            }
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn one_node_has_all_ranks() {
        assert_eq!(parse("(vector,(0,1,4))", 4).unwrap(), [0, 0, 0, 0]);
    }

    #[test]
    fn hydra_writes_no_block_for_one_rank() {
        assert_eq!(parse("(vector,0)", 1).unwrap(), [0]);
    }

    #[test]
    fn blocks_repeat_until_every_rank_has_a_node() {
        assert_eq!(parse("(vector,(0,2,2))", 6).unwrap(), [0, 0, 1, 1, 0, 0]);
        assert_eq!(parse("(vector,(0,1,2),(1,2,1))", 4).unwrap(), [0, 0, 1, 2]);
    }

    #[test]
    fn nonsense_is_an_error_that_shows_it() {
        for nonsense in ["", "vector", "(vector,(0,1))", "(vector,(0,0,4))", "(vector,(0,x,1))"] {
            assert!(parse(nonsense, 2).unwrap_err().message().contains("PMI_process_mapping"), "{nonsense}");
        }
    }
}
