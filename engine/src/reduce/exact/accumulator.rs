//! A superaccumulator: one long fixed-point number that holds every sum of doubles
//! exactly (after Neal, "Fast exact summation using small and large
//! superaccumulators", 2015). It works with integers only.

/// Bits of a chunk that count; the rest of its 64 are room for carries, enough for
/// 2^30 numbers.
const BITS: u32 = 32;
/// 2098 bits for all doubles, what a sum of many may have more, and the sign.
const CHUNKS: usize = 68;
/// The lowest bit stands for 2^-1074, the smallest double; this one for the smallest
/// number of 32 bits, 2^-149.
const LOWEST_SINGLE: u32 = 925;

/// A sum, of which nothing is rounded yet.
pub(super) struct Accumulator {
    chunks: [i64; CHUNKS],
    /// The chunks that may be other than zero: the first, and the one after the last.
    used: (usize, usize),
    /// Something was not a number.
    nan: bool,
    /// There was an infinity, of the positive and of the negative ones.
    infinities: [bool; 2],
    /// There was something else than -0.
    other_than_minus_zero: bool,
}

/// The layout of a format of numbers.
struct Format {
    /// Bits of the fraction that are kept.
    fraction: u32,
    /// Bits of the exponent.
    exponent: u32,
    /// Where its lowest bit lies in the accumulator.
    lowest: u32,
}

const DOUBLE: Format = Format { fraction: 52, exponent: 11, lowest: 0 };
const SINGLE: Format = Format { fraction: 23, exponent: 8, lowest: LOWEST_SINGLE };

impl Format {
    fn infinity(&self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    fn quiet_nan(&self) -> u64 {
        self.infinity() | 1 << (self.fraction - 1)
    }

    fn sign(&self) -> u64 {
        1 << (self.fraction + self.exponent)
    }
}

impl Accumulator {
    /// Nothing so far.
    pub fn new() -> Accumulator {
        let (chunks, used) = ([0; CHUNKS], (CHUNKS, 0));
        Accumulator { chunks, used, nan: false, infinities: [false; 2], other_than_minus_zero: false }
    }

    /// Adds a number.
    pub fn add_double(&mut self, number: f64) {
        self.add(number.to_bits(), &DOUBLE);
    }

    /// Adds a number.
    pub fn add_single(&mut self, number: f32) {
        self.add(u64::from(number.to_bits()), &SINGLE);
    }

    /// The sum as the nearest double.
    pub fn double(self) -> f64 {
        f64::from_bits(self.round(&DOUBLE))
    }

    /// The sum as the nearest number of 32 bits.
    pub fn single(self) -> f32 {
        f32::from_bits(self.round(&SINGLE) as u32)
    }

    fn add(&mut self, bits: u64, format: &Format) {
        let negative = bits & format.sign() != 0;
        let magnitude = bits & (format.sign() - 1);
        self.other_than_minus_zero |= bits != format.sign();
        if magnitude >= format.infinity() {
            self.nan |= magnitude > format.infinity();
            self.infinities[usize::from(negative)] |= magnitude == format.infinity();
            return;
        }
        let exponent = (magnitude >> format.fraction) as u32;
        let fraction = magnitude & ((1 << format.fraction) - 1);
        // A subnormal number has the exponent 0 and means it as 1, without the hidden bit.
        let whole = if exponent == 0 { fraction } else { fraction | 1 << format.fraction };
        let place = format.lowest + exponent.max(1) - 1;
        let first = (place / BITS) as usize;
        self.used = (self.used.0.min(first), self.used.1.max(first + 3));
        let mut rest = u128::from(whole) << (place % BITS);
        for chunk in &mut self.chunks[first..first + 3] {
            let part = i64::from(rest as u32);
            *chunk += if negative { -part } else { part };
            rest >>= BITS;
        }
    }

    /// The bits of the nearest number of a format, ties to even.
    fn round(mut self, format: &Format) -> u64 {
        if self.nan || self.infinities == [true; 2] {
            return format.quiet_nan();
        }
        if self.infinities != [false; 2] {
            return format.infinity() | if self.infinities[1] { format.sign() } else { 0 };
        }
        let negative = self.make_positive();
        let Some(highest) =
            (self.used.0..CHUNKS.min(self.used.1 + 1)).rev().find(|&chunk| self.chunks[chunk] != 0)
        else {
            return if self.other_than_minus_zero { 0 } else { format.sign() };
        };
        let length = BITS * highest as u32 + (64 - self.chunks[highest].leading_zeros());
        let low = (length.saturating_sub(format.fraction + 1)).max(format.lowest);
        let mut kept = self.bits(low, length);
        let half = low > 0 && self.bits(low - 1, low) == 1;
        if half && (kept & 1 == 1 || self.any_below(low - 1)) {
            kept += 1;
        }
        // The hidden bit of `kept`, where there is one, adds one to the exponent, and
        // so does a carry out of it.
        let bits = (u64::from(low - format.lowest) << format.fraction) + kept;
        bits.min(format.infinity()) | if negative { format.sign() } else { 0 }
    }

    /// Makes every chunk a digit from 0 to 2^32 - 1, of the magnitude of the sum; says
    /// whether the sum was negative.
    fn make_positive(&mut self) -> bool {
        let (first, end) = self.used;
        if first >= end {
            return false;
        }
        self.carry();
        let negative = self.chunks[end] < 0;
        if negative {
            self.chunks[first..=end].iter_mut().for_each(|chunk| *chunk = -*chunk);
            self.carry();
        }
        negative
    }

    /// Every chunk in use becomes a digit; the one after them takes what is over, and
    /// the sign.
    fn carry(&mut self) {
        let (first, end) = self.used;
        let mut carry = 0;
        for chunk in &mut self.chunks[first..end] {
            let value = *chunk + carry;
            *chunk = value & i64::from(u32::MAX);
            carry = value >> BITS;
        }
        self.chunks[end] += carry;
    }

    /// The bits from `low` up to `end`, at most 53.
    fn bits(&self, low: u32, end: u32) -> u64 {
        let first = (low / BITS) as usize;
        let digit = |at: usize| self.chunks.get(first + at).map_or(0, |&chunk| chunk as u128);
        let digits = digit(0) | digit(1) << BITS | digit(2) << (2 * BITS);
        let length = end.saturating_sub(low);
        (digits >> (low % BITS)) as u64 & ((1 << length) - 1)
    }

    /// Whether there is a bit below `place`.
    fn any_below(&self, place: u32) -> bool {
        let (chunk, bit) = ((place / BITS) as usize, place % BITS);
        let below = self.used.0.min(chunk)..chunk;
        self.chunks[below].iter().any(|&chunk| chunk != 0) || self.chunks[chunk] & ((1 << bit) - 1) != 0
    }
}
