//! Types for Fortran kinds chosen by precision and range (MPI-5.0 §19.1.9).
//!
//! Asked twice for the same precision and range, the same type comes back, as
//! MPI advises; no program can free it.

use super::{Basic, Combiner, Datatype, Envelope, DEFAULT_ARGUMENT};
use crate::{Cause, Class, Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Constructor, precision, range.
type Key = (Combiner, i64, i64);

/// Decimal digits and decimal exponent range of each kind of REAL.
const REALS: [(i64, i64, Basic, Basic); 3] = [
    (6, 37, Basic::Float32, Basic::ComplexFloat32),
    (15, 307, Basic::Float64, Basic::ComplexFloat64),
    (18, 4931, Basic::LongDouble, Basic::ComplexLongDouble),
];

/// Decimal exponent range of each kind of INTEGER.
const INTEGERS: [(i64, Basic); 4] =
    [(2, Basic::Int8), (4, Basic::Int16), (9, Basic::Int32), (18, Basic::Int64)];

impl Datatype {
    /// MPI_Type_create_f90_real: what `selected_real_kind(precision, range)`
    /// gives; nothing stands for `MPI_UNDEFINED` (at most one of them).
    pub fn f90_real(precision: Option<i64>, range: Option<i64>) -> Result<Arc<Datatype>> {
        let (real, _) = select_real(precision, range)?;
        Ok(shared(Combiner::F90Real, precision, range, real))
    }

    /// MPI_Type_create_f90_complex: as `f90_real`, for COMPLEX.
    pub fn f90_complex(precision: Option<i64>, range: Option<i64>) -> Result<Arc<Datatype>> {
        let (_, complex) = select_real(precision, range)?;
        Ok(shared(Combiner::F90Complex, precision, range, complex))
    }

    /// MPI_Type_create_f90_integer: what `selected_int_kind(range)` gives.
    pub fn f90_integer(range: i64) -> Result<Arc<Datatype>> {
        match INTEGERS.iter().find(|kind| range <= kind.0) {
            Some(&(_, basic)) => Ok(shared(Combiner::F90Integer, None, Some(range), basic)),
            None => Err(Error::new(
                Class::Arg,
                format!("no INTEGER kind has a decimal range of {range}; the largest here has 18"),
            )),
        }
    }
}

fn select_real(precision: Option<i64>, range: Option<i64>) -> Result<(Basic, Basic)> {
    if precision.is_none() && range.is_none() {
        return Err(Error::because(Class::Arg, Cause::NothingIsAskedFor));
    }
    let fits = |have: i64, wanted: Option<i64>| wanted.unwrap_or(i64::MIN) <= have;
    match REALS.iter().find(|kind| fits(kind.0, precision) && fits(kind.1, range)) {
        Some(&(_, _, real, complex)) => Ok((real, complex)),
        None => {
            let (precision, range) = (precision.unwrap_or(0), range.unwrap_or(0));
            let message = format!(
                "no REAL kind has {precision} decimal digits and a decimal range of {range}; \
                 the largest here has 18 and 4931"
            );
            Err(Error::new(Class::Arg, message))
        }
    }
}

/// The one type for these arguments.
fn shared(combiner: Combiner, precision: Option<i64>, range: Option<i64>, basic: Basic) -> Arc<Datatype> {
    static MADE: Mutex<Option<HashMap<Key, Arc<Datatype>>>> = Mutex::new(None);
    let key = (combiner, precision.unwrap_or(DEFAULT_ARGUMENT), range.unwrap_or(DEFAULT_ARGUMENT));
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let make = || {
        let integers = if combiner == Combiner::F90Integer { vec![key.2] } else { vec![key.1, key.2] };
        Arc::new(Datatype::predefined(basic, Envelope::new(combiner, integers, vec![]), ""))
    };
    made.get_or_insert_with(HashMap::new).entry(key).or_insert_with(make).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_precision_and_range() {
        let real = |precision, range| Datatype::f90_real(precision, range).map(|made| made.as_basic());
        assert_eq!(real(Some(6), None).unwrap(), Some(Basic::Float32));
        assert_eq!(real(Some(7), None).unwrap(), Some(Basic::Float64));
        assert_eq!(real(None, Some(300)).unwrap(), Some(Basic::Float64));
        assert_eq!(real(Some(6), Some(4000)).unwrap(), Some(Basic::LongDouble));
        assert!(real(Some(40), None).is_err() && real(None, None).is_err());
        assert_eq!(Datatype::f90_integer(9).unwrap().as_basic(), Some(Basic::Int32));
        assert!(Datatype::f90_integer(30).is_err());
    }

    #[test]
    fn the_same_question_gives_the_same_type() {
        let (first, second) = (Datatype::f90_complex(Some(9), None), Datatype::f90_complex(Some(9), None));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert!(Arc::ptr_eq(&first, &second) && first.is_predefined() && first.is_committed());
        assert_eq!(first.envelope().contents().integers, [9, DEFAULT_ARGUMENT]);
    }
}
