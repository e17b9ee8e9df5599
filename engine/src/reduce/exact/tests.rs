//! Against sums of big integers, on data made to be nasty.

use super::*;
use crate::collective::tests::twin::Random;

fn sum_of<T: Copy>(basic: Basic, operands: &[Vec<T>]) -> Vec<T> {
    let pointers: Vec<*const u8> = operands.iter().map(|operand| operand.as_ptr().cast()).collect();
    let exact = Exact::of(basic).unwrap();
    let mut out = operands[0].clone();
    let count = out.len() / exact.numbers;
    // SAFETY: all are vectors of that many numbers.
    unsafe { exact.sum(&pointers, out.as_mut_ptr().cast(), count) };
    out
}

/// Doubles of all sorts, many of which take each other away.
fn nasty(random: &mut Random) -> f64 {
    let any = f64::from_bits(random.below(1 << 32) << 32 | random.below(1 << 32));
    match random.below(16) {
        0 => any,
        1 => f64::from_bits(random.below(1 << 54)), // subnormal, or hardly more
        2 => -f64::from_bits(random.below(1 << 54)),
        3 => f64::MAX * if random.below(2) == 0 { 1.0 } else { -1.0 },
        4 => [0.0, -0.0, 1.0, -1.0][random.below(4) as usize],
        5 => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300][random.below(4) as usize],
        6 => 1.0 + f64::EPSILON * random.below(4) as f64,
        7 => f64::EPSILON / 2.0 * [1.0, -1.0, 0.5, 1.5][random.below(4) as usize],
        _ => (random.below(1 << 53) as f64 - (1u64 << 52) as f64) * 2f64.powi(random.below(80) as i32 - 40),
    }
}

/// The sum by integers of 128 bits, if all operands are multiples of 2^-60 that fit.
fn by_integers(numbers: &[f64]) -> Option<f64> {
    let mut sum = 0i128;
    for number in numbers {
        let scaled = number * 2f64.powi(60);
        if scaled.fract() != 0.0 || scaled.abs() > 2f64.powi(120) {
            return None;
        }
        sum += scaled as i128;
    }
    // The conversion rounds to nearest, ties to even; the division is exact.
    Some(sum as f64 / 2f64.powi(60))
}

#[test]
fn sums_of_moderate_numbers_are_those_of_big_integers() {
    let mut random = Random::new(1);
    let mut compared = 0;
    for count in 1..=17 {
        for _ in 0..3000 {
            let mut number = || random.below(1 << 53) as f64 * 2f64.powi(-(random.below(60) as i32));
            let mut numbers: Vec<f64> = (0..count).map(|_| number() - number()).collect();
            if count > 2 {
                numbers[count - 1] = -numbers[0];
            }
            let Some(expected) = by_integers(&numbers) else { continue };
            let operands: Vec<Vec<f64>> = numbers.iter().map(|&number| vec![number; 17]).collect();
            for sum in sum_of(Basic::Float64, &operands) {
                assert_eq!(sum, expected, "{numbers:?}");
            }
            compared += 1;
        }
    }
    assert!(compared > 20_000);
}

#[test]
fn the_order_and_what_rounds_do_not_matter() {
    let mut random = Random::new(2);
    for count in 1..=9usize {
        for _ in 0..4000 {
            let mut numbers: Vec<f64> = (0..count).map(|_| nasty(&mut random)).collect();
            if count > 1 && random.below(2) == 0 {
                numbers[count - 1] = -numbers[0];
            }
            let slow = accumulated(&numbers);
            for _ in 0..3 {
                let operands: Vec<Vec<f64>> = numbers.iter().map(|&number| vec![number; 19]).collect();
                for sum in sum_of(Basic::Float64, &operands) {
                    assert_eq!(sum.to_bits(), slow.to_bits(), "{numbers:?}: {sum:e} and {slow:e}");
                }
                let (one, other) = (random.below(count as u64), random.below(count as u64));
                numbers.swap(one as usize, other as usize);
            }
        }
    }
}

fn accumulated(numbers: &[f64]) -> f64 {
    let mut accumulator = Accumulator::new();
    numbers.iter().for_each(|&number| accumulator.add_double(number));
    accumulator.double()
}

