//! Groups (MPI-5.0 §7.3).

use crate::arguments::{number, Ints, OutArray, OutValue};
use crate::entry::engine;
use crate::handle_arguments::{InOut, Out};
use crate::objects::Group;
use crate::{abi, predefined};
use serried_engine::world::Comparison;
use serried_engine::Result;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Stores a new group; an empty one is `MPI_GROUP_EMPTY` (§7.3.2).
pub fn put(place: &Out<Group>, group: Group) -> Result<()> {
    match group.size() {
        0 => place.put(predefined::empty_group()),
        _ => place.put(Arc::new(group)),
    }
}

/// `MPI_IDENT` and its kin.
pub fn comparison(found: Comparison) -> c_int {
    match found {
        Comparison::Identical => abi::MPI_IDENT,
        Comparison::Congruent => abi::MPI_CONGRUENT,
        Comparison::Similar => abi::MPI_SIMILAR,
        Comparison::Unequal => abi::MPI_UNEQUAL,
    }
}

/// `MPI_Group_size`.
pub fn group_size(group: &Arc<Group>, size: OutValue<c_int>) -> Result<()> {
    size.set(group.size() as c_int);
    Ok(())
}

/// `MPI_Group_rank`.
pub fn group_rank(group: &Arc<Group>, rank: OutValue<c_int>) -> Result<()> {
    rank.set(group.rank_of(engine()?.rank().into()).map_or(abi::MPI_UNDEFINED, |rank| rank as c_int));
    Ok(())
}

/// `MPI_Group_translate_ranks`.
pub fn group_translate_ranks(
    group1: &Arc<Group>,
    n: c_int,
    ranks1: Ints,
    group2: &Arc<Group>,
    ranks2: OutArray<c_int>,
) -> Result<()> {
    for (index, rank) in ranks1.to_vec(number("n", n)?)?.into_iter().enumerate() {
        let translated = match rank {
            abi::MPI_PROC_NULL => abi::MPI_PROC_NULL,
            _ => group1.translate(rank, group2)?.map_or(abi::MPI_UNDEFINED, |rank| rank as c_int),
        };
        ranks2.set(index, translated)?;
    }
    Ok(())
}

/// `MPI_Group_compare`.
pub fn group_compare(group1: &Arc<Group>, group2: &Arc<Group>, result: OutValue<c_int>) -> Result<()> {
    result.set(comparison(group1.compare(group2)));
    Ok(())
}

/// `MPI_Group_union`.
pub fn group_union(group1: &Arc<Group>, group2: &Arc<Group>, newgroup: Out<Group>) -> Result<()> {
    put(&newgroup, group1.union(group2))
}

/// `MPI_Group_intersection`.
pub fn group_intersection(group1: &Arc<Group>, group2: &Arc<Group>, newgroup: Out<Group>) -> Result<()> {
    put(&newgroup, group1.intersection(group2))
}

/// `MPI_Group_difference`.
pub fn group_difference(group1: &Arc<Group>, group2: &Arc<Group>, newgroup: Out<Group>) -> Result<()> {
    put(&newgroup, group1.difference(group2))
}

/// `MPI_Group_incl`.
pub fn group_incl(group: &Arc<Group>, n: c_int, ranks: Ints, newgroup: Out<Group>) -> Result<()> {
    put(&newgroup, group.incl(&ranks.to_vec(number("n", n)?)?)?)
}

/// `MPI_Group_excl`.
pub fn group_excl(group: &Arc<Group>, n: c_int, ranks: Ints, newgroup: Out<Group>) -> Result<()> {
    put(&newgroup, group.excl(&ranks.to_vec(number("n", n)?)?)?)
}

/// `MPI_Group_range_incl`.
pub fn group_range_incl(
    group: &Arc<Group>,
    n: c_int,
    ranges: *mut c_void,
    newgroup: Out<Group>,
) -> Result<()> {
    put(&newgroup, group.range_incl(&triplets(n, ranges)?)?)
}

/// `MPI_Group_range_excl`.
pub fn group_range_excl(
    group: &Arc<Group>,
    n: c_int,
    ranges: *mut c_void,
    newgroup: Out<Group>,
) -> Result<()> {
    put(&newgroup, group.range_excl(&triplets(n, ranges)?)?)
}

/// `MPI_Group_free`.
pub fn group_free(group: InOut<Group>) -> Result<()> {
    group.take().map(drop)
}

fn triplets(n: c_int, ranges: *mut c_void) -> Result<Vec<[c_int; 3]>> {
    // SAFETY: MPI says that the program passes `n` arrays of 3 ints.
    let ints = unsafe { Ints::new("ranges", ranges.cast()) }.to_vec(number("n", n)?.saturating_mul(3))?;
    Ok(ints.chunks_exact(3).map(|range| [range[0], range[1], range[2]]).collect())
}
