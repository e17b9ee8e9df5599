//! The operator of a reduction: one of MPI's own, or a function of the program.

use super::kernel::Kernel;
use super::select::select;
use super::{exact, Builtin, Exact};
use crate::datatype::{Basic, Datatype};
use crate::kept::{self, Lasting};
use crate::{Cause, Class, Error, Result};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A function of the program: `inout[i] = input[i] op inout[i]` for `count`
/// items of the datatype (MPI-5.0 §6.9.5).
pub type UserFunction =
    Box<dyn Fn(*const u8 /* input */, *mut u8 /* inout */, u64 /* count */, &Arc<Datatype>) + Send + Sync>;

enum Kind {
    Builtin(Builtin),
    #[cfg(test)]
    ExactSum,
    User {
        function: UserFunction,
        commutes: bool,
    },
}

/// How two elements become one (MPI-5.0 §6.9). Always associative, as MPI
/// demands of a program's own function too.
pub struct Operator {
    kind: Kind,
    /// Never freed.
    lasts: bool,
}

// SAFETY: the field never changes, and `predefined`, which alone sets it, makes its object last.
unsafe impl Lasting for Operator {
    #[inline]
    fn lasts(&self) -> bool {
        self.lasts
    }
}

impl Operator {
    /// One of MPI's own.
    pub fn builtin(builtin: Builtin) -> Self {
        Operator::of(Kind::Builtin(builtin))
    }

    /// The same under the name that a face gives it (`MPI_SUM`), never freed.
    pub fn predefined(builtin: Builtin, name: &'static str) -> Arc<Self> {
        builtin.call(name);
        kept::for_ever(Operator { lasts: true, ..Operator::builtin(builtin) })
    }

    fn of(kind: Kind) -> Self {
        Operator { kind, lasts: false }
    }

    /// `MPI_SUM` as if [`exact::switch`] were on.
    #[cfg(test)]
    pub fn exact_sum() -> Self {
        Operator::of(Kind::ExactSum)
    }

    /// A function of the program; `commutes` as the program says
    /// (`MPI_Op_create`). It may be called by several threads at once.
    pub fn user(function: UserFunction, commutes: bool) -> Self {
        Operator::of(Kind::User { function, commutes })
    }

    /// Whether the order of the arguments does not matter.
    pub fn is_commutative(&self) -> bool {
        match &self.kind {
            Kind::User { commutes, .. } => *commutes,
            _ => self.as_builtin().is_some_and(Builtin::is_commutative),
        }
    }

    /// Whether this is a function of the program.
    pub fn is_user(&self) -> bool {
        self.as_builtin().is_none()
    }

    /// Which of MPI's own this is, if it is one.
    pub fn as_builtin(&self) -> Option<Builtin> {
        match self.kind {
            Kind::Builtin(builtin) => Some(builtin),
            #[cfg(test)]
            Kind::ExactSum => Some(Builtin::Sum),
            Kind::User { .. } => None,
        }
    }

    /// How items are added up at once, where this is a sum that has to be exact: then
    /// none of the functions that take two is asked.
    #[inline]
    pub fn exact(&self, datatype: &Datatype) -> Option<Exact> {
        match self.kind {
            Kind::Builtin(Builtin::Sum) if exact::is_on() => {}
            #[cfg(test)]
            Kind::ExactSum => {}
            _ => return None,
        }
        Exact::of(datatype.as_basic()?)
    }

    /// Whether a reduction of items of `datatype` with this operator means
    /// something. A function of the program takes any type; MPI's own take
    /// predefined types only, by the table of MPI-5.0 §6.9.2.
    ///
    /// # Errors
    /// `MPI_ERR_OP`, with what the operator takes.
    #[inline]
    pub fn check(&self, datatype: &Datatype) -> Result<()> {
        match self.as_builtin() {
            Some(builtin) if kernel_of(builtin, datatype).is_none() => refused(builtin, datatype),
            _ => Ok(()),
        }
    }