#[test]
fn one_number_comes_back_as_it_was() {
    let mut random = Random::new(3);
    for _ in 0..100_000 {
        let number = nasty(&mut random);
        if !number.is_nan() {
            assert_eq!(accumulated(&[number]).to_bits(), number.to_bits());
            let short = number as f32;
            let mut accumulator = Accumulator::new();
            accumulator.add_single(short);
            assert_eq!(accumulator.single().to_bits(), short.to_bits());
            // Rounding from the double is what the processor does.
            let mut accumulator = Accumulator::new();
            accumulator.add_double(number);
            assert_eq!(accumulator.single().to_bits(), short.to_bits(), "{number:e}");
        }
    }
}

#[test]
fn what_is_known_by_hand() {
    let cases: &[(&[f64], f64)] = &[
        (&[1e308, 1e308, -1e308], 1e308),
        (&[f64::MAX, f64::MAX], f64::INFINITY),
        (&[f64::MAX, 2f64.powi(969)], f64::MAX),
        (&[f64::MAX, 2f64.powi(970)], f64::INFINITY),
        (&[f64::MAX, 2f64.powi(970), -5e-324], f64::MAX),
        (&[1.0, 2f64.powi(-53)], 1.0),
        (&[1.0, 2f64.powi(-53), 5e-324], 1.0 + f64::EPSILON),
        (&[1.0, 2f64.powi(-53), -5e-324], 1.0),
        (&[1e16, 1.0, -1e16], 1.0),
        (&[5e-324, 5e-324], 1e-323),
        (&[5e-324, -5e-324], 0.0),
        (&[-0.0, -0.0], -0.0),
        (&[-0.0, 0.0], 0.0),
        (&[f64::INFINITY, -1e308], f64::INFINITY),
    ];
    for (numbers, expected) in cases {
        let operands: Vec<Vec<f64>> = numbers.iter().map(|&number| vec![number]).collect();
        assert_eq!(sum_of(Basic::Float64, &operands)[0].to_bits(), expected.to_bits(), "{numbers:?}");
    }
    let quiet = 0x7ff8_0000_0000_0000;
    for numbers in
        [[f64::INFINITY, f64::NEG_INFINITY], [-f64::NAN, 1.0], [1.0, f64::from_bits(0xfff0_0000_0000_0001)]]
    {
        assert_eq!(sum_of(Basic::Float64, &numbers.map(|number| vec![number]))[0].to_bits(), quiet);
    }
    let singles = [vec![1e38f32, 1.0], vec![3e38, 2f32.powi(-24)], vec![-2e38, 1e-45]];
    let expected = f64::from(1e38f32) + f64::from(3e38f32) - f64::from(2e38f32);
    assert_eq!(sum_of(Basic::Float32, &singles), [expected as f32, 1.0 + f32::EPSILON]);
}

#[test]
fn complex_numbers_are_two_real_ones() {
    let operands =
        vec![vec![1e16, 1.0, 3.0, -0.0], vec![1.0, 1e300, 4.0, -0.0], vec![-1e16, -1e300, 5.0, -0.0]];
    let expected = [1.0f64, 1.0, 12.0, -0.0];
    let sums = sum_of(Basic::ComplexFloat64, &operands);
    assert_eq!(sums.map_bits(), expected.to_vec().map_bits());
}

trait MapBits {
    fn map_bits(&self) -> Vec<u64>;
}

impl MapBits for Vec<f64> {
    fn map_bits(&self) -> Vec<u64> {
        self.iter().map(|number| number.to_bits()).collect()
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn programs_that_flush_subnormal_numbers_get_the_same() {
    let numbers = [vec![5e-324; 20], vec![3e-310; 20], vec![-2e-310; 20]];
    let expected = sum_of(Basic::Float64, &numbers);
    let control = |word: u32| {
        // SAFETY: sets the control word of the vector unit of this thread.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack)) };
    };
    control(0x1F80 | 0x8040);
    let sums = sum_of(Basic::Float64, &numbers);
    control(0x1F80);
    assert_eq!(sums.map_bits(), expected.map_bits());
    assert_eq!(expected[0], 1e-310 + 5e-324);
}
