//! Operators on elements for which devices have programs: integers and floating point numbers of the usual lengths.
//!
//! All others are computed by the processor on host copies: long double and the types of 16 bytes, pairs with locations,
//! products of complex numbers, functions of the program, and sums that are rounded once.

use super::{Builtin, Kernel, Operator};
use crate::datatype::{Basic, Datatype};
use crate::device::computing::{Arithmetic, Formula, Number, Rule};
use crate::device::{self, Combining, DeviceMemory, Operand};
use crate::Result;
use std::ffi::c_char;

/// An operator on a type, as a device computes it.
#[derive(Clone, Copy, Debug)]
pub struct OfDevice {
    /// What it computes.
    pub arithmetic: Arithmetic,
    /// What the processor does.
    pub model: Kernel,
    /// How many numbers an item is.
    pub numbers: u64,
}

impl Operator {
    /// How a device computes it on items of a datatype, if it can.
    pub fn of_device(&self, datatype: &Datatype) -> Option<OfDevice> {
        let builtin = self.as_builtin().filter(|_| self.exact(datatype).is_none())?;
        let (number, bytes, numbers) = numbers_of(datatype.as_basic()?)?;
        let rule = rule_of(builtin)?;
        // Of a complex number both parts are added for themselves; nothing else is done so.
        if numbers == 2 && rule != Rule::Sum {
            return None;
        }
        let plain = plain(number, bytes);
        // An operator that takes the type takes what it is made of.
        self.check(datatype).ok()?;
        let model = super::operator::kernel_of_basic(builtin, plain)?;
        let logarithm = bytes.trailing_zeros();
        Some(OfDevice { arithmetic: Arithmetic { rule, number, logarithm }, model, numbers })
    }
}

impl OfDevice {
    /// Combines operands of so many items on the device of the result; whether it was done.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As [`device::combine`].
    pub unsafe fn combine(
        &self,
        operands: &[Operand],
        formula: &Formula,
        (out, memory): (usize, &DeviceMemory),
        items: u64,
    ) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { device::combine(&self.combining(operands, formula, (out, memory), items)) }
    }

    /// What that is for a driver.
    pub fn combining<'a>(
        &self,
        operands: &'a [Operand],
        formula: &'a Formula,
        (out, memory): (usize, &'a DeviceMemory),
        items: u64,
    ) -> Combining<'a> {
        let count = items.saturating_mul(self.numbers);
        Combining { arithmetic: self.arithmetic, model: self.model, operands, formula, out, memory, count }
    }
}

impl Operator {
    /// [`Operator::apply`] to memory of a device, by the device: whether it was done, and not to be done by the processor.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// As there; each of the two lies in memory of the host or of a device.
    pub unsafe fn apply_on_device(
        &self,
        input: *const u8,
        inout: *mut u8,
        count: u64,
        datatype: &Datatype,
    ) -> Result<bool> {
        if !device::is_on() {
            return Ok(false);
        }
        let Some(of_device) = self.of_device(datatype) else { return Ok(false) };
        let Some(memory) = device::find(inout)? else { return Ok(false) };
        let input = Operand { address: input as usize, memory: device::find(input)? };
        let inout = Operand { address: inout as usize, memory: Some(memory) };
        // SAFETY: by the caller.
        unsafe { of_device.combine(&[input, inout], &Formula::of_two(), (inout.address, &memory), count) }
    }
}

fn rule_of(builtin: Builtin) -> Option<Rule> {
    Some(match builtin {
        Builtin::Sum => Rule::Sum,
        Builtin::Product => Rule::Product,
        Builtin::Max => Rule::Maximum,
        Builtin::Min => Rule::Minimum,
        Builtin::LogicalAnd => Rule::BothTrue,
        Builtin::LogicalOr => Rule::AnyTrue,
        Builtin::LogicalXor => Rule::OneTrue,
        Builtin::BitAnd => Rule::BitAnd,
        Builtin::BitOr => Rule::BitOr,
        Builtin::BitXor => Rule::BitXor,
        Builtin::MinLocation | Builtin::MaxLocation | Builtin::Replace | Builtin::NoOp => return None,
    })
}

/// What an element is made of: numbers of which kind, how long, and how many.
fn numbers_of(basic: Basic) -> Option<(Number, u32, u64)> {
    let bytes = basic.size() as u32;
    Some(match basic {
        Basic::Int8 | Basic::Int16 | Basic::Int32 | Basic::Int64 => (Number::Signed, bytes, 1),
        Basic::Logical16 | Basic::Logical32 | Basic::Logical64 => (Number::Signed, bytes, 1),
        Basic::Uint8 | Basic::Uint16 | Basic::Uint32 | Basic::Uint64 => (Number::Unsigned, bytes, 1),
        Basic::Bool | Basic::Logical8 | Basic::Byte => (Number::Unsigned, bytes, 1),
        Basic::Character if c_char::MIN == 0 => (Number::Unsigned, bytes, 1),
        Basic::Character => (Number::Signed, bytes, 1),
        Basic::Float32 | Basic::Float64 => (Number::Float, bytes, 1),
        Basic::ComplexFloat32 | Basic::ComplexFloat64 => (Number::Float, bytes / 2, 2),
        _ => return None,
    })
}

/// The type of which a number is.
fn plain(number: Number, bytes: u32) -> Basic {
    match (number, bytes) {
        (Number::Signed, 1) => Basic::Int8,
        (Number::Signed, 2) => Basic::Int16,
        (Number::Signed, 4) => Basic::Int32,
        (Number::Signed, _) => Basic::Int64,
        (Number::Unsigned, 1) => Basic::Uint8,
        (Number::Unsigned, 2) => Basic::Uint16,
        (Number::Unsigned, 4) => Basic::Uint32,
        (Number::Unsigned, _) => Basic::Uint64,
        (Number::Float, 4) => Basic::Float32,
        (Number::Float, _) => Basic::Float64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_compute_the_usual_types_with_the_processors_loops() {
        let of = |builtin, basic| Operator::builtin(builtin).of_device(Datatype::shared(basic));
        let mut number = 0;
        for builtin in Builtin::all() {
            for &basic in Basic::all() {
                let Some(found) = of(builtin, basic) else { continue };
                let bytes = found.arithmetic.bytes() as u64 * found.numbers;
                assert_eq!(bytes, basic.size(), "{builtin:?} {basic:?}");
                number += 1;
            }
        }
        // 9 integers with 10 operators, 2 floating point numbers with 4, 2 complex ones with their sum, 5 logical types with 3,
        // bytes with 3.
        assert_eq!(number, 9 * 10 + 2 * 4 + 2 + 5 * 3 + 3);
        let others = [
            (Builtin::Product, Basic::ComplexFloat64),
            (Builtin::Sum, Basic::LongDouble),
            (Builtin::MaxLocation, Basic::DoubleInt),
            (Builtin::Replace, Basic::Int32),
        ];
        assert!(others.iter().all(|&(builtin, basic)| of(builtin, basic).is_none()));
        assert!(Operator::exact_sum().of_device(Datatype::shared(Basic::Float64)).is_none());
    }
}
