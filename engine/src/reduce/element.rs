//! What the operators do with one element of each kind.
//!
//! [`Operation`] is `left op right`. The traits below it say what an element
//! can do: compare, add and multiply, be true or false, be made of bits.
//!
//! Not-a-number: `Max` and `Min` give the left argument unless the right one
//! is truly greater (less); `MaxLocation` and `MinLocation` give the right
//! pair unless the left value is truly greater (less) or equal. So a NaN in
//! either place decides nothing by itself; MPICH does the same.

/// An operator on elements of type `T`.
pub(super) trait Operation<T> {
    /// `left op right`.
    fn combine(left: T, right: T) -> T;
}

/// A value that has an order.
pub(super) trait Ordered: Copy {
    /// `self > other`; false where either is not a number.
    fn greater(self, other: Self) -> bool;
    /// `self == other`; false where either is not a number.
    fn same(self, other: Self) -> bool;
}

/// A value that adds and multiplies.
pub(super) trait Arithmetic: Copy {
    /// The sum; an integer wraps around.
    fn add(self, other: Self) -> Self;
    /// The difference; an integer wraps around.
    fn subtract(self, other: Self) -> Self;
    /// The product; an integer wraps around.
    fn multiply(self, other: Self) -> Self;
}

/// A value that is true (not zero) or false.
pub(super) trait Truth: Copy {
    /// Whether it is not zero.
    fn is_true(self) -> bool;
    /// One for true and zero for false.
    fn from_truth(truth: bool) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Ordered for $type {
            #[inline(always)]
            fn greater(self, other: Self) -> bool { self > other }
            #[inline(always)]
            fn same(self, other: Self) -> bool { self == other }
        }
        impl Arithmetic for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self { self.wrapping_mul(other) }
        }
        impl Truth for $type {
            #[inline(always)]
            fn is_true(self) -> bool { self != 0 }
            #[inline(always)]
            fn from_truth(truth: bool) -> Self { truth as $type }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Ordered for $type {
            #[inline(always)]
            fn greater(self, other: Self) -> bool { self > other }
            #[inline(always)]
            fn same(self, other: Self) -> bool { self == other }
        }
        impl Arithmetic for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self { self * other }
        }
    )*};
}
floats!(f32 f64);

/// A complex number as C and Fortran lay it out.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T> {
    real: T,
    imaginary: T,
}

impl<T: Arithmetic> Arithmetic for Complex<T> {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Complex { real: self.real.add(other.real), imaginary: self.imaginary.add(other.imaginary) }
    }
    #[inline(always)]
    fn subtract(self, other: Self) -> Self {
        Complex { real: self.real.subtract(other.real), imaginary: self.imaginary.subtract(other.imaginary) }
    }
    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        Complex {
            real: self.real.multiply(other.real).subtract(self.imaginary.multiply(other.imaginary)),
            imaginary: self.real.multiply(other.imaginary).add(self.imaginary.multiply(other.real)),
        }
    }
}

/// A value and where it was found (MPI-5.0 §6.9.4), as C lays out the struct.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Pair<V, L> {
    value: V,
    location: L,
}

impl<V: Ordered, L: Ordered> Pair<V, L> {
    /// Of two pairs with equal values the one with the lower location.
    #[inline(always)]
    fn lower(self, other: Self) -> Self {
        if other.location.greater(self.location) {
            self
        } else {
            other
        }
    }
}

/// `MPI_MAX`
pub(super) struct Maximum;
/// `MPI_MIN`
pub(super) struct Minimum;
/// `MPI_SUM`
pub(super) struct Sum;
/// `MPI_PROD`
pub(super) struct Product;
/// `MPI_LAND`
pub(super) struct LogicalAnd;
/// `MPI_LOR`
pub(super) struct LogicalOr;
/// `MPI_LXOR`
pub(super) struct LogicalXor;
/// `MPI_BAND`
pub(super) struct BitAnd;
/// `MPI_BOR`
pub(super) struct BitOr;
/// `MPI_BXOR`
pub(super) struct BitXor;
/// `MPI_MAXLOC`
pub(super) struct MaxLocation;
/// `MPI_MINLOC`
pub(super) struct MinLocation;

/// `operation!(Name<T: Bound>, left, right => expression)`
macro_rules! operation {
    ($name:ident, $bound:path, $left:ident, $right:ident => $result:expr) => {
        impl<T: $bound> Operation<T> for $name {
            #[inline(always)]
            fn combine($left: T, $right: T) -> T {
                $result
            }
        }
    };
}
operation!(Maximum, Ordered, left, right => if right.greater(left) { right } else { left });
operation!(Minimum, Ordered, left, right => if left.greater(right) { right } else { left });
operation!(Sum, Arithmetic, left, right => left.add(right));
operation!(Product, Arithmetic, left, right => left.multiply(right));
operation!(LogicalAnd, Truth, left, right => T::from_truth(left.is_true() & right.is_true()));
operation!(LogicalOr, Truth, left, right => T::from_truth(left.is_true() | right.is_true()));
operation!(LogicalXor, Truth, left, right => T::from_truth(left.is_true() ^ right.is_true()));

macro_rules! bitwise {
    ($($type:ty)*) => {$(
        impl Operation<$type> for BitAnd {
            #[inline(always)]
            fn combine(left: $type, right: $type) -> $type { left & right }
        }
        impl Operation<$type> for BitOr {
            #[inline(always)]
            fn combine(left: $type, right: $type) -> $type { left | right }
        }
        impl Operation<$type> for BitXor {
            #[inline(always)]
            fn combine(left: $type, right: $type) -> $type { left ^ right }
        }
    )*};
}
bitwise!(i8 i16 i32 i64 u8 u16 u32 u64);

impl<V: Ordered, L: Ordered> Operation<Pair<V, L>> for MaxLocation {
    #[inline(always)]
    fn combine(left: Pair<V, L>, right: Pair<V, L>) -> Pair<V, L> {
        if left.value.same(right.value) {
            left.lower(right)
        } else if left.value.greater(right.value) {
            left
        } else {
            right
        }
    }
}

impl<V: Ordered, L: Ordered> Operation<Pair<V, L>> for MinLocation {
    #[inline(always)]
    fn combine(left: Pair<V, L>, right: Pair<V, L>) -> Pair<V, L> {
        if left.value.same(right.value) {
            left.lower(right)
        } else if right.value.greater(left.value) {
            left
        } else {
            right
        }
    }
}
