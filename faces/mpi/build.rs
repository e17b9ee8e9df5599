//! The build script of every library: makes the `extern "C"` functions, types and
//! constants of its ABI, whose file lies beside the manifest.

use std::path::Path;

fn main() {
    let variable = |name| std::env::var(name).expect("cargo sets it");
    let (package, out) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR"));
    let (package, out) = (Path::new(&package), Path::new(&out));
    let made =
        serried_mpi_generate::build(package, out).and_then(|()| serried_shmem_generate::build(package, out));
    if let Err(problem) = made {
        eprintln!("{problem}");
        std::process::exit(1);
    }
}
