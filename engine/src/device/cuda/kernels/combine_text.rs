//! The program that combines two rows of numbers, as text: one template for all rules and numbers.
//!
//! It has the bits of the processor. Nothing is fused (`.rn`); a comparison with a NaN is false, and what is taken keeps its
//! bits. A device makes one NaN of all, so a sum or product that is none gets the bits that this kind of processor gives it.

use crate::device::computing::{Arithmetic, Number, Rule};
use std::ffi::CString;

const TEMPLATE: &str = include_str!("combine.ptx.template");

/// The sign of a NaN that comes of numbers, as of infinities with unlike signs: x86 sets it.
const SIGN: u64 = cfg!(target_arch = "x86_64") as u64;

/// The text for an arithmetic, with a zero at its end.
pub(super) fn text_of(arithmetic: &Arithmetic) -> CString {
    let bits = 8 * arithmetic.bytes();
    let load = match arithmetic.number {
        Number::Signed if bits < 32 => format!("s{bits}"),
        _ => format!("u{bits}"),
    };
    let words = [
        ("{width}", bits.max(32).to_string()),
        ("{bits}", bits.to_string()),
        ("{logarithm}", arithmetic.logarithm.to_string()),
        ("{load}", load),
        ("{rule}", rule_of(arithmetic)),
    ];
    let text = words.iter().fold(TEMPLATE.to_owned(), |text, (name, word)| text.replace(name, word));
    CString::new(text).expect("no zero is in it")
}

/// The instructions that make `%c` of `%a` and `%b`.
fn rule_of(arithmetic: &Arithmetic) -> String {
    let width = 8 * arithmetic.bytes().max(4);
    let kind = match arithmetic.number {
        Number::Signed => 's',
        Number::Unsigned => 'u',
        Number::Float => 'f',
    };
    let truths = |how: &str| {
        format!(
            "    setp.ne.{kind}{width} %is, %a, 0;\n    setp.ne.{kind}{width} %other, %b, 0;\n    \
             {how}.pred %is, %is, %other;\n    selp.b{width} %c, 1, 0, %is;"
        )
    };
    let taken = |greater: &str, than: &str| {
        format!("    setp.gt.{kind}{width} %is, {greater}, {than};\n    selp.b{width} %c, %b, %a, %is;")
    };
    match (arithmetic.rule, arithmetic.number) {
        (Rule::Sum, Number::Float) => computed("add", width),
        (Rule::Product, Number::Float) => computed("mul", width),
        (Rule::Sum, _) => format!("    add.u{width} %c, %a, %b;"),
        (Rule::Product, _) => format!("    mul.lo.u{width} %c, %a, %b;"),
        (Rule::Maximum, _) => taken("%b", "%a"),
        (Rule::Minimum, _) => taken("%a", "%b"),
        (Rule::BothTrue, _) => truths("and"),
        (Rule::AnyTrue, _) => truths("or"),
        (Rule::OneTrue, _) => truths("xor"),
        (Rule::BitAnd, _) => format!("    and.b{width} %c, %a, %b;"),
        (Rule::BitOr, _) => format!("    or.b{width} %c, %a, %b;"),
        (Rule::BitXor, _) => format!("    xor.b{width} %c, %a, %b;"),
    }
}

/// A floating point number. Of two NaNs the left one stays, made quiet.
fn computed(how: &str, width: usize) -> String {
    let (quiet, sign) = match width {
        32 => (0x7fc0_0000, SIGN << 31),
        _ => (0x7ff8_0000_0000_0000, SIGN << 63),
    };
    let made: u64 = quiet | sign;
    [
        format!("    {how}.rn.f{width} %c, %a, %b;"),
        format!("    setp.nan.f{width} %outside, %c, %c;"),
        "    @!%outside bra DONE;".to_owned(),
        format!("    setp.nan.f{width} %is, %a, %a;"),
        format!("    setp.nan.f{width} %other, %b, %b;"),
        format!("    mov.b{width} %c, {made:#x};"),
        format!("    @%other or.b{width} %c, %b, {quiet:#x};"),
        format!("    @%is or.b{width} %c, %a, {quiet:#x};"),
        "DONE:".to_owned(),
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_template_is_left_and_nothing_is_fused() {
        for number in [Number::Signed, Number::Unsigned, Number::Float] {
            for rule in [Rule::Sum, Rule::Product, Rule::Maximum, Rule::BothTrue, Rule::BitXor] {
                for logarithm in 0..4 {
                    let text = text_of(&Arithmetic { rule, number, logarithm }).into_string().unwrap();
                    let code: String = text.lines().filter(|line| !line.starts_with("//")).collect();
                    let braces = code.matches('{').count();
                    assert_eq!((braces, code.contains("fma")), (1, false), "{text}");
                }
            }
        }
    }
}
