//! Every operator on every type it takes, against a model that computes one
//! element at a time from its bytes, with sums and products of small numbers
//! so that the model's doubles are exact.

use super::select::select;
use super::{Builtin, Operator};
use crate::datatype::{Basic, Datatype};
use crate::{Cause, Class, Operands};
use std::sync::{Arc, Mutex};

const BUILTINS: [Builtin; 12] = [
    Builtin::Max,
    Builtin::Min,
    Builtin::Sum,
    Builtin::Product,
    Builtin::LogicalAnd,
    Builtin::BitAnd,
    Builtin::LogicalOr,
    Builtin::BitOr,
    Builtin::LogicalXor,
    Builtin::BitXor,
    Builtin::MinLocation,
    Builtin::MaxLocation,
];

/// Some numbers to work on, without system or library (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From -15 to 15.
    fn small(&mut self) -> f64 {
        (self.next() % 31) as f64 - 15.0
    }
}

fn is_signed(basic: Basic) -> bool {
    use Basic::*;
    matches!(basic, Int8 | Int16 | Int32 | Int64 | Logical16 | Logical32 | Logical64)
        || (basic == Character && std::ffi::c_char::MIN != 0)
}

/// The bytes of `number` as a `basic` that holds one integer or real number.
fn encode(number: f64, basic: Basic) -> Vec<u8> {
    match basic {
        Basic::Float32 => (number as f32).to_ne_bytes().to_vec(),
        Basic::Float64 => number.to_ne_bytes().to_vec(),
        #[cfg(target_arch = "x86_64")]
        Basic::LongDouble => super::long_double::Extended::from_double(number).bytes().to_vec(),
        _ => (number as i64).to_le_bytes()[..basic.size() as usize].to_vec(),
    }
}

/// Two numbers in one element (a complex number or a pair).
fn encode_two(first: f64, second: f64, basic: Basic) -> Vec<u8> {
    let (one, two) = match basic {
        Basic::ComplexFloat32 => (Basic::Float32, Basic::Float32),
        Basic::ComplexFloat64 => (Basic::Float64, Basic::Float64),
        Basic::ComplexLongDouble => (Basic::LongDouble, Basic::LongDouble),
        _ => basic.pair().expect("a pair"),
    };
    let mut bytes = encode(first, one);
    let offset = bytes.len().next_multiple_of(two.alignment() as usize);
    bytes.resize(offset, 0);
    bytes.extend(encode(second, two));
    bytes.resize(basic.extent() as usize, 0);
    bytes
}

fn is_complex(basic: Basic) -> bool {
    matches!(basic, Basic::ComplexFloat32 | Basic::ComplexFloat64 | Basic::ComplexLongDouble)
}

/// What `left op right` is, by the definition.
fn model(builtin: Builtin, left: f64, right: f64) -> f64 {
    let bits = |f: fn(i64, i64) -> i64| f(left as i64, right as i64) as f64;
    let truth = |f: fn(bool, bool) -> bool| f(left != 0.0, right != 0.0) as u8 as f64;
    match builtin {
        Builtin::Max => left.max(right),
        Builtin::Min => left.min(right),
        Builtin::Sum => left + right,
        Builtin::Product => left * right,
        Builtin::LogicalAnd => truth(|l, r| l && r),
        Builtin::LogicalOr => truth(|l, r| l || r),
        Builtin::LogicalXor => truth(|l, r| l != r),
        Builtin::BitAnd => bits(|l, r| l & r),
        Builtin::BitOr => bits(|l, r| l | r),
        Builtin::BitXor => bits(|l, r| l ^ r),
        _ => unreachable!("not for one number"),
    }
}

