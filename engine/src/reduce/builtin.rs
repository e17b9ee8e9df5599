//! MPI's own operators: names, and what each is for.

use crate::Operands;
use std::sync::OnceLock;

/// The predefined operations of MPI-5.0 §6.9.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `MPI_MAX`
    Max,
    /// `MPI_MIN`
    Min,
    /// `MPI_SUM`
    Sum,
    /// `MPI_PROD`
    Product,
    /// `MPI_LAND`
    LogicalAnd,
    /// `MPI_BAND`
    BitAnd,
    /// `MPI_LOR`
    LogicalOr,
    /// `MPI_BOR`
    BitOr,
    /// `MPI_LXOR`
    LogicalXor,
    /// `MPI_BXOR`
    BitXor,
    /// `MPI_MINLOC`: the smaller value and its location; of equal values the
    /// lower location.
    MinLocation,
    /// `MPI_MAXLOC`: the greater value and its location; of equal values the
    /// lower location.
    MaxLocation,
    /// `MPI_REPLACE`: for one-sided accumulation only, not for reductions.
    Replace,
    /// `MPI_NO_OP`: for one-sided accumulation only, not for reductions.
    NoOp,
}

impl Builtin {
    /// How many there are.
    pub(crate) const NUMBER: usize = Builtin::NoOp as usize + 1;

    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Builtin> {
        use Builtin::*;
        let reductions = [Max, Min, Sum, Product, LogicalAnd, BitAnd, LogicalOr, BitOr, LogicalXor, BitXor];
        reductions.into_iter().chain([MinLocation, MaxLocation, Replace, NoOp])
    }

    /// By what name a face calls it, once one does; else what it is.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].get().copied().unwrap_or(match self {
            Builtin::Max => "max",
            Builtin::Min => "min",
            Builtin::Sum => "sum",
            Builtin::Product => "product",
            Builtin::LogicalAnd => "logical and",
            Builtin::BitAnd => "bitwise and",
            Builtin::LogicalOr => "logical or",
            Builtin::BitOr => "bitwise or",
            Builtin::LogicalXor => "logical xor",
            Builtin::BitXor => "bitwise xor",
            Builtin::MinLocation => "min and location",
            Builtin::MaxLocation => "max and location",
            Builtin::Replace => "replace",
            Builtin::NoOp => "no operation",
        })
    }

    /// A face calls it so; the first name that it is given stays.
    pub(super) fn call(self, name: &'static str) {
        let _ = NAMES[self as usize].set(name);
    }

    /// Whether the order of the arguments does not matter: so for all that
    /// are for reductions.
    pub fn is_commutative(self) -> bool {
        !matches!(self, Builtin::Replace | Builtin::NoOp)
    }

    /// What it takes; `None` for what is not for reductions.
    pub(super) fn takes(self) -> Option<Operands> {
        match self {
            Builtin::Max | Builtin::Min => Some(Operands::Ordered),
            Builtin::Sum | Builtin::Product => Some(Operands::Numbers),
            Builtin::LogicalAnd | Builtin::LogicalOr | Builtin::LogicalXor => Some(Operands::Logical),
            Builtin::BitAnd | Builtin::BitOr | Builtin::BitXor => Some(Operands::Bits),
            Builtin::MinLocation | Builtin::MaxLocation => Some(Operands::Pairs),
            Builtin::Replace | Builtin::NoOp => None,
        }
    }
}

static NAMES: [OnceLock<&str>; Builtin::NUMBER] = [const { OnceLock::new() }; Builtin::NUMBER];
