//! How a type was made (MPI-5.0 §5.1.13).

use crate::abi;
use crate::arguments::{OutArray, OutCount, OutValue};
use crate::handle_arguments::OutHandles;
use crate::objects::Datatype;
use serried_engine::datatype::{Combiner, Contents, Distribution, Order, DEFAULT_ARGUMENT};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// MPI_Type_get_envelope.
pub fn type_get_envelope(
    datatype: &Arc<Datatype>,
    num_integers: OutValue<c_int>,
    num_addresses: OutValue<c_int>,
    num_datatypes: OutValue<c_int>,
    combiner: OutValue<c_int>,
) -> Result<()> {
    let contents = contents(datatype);
    check_small(&contents)?;
    num_integers.set(contents.integers.len() as c_int);
    num_addresses.set(contents.addresses.len() as c_int);
    num_datatypes.set(datatype.envelope().datatypes().len() as c_int);
    combiner.set(combiner_out(datatype.envelope().combiner()));
    Ok(())
}

/// MPI_Type_get_envelope_c.
pub fn type_get_envelope_c(
    datatype: &Arc<Datatype>,
    num_integers: OutCount,
    num_addresses: OutCount,
    num_large_counts: OutCount,
    num_datatypes: OutCount,
    combiner: OutValue<c_int>,
) -> Result<()> {
    let contents = contents(datatype);
    num_integers.set(contents.integers.len() as i64);
    num_addresses.set(contents.addresses.len() as i64);
    num_large_counts.set(contents.counts.len() as i64);
    num_datatypes.set(datatype.envelope().datatypes().len() as i64);
    combiner.set(combiner_out(datatype.envelope().combiner()));
    Ok(())
}

/// MPI_Type_get_contents.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn type_get_contents(
    datatype: &Arc<Datatype>,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: OutArray<c_int>,
    addresses: OutArray<i64>,
    datatypes: OutHandles<Datatype>,
) -> Result<()> {
    let contents = contents(datatype);
    check_small(&contents)?;
    check_derived(datatype)?;
    store("integers", &contents.integers, i64::from(max_integers), |index, value| {
        integers.set(index, value as c_int)
    })?;
    store("addresses", &contents.addresses, i64::from(max_addresses), |index, value| {
        addresses.set(index, value)
    })?;
    store_datatypes(datatype, i64::from(max_datatypes), &datatypes)
}

/// MPI_Type_get_contents_c.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn type_get_contents_c(
    datatype: &Arc<Datatype>,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    integers: OutArray<c_int>,
    addresses: OutArray<i64>,
    large_counts: OutArray<i64>,
    datatypes: OutHandles<Datatype>,
) -> Result<()> {
    let contents = contents(datatype);
    check_derived(datatype)?;
    store("integers", &contents.integers, max_integers, |index, value| integers.set(index, value as c_int))?;
    store("addresses", &contents.addresses, max_addresses, |index, value| addresses.set(index, value))?;
    store("large_counts", &contents.counts, max_large_counts, |index, value| large_counts.set(index, value))?;
    store_datatypes(datatype, max_datatypes, &datatypes)
}

/// The arguments of the constructor with the values of this ABI.
fn contents(datatype: &Datatype) -> Contents {
    let mut contents = datatype.envelope().contents();
    let integers = &mut contents.integers;
    match datatype.envelope().combiner() {
        Combiner::Subarray => {
            let last = integers.len() - 1;
            translate(&mut integers[last..], order_out);
        }
        Combiner::Darray => {
            // They end with distributions, arguments and grid, one of each per dimension, and order.
            let (ndims, last) = (integers[2] as usize, integers.len() - 1);
            translate(&mut integers[last..], order_out);
            translate(&mut integers[last - 3 * ndims..last - 2 * ndims], distribution_out);
            translate(&mut integers[last - 2 * ndims..last - ndims], |value| {
                if value == DEFAULT_ARGUMENT {
                    i64::from(abi::MPI_DISTRIBUTE_DFLT_DARG)
                } else {
                    value
                }
            });
        }
        Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer => {
            translate(integers, |value| {
                if value == DEFAULT_ARGUMENT {
                    i64::from(abi::MPI_UNDEFINED)
                } else {
                    value
                }
            });
        }
        _ => (),
    }
    contents
}