/// [`model`] for complex numbers and pairs.
fn model_two(builtin: Builtin, left: (f64, f64), right: (f64, f64)) -> (f64, f64) {
    match builtin {
        Builtin::Sum => (left.0 + right.0, left.1 + right.1),
        Builtin::Product => (left.0 * right.0 - left.1 * right.1, left.0 * right.1 + left.1 * right.0),
        Builtin::MaxLocation if left.0 == right.0 => (left.0, left.1.min(right.1)),
        Builtin::MinLocation if left.0 == right.0 => (left.0, left.1.min(right.1)),
        Builtin::MaxLocation => [left, right][(right.0 > left.0) as usize],
        Builtin::MinLocation => [left, right][(right.0 < left.0) as usize],
        _ => unreachable!("not for two numbers"),
    }
}

/// Arguments and result of one element, each as bytes.
fn example(builtin: Builtin, basic: Basic, numbers: &mut Numbers) -> [Vec<u8>; 3] {
    let mut one = |signed: bool| if signed { numbers.small() } else { numbers.small().abs() };
    if is_complex(basic) || basic.pair().is_some() {
        let (left, right) = ((one(true), one(true)), (one(true), one(true)));
        let result = model_two(builtin, left, right);
        [left, right, result].map(|(first, second)| encode_two(first, second, basic))
    } else {
        let signed = is_signed(basic) || matches!(basic, Basic::Float32 | Basic::Float64 | Basic::LongDouble);
        let (left, right) = (one(signed), one(signed));
        [left, right, model(builtin, left, right)].map(|number| encode(number, basic))
    }
}

/// Whether the data of two arrays of `basic` agree (padding does not count).
fn agree(basic: Basic, one: &[u8], other: &[u8]) -> bool {
    let data = |bytes: &[u8]| -> Vec<u8> {
        let parts: Vec<(usize, usize)> = match (basic, basic.pair()) {
            (Basic::LongDouble, _) => vec![(0, 10)],
            (Basic::ComplexLongDouble, _) => vec![(0, 10), (16, 10)],
            (Basic::LongDoubleInt, _) => vec![(0, 10), (16, 4)],
            (_, Some((first, second))) => {
                vec![(0, first.size() as usize), (basic.second_offset() as usize, second.size() as usize)]
            }
            (_, None) => vec![(0, basic.size() as usize)],
        };
        let elements = bytes.chunks_exact(basic.extent() as usize);
        elements.flat_map(|e| parts.iter().flat_map(|&(at, n)| e[at..at + n].to_vec())).collect()
    };
    data(one) == data(other)
}

/// `count` examples one after the other: left, right and result.
fn examples(builtin: Builtin, basic: Basic, count: usize) -> [Vec<u8>; 3] {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ count as u64);
    let mut arrays = [vec![], vec![], vec![]];
    for _ in 0..count {
        for (array, bytes) in arrays.iter_mut().zip(example(builtin, basic, &mut numbers)) {
            array.extend(bytes);
        }
    }
    arrays
}

/// `bytes` again, but `shift` bytes after the beginning of a buffer, with a
/// guard behind.
fn shifted(bytes: &[u8], shift: usize) -> Vec<u8> {
    [&vec![0xa5; shift], bytes, &[0xa5; 64]].concat()
}

#[test]
fn every_operator_on_every_type_agrees_with_the_model() {
    for builtin in BUILTINS {
        for &basic in Basic::all() {
            let Some(kernel) = select(builtin, basic) else { continue };
            for count in [0, 1, 2, 3, 7, 16, 31, 33, 129, 300] {
                let [left, right, expected] = examples(builtin, basic, count);
                for shift in [0, 1, 3] {
                    let left = shifted(&left, shift);
                    let right = shifted(&right, shift + 1);
                    let mut out = shifted(&vec![0; expected.len()], shift);
                    // SAFETY: the three arrays hold `count` elements behind the shift.
                    unsafe {
                        let (left, right) = (left.as_ptr().add(shift), right.as_ptr().add(shift + 1));
                        kernel(left, right, out.as_mut_ptr().add(shift), count);
                    }
                    let (result, guard) = out[shift..].split_at(expected.len());
                    assert!(agree(basic, result, &expected), "{builtin:?} {basic:?} {count} {shift}");
                    assert_eq!(guard, [0xa5; 64], "{builtin:?} {basic:?} {count} {shift}");
                }
            }
        }
    }
}

