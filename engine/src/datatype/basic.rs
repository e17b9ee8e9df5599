//! The element types that everything is made of.
//!
//! A `Basic` says how one element lies in memory and what arithmetic it takes;
//! it is not a name. A face maps many names to one `Basic` (`MPI_INT`,
//! `MPI_INT32_T` and `MPI_INTEGER4` are all `Int32`).

/// One kind of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Basic {
    /// Signed integer of 1 byte (arithmetic allowed).
    Int8,
    /// Signed integer of 2 bytes.
    Int16,
    /// Signed integer of 4 bytes.
    Int32,
    /// Signed integer of 8 bytes (also address, offset and count).
    Int64,
    /// Unsigned integer of 1 byte (arithmetic allowed).
    Uint8,
    /// Unsigned integer of 2 bytes.
    Uint16,
    /// Unsigned integer of 4 bytes.
    Uint32,
    /// Unsigned integer of 8 bytes.
    Uint64,
    /// IEEE single.
    Float32,
    /// IEEE double.
    Float64,
    /// The C `long double` of this machine (x86-64: 80 bits in 16 bytes).
    LongDouble,
    /// Two `Float32`.
    ComplexFloat32,
    /// Two `Float64`.
    ComplexFloat64,
    /// Two `LongDouble`.
    ComplexLongDouble,
    /// C `_Bool`, C++ `bool` (1 byte; logical operations only).
    Bool,
    /// Fortran LOGICAL of 1 byte.
    Logical8,
    /// Fortran LOGICAL of 2 bytes.
    Logical16,
    /// Fortran LOGICAL of 4 bytes (default kind).
    Logical32,
    /// Fortran LOGICAL of 8 bytes.
    Logical64,
    /// Printable character of 1 byte (`MPI_CHAR`, `MPI_CHARACTER`): no arithmetic.
    Character,
    /// `wchar_t`: no arithmetic.
    WideCharacter,
    /// Uninterpreted byte: bitwise operations only.
    Byte,
    /// A byte of packed data: matches any type.
    Packed,
    /// `struct { float; int; }` for MINLOC and MAXLOC.
    FloatInt,
    /// `struct { double; int; }`.
    DoubleInt,
    /// `struct { long; int; }`.
    LongInt,
    /// `struct { int; int; }`.
    TwoInt,
    /// `struct { short; int; }`.
    ShortInt,
    /// `struct { long double; int; }`.
    LongDoubleInt,
    /// Fortran pair of REAL.
    TwoReal,
    /// Fortran pair of DOUBLE PRECISION.
    TwoDoublePrecision,
}
