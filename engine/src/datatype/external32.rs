//! The representation "external32" (MPI-5.0 §14.5.2): big-endian, the same on
//! every machine, IEEE formats.
//!
//! Three kinds of element have another size there than here: `MPI_LONG` and
//! `MPI_UNSIGNED_LONG` have 4 bytes, `MPI_WCHAR` has 2, and `long double`
//! (80 bits in 16 bytes here) is IEEE binary128. A value that does not fit
//! there is an error of class `Conversion`, never a wrong number.

use super::{Basic, Datatype};
use crate::{Cause, Class, Error, NarrowElement, Result};

/// Bytes of native data converted at a time.
const STAGE: usize = 1024;

/// One number of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    /// The same format with the bytes in the other order.
    Swapped(usize),
    /// `long`: 8 bytes here, 4 there.
    Long,
    /// `unsigned long`: 8 bytes here, 4 there.
    UnsignedLong,
    /// `wchar_t`: 4 bytes here, 2 there.
    WideCharacter,
    /// `long double`: x87 here, binary128 there; 16 bytes both.
    LongDouble,
}

impl Datatype {
    /// Bytes that `count` items take in external32.
    pub fn external_size(&self, count: u64) -> Result<u64> {
        super::arithmetic::multiply_size(self.external, count)
    }

    /// Bytes that a predefined type takes in external32.
    pub(super) fn external_size_of_element(&self) -> u64 {
        Element::of(self).external_size() as u64
    }

    /// Bytes that a derived type takes in external32: never more than here, so
    /// nothing can overflow.
    pub(super) fn external_size_of_parts(&self) -> u64 {
        self.parts().map(|(length, part)| length * part.external).sum()
    }

    /// Writes `count` items at `address` to the beginning of `out` in
    /// external32. Gives how many bytes were written. Class `Truncate` where
    /// `out` is too small, class `Conversion` where a value does not fit.
    ///
    /// # Safety
    /// As [`Datatype::pack`].
    pub unsafe fn pack_external(&self, address: *const u8, count: u64, out: &mut [u8]) -> Result<u64> {
        check_room(self.external_size(count)?, out.len(), "output")?;
        let mut stage = [0u8; STAGE];
        let (mut position, mut written) = (0u64, 0usize);
        for (leaf, number) in self.runs(count) {
            let element = Element::of(leaf);
            let mut left = number;
            while left > 0 {
                let now = left.min((STAGE / element.native_size()) as u64) as usize;
                let native = &mut stage[..now * element.native_size()];
                let external = &mut out[written..written + now * element.external_size()];
                // SAFETY: as the caller promises; the stage overlaps nothing.
                unsafe { self.pack(address, count, position, native) };
                element.convert(native, external, Scalar::encode)?;
                position += native.len() as u64;
                written += external.len();
                left -= now as u64;
            }
        }
        Ok(written as u64)
    }

    /// Reads `count` items in external32 from the beginning of `input` and puts
    /// them at `address`. Gives how many bytes were read. Class `Truncate`
    /// where `input` is too short.
    ///
    /// # Safety
    /// As [`Datatype::unpack`].
    pub unsafe fn unpack_external(&self, input: &[u8], address: *mut u8, count: u64) -> Result<u64> {
        check_room(self.external_size(count)?, input.len(), "input")?;
        let mut stage = [0u8; STAGE];
        let (mut position, mut read) = (0u64, 0usize);
        for (leaf, number) in self.runs(count) {
            let element = Element::of(leaf);
            let mut left = number;
            while left > 0 {
                let now = left.min((STAGE / element.native_size()) as u64) as usize;
                let native = &mut stage[..now * element.native_size()];
                let external = &input[read..read + now * element.external_size()];
                element.convert(external, native, Scalar::decode)?;
                // SAFETY: as the caller promises; the stage overlaps nothing.
                unsafe { self.unpack(address, count, position, native) };
                position += native.len() as u64;
                read += external.len();
                left -= now as u64;
            }
        }
        Ok(read as u64)
    }
}

