//! The constructors of derived types (MPI-5.0 §5.1.2, §5.1.7, §5.1.10).
//!
//! All of them take counts in 64 bits and check them: a negative count is an
//! error of class `Count`, a negative block length one of class `Arg`.

use super::arithmetic::multiply;
use super::type_map::{Placer, TypeMap};
use super::{Combiner, Datatype, Envelope};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// A count that must not be negative, as unsigned.
fn checked(value: i64, class: Class, what: &str) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::new(class, format!("{what} is {value} and must not be negative")))
}

/// The block lengths, which must not be negative.
fn check_lengths(lengths: &[i64]) -> Result<()> {
    match lengths.iter().position(|&length| length < 0) {
        None => Ok(()),
        Some(index) => {
            let length = lengths[index];
            let message = format!("block length {index} is {length} and must not be negative");
            Err(Error::new(Class::Arg, message))
        }
    }
}

/// Two arrays of one constructor must have one length.
fn check_same_length(what: &str, count: usize, other: usize) -> Result<()> {
    if count == other {
        return Ok(());
    }
    Err(Error::new(Class::Arg, format!("there are {count} block lengths but {other} {what}")))
}

impl Datatype {
    fn derived(map: TypeMap, envelope: Envelope) -> Arc<Datatype> {
        Arc::new(Datatype::assemble(map, envelope))
    }

    pub(super) fn derived_from(
        map: TypeMap,
        combiner: Combiner,
        integers: Vec<i64>,
        addresses: Vec<i64>,
        old: &Arc<Datatype>,
    ) -> Arc<Datatype> {
        let envelope = Envelope::new(combiner, integers, vec![old.clone()]).with_addresses(addresses);
        Datatype::derived(map, envelope)
    }

    /// Notes that the `_c` form of the constructor was called, for the queries.
    /// To be called at once on a new type, before it is shared.
    pub fn made_with_large_counts(mut self: Arc<Self>) -> Arc<Self> {
        if let Some(datatype) = Arc::get_mut(&mut self) {
            datatype.envelope.set_large();
        }
        self
    }

    /// MPI_Type_dup: the same type again, with the same committed state. The
    /// name is not copied; attributes are the caller's.
    pub fn dup(self: &Arc<Self>) -> Arc<Datatype> {
        let new = Datatype::derived_from(self.map.clone(), Combiner::Dup, vec![], vec![], self);
        if self.is_committed() {
            new.commit();
        }
        new
    }

    /// MPI_Type_contiguous: `count` items in a row.
    pub fn contiguous(count: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let number = checked(count, Class::Count, "the count")?;
        let map = old.map.repeated(number, old.extent())?;
        Ok(Datatype::derived_from(map, Combiner::Contiguous, vec![count], vec![], old))
    }

    /// MPI_Type_vector: blocks at a stride counted in extents of `old`.
    pub fn vector(count: i64, length: i64, stride: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = vector_map(count, length, multiply(stride, old.extent())?, old)?;
        Ok(Datatype::derived_from(map, Combiner::Vector, vec![count, length, stride], vec![], old))
    }

    /// MPI_Type_create_hvector: blocks at a stride in bytes.
    pub fn hvector(count: i64, length: i64, stride: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = vector_map(count, length, stride, old)?;
        Ok(Datatype::derived_from(map, Combiner::Hvector, vec![count, length], vec![stride], old))
    }

    /// MPI_Type_indexed: blocks of these lengths at these displacements, which
    /// are counted in extents of `old`.
    pub fn indexed(lengths: &[i64], displacements: &[i64], old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = indexed_map(lengths, displacements, old.extent(), old)?;
        let integers = [&[lengths.len() as i64], lengths, displacements].concat();
        Ok(Datatype::derived_from(map, Combiner::Indexed, integers, vec![], old))
    }

    /// MPI_Type_create_hindexed: displacements in bytes.
    pub fn hindexed(lengths: &[i64], displacements: &[i64], old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = indexed_map(lengths, displacements, 1, old)?;
        let integers = [&[lengths.len() as i64], lengths].concat();
        Ok(Datatype::derived_from(map, Combiner::Hindexed, integers, displacements.to_vec(), old))
    }

    /// MPI_Type_create_indexed_block: blocks of one length, displacements in
    /// extents of `old`.
    pub fn indexed_block(length: i64, displacements: &[i64], old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = indexed_block_map(length, displacements, old.extent(), old)?;
        let integers = [&[displacements.len() as i64, length], displacements].concat();
        Ok(Datatype::derived_from(map, Combiner::IndexedBlock, integers, vec![], old))
    }

    /// MPI_Type_create_hindexed_block: displacements in bytes.
    pub fn hindexed_block(length: i64, displacements: &[i64], old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = indexed_block_map(length, displacements, 1, old)?;
        let integers = vec![displacements.len() as i64, length];
        Ok(Datatype::derived_from(map, Combiner::HindexedBlock, integers, displacements.to_vec(), old))
    }

    /// MPI_Type_create_struct: blocks of different types, displacements in
    /// bytes. The extent is padded as a C compiler pads a structure.
    pub fn structure(
        lengths: &[i64],
        displacements: &[i64],
        olds: &[Arc<Datatype>],
    ) -> Result<Arc<Datatype>> {
        check_same_length("displacements", lengths.len(), displacements.len())?;
        check_same_length("types", lengths.len(), olds.len())?;
        check_lengths(lengths)?;
        let mut placer = Placer::new();
        for ((&length, &displacement), old) in lengths.iter().zip(displacements).zip(olds) {
            placer.place(displacement, length as u64, &old.map)?;
        }
        let integers = [&[lengths.len() as i64], lengths].concat();
        let envelope = Envelope::new(Combiner::Struct, integers, olds.to_vec());
        Ok(Datatype::derived(placer.finish_padded()?, envelope.with_addresses(displacements.to_vec())))
    }

    /// MPI_Type_create_resized: other bounds (MPI-5.0 §5.1.7).
    pub fn resized(lower_bound: i64, extent: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let map = old.map.clone().resized(lower_bound, extent)?;
        Ok(Datatype::derived_from(map, Combiner::Resized, vec![], vec![lower_bound, extent], old))
    }
}

/// Blocks of `length` at a stride of `stride` bytes.
fn vector_map(count: i64, length: i64, stride: i64, old: &Datatype) -> Result<TypeMap> {
    let count = checked(count, Class::Count, "the count")?;
    let length = checked(length, Class::Arg, "the block length")?;
    old.map.repeated(length, old.extent())?.repeated(count, stride)
}

/// Blocks of these lengths at displacements of `unit` bytes.
fn indexed_map(lengths: &[i64], displacements: &[i64], unit: i64, old: &Datatype) -> Result<TypeMap> {
    check_same_length("displacements", lengths.len(), displacements.len())?;
    check_lengths(lengths)?;
    let mut placer = Placer::new();
    for (&length, &displacement) in lengths.iter().zip(displacements) {
        placer.place_alike(multiply(displacement, unit)?, length as u64, &old.map)?;
    }
    placer.finish()
}

/// Blocks of one length at displacements of `unit` bytes.
fn indexed_block_map(length: i64, displacements: &[i64], unit: i64, old: &Datatype) -> Result<TypeMap> {
    let length = checked(length, Class::Arg, "the block length")?;
    let mut placer = Placer::new();
    for &displacement in displacements {
        placer.place_alike(multiply(displacement, unit)?, length, &old.map)?;
    }
    placer.finish()
}
