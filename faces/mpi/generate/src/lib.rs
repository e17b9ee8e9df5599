//! Reads the tables in `faces/mpi/api` and makes from them what the compiler
//! and the programs see: the `extern "C"` functions of an ABI, its constants,
//! `mpi.h`, the list of call names.
//!
//! Each function of MPI stands once in a table; see `docs/architecture.md` for
//! the kinds of arguments. Errors name the file and the line.

pub mod constant;
pub mod declaration;
pub mod header;
pub mod kind;
pub mod rust;

use std::path::Path;

/// The two ABIs that the one table makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// The standard ABI of MPI-5.0 chapter 20: handles are pointers.
    Standard,
    /// The ABI of MPICH: handles are ints.
    Mpich,
}

/// What is wrong with a table, and where.
pub type Problem = String;

/// The tables, read.
#[derive(Debug)]
pub struct Api {
    /// Every function, ordered by file and line.
    pub declarations: Vec<declaration::Declaration>,
    /// Every constant, in the order of the file.
    pub constants: Vec<constant::Constant>,
}

impl Api {
    /// Reads every table in the folder `api`.
    ///
    /// # Errors
    /// A file that cannot be read, or the first line that cannot be understood.
    pub fn read(api: &Path) -> Result<Api, Problem> {
        let listing = std::fs::read_dir(api).map_err(|error| format!("{}: {error}", api.display()))?;
        let mut files: Vec<_> = listing.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let mut found = Api { declarations: Vec::new(), constants: Vec::new() };
        for file in files.iter().filter(|file| file.extension().is_some_and(|name| name == "api")) {
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let chapter = file.file_stem().unwrap_or_default().to_string_lossy();
            let at = |(line, what): (usize, Problem)| format!("{}:{line}: {what}", file.display());
            if chapter == "constants" {
                found.constants = constant::parse(&text).map_err(at)?;
            } else {
                found.declarations.extend(declaration::parse(&chapter, &text).map_err(at)?);
            }
        }
        Ok(found)
    }
}

/// For a build script: writes `functions.rs` and `constants.rs` of `abi` into
/// `out`, and tells cargo to run again when a table changes.
///
/// # Errors
/// As [`Api::read`], or a file that cannot be written.
pub fn build(api: &Path, out: &Path, abi: Abi) -> Result<(), Problem> {
    println!("cargo:rerun-if-changed={}", api.display());
    let tables = Api::read(api)?;
    let write = |name: &str, text: String| {
        std::fs::write(out.join(name), text).map_err(|error| format!("{name} in {}: {error}", out.display()))
    };
    write("functions.rs", rust::functions(&tables, abi)?)?;
    write("constants.rs", rust::constants(&tables, abi))
}

/// By these names our libraries take the place of the C library's allocator.
const ALLOCATOR: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "malloc_usable_size",
];

/// For a build script: how the library is linked that programs know as `soname`.
pub fn link(soname: &str) {
    let tell = |argument: &str| println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    tell(&format!("-soname,{soname}"));
    tell("-Bsymbolic-functions");
    // But malloc and its relatives: where a program brings its own, our calls go there too.
    for name in ALLOCATOR {
        tell(&format!("--export-dynamic-symbol={name}"));
    }
}

#[cfg(test)]
mod tests;
