//! Finding predefined types: by class and size, by precision and range, as a
//! pair (MPI-5.0 §19.1.9, §6.9.4).

use crate::abi;
use crate::handle_arguments::Out;
use crate::objects::Datatype;
use serried_engine::datatype::Basic;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// MPI_Type_create_f90_real.
pub fn type_create_f90_real(precision: c_int, range: c_int, new: Out<Datatype>) -> Result<()> {
    new.put(Datatype::f90_real(defined(precision), defined(range))?)
}

/// MPI_Type_create_f90_complex.
pub fn type_create_f90_complex(precision: c_int, range: c_int, new: Out<Datatype>) -> Result<()> {
    new.put(Datatype::f90_complex(defined(precision), defined(range))?)
}

/// MPI_Type_create_f90_integer.
pub fn type_create_f90_integer(range: c_int, new: Out<Datatype>) -> Result<()> {
    new.put(Datatype::f90_integer(i64::from(range))?)
}

fn defined(value: c_int) -> Option<i64> {
    (value != abi::MPI_UNDEFINED).then_some(i64::from(value))
}

/// MPI_Type_match_size.
pub fn type_match_size(class: c_int, size: c_int, datatype: Out<Datatype>) -> Result<()> {
    let found = match (class, size) {
        (abi::MPI_TYPECLASS_REAL, 2) => abi::MPI_REAL2,
        (abi::MPI_TYPECLASS_REAL, 16) => abi::MPI_REAL16,
        (abi::MPI_TYPECLASS_INTEGER, 16) => abi::MPI_INTEGER16,
        (abi::MPI_TYPECLASS_COMPLEX, 4) => abi::MPI_COMPLEX4,
        (abi::MPI_TYPECLASS_COMPLEX, 32) => abi::MPI_COMPLEX32,
        (abi::MPI_TYPECLASS_REAL, 4) => abi::MPI_REAL4,
        (abi::MPI_TYPECLASS_REAL, 8) => abi::MPI_REAL8,
        (abi::MPI_TYPECLASS_INTEGER, 1) => abi::MPI_INTEGER1,
        (abi::MPI_TYPECLASS_INTEGER, 2) => abi::MPI_INTEGER2,
        (abi::MPI_TYPECLASS_INTEGER, 4) => abi::MPI_INTEGER4,
        (abi::MPI_TYPECLASS_INTEGER, 8) => abi::MPI_INTEGER8,
        (abi::MPI_TYPECLASS_COMPLEX, 8) => abi::MPI_COMPLEX8,
        (abi::MPI_TYPECLASS_COMPLEX, 16) => abi::MPI_COMPLEX16,
        (abi::MPI_TYPECLASS_REAL | abi::MPI_TYPECLASS_INTEGER | abi::MPI_TYPECLASS_COMPLEX, _) => {
            return Err(Error::new(Class::Arg, format!("no Fortran type of this class has the size {size}")));
        }
        _ => {
            let message = format!("argument typeclass is {class}, which is no MPI_TYPECLASS_ value");
            return Err(Error::new(Class::Arg, message));
        }
    };
    datatype.put_handle(found);
    Ok(())
}

/// MPI_Type_get_value_index: the null type where there is no such pair.
pub fn type_get_value_index(value: &Arc<Datatype>, index: &Arc<Datatype>, pair: Out<Datatype>) -> Result<()> {
    let members = value.as_basic().zip(index.as_basic());
    let found = match members {
        Some((Basic::Float32, Basic::Int32)) => abi::MPI_FLOAT_INT,
        Some((Basic::Float64, Basic::Int32)) => abi::MPI_DOUBLE_INT,
        Some((Basic::Int64, Basic::Int32)) => abi::MPI_LONG_INT,
        Some((Basic::Int32, Basic::Int32)) => abi::MPI_2INT,
        Some((Basic::Int16, Basic::Int32)) => abi::MPI_SHORT_INT,
        Some((Basic::LongDouble, Basic::Int32)) => abi::MPI_LONG_DOUBLE_INT,
        _ => abi::MPI_DATATYPE_NULL,
    };
    pair.put_handle(found);
    Ok(())
}
