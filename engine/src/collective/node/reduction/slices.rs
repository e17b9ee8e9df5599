//! How the members divide a reduction: a slice for each, or all of it for each.

use crate::reduce::Operator;
use crate::tuning::crossovers::{ROOT_ALONE, WHOLE, WHOLE_OF_TWO};
use std::ops::Range;

/// Slices begin at multiples of so many bytes at least: a cache line.
pub(crate) const GRAIN: u64 = 64;

/// Where the slice of member `rank` of `size` lies in `bytes` bytes of items of
/// `item` bytes.
pub(crate) fn slice(rank: u32, size: u32, bytes: u64, item: u64) -> Range<u64> {
    let grain = item * GRAIN.div_ceil(item);
    let each = bytes.div_ceil(u64::from(size)).next_multiple_of(grain);
    let at = |rank: u32| u64::from(rank).saturating_mul(each).min(bytes);
    at(rank)..at(rank + 1)
}

/// All of `bytes` bytes, beginning at `first`. Members that all read everything begin
/// each at its slice: two cores that read the same lines at once take longer by half,
/// for each line changes hands while its owner reads it too.
pub(crate) fn in_turn(first: u64, bytes: u64) -> [Range<u64>; 2] {
    [first..bytes, 0..first]
}

/// Whether each of the members may reduce all of `bytes` bytes in an allreduce, whatever they can
/// reach of each other. Two have to read as much by slices, if somebody reads the results afterwards, but combine half of it
/// each.
pub(crate) fn may_be_whole(size: u32, bytes: u64, operator: &Operator) -> bool {
    match is_plain_pair(size, operator) {
        true => !WHOLE_OF_TWO.is_passed_by(bytes),
        false => !WHOLE.is_passed_by(u64::from(size - 1) * bytes),
    }
}

/// Whether a reduce of two members is the root's alone, which the other need not wait for. It reads
/// both operands then, but writes the result where it belongs.
pub(crate) fn may_be_alone(size: u32, bytes: u64, operator: &Operator) -> bool {
    let most = if operator.is_user() { &WHOLE } else { &ROOT_ALONE };
    size == 2 && !most.is_passed_by(bytes)
}

/// Two members, and an operator of MPI: what a function of the program costs, nobody knows.
pub(crate) fn is_plain_pair(size: u32, operator: &Operator) -> bool {
    size == 2 && !operator.is_user()
}
