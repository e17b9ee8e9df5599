//! Which operator takes which type: the table of MPI-5.0 §6.9.2 as code.
//!
//! Wider than the standard in two points: characters are taken as integers of
//! one byte (`MPI_CHAR` as MPICH, Open MPI and Intel MPI do; `MPI_CHARACTER`
//! comes along), and, since a Fortran INTEGER is a C integer here, it takes
//! logical operations (as in Intel MPI).

use super::element::*;
use super::kernel::{choose, Kernel, BLOCK};
use super::Builtin;
use crate::datatype::Basic;
use std::ffi::c_char;

/// The kernel of the operator `$operation` on elements of `$type`.
macro_rules! kernel {
    ($type:ty, $operation:ty) => {
        Some(choose::<$type, $operation, { BLOCK / size_of::<$type>() }>())
    };
}

macro_rules! bits {
    ($type:ty, $builtin:expr) => {
        match $builtin {
            Builtin::BitAnd => kernel!($type, BitAnd),
            Builtin::BitOr => kernel!($type, BitOr),
            Builtin::BitXor => kernel!($type, BitXor),
            _ => None,
        }
    };
}

macro_rules! logical {
    ($type:ty, $builtin:expr) => {
        match $builtin {
            Builtin::LogicalAnd => kernel!($type, LogicalAnd),
            Builtin::LogicalOr => kernel!($type, LogicalOr),
            Builtin::LogicalXor => kernel!($type, LogicalXor),
            _ => None,
        }
    };
}

macro_rules! complex {
    ($type:ty, $builtin:expr) => {
        match $builtin {
            Builtin::Sum => kernel!($type, Sum),
            Builtin::Product => kernel!($type, Product),
            _ => None,
        }
    };
}

macro_rules! real {
    ($type:ty, $builtin:expr) => {
        match $builtin {
            Builtin::Max => kernel!($type, Maximum),
            Builtin::Min => kernel!($type, Minimum),
            Builtin::Sum => kernel!($type, Sum),
            Builtin::Product => kernel!($type, Product),
            _ => None,
        }
    };
}

macro_rules! integer {
    ($type:ty, $builtin:expr) => {
        real!($type, $builtin).or_else(|| logical!($type, $builtin)).or_else(|| bits!($type, $builtin))
    };
}

macro_rules! pair {
    ($value:ty, $location:ty, $builtin:expr) => {
        match $builtin {
            Builtin::MinLocation => kernel!(Pair<$value, $location>, MinLocation),
            Builtin::MaxLocation => kernel!(Pair<$value, $location>, MaxLocation),
            _ => None,
        }
    };
}

/// The kernel of `builtin` on elements `basic`; `None` where the operator
/// does not take that type (or this processor has no arithmetic for it).
pub(super) fn select(builtin: Builtin, basic: Basic) -> Option<Kernel> {
    match basic {
        Basic::Int8 => integer!(i8, builtin),
        Basic::Int16 => integer!(i16, builtin),
        Basic::Int32 => integer!(i32, builtin),
        Basic::Int64 => integer!(i64, builtin),
        Basic::Uint8 => integer!(u8, builtin),
        Basic::Uint16 => integer!(u16, builtin),
        Basic::Uint32 => integer!(u32, builtin),
        Basic::Uint64 => integer!(u64, builtin),
        Basic::Character => integer!(c_char, builtin),
        Basic::Float32 => real!(f32, builtin),
        Basic::Float64 => real!(f64, builtin),
        Basic::ComplexFloat32 => complex!(Complex<f32>, builtin),
        Basic::ComplexFloat64 => complex!(Complex<f64>, builtin),
        Basic::Bool | Basic::Logical8 => logical!(u8, builtin),
        Basic::Logical16 => logical!(i16, builtin),
        Basic::Logical32 => logical!(i32, builtin),
        Basic::Logical64 => logical!(i64, builtin),
        Basic::Byte => bits!(u8, builtin),
        Basic::FloatInt => pair!(f32, i32, builtin),
        Basic::DoubleInt => pair!(f64, i32, builtin),
        Basic::LongInt => pair!(i64, i32, builtin),
        Basic::TwoInt => pair!(i32, i32, builtin),
        Basic::ShortInt => pair!(i16, i32, builtin),
        Basic::TwoReal => pair!(f32, f32, builtin),
        Basic::TwoDoublePrecision => pair!(f64, f64, builtin),
        Basic::LongDouble | Basic::ComplexLongDouble | Basic::LongDoubleInt => {
            select_long_double(builtin, basic)
        }
        Basic::WideCharacter | Basic::Packed => None,
        Basic::Int128 | Basic::Logical128 | Basic::Float16 | Basic::BrainFloat16 => None,
        Basic::Float128 | Basic::ComplexFloat16 | Basic::ComplexFloat128 => None,
    }
}

#[cfg(target_arch = "x86_64")]
fn select_long_double(builtin: Builtin, basic: Basic) -> Option<Kernel> {
    use super::long_double::Extended;
    match basic {
        Basic::LongDouble => real!(Extended, builtin),
        Basic::ComplexLongDouble => complex!(Complex<Extended>, builtin),
        Basic::LongDoubleInt => pair!(Extended, i32, builtin),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn select_long_double(_: Builtin, _: Basic) -> Option<Kernel> {
    None
}
