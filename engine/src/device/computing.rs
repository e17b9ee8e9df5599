//! What devices compute: two numbers become one, element by element.
//!
//! A [`Formula`] combines several operands; its steps are those of a tree, so the order of operands, and with it the bits, is
//! that of the processor.

/// `left op right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The sum; of integers it wraps around.
    Sum,
    /// The product; the same.
    Product,
    /// The right one if it is greater, else the left one.
    Maximum,
    /// The right one if it is less, else the left one.
    Minimum,
    /// 1 if both are not zero, else 0.
    BothTrue,
    /// 1 if one of them is not zero.
    AnyTrue,
    /// 1 if one alone is not zero.
    OneTrue,
    /// Of each two bits.
    BitAnd,
    /// The same.
    BitOr,
    /// The same.
    BitXor,
}

/// What the bits of a number mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// An integer with a sign.
    Signed,
    /// One without.
    Unsigned,
    /// A floating point number.
    Float,
}

/// A rule for numbers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// The rule.
    pub rule: Rule,
    /// The kind.
    pub number: Number,
    /// The logarithm of the bytes of one: 0 to 3.
    pub logarithm: u32,
}

impl Arithmetic {
    /// The bytes of a number.
    pub fn bytes(&self) -> usize {
        1 << self.logarithm
    }
}

/// What the processor does: `out[i] = left[i] op right[i]`, for so many numbers. `out` may be one of the others.
pub type Model = unsafe fn(left: *const u8, right: *const u8, out: *mut u8, count: usize);

/// What a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// An operand, by its place.
    Operand(usize),
    /// What a step before has left, by its place.
    Between(usize),
}

/// Two terms become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The one of lower ranks.
    pub left: Term,
    /// The other.
    pub right: Term,
    /// Where what comes of them is left; `None`: it is the result.
    pub to: Option<usize>,
}

/// How operands are combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The steps; the last one gives the result.
    pub steps: Vec<Step>,
    /// How many places there are for what steps leave.
    pub between: usize,
}

impl Formula {
    /// Two operands.
    pub fn of_two() -> Formula {
        let step = Step { left: Term::Operand(0), right: Term::Operand(1), to: None };
        Formula { steps: vec![step], between: 0 }
    }
}