fn translate(values: &mut [i64], to_abi: impl Fn(i64) -> i64) {
    for value in values {
        *value = to_abi(*value);
    }
}

fn order_out(order: i64) -> i64 {
    i64::from(match Order::from_number(order) {
        Order::C => abi::MPI_ORDER_C,
        Order::Fortran => abi::MPI_ORDER_FORTRAN,
    })
}

fn distribution_out(distribution: i64) -> i64 {
    i64::from(match Distribution::from_number(distribution) {
        Distribution::Block => abi::MPI_DISTRIBUTE_BLOCK,
        Distribution::Cyclic => abi::MPI_DISTRIBUTE_CYCLIC,
        Distribution::None => abi::MPI_DISTRIBUTE_NONE,
    })
}

fn combiner_out(combiner: Combiner) -> c_int {
    match combiner {
        Combiner::Named => abi::MPI_COMBINER_NAMED,
        Combiner::Dup => abi::MPI_COMBINER_DUP,
        Combiner::Contiguous => abi::MPI_COMBINER_CONTIGUOUS,
        Combiner::Vector => abi::MPI_COMBINER_VECTOR,
        Combiner::Hvector => abi::MPI_COMBINER_HVECTOR,
        Combiner::Indexed => abi::MPI_COMBINER_INDEXED,
        Combiner::Hindexed => abi::MPI_COMBINER_HINDEXED,
        Combiner::IndexedBlock => abi::MPI_COMBINER_INDEXED_BLOCK,
        Combiner::HindexedBlock => abi::MPI_COMBINER_HINDEXED_BLOCK,
        Combiner::Struct => abi::MPI_COMBINER_STRUCT,
        Combiner::Subarray => abi::MPI_COMBINER_SUBARRAY,
        Combiner::Darray => abi::MPI_COMBINER_DARRAY,
        Combiner::F90Real => abi::MPI_COMBINER_F90_REAL,
        Combiner::F90Complex => abi::MPI_COMBINER_F90_COMPLEX,
        Combiner::F90Integer => abi::MPI_COMBINER_F90_INTEGER,
        Combiner::Resized => abi::MPI_COMBINER_RESIZED,
        Combiner::ValueIndex => abi::MPI_COMBINER_VALUE_INDEX,
    }
}

/// The int forms cannot tell of large counts.
fn check_small(contents: &Contents) -> Result<()> {
    if contents.counts.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Class::Type,
        "the datatype was made with large counts (the _c form of a constructor); \
         ask with MPI_Type_get_envelope_c and MPI_Type_get_contents_c",
    ))
}

fn check_derived(datatype: &Datatype) -> Result<()> {
    if datatype.envelope().combiner() != Combiner::Named {
        return Ok(());
    }
    let name = datatype.name();
    Err(Error::new(
        Class::Type,
        format!("argument datatype is the predefined type {name}, which has no contents"),
    ))
}

/// Stores values in an array of `room`, which must be enough.
fn store(what: &str, values: &[i64], room: i64, set: impl Fn(usize, i64) -> Result<()>) -> Result<()> {
    check_room(what, values.len(), room)?;
    values.iter().enumerate().try_for_each(|(index, &value)| set(index, value))
}

fn store_datatypes(datatype: &Datatype, room: i64, out: &OutHandles<Datatype>) -> Result<()> {
    let inside = datatype.envelope().datatypes();
    check_room("datatypes", inside.len(), room)?;
    inside.iter().enumerate().try_for_each(|(index, inner)| out.put(index, inner.clone()))
}

fn check_room(what: &str, needed: usize, room: i64) -> Result<()> {
    if needed as i64 <= room {
        return Ok(());
    }
    let message =
        format!("argument max_{what} is {room}, but the datatype has {needed} {what} (see its envelope)");
    Err(Error::new(Class::Arg, message))
}
