//! Files (MPI-5.0 chapter 14).

mod access;
mod datarep;
mod manage;
mod mode;
mod split;
mod view;

pub use access::*;
pub use datarep::*;
pub use manage::*;
pub use split::*;
pub use view::*;
