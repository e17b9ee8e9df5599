//! The build script of every Fortran library: makes its wrappers from the tables of MPI.

use std::path::Path;

fn main() {
    let variable = |name| std::env::var(name).expect("cargo sets it");
    let (package, out) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR"));
    if let Err(problem) = serried_mpi_generate::fortran::build(Path::new(&package), Path::new(&out)) {
        eprintln!("{problem}");
        std::process::exit(1);
    }
}
