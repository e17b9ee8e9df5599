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
    /// Signed integer of 16 bytes: no arithmetic yet, as for all that follow.
    Int128,
    /// Fortran LOGICAL of 16 bytes.
    Logical128,
    /// IEEE half.
    Float16,
    /// The upper half of an IEEE single ("brain float").
    BrainFloat16,
    /// IEEE quadruple.
    Float128,
    /// Two `Float16`.
    ComplexFloat16,
    /// Two `Float128`.
    ComplexFloat128,
}

/// All kinds of elements, in the order of their numbers.
const ALL: [Basic; Basic::NUMBER] = [
    Basic::Int8,
    Basic::Int16,
    Basic::Int32,
    Basic::Int64,
    Basic::Uint8,
    Basic::Uint16,
    Basic::Uint32,
    Basic::Uint64,
    Basic::Float32,
    Basic::Float64,
    Basic::LongDouble,
    Basic::ComplexFloat32,
    Basic::ComplexFloat64,
    Basic::ComplexLongDouble,
    Basic::Bool,
    Basic::Logical8,
    Basic::Logical16,
    Basic::Logical32,
    Basic::Logical64,
    Basic::Character,
    Basic::WideCharacter,
    Basic::Byte,
    Basic::Packed,
    Basic::FloatInt,
    Basic::DoubleInt,
    Basic::LongInt,
    Basic::TwoInt,
    Basic::ShortInt,
    Basic::LongDoubleInt,
    Basic::TwoReal,
    Basic::TwoDoublePrecision,
    Basic::Int128,
    Basic::Logical128,
    Basic::Float16,
    Basic::BrainFloat16,
    Basic::Float128,
    Basic::ComplexFloat16,
    Basic::ComplexFloat128,
];

impl Basic {
    /// How many kinds there are.
    pub const NUMBER: usize = 38;

    /// All kinds of elements, in the order of their numbers.
    pub fn all() -> &'static [Basic] {
        &ALL
    }

    /// Bytes of data in one element, without padding.
    pub const fn size(self) -> u64 {
        use Basic::*;
        match self {
            Int8 | Uint8 | Bool | Logical8 | Character | Byte | Packed => 1,
            Int16 | Uint16 | Logical16 | Float16 | BrainFloat16 => 2,
            Int32 | Uint32 | Float32 | Logical32 | WideCharacter | ComplexFloat16 => 4,
            Int64 | Uint64 | Float64 | ComplexFloat32 | Logical64 | FloatInt | TwoInt | TwoReal => 8,
            ShortInt => 6,
            DoubleInt | LongInt => 12,
            LongDouble | ComplexFloat64 | TwoDoublePrecision | Int128 | Logical128 | Float128 => 16,
            LongDoubleInt => 20,
            ComplexLongDouble | ComplexFloat128 => 32,
        }
    }

    /// The alignment in bytes that a C compiler gives it in a structure.
    pub const fn alignment(self) -> u64 {
        use Basic::*;
        match self {
            ComplexFloat16 => 2,
            ComplexFloat32 | FloatInt | TwoInt | TwoReal | ShortInt => 4,
            ComplexFloat64 | TwoDoublePrecision | DoubleInt | LongInt => 8,
            LongDouble | ComplexLongDouble | LongDoubleInt | ComplexFloat128 => 16,
            _ => self.size(),
        }
    }

    /// Bytes from one element of an array to the next: the size, with the
    /// padding that C puts into the pair structures.
    pub const fn extent(self) -> u64 {
        self.size().next_multiple_of(self.alignment())
    }

    /// The two members of a pair type, in order. The first lies at 0, the
    /// second at [`Basic::second_offset`].
    pub const fn pair(self) -> Option<(Basic, Basic)> {
        use Basic::*;
        match self {
            FloatInt => Some((Float32, Int32)),
            DoubleInt => Some((Float64, Int32)),
            LongInt => Some((Int64, Int32)),
            TwoInt => Some((Int32, Int32)),
            ShortInt => Some((Int16, Int32)),
            LongDoubleInt => Some((LongDouble, Int32)),
            TwoReal => Some((Float32, Float32)),
            TwoDoublePrecision => Some((Float64, Float64)),
            _ => None,
        }
    }

    /// Where in an element the second member of a pair lies, in bytes; 0 for
    /// what is no pair.
    pub const fn second_offset(self) -> u64 {
        match self.pair() {
            Some((first, second)) => first.size().next_multiple_of(second.alignment()),
            None => 0,
        }
    }

    /// Whether the data of one element have no hole (only `ShortInt` has one
    /// between its members).
    pub const fn is_block(self) -> bool {
        match self.pair() {
            Some((first, _)) => first.size() == self.second_offset(),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_list() {
        for (number, &basic) in Basic::all().iter().enumerate() {
            assert_eq!(basic as usize, number);
        }
    }

    #[test]
    fn pairs_have_the_layout_of_their_c_structures() {
        #[repr(C)]
        struct Pair<A, B>(A, B);
        fn check<A, B>(basic: Basic) {
            assert_eq!(basic.extent() as usize, size_of::<Pair<A, B>>(), "{basic:?}");
            assert_eq!(basic.second_offset() as usize, std::mem::offset_of!(Pair<A, B>, 1), "{basic:?}");
            assert_eq!(basic.alignment() as usize, align_of::<Pair<A, B>>(), "{basic:?}");
            assert_eq!(basic.size() as usize, size_of::<A>() + size_of::<B>(), "{basic:?}");
        }
        check::<f32, i32>(Basic::FloatInt);
        check::<f64, i32>(Basic::DoubleInt);
        check::<i64, i32>(Basic::LongInt);
        check::<i32, i32>(Basic::TwoInt);
        check::<i16, i32>(Basic::ShortInt);
        check::<u128, i32>(Basic::LongDoubleInt);
    }
}