#[test]
fn the_result_may_lie_over_either_argument() {
    for builtin in BUILTINS {
        for &basic in Basic::all() {
            let Some(kernel) = select(builtin, basic) else { continue };
            let count = 75;
            let [left, right, expected] = examples(builtin, basic, count);
            let (mut over_left, mut over_right) = (left.clone(), right.clone());
            // SAFETY: the arrays hold `count` elements; the result is exactly an argument.
            unsafe {
                let out = over_left.as_mut_ptr();
                kernel(out, right.as_ptr(), out, count);
                let out = over_right.as_mut_ptr();
                kernel(left.as_ptr(), out, out, count);
            }
            assert!(agree(basic, &over_left, &expected), "{builtin:?} {basic:?}");
            assert!(agree(basic, &over_right, &expected), "{builtin:?} {basic:?}");
        }
    }
}

#[test]
fn the_table_is_that_of_the_standard() {
    use Basic::*;
    let integers = [Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Character].as_slice();
    let reals = [Float32, Float64, LongDouble].as_slice();
    let complex = [ComplexFloat32, ComplexFloat64, ComplexLongDouble].as_slice();
    let logicals = [Bool, Logical8, Logical16, Logical32, Logical64].as_slice();
    let pairs = [FloatInt, DoubleInt, LongInt, TwoInt, ShortInt, LongDoubleInt, TwoReal, TwoDoublePrecision];
    for builtin in BUILTINS {
        let takes: Vec<Basic> = match builtin {
            Builtin::Max | Builtin::Min => [integers, reals].concat(),
            Builtin::Sum | Builtin::Product => [integers, reals, complex].concat(),
            Builtin::LogicalAnd | Builtin::LogicalOr | Builtin::LogicalXor => [integers, logicals].concat(),
            Builtin::BitAnd | Builtin::BitOr | Builtin::BitXor => [integers, &[Byte]].concat(),
            _ => pairs.to_vec(),
        };
        for &basic in Basic::all() {
            let answer = Operator::builtin(builtin).check(&Datatype::basic(basic));
            // Arithmetic of long doubles is there for the x87 unit only.
            let long = [LongDouble, ComplexLongDouble, LongDoubleInt].contains(&basic);
            let missing = long && !cfg!(target_arch = "x86_64");
            assert_eq!(answer.is_ok(), takes.contains(&basic) && !missing, "{builtin:?} {basic:?}");
            if let Err(error) = answer {
                assert_eq!(error.class(), if missing { Class::UnsupportedOperation } else { Class::Op });
                assert!(missing || error.message().contains(builtin.name()));
            }
        }
    }
}

#[test]
fn what_is_not_for_reductions_is_refused_with_a_reason() {
    let refused = |builtin, datatype: &Datatype| {
        let error = Operator::builtin(builtin).check(datatype).unwrap_err();
        assert_eq!(error.class(), Class::Op);
        (error.cause().unwrap().clone(), error.message().to_owned())
    };
    let double = Datatype::named(Basic::Float64, "double");
    let (cause, sentence) = refused(Builtin::BitAnd, &double);
    assert_eq!(sentence, "bitwise and does not take double: it takes integers and bytes");
    let (operator, datatype, takes) = ("bitwise and", "double".to_owned(), Operands::Bits);
    assert_eq!(cause, Cause::OperatorTakesNot { operator, datatype, takes });
    assert!(refused(Builtin::Replace, &double).1.contains("one-sided"));
    assert_eq!(refused(Builtin::NoOp, &double).0, Cause::NoReduction("no operation"));
    let derived = Datatype::contiguous(2, &double).unwrap();
    assert_eq!(refused(Builtin::Sum, &derived).0, Cause::OperatorTakesNoDerived("sum"));
}

