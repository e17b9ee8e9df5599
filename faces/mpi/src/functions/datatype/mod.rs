//! Datatypes, packing and addresses (MPI-5.0 chapter 5, §3.2.5).
//!
//! The work is in `serried_engine::datatype`; here are the arguments, and the
//! values of this ABI for order, distribution and combiner.

mod constructors;
mod deprecated;
mod envelope;
mod packing;
mod predefined;
mod queries;

pub use constructors::*;
pub use deprecated::*;
pub use envelope::*;
pub use packing::*;
pub use predefined::*;
pub use queries::*;
