//! Multiplying elements by one number before they are added to others.

use crate::datatype::Basic;
use crate::{Class, Error, Result};

/// A number by which elements of one type are multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    /// Of `Int32`.
    Int(i32),
    /// Of `Int64`.
    Long(i64),
    /// Of `Float32`.
    Single(f32),
    /// Of `Float64`.
    Double(f64),
    /// Of `ComplexFloat32`: real and imaginary part.
    ComplexSingle([f32; 2]),
    /// Of `ComplexFloat64`.
    ComplexDouble([f64; 2]),
}

impl Factor {
    /// The element at an address; `None` if it is 1, which changes nothing.
    ///
    /// # Errors
    /// `Type` when elements of the type are not multiplied.
    ///
    /// # Safety
    /// `address` can be read for one element of the type; at any alignment.
    pub unsafe fn read(basic: Basic, address: *const u8) -> Result<Option<Factor>> {
        // SAFETY: by the caller.
        let factor = unsafe {
            match basic {
                Basic::Int32 => Factor::Int(address.cast::<i32>().read_unaligned()),
                Basic::Int64 => Factor::Long(address.cast::<i64>().read_unaligned()),
                Basic::Float32 => Factor::Single(address.cast::<f32>().read_unaligned()),
                Basic::Float64 => Factor::Double(address.cast::<f64>().read_unaligned()),
                Basic::ComplexFloat32 => Factor::ComplexSingle(address.cast::<[f32; 2]>().read_unaligned()),
                Basic::ComplexFloat64 => Factor::ComplexDouble(address.cast::<[f64; 2]>().read_unaligned()),
                _ => return Err(no_factor(basic)),
            }
        };
        Ok((!factor.is_one()).then_some(factor))
    }

    fn is_one(self) -> bool {
        match self {
            Factor::Int(factor) => factor == 1,
            Factor::Long(factor) => factor == 1,
            Factor::Single(factor) => factor == 1.0,
            Factor::Double(factor) => factor == 1.0,
            Factor::ComplexSingle(factor) => factor == [1.0, 0.0],
            Factor::ComplexDouble(factor) => factor == [1.0, 0.0],
        }
    }

    /// Writes `count` elements, multiplied.
    ///
    /// # Safety
    /// `from` can be read and `to` written for as many elements of the type, which do not overlap; at any alignment.
    pub unsafe fn apply(self, from: *const u8, to: *mut u8, count: usize) {
        // SAFETY: by the caller.
        unsafe {
            match self {
                Factor::Int(by) => each(from, to, count, |one: i32| one.wrapping_mul(by)),
                Factor::Long(by) => each(from, to, count, |one: i64| one.wrapping_mul(by)),
                Factor::Single(by) => each(from, to, count, |one: f32| one * by),
                Factor::Double(by) => each(from, to, count, |one: f64| one * by),
                Factor::ComplexSingle([re, im]) => {
                    each(from, to, count, |[x, y]: [f32; 2]| [x * re - y * im, x * im + y * re]);
                }
                Factor::ComplexDouble([re, im]) => {
                    each(from, to, count, |[x, y]: [f64; 2]| [x * re - y * im, x * im + y * re]);
                }
            }
        }
    }
}

/// # Safety
/// As [`Factor::apply`].
#[inline(always)]
unsafe fn each<T>(from: *const u8, to: *mut u8, count: usize, by: impl Fn(T) -> T) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    for index in 0..count {
        // SAFETY: by the caller.
        unsafe { to.add(index).write_unaligned(by(from.add(index).read_unaligned())) };
    }
}

#[cold]
fn no_factor(basic: Basic) -> Error {
    Error::new(Class::Type, format!("elements of the type {basic:?} are not multiplied by a factor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled<T: Copy + Default, const N: usize>(basic: Basic, factor: T, elements: [T; N]) -> [T; N] {
        let mut result = [T::default(); N];
        // SAFETY: elements of that type, on the stack.
        unsafe {
            let factor = Factor::read(basic, (&raw const factor).cast()).unwrap().unwrap();
            factor.apply(elements.as_ptr().cast(), result.as_mut_ptr().cast(), N);
        }
        result
    }

    #[test]
    fn elements_are_multiplied_as_their_type_is() {
        assert_eq!(scaled(Basic::Int32, -3, [1, 2, i32::MAX]), [-3, -6, i32::MAX.wrapping_mul(-3)]);
        assert_eq!(scaled(Basic::Int64, 1_i64 << 40, [2_i64, -1]), [1 << 41, -(1 << 40)]);
        assert_eq!(scaled(Basic::Float32, 0.5_f32, [1.0, 3.0]), [0.5, 1.5]);
        assert_eq!(scaled(Basic::Float64, 2.0, [0.25, -4.0]), [0.5, -8.0]);
        assert_eq!(scaled(Basic::ComplexFloat32, [0.0_f32, 1.0], [[1.0, 2.0]]), [[-2.0, 1.0]]);
        assert_eq!(scaled(Basic::ComplexFloat64, [2.0, -1.0], [[3.0, 4.0]]), [[10.0, 5.0]]);
    }

    #[test]
    fn one_is_no_factor_and_other_types_have_none() {
        // SAFETY: numbers of these types.
        unsafe {
            assert_eq!(Factor::read(Basic::Float64, [1.0_f64].as_ptr().cast()).unwrap(), None);
            assert_eq!(Factor::read(Basic::ComplexFloat64, [1.0_f64, 0.0].as_ptr().cast()).unwrap(), None);
            assert_eq!(Factor::read(Basic::Int8, [1_u8].as_ptr()).unwrap_err().class(), Class::Type);
        }
    }
}
