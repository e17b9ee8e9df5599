//! Reduction: operators and element types.
//!
//! An [`Operator`] is one of MPI's own ([`Builtin`]) or a function of the
//! program. A builtin operator on a basic type is a [`Kernel`]: one loop,
//! compiled for the vectors that every processor of the kind has and once
//! more for AVX2, chosen when it is asked for.
//!
//! With `SERRIED_REPRODUCIBLE` sums do not go in pairs but are [`exact`].
//!
//! What holds for all kernels:
//! * buffers may lie at any address, also unaligned;
//! * the result may be written over either argument (exactly over it, not
//!   partly), so an accumulation needs no third buffer;
//! * integers wrap around; complex products use the plain formula, without
//!   C's special cases for infinities;
//! * the result of an element depends on its two arguments alone, and not on
//!   its place, the count or the processor.

mod builtin;
mod element;
pub mod exact;
mod factor;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod long_double;
mod of_device;
mod operator;
mod select;

#[cfg(test)]
mod tests;

pub use builtin::Builtin;
pub use exact::Exact;
pub use factor::Factor;
pub use kernel::Kernel;
pub use of_device::OfDevice;
pub use operator::{Operator, UserFunction};
