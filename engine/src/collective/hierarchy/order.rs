//! Where combining by nodes gives the bits of combining all ranks.

use crate::collective::tree::{Folded, Parts, Plan};
use crate::collective::Data;
use crate::datatype::Basic;
use crate::reduce::Operator;

/// What is combined: the ranks from the first up to the second, with those from there
/// up to the third.
type Merge = (u32, u32, u32);

/// Whether nodes of these sizes, one after the other, each combined along its own
/// tree, and then the results along the tree of the nodes, is the tree of all.
pub(super) fn keeps_tree(sizes: &[u32]) -> bool {
    let starts: Vec<u32> = std::iter::once(0)
        .chain(sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        }))
        .collect();
    let mut by_nodes = merges(sizes.len() as u32, &|node| starts[node as usize]);
    for (node, &size) in sizes.iter().enumerate() {
        by_nodes.extend(merges(size, &|rank| starts[node] + rank));
    }
    let mut of_all = merges(starts[sizes.len()], &|rank| rank);
    by_nodes.sort_unstable();
    of_all.sort_unstable();
    by_nodes == of_all
}

/// What the tree of `size` combines; `start` says where the ranks of one begin.
fn merges(size: u32, start: &dyn Fn(u32) -> u32) -> Vec<Merge> {
    let plan = Folded::new(size, 0);
    let mut found = Vec::new();
    walk(plan, plan.top(), start, &mut found);
    found
}

/// Adds what is combined below `node`; says where it begins and ends.
fn walk<P: Plan>(plan: P, node: P::Node, start: &dyn Fn(u32) -> u32, found: &mut Vec<Merge>) -> (u32, u32) {
    match plan.parts(node) {
        Parts::Rank(one) => (start(one), start(one + 1)),
        Parts::Both(left, right) => {
            let (begin, middle) = walk(plan, left, start, found);
            let (_, end) = walk(plan, right, start, found);
            found.push((begin, middle, end));
            (begin, end)
        }
    }
}

/// Whether neither the grouping nor the order of operands matters: MPI's own operators
/// on integers and bits.
pub(super) fn is_free(operator: &Operator, data: &Data) -> bool {
    use Basic::*;
    let of_integers = |basic| {
        matches!(
            basic,
            Int8 | Int16
                | Int32
                | Int64
                | Uint8
                | Uint16
                | Uint32
                | Uint64
                | Character
                | Byte
                | Bool
                | Logical8
                | Logical16
                | Logical32
                | Logical64
                | LongInt
                | TwoInt
                | ShortInt
        )
    };
    !operator.is_user() && data.datatype.as_basic().is_some_and(of_integers)
}

#[cfg(test)]
mod tests {
    use super::keeps_tree;

    #[test]
    fn nodes_that_are_subtrees_keep_the_tree() {
        for sizes in [&[2, 2][..], &[4, 4], &[3, 2], &[4, 4, 4], &[2, 2, 2, 2], &[8, 8, 8]] {
            assert!(keeps_tree(sizes), "{sizes:?}");
        }
        for sizes in [&[3, 3][..], &[1, 3], &[2, 4], &[5, 3], &[6, 6]] {
            assert!(!keeps_tree(sizes), "{sizes:?}");
        }
    }
}