fn check_room(needed: u64, room: usize, what: &str) -> Result<()> {
    if needed <= room as u64 {
        return Ok(());
    }
    let message =
        format!("the {what} buffer has room for {room} bytes, but the data take {needed} in external32");
    Err(Error::new(Class::Truncate, message))
}

/// The numbers of one element: all of a kind, or the two of a pair.
struct Element {
    first: Scalar,
    second: Option<Scalar>,
}

impl Element {
    fn of(leaf: &Datatype) -> Element {
        use Basic::*;
        let basic = leaf.as_basic().unwrap_or(Byte);
        let one = |first| Element { first, second: None };
        match basic {
            Int64 if leaf.is_long => one(Scalar::Long),
            Uint64 if leaf.is_long => one(Scalar::UnsignedLong),
            // The first member of the pair is a `long`.
            LongInt => Element { first: Scalar::Long, second: Some(Scalar::Swapped(4)) },
            WideCharacter => one(Scalar::WideCharacter),
            LongDouble => one(Scalar::LongDouble),
            ComplexLongDouble => Element { first: Scalar::LongDouble, second: Some(Scalar::LongDouble) },
            LongDoubleInt => Element { first: Scalar::LongDouble, second: Some(Scalar::Swapped(4)) },
            ComplexFloat32 => Element { first: Scalar::Swapped(4), second: Some(Scalar::Swapped(4)) },
            ComplexFloat64 => Element { first: Scalar::Swapped(8), second: Some(Scalar::Swapped(8)) },
            ComplexFloat16 => Element { first: Scalar::Swapped(2), second: Some(Scalar::Swapped(2)) },
            ComplexFloat128 => Element { first: Scalar::Swapped(16), second: Some(Scalar::Swapped(16)) },
            _ => match basic.pair() {
                None => one(Scalar::Swapped(basic.size() as usize)),
                Some((first, second)) => Element {
                    first: Scalar::Swapped(first.size() as usize),
                    second: Some(Scalar::Swapped(second.size() as usize)),
                },
            },
        }
    }

    fn native_size(&self) -> usize {
        self.first.native_size() + self.second.map_or(0, Scalar::native_size)
    }

    fn external_size(&self) -> usize {
        self.first.external_size() + self.second.map_or(0, Scalar::external_size)
    }

    /// Converts whole elements from one side to the other.
    fn convert(
        &self,
        mut from: &[u8],
        mut to: &mut [u8],
        one: fn(Scalar, &mut &[u8], &mut &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        while !from.is_empty() {
            one(self.first, &mut from, &mut to)?;
            if let Some(second) = self.second {
                one(second, &mut from, &mut to)?;
            }
        }
        Ok(())
    }
}

/// Takes the next `N` bytes of an input that is known to have them.
fn take<const N: usize>(from: &mut &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let (head, rest) = from.split_at(N);
    bytes.copy_from_slice(head);
    *from = rest;
    bytes
}

/// Puts bytes to the front of an output that is known to have room.
fn put(to: &mut &mut [u8], bytes: &[u8]) {
    let (head, rest) = std::mem::take(to).split_at_mut(bytes.len());
    head.copy_from_slice(bytes);
    *to = rest;
}

fn does_not_fit(value: impl std::fmt::Display, element: NarrowElement) -> Error {
    Error::because(Class::Conversion, Cause::DoesNotFit { value: value.to_string(), element })
}

impl Scalar {
    fn native_size(self) -> usize {
        match self {
            Scalar::Swapped(bytes) => bytes,
            Scalar::Long | Scalar::UnsignedLong => 8,
            Scalar::WideCharacter => 4,
            Scalar::LongDouble => 16,
        }
    }

    fn external_size(self) -> usize {
        match self {
            Scalar::Swapped(bytes) => bytes,
            Scalar::Long | Scalar::UnsignedLong => 4,
            Scalar::WideCharacter => 2,
            Scalar::LongDouble => 16,
        }
    }

