//! Fortran: from the same tables, the wrappers of a Fortran library over a C library.
//!
//! `library.rs` reads what a library is, `routine.rs` says what Fortran has of MPI,
//! `passing.rs` and `buffers.rs` have one rule for each kind of argument, `wrapper.rs` writes
//! the functions, `names.rs` what else the library exports, `environment.rs` the types,
//! constants and sentinels that they use, `widened.rs` what programs with wide integers need; `interface` what programs are compiled with.

pub mod buffers;
pub mod environment;
pub mod interface;
pub mod library;
pub mod names;
pub mod passing;
pub mod routine;
pub mod widened;
pub mod wrapper;

use crate::abi::Abi;
use crate::{Api, Problem};
use library::Library;
use std::path::Path;

/// For the build script of a Fortran library: makes its wrappers and tells cargo how to
/// link. `package` is the folder of its manifest, which has the one file that says what
/// the library is.
///
/// # Errors
/// A table or file that cannot be read or understood, or one that cannot be written.
pub fn build(package: &Path, out: &Path) -> Result<(), Problem> {
    let faces = package.ancestors().find(|folder| folder.join("mpi/api").is_dir());
    let mpi = faces.ok_or("there is no mpi/api above")?.join("mpi");
    let found = crate::files(package, "fortran")?;
    let [file] = &found[..] else {
        return Err(format!("{} has {} files of a Fortran library, not one", package.display(), found.len()));
    };
    let library = Library::read(file)?;
    let abi_file = mpi.join(&library.abi).join(&library.abi).with_extension("abi");
    for path in [mpi.join("api"), file.clone(), abi_file.clone()] {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let api = Api::read(&mpi.join("api"))?;
    let abi = Abi::read(&abi_file, &api)?;
    let write = |name: &str, text: String| {
        std::fs::write(out.join(name), text).map_err(|error| format!("{name} in {}: {error}", out.display()))
    };
    write("abi.rs", environment::environment(&api, &abi, &library)?)?;
    write("wrappers.rs", wrapper::wrappers(&api, &abi, &library) + &names::exported(&api, &abi, &library))?;
    environment::link(&abi, &library, out)
}

#[cfg(test)]
mod tests;