#[test]
fn integers_wrap_around() {
    let kernel = select(Builtin::Sum, Basic::Int32).unwrap();
    let mut inout = [i32::MAX; 40];
    let input = [1i32; 40];
    let out = inout.as_mut_ptr().cast::<u8>();
    // SAFETY: 40 elements each; the result is the right argument.
    unsafe { kernel(input.as_ptr().cast(), out, out, 40) };
    assert_eq!(inout, [i32::MIN; 40]);
}

#[test]
fn a_nan_is_treated_alike_at_every_place_of_an_array() {
    for builtin in [Builtin::Max, Builtin::Min] {
        let kernel = select(builtin, Basic::Float64).unwrap();
        for (left, right) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            let (lefts, mut rights) = ([left; 53], [right; 53]);
            let out = rights.as_mut_ptr().cast::<u8>();
            // SAFETY: 53 elements each; the result is the right argument.
            unsafe { kernel(lefts.as_ptr().cast(), out, out, 53) };
            assert!(rights.iter().all(|r| r.to_bits() == left.to_bits()), "{builtin:?} {left} {right}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_long_double_keeps_its_64_bits_of_fraction() {
    let one = encode(1.0, Basic::LongDouble);
    let tiny = encode(1.0 / (1u64 << 62) as f64, Basic::LongDouble);
    let mut sum = tiny.clone();
    let add = select(Builtin::Sum, Basic::LongDouble).unwrap();
    // SAFETY: one element each; the result is the right argument.
    unsafe { add(one.as_ptr(), sum.as_ptr(), sum.as_mut_ptr(), 1) };
    assert_eq!(sum[..10], [2, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
}

#[test]
fn a_user_function_gets_input_and_inout_in_that_order() {
    let calls = Arc::new(Mutex::new(vec![]));
    let seen = calls.clone();
    let operator = Operator::user(
        Box::new(move |input, inout, count, datatype| {
            assert_eq!(datatype.as_basic(), Some(Basic::Int32));
            for index in 0..count as usize {
                let (input, inout) = (input.cast::<i32>(), inout.cast::<i32>());
                // SAFETY: the test passes arrays of `count` integers.
                unsafe { *inout.add(index) = 10 * *input.add(index) + *inout.add(index) };
            }
            seen.lock().unwrap().push(count);
        }),
        false,
    );
    assert!(operator.is_user() && !operator.is_commutative() && operator.as_builtin().is_none());
    let datatype = Datatype::basic(Basic::Int32);
    operator.check(&datatype).unwrap();
    let (input, mut inout) = ([1, 2, 3], [4, 5, 6]);
    // SAFETY: three integers each.
    unsafe {
        operator.apply(input.as_ptr().cast(), inout.as_mut_ptr().cast(), 3, &datatype);
        operator.apply(input.as_ptr().cast(), inout.as_mut_ptr().cast(), 0, &datatype);
    }
    assert_eq!(inout, [14, 25, 36]);
    assert_eq!(*calls.lock().unwrap(), [3]);
}

#[test]
fn a_builtin_operator_applies_and_combines() {
    let operator = Operator::builtin(Builtin::Sum);
    assert!(!operator.is_user() && operator.is_commutative());
    let datatype = Datatype::basic(Basic::Float64);
    let (left, mut right, mut out) = ([1.0, 2.0], [0.5, 0.25], [0.0, 0.0]);
    // SAFETY: two doubles each.
    unsafe {
        operator.combine(left.as_ptr().cast(), right.as_ptr().cast(), out.as_mut_ptr().cast(), 2, &datatype);
        operator.apply(left.as_ptr().cast(), right.as_mut_ptr().cast(), 2, &datatype);
    }
    assert_eq!((right, out), ([1.5, 2.25], [1.5, 2.25]));
}