    fn swap(bytes: usize, from: &mut &[u8], to: &mut &mut [u8]) {
        let (head, rest) = from.split_at(bytes);
        let (out, room) = std::mem::take(to).split_at_mut(bytes);
        for (target, source) in out.iter_mut().zip(head.iter().rev()) {
            *target = *source;
        }
        (*from, *to) = (rest, room);
    }

    /// One number from here to there.
    fn encode(self, from: &mut &[u8], to: &mut &mut [u8]) -> Result<()> {
        match self {
            Scalar::Swapped(bytes) => Scalar::swap(bytes, from, to),
            Scalar::Long => {
                let value = i64::from_le_bytes(take(from));
                let short = i32::try_from(value).map_err(|_| does_not_fit(value, NarrowElement::Long))?;
                put(to, &short.to_be_bytes());
            }
            Scalar::UnsignedLong => {
                let value = u64::from_le_bytes(take(from));
                let short =
                    u32::try_from(value).map_err(|_| does_not_fit(value, NarrowElement::UnsignedLong))?;
                put(to, &short.to_be_bytes());
            }
            Scalar::WideCharacter => {
                let value = u32::from_le_bytes(take(from));
                let short =
                    u16::try_from(value).map_err(|_| does_not_fit(value, NarrowElement::WideCharacter))?;
                put(to, &short.to_be_bytes());
            }
            Scalar::LongDouble => put(to, &quad_from_x87(u128::from_le_bytes(take(from))).to_be_bytes()),
        }
        Ok(())
    }

