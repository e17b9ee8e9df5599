//! The predefined datatypes (MPI-5.0 §3.2.2, §20.3): each name's element.
//!
//! `MPI_LB` and `MPI_UB`, which MPI-3.0 removed, stand for no datatype.

use crate::abi::*;
use crate::handle::DATATYPES;
use crate::objects::Datatype;
use serried_engine::datatype::Basic;

macro_rules! names {
    ($($name:ident $basic:ident;)*) => {
        &[$(($name, stringify!($name), Basic::$basic)),*]
    };
}

static NAMES: &[(Handle, &str, Basic)] = names! {
    MPI_AINT Int64;
    MPI_COUNT Int64;
    MPI_OFFSET Int64;
    MPI_PACKED Packed;
    MPI_SHORT Int16;
    MPI_INT Int32;
    MPI_LONG Int64;
    MPI_LONG_LONG Int64;
    MPI_UNSIGNED_SHORT Uint16;
    MPI_UNSIGNED Uint32;
    MPI_UNSIGNED_LONG Uint64;
    MPI_UNSIGNED_LONG_LONG Uint64;
    MPI_FLOAT Float32;
    MPI_C_FLOAT_COMPLEX ComplexFloat32;
    MPI_CXX_FLOAT_COMPLEX ComplexFloat32;
    MPI_DOUBLE Float64;
    MPI_C_DOUBLE_COMPLEX ComplexFloat64;
    MPI_CXX_DOUBLE_COMPLEX ComplexFloat64;
    MPI_LOGICAL Logical32;
    MPI_INTEGER Int32;
    MPI_REAL Float32;
    MPI_COMPLEX ComplexFloat32;
    MPI_DOUBLE_PRECISION Float64;
    MPI_DOUBLE_COMPLEX ComplexFloat64;
    MPI_CHARACTER Character;
    MPI_LONG_DOUBLE LongDouble;
    MPI_C_LONG_DOUBLE_COMPLEX ComplexLongDouble;
    MPI_CXX_LONG_DOUBLE_COMPLEX ComplexLongDouble;
    MPI_FLOAT_INT FloatInt;
    MPI_DOUBLE_INT DoubleInt;
    MPI_LONG_INT LongInt;
    MPI_2INT TwoInt;
    MPI_SHORT_INT ShortInt;
    MPI_LONG_DOUBLE_INT LongDoubleInt;
    MPI_2REAL TwoReal;
    MPI_2DOUBLE_PRECISION TwoDoublePrecision;
    MPI_2INTEGER TwoInt;
    MPI_C_BOOL Bool;
    MPI_CXX_BOOL Bool;
    MPI_WCHAR WideCharacter;
    MPI_INT8_T Int8;
    MPI_UINT8_T Uint8;
    MPI_CHAR Character;
    MPI_SIGNED_CHAR Int8;
    MPI_UNSIGNED_CHAR Uint8;
    MPI_BYTE Byte;
    MPI_INT16_T Int16;
    MPI_UINT16_T Uint16;
    MPI_INT32_T Int32;
    MPI_UINT32_T Uint32;
    MPI_INT64_T Int64;
    MPI_UINT64_T Uint64;
    MPI_LOGICAL1 Logical8;
    MPI_INTEGER1 Int8;
    MPI_LOGICAL2 Logical16;
    MPI_INTEGER2 Int16;
    MPI_LOGICAL4 Logical32;
    MPI_INTEGER4 Int32;
    MPI_REAL4 Float32;
    MPI_LOGICAL8 Logical64;
    MPI_INTEGER8 Int64;
    MPI_REAL8 Float64;
    MPI_COMPLEX8 ComplexFloat32;
    MPI_COMPLEX16 ComplexFloat64;
    MPI_LOGICAL16 Logical128;
    MPI_INTEGER16 Int128;
    MPI_REAL2 Float16;
    MPI_COMPLEX4 ComplexFloat16;
    MPI_REAL16 Float128;
    MPI_COMPLEX32 ComplexFloat128;
};

/// Gives every predefined datatype its handle.
pub fn install() {
    for &(handle, name, basic) in NAMES.iter().chain(MORE_DATATYPES) {
        DATATYPES.put_predefined(handle, Datatype::named(basic, name));
    }
}
