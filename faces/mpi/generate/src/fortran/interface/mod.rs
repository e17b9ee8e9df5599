//! What Fortran programs are compiled with, over one ABI: `mpif.h`, and the source of the modules `mpi` and `mpi_f08`.
//!
//! The modules have interfaces alone, and hardly any code: their routines are those of a library of Rust. A compiler
//! makes of the source what it needs (`.mod` files belong to a compiler and its version).

mod constants;
mod declare;
mod header;
mod modules;

pub use header::header;
pub use modules::modules;
