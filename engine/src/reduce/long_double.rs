//! The `long double` of x86-64: 80 bits of the x87 unit in 16 bytes.
//!
//! Rust has no such type, so the arithmetic is written as x87 instructions.
//! Each operation loads its arguments on the (empty) x87 stack and leaves the
//! stack empty. Stores and loads of 80 bits are exact, so that a formula of
//! several operations loses nothing between them.

use super::element::{Arithmetic, Ordered};
use std::arch::asm;

/// One `long double`: 10 bytes that count and 6 of padding (written as zero).
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Extended([u8; 16]);

/// A function `left instruction right` whose result is a number.
macro_rules! arithmetic {
    ($name:ident, $instruction:literal) => {
        #[inline]
        fn $name(self, other: Self) -> Self {
            let mut result = Extended([0; 16]);
            // SAFETY: reads 10 bytes of each argument and writes 10 bytes of
            // the result, all of them 16 bytes of ours; the x87 stack is empty
            // before (a rule of the ABI) and after.
            unsafe {
                asm!(
                    "fld tbyte ptr [{left}]",
                    "fld tbyte ptr [{right}]",
                    concat!($instruction, " st(1), st"),
                    "fstp tbyte ptr [{result}]",
                    left = in(reg) &self,
                    right = in(reg) &other,
                    result = in(reg) &mut result,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    };
}

impl Arithmetic for Extended {
    arithmetic!(add, "faddp");
    arithmetic!(subtract, "fsubp");
    arithmetic!(multiply, "fmulp");
}

/// A comparison of `left` and `right` whose answer is in the flags that
/// `$condition` reads; all conditions used are false for a NaN.
macro_rules! comparison {
    ($name:ident, $condition:literal) => {
        #[inline]
        fn $name(left: &Extended, right: &Extended) -> bool {
            let answer: u8;
            // SAFETY: reads 10 of the 16 bytes of each argument; the x87
            // stack is empty before (a rule of the ABI) and after.
            unsafe {
                asm!(
                    "fld tbyte ptr [{right}]",
                    "fld tbyte ptr [{left}]",
                    "fucomip st, st(1)",
                    concat!($condition, " {answer}"),
                    "fstp st(0)",
                    left = in(reg) left,
                    right = in(reg) right,
                    answer = out(reg_byte) answer,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack, readonly),
                );
            }
            answer != 0
        }
    };
}

comparison!(is_above, "seta");
comparison!(is_at_least, "setae");

impl Ordered for Extended {
    #[inline]
    fn greater(self, other: Self) -> bool {
        is_above(&self, &other)
    }
    #[inline]
    fn same(self, other: Self) -> bool {
        is_at_least(&self, &other) && is_at_least(&other, &self)
    }
}

#[cfg(test)]
impl Extended {
    /// The same number with 80 bits.
    pub(super) fn from_double(number: f64) -> Self {
        let mut result = Extended([0; 16]);
        // SAFETY: reads 8 bytes of `number` and writes 10 of `result`; the
        // x87 stack is empty before and after.
        unsafe {
            asm!(
                "fld qword ptr [{number}]",
                "fstp tbyte ptr [{result}]",
                number = in(reg) &number,
                result = in(reg) &mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }

    /// The bytes as they lie in memory.
    pub(super) fn bytes(self) -> [u8; 16] {
        self.0
    }
}
