//! Parts of multidimensional arrays: MPI_Type_create_subarray (MPI-5.0 §5.1.3).

use super::arithmetic::{add, multiply};
use super::{Combiner, Datatype};
use crate::{Class, Error, Result};
use std::sync::Arc;

/// Which index of an array runs fastest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last one (`MPI_ORDER_C`).
    C = 0,
    /// The first one (`MPI_ORDER_FORTRAN`).
    Fortran = 1,
}

impl Order {
    /// The order that an envelope holds as `number`.
    pub fn from_number(number: i64) -> Order {
        if number == Order::Fortran as i64 {
            Order::Fortran
        } else {
            Order::C
        }
    }

    /// The dimensions from the fastest to the slowest.
    pub(super) fn dimensions(self, number: usize) -> Vec<usize> {
        match self {
            Order::C => (0..number).rev().collect(),
            Order::Fortran => (0..number).collect(),
        }
    }
}

impl Datatype {
    /// MPI_Type_create_subarray: a box of `subsizes` from `starts` on out of an
    /// array of `sizes`. The extent is that of the whole array.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check(sizes, subsizes, starts)?;
        let mut map = old.map.clone();
        let mut stride = old.extent();
        let mut offset = 0;
        for dimension in order.dimensions(sizes.len()) {
            map = map.repeated(subsizes[dimension] as u64, stride)?;
            offset = add(offset, multiply(starts[dimension], stride)?)?;
            stride = multiply(stride, sizes[dimension])?;
        }
        let map = map.shifted(offset)?.resized(0, stride)?;
        let integers = [&[sizes.len() as i64], sizes, subsizes, starts, &[order as i64]].concat();
        Ok(Datatype::derived_from(map, Combiner::Subarray, integers, vec![], old))
    }
}

fn check(sizes: &[i64], subsizes: &[i64], starts: &[i64]) -> Result<()> {
    let wrong = |message: String| Err(Error::new(Class::Arg, message));
    if sizes.is_empty() || subsizes.len() != sizes.len() || starts.len() != sizes.len() {
        return wrong(format!("a subarray needs at least 1 dimension, and {} were given", sizes.len()));
    }
    for (dimension, &size) in sizes.iter().enumerate() {
        let (subsize, start) = (subsizes[dimension], starts[dimension]);
        if size < 1 {
            return wrong(format!("the size of dimension {dimension} is {size} and must be at least 1"));
        }
        if subsize < 1 || subsize > size {
            return wrong(format!(
                "subsize {subsize} of dimension {dimension} is not within 1 and its size {size}"
            ));
        }
        if start < 0 || start > size - subsize {
            return wrong(format!(
                "start {start} of dimension {dimension} is not within 0 and {} (size {size} less subsize {subsize})",
                size - subsize
            ));
        }
    }
    Ok(())
}
