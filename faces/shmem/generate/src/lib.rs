//! Reads the tables in `faces/shmem/api` and makes from them what the compiler and the programs see: the
//! `extern "C"` functions, `shmem.h` and `pshmem.h`, the list of call names.
//!
//! Each function of OpenSHMEM stands once in a table, whatever the types and sizes that it comes in. Errors name
//! the file and the line.

pub mod declaration;
pub mod exports;
pub mod generic;
pub mod header;
pub mod symbol;
pub mod types;

use declaration::Declaration;
use std::path::Path;
use types::Types;

/// What is wrong with a table, and where.
pub type Problem = String;

/// The tables, read.
#[derive(Debug)]
pub struct Api {
    /// The types and sets of them.
    pub types: Types,
    /// Every function, by file and line.
    pub declarations: Vec<Declaration>,
}

/// The tables in the order of the standard.
const CHAPTERS: [&str; 8] =
    ["setup", "memory", "team", "rma", "atomic", "waiting", "collective", "active_set"];

impl Api {
    /// Reads every table in the folder `api`.
    ///
    /// # Errors
    /// A file that cannot be read, or the first line that cannot be understood.
    pub fn read(api: &Path) -> Result<Api, Problem> {
        let read = |chapter: &str| {
            let file = api.join(chapter).with_extension("api");
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()));
            Ok::<_, Problem>((text?, file))
        };
        let at = |file: &Path, (line, what): (usize, Problem)| format!("{}:{line}: {what}", file.display());
        let (text, file) = read("types")?;
        let types = Types::parse(&text).map_err(|problem| at(&file, problem))?;
        let mut declarations = Vec::new();
        for chapter in CHAPTERS {
            let (text, file) = read(chapter)?;
            let found = declaration::parse(chapter, &text, &types).map_err(|problem| at(&file, problem))?;
            declarations.extend(found);
        }
        Ok(Api { types, declarations })
    }
}

/// For the build script of a library: makes what the face needs. `package` is the folder of its manifest; the tables
/// are in `faces/shmem/api` of a folder above it.
///
/// # Errors
/// As [`Api::read`], or a file that cannot be written.
pub fn build(package: &Path, out: &Path) -> Result<(), Problem> {
    let above = package.ancestors().map(|folder| folder.join("faces/shmem/api"));
    let api = above.into_iter().find(|folder| folder.is_dir()).ok_or("there is no faces/shmem/api above")?;
    println!("cargo:rerun-if-changed={}", api.display());
    let tables = Api::read(&api)?;
    let write = |name: &str, text: String| {
        std::fs::write(out.join(name), text).map_err(|error| format!("{name} in {}: {error}", out.display()))
    };
    write("shmem_calls.rs", exports::names(&tables))?;
    write("shmem_exports.rs", exports::functions(&tables)?)
}

#[cfg(test)]
mod tests;
