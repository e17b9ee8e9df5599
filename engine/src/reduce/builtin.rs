//! The names of MPI's own operators and what each is for.

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
    pub(super) const NUMBER: usize = Builtin::NoOp as usize + 1;

    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Builtin> {
        use Builtin::*;
        let reductions = [Max, Min, Sum, Product, LogicalAnd, BitAnd, LogicalOr, BitOr, LogicalXor, BitXor];
        reductions.into_iter().chain([MinLocation, MaxLocation, Replace, NoOp])
    }

    /// The name in MPI.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::Max => "MPI_MAX",
            Builtin::Min => "MPI_MIN",
            Builtin::Sum => "MPI_SUM",
            Builtin::Product => "MPI_PROD",
            Builtin::LogicalAnd => "MPI_LAND",
            Builtin::BitAnd => "MPI_BAND",
            Builtin::LogicalOr => "MPI_LOR",
            Builtin::BitOr => "MPI_BOR",
            Builtin::LogicalXor => "MPI_LXOR",
            Builtin::BitXor => "MPI_BXOR",
            Builtin::MinLocation => "MPI_MINLOC",
            Builtin::MaxLocation => "MPI_MAXLOC",
            Builtin::Replace => "MPI_REPLACE",
            Builtin::NoOp => "MPI_NO_OP",
        }
    }

    /// Whether the order of the arguments does not matter: so for all that
    /// are for reductions.
    pub fn is_commutative(self) -> bool {
        !matches!(self, Builtin::Replace | Builtin::NoOp)
    }

    /// What this operation takes, for a message to a person.
    pub(super) fn takes(self) -> &'static str {
        match self {
            Builtin::Max | Builtin::Min => "integers and floating point numbers",
            Builtin::Sum | Builtin::Product => "integers, floating point and complex numbers",
            Builtin::LogicalAnd | Builtin::LogicalOr | Builtin::LogicalXor => {
                "integers, MPI_C_BOOL and Fortran LOGICAL"
            }
            Builtin::BitAnd | Builtin::BitOr | Builtin::BitXor => "integers and MPI_BYTE",
            Builtin::MinLocation | Builtin::MaxLocation => {
                "pairs of a value and a location, such as MPI_DOUBLE_INT"
            }
            Builtin::Replace | Builtin::NoOp => "nothing but one-sided accumulation",
        }
    }
}
