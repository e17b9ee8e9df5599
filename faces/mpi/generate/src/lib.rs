//! Reads the tables in `faces/mpi/api` and the file of an ABI, and makes from them
//! what the compiler and the programs see: the `extern "C"` functions, types and
//! constants of that ABI, `mpi.h`, the list of call names.
//!
//! Each function of MPI stands once in a table, each ABI in one file; see
//! `docs/guides/new-function.md` and `docs/guides/new-abi.md`. Errors name the file
//! and the line.

pub mod abi;
pub mod constant;
pub mod declaration;
pub mod exports;
pub mod fortran;
pub mod header;
pub mod kind;
pub mod manual;
pub mod module;
pub mod status;
pub mod symbol;
pub mod value;

use abi::Abi;
use std::path::{Path, PathBuf};

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
        let mut found = Api { declarations: Vec::new(), constants: Vec::new() };
        for file in files(api, "api")? {
            let text =
                std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
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

    /// The functions that an ABI has.
    pub fn declarations_of<'a>(&'a self, abi: &'a Abi) -> impl Iterator<Item = &'a declaration::Declaration> {
        self.declarations.iter().filter(|declaration| abi.has_function(declaration))
    }
}

/// The files of a folder whose names end in `.ending`, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Problem> {
    let listing = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let all = listing.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = all.filter(|file| file.extension().is_some_and(|name| name == ending)).collect();
    found.sort();
    Ok(found)
}

/// For the build script of a library: makes what its ABI needs and tells cargo how
/// to link. `package` is the folder of its manifest, which has the one file of its
/// ABI; the tables are in `faces/mpi/api` of a folder above it.
///
/// # Errors
/// As [`Api::read`] and [`Abi::read`], or a file that cannot be written.
pub fn build(package: &Path, out: &Path) -> Result<(), Problem> {
    let above = package.ancestors().map(|folder| folder.join("faces/mpi/api"));
    let api = above.into_iter().find(|folder| folder.is_dir()).ok_or("there is no faces/mpi/api above")?;
    let found = files(package, "abi")?;
    let [file] = &found[..] else {
        return Err(format!("{} has {} files of an ABI, not one", package.display(), found.len()));
    };
    println!("cargo:rerun-if-changed={}", api.display());
    println!("cargo:rerun-if-changed={}", file.display());
    let tables = Api::read(&api)?;
    let abi = Abi::read(file, &tables)?;
    let write = |name: &str, text: String| {
        std::fs::write(out.join(name), text).map_err(|error| format!("{name} in {}: {error}", out.display()))
    };
    write("abi.rs", module::module(&tables, &abi))?;
    write("calls.rs", exports::lists(&tables))?;
    write("exports.rs", exports::functions(&tables, &abi)?)?;
    link(&abi.soname);
    Ok(())
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

/// How the library is linked that programs know as `soname`.
fn link(soname: &str) {
    let tell = |argument: &str| println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    tell(&format!("-soname,{soname}"));
    // Functions only: programs may have copies of exported objects, and these count then.
    tell("-Bsymbolic-functions");
    // But malloc and its relatives: where a program brings its own, our calls go there too.
    for name in ALLOCATOR {
        tell(&format!("--export-dynamic-symbol={name}"));
    }
}

#[cfg(test)]
mod tests;