    /// One number from there to here.
    fn decode(self, from: &mut &[u8], to: &mut &mut [u8]) -> Result<()> {
        match self {
            Scalar::Swapped(bytes) => Scalar::swap(bytes, from, to),
            Scalar::Long => put(to, &i64::from(i32::from_be_bytes(take(from))).to_le_bytes()),
            Scalar::UnsignedLong => put(to, &u64::from(u32::from_be_bytes(take(from))).to_le_bytes()),
            Scalar::WideCharacter => put(to, &u32::from(u16::from_be_bytes(take(from))).to_le_bytes()),
            Scalar::LongDouble => put(to, &x87_from_quad(u128::from_be_bytes(take(from))).to_le_bytes()),
        }
        Ok(())
    }
}

/// Sign and exponent of both formats: 1 + 15 bits, with the same bias.
const INFINITE: u128 = 0x7fff;
/// The first bit of an x87 significand, which binary128 leaves out.
const INTEGER_BIT: u128 = 1 << 63;

/// An x87 number (80 bits) as binary128: exact.
fn quad_from_x87(number: u128) -> u128 {
    let significand = number & u128::from(u64::MAX);
    let (sign, exponent) = (number >> 79 & 1, number >> 64 & INFINITE);
    // Of a number with exponent 0 the first bit counts: it carries over.
    let fraction = if exponent == 0 { significand } else { significand & (INTEGER_BIT - 1) };
    (sign << 127 | exponent << 112) + (fraction << 49)
}

/// A binary128 number as x87, rounded to nearest, ties to even.
fn x87_from_quad(number: u128) -> u128 {
    let (sign, exponent) = (number >> 127, number >> 112 & INFINITE);
    let fraction = number & ((1 << 112) - 1);
    let (kept, cut) = (fraction >> 49, fraction & ((1 << 49) - 1));
    if exponent == INFINITE {
        let quiet = if fraction == 0 { 0 } else { 1 << 62 };
        return sign << 79 | INFINITE << 64 | INTEGER_BIT | quiet | kept;
    }
    let half = 1 << 48;
    let up = u128::from(cut > half || (cut == half && kept & 1 == 1));
    // Rounding up may carry into the exponent.
    let rounded = (exponent << 63 | kept) + up;
    let (exponent, kept) = (rounded >> 63, rounded & (INTEGER_BIT - 1));
    let first = if exponent == 0 { 0 } else { INTEGER_BIT };
    sign << 79 | exponent << 64 | first | kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Copy + PartialEq + std::fmt::Debug>(datatype: &Datatype, values: &[T], external: &[u8]) {
        let count = values.len() as u64;
        let mut out = vec![0; external.len()];
        let mut back = values.to_vec();
        // SAFETY: `values` and `back` hold `count` items of the type.
        unsafe {
            let written = datatype.pack_external(values.as_ptr().cast(), count, &mut out).unwrap();
            assert_eq!(
                (written, datatype.external_size(count).unwrap()),
                (out.len() as u64, out.len() as u64)
            );
            assert_eq!(out, external);
            std::ptr::write_bytes(back.as_mut_ptr(), 0, back.len());
            assert_eq!(datatype.unpack_external(&out, back.as_mut_ptr().cast(), count).unwrap(), written);
        }
        assert_eq!(back, values);
    }

    #[test]
    fn numbers_are_big_endian() {
        round_trip(&Datatype::basic(Basic::Int32), &[1i32, -2], &[0, 0, 0, 1, 255, 255, 255, 254]);
        round_trip(&Datatype::basic(Basic::Float64), &[1.5f64], &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
        round_trip(&Datatype::basic(Basic::Byte), &[7u8, 8, 9], &[7, 8, 9]);
        let complex = Datatype::basic(Basic::ComplexFloat32);
        round_trip(&complex, &[[1.0f32, -1.0]], &[0x3f, 0x80, 0, 0, 0xbf, 0x80, 0, 0]);
    }

    #[test]
    fn pairs_lose_their_padding() {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct Pair(f64, i32);
        let external = [0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
        round_trip(&Datatype::basic(Basic::DoubleInt), &[Pair(2.0, 5)], &external);
    }

    #[test]
    fn longs_and_wide_characters_are_short_and_must_fit() {
        let long = Datatype::named_narrow(Basic::Int64, "a long");
        round_trip(&long, &[-2i64], &[255, 255, 255, 254]);
        round_trip(&Datatype::basic(Basic::Int64), &[-2i64], &[255, 255, 255, 255, 255, 255, 255, 254]);
        round_trip(&Datatype::basic(Basic::WideCharacter), &['é' as u32], &[0, 0xe9]);
        let (big, mut out) = (1i64 << 40, [0; 4]);
        // SAFETY: `big` is one item.
        let failed = unsafe { long.pack_external((&raw const big).cast(), 1, &mut out) };
        assert_eq!(failed.unwrap_err().class(), Class::Conversion);
    }

    #[test]
    fn a_buffer_that_is_too_small_is_an_error() {
        let int = Datatype::basic(Basic::Int32);
        let (values, mut out) = ([1i32, 2], [0; 7]);
        // SAFETY: `values` are two items.
        let failed = unsafe { int.pack_external(values.as_ptr().cast(), 2, &mut out) };
        assert_eq!(failed.unwrap_err().class(), Class::Truncate);
    }

    #[test]
    fn long_doubles_become_binary128_and_back() {
        let one = 0x3fff_u128 << 64 | INTEGER_BIT;
        assert_eq!(quad_from_x87(one), 0x3fff << 112);
        let largest = 0x7ffe_u128 << 64 | u128::from(u64::MAX);
        let smallest = 1u128;
        let infinite = INFINITE << 64 | INTEGER_BIT;
        for number in [0, one, 1 << 79 | one, largest, smallest, infinite, one | 0x1234_5678_9abc] {
            assert_eq!(x87_from_quad(quad_from_x87(number)), number, "{number:x}");
        }
        // Just below 2: all bits of the fraction are set, and it rounds up to 2.
        assert_eq!(x87_from_quad((0x4000 << 112) - 1), 0x4000 << 64 | INTEGER_BIT);
    }
}
