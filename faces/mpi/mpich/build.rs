//! Makes the `extern "C"` functions and the constants of this ABI.

use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let abi = serried_mpi_generate::Abi::Mpich;
    if let Err(problem) = serried_mpi_generate::build(Path::new("../api"), Path::new(&out), abi) {
        eprintln!("{problem}");
        std::process::exit(1);
    }
    serried_mpi_generate::link("libmpi.so.12");
}