    /// `inout[i] = input[i] op inout[i]` for `count` items of `datatype`.
    ///
    /// # Panics
    /// Where [`Operator::check`] says that the operator does not take the type.
    ///
    /// # Safety
    /// `input` can be read and `inout` read and written for `count` items of
    /// `datatype`; no alignment is needed for MPI's own operators. The two
    /// are the same or do not overlap, and nobody else writes to them.
    pub unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, datatype: &Arc<Datatype>) {
        match (self.as_builtin(), &self.kind) {
            // SAFETY: the caller's promise; `inout` is the right argument and
            // the result at once, which a kernel allows.
            (Some(builtin), _) => unsafe {
                kernel(builtin, datatype)(input, inout, inout, count as usize);
            },
            (None, Kind::User { function, .. }) if count > 0 => function(input, inout, count, datatype),
            _ => {}
        }
    }

    /// `out[i] = left[i] op right[i]` for `count` items of `datatype`, for
    /// MPI's own operators.
    ///
    /// # Panics
    /// For a function of the program (it knows only two buffers: see
    /// [`Operator::apply`]), and as `apply` does.
    ///
    /// # Safety
    /// `left` and `right` can be read and `out` written for `count` items of
    /// `datatype`. `out` is `left`, is `right`, or overlaps neither, and
    /// nobody else writes to them.
    pub unsafe fn combine(
        &self,
        left: *const u8,
        right: *const u8,
        out: *mut u8,
        count: u64,
        datatype: &Datatype,
    ) {
        let builtin = self.as_builtin().expect("combine is for MPI's own operators");
        // SAFETY: the caller's promise is the kernel's demand.
        unsafe { kernel(builtin, datatype)(left, right, out, count as usize) }
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::User { commutes, .. } => write!(f, "user function (commutes: {commutes})"),
            _ => f.write_str(self.as_builtin().map_or("", Builtin::name)),
        }
    }
}

/// The kernels of one operator, by the numbers of the basic types.
type Row = [Option<Kernel>; Basic::NUMBER];

/// What [`select`] says, asked once.
fn kernels() -> &'static [Row; Builtin::NUMBER] {
    static KERNELS: OnceLock<Box<[Row; Builtin::NUMBER]>> = OnceLock::new();
    KERNELS.get_or_init(|| {
        let mut kernels = Box::new([[None; Basic::NUMBER]; Builtin::NUMBER]);
        for builtin in Builtin::all() {
            for &basic in Basic::all() {
                kernels[builtin as usize][basic as usize] = select(builtin, basic);
            }
        }
        kernels
    })
}

/// The kernel of an operator on a type, if it takes that.
#[inline]
fn kernel_of(builtin: Builtin, datatype: &Datatype) -> Option<Kernel> {
    kernel_of_basic(builtin, datatype.as_basic()?)
}

/// The same for elements.
#[inline]
pub(super) fn kernel_of_basic(builtin: Builtin, basic: Basic) -> Option<Kernel> {
    kernels()[builtin as usize][basic as usize]
}

/// The kernel of an operator on a type that [`Operator::check`] has passed.
#[inline]
fn kernel(builtin: Builtin, datatype: &Datatype) -> Kernel {
    kernel_of(builtin, datatype).expect("the reduction was checked before it began")
}

/// Why one of MPI's own operators does not take a datatype.
#[cold]
fn refused(builtin: Builtin, datatype: &Datatype) -> Result<()> {
    let operator = builtin.name();
    let refuse = |cause| Err(Error::because(Class::Op, cause));
    let Some(takes) = builtin.takes() else { return refuse(Cause::NoReduction(operator)) };
    let Some(basic) = datatype.as_basic() else { return refuse(Cause::OperatorTakesNoDerived(operator)) };
    let is_long_double = matches!(basic, Basic::LongDouble | Basic::ComplexLongDouble | Basic::LongDoubleInt);
    if is_long_double && cfg!(not(target_arch = "x86_64")) {
        return Err(Error::not_there_yet("reduction of long double on this kind of processor"));
    }
    refuse(Cause::OperatorTakesNot { operator, datatype: datatype.name(), takes })
}
