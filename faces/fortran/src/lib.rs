//! MPI for Fortran: thin wrappers over a C library of MPI, made from the tables of `faces/mpi`.
//!
//! Each package beside this folder compiles this tree for one Fortran library of one ABI, which its file
//! `NAME.fortran` describes. A wrapper turns arguments of Fortran into those of C and calls the C function, by its
//! name: the C library is another file, and the dynamic linker finds it beside this one.
//!
//! Nothing here knows the engine, and no Fortran compiler is needed to build it.

mod abi;
#[allow(dead_code)] // libraries differ in what they need
mod by_hand;
mod handles;
mod integers;
mod lengths;
#[allow(dead_code)]
mod refusal;
#[allow(dead_code)] // not every library has routines with descriptors
mod section;
mod special;
mod text;
mod wrappers;

/// By this text `serried doctor` knows our libraries from others of the same names.
#[used]
static WHOSE: [u8; 39] = *b"Serried (MPI-5.0, a library of Fortran)";
