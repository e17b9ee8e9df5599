//! What Fortran programs are compiled with, over one ABI: `mpif.h`, and the source of the modules `mpi` and `mpi_f08`.
//!
//! The modules have interfaces alone, and hardly any code: their routines are those of a library of Rust. A compiler
//! makes of the source what it needs (`.mod` files belong to a compiler and its version).

mod constants;
mod declare;
mod include_file;
mod modules;

pub use include_file::include_file;
pub use modules::modules;
