//! Writes to standard output what the tables make:
//!
//! ```text
//! serried-mpi-generate header [ABI]          mpi.h
//! serried-mpi-generate extensions ABI        mpi-ext.h, where mpi.h is the standard's alone
//! serried-mpi-generate names                 the names of all calls
//! serried-mpi-generate constants ABI         name and value, a line each
//! serried-mpi-generate declarations ABI      callback types and prototypes
//! serried-mpi-generate manual FOLDER         no output: a page for each function, there
//! serried-mpi-generate mpif.h [LIBRARY]      what Fortran 77 includes; the library is standard or wide
//! serried-mpi-generate modules [LIBRARY]     the source of the modules mpi and mpi_f08
//! ```
//! An ABI is the name of a folder in `faces/mpi` (`standard`, `mpich`) or a file. The
//! last argument may be the folder of the tables, `faces/mpi/api` otherwise.

use serried_mpi_generate::abi::Abi;
use serried_mpi_generate::fortran::{interface, library::Library};
use serried_mpi_generate::{exports, header, manual, Api};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str =
    "usage: serried-mpi-generate header [ABI]|extensions ABI|names|constants ABI|declarations ABI|manual FOLDER|mpif.h [LIBRARY]|modules [LIBRARY] [TABLES]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("serried-mpi-generate: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<String, String> {
    let (what, mut rest) = arguments.split_first().ok_or(USAGE)?;
    let tables = match rest.split_last() {
        Some((last, others)) if Path::new(last).join("constants.api").is_file() => {
            rest = others;
            PathBuf::from(last)
        }
        _ => PathBuf::from("faces/mpi/api"),
    };
    let api = Api::read(&tables)?;
    let abi = |name: &str| match Path::new(name).is_file() {
        true => Abi::read(Path::new(name), &api),
        false => Abi::read(&tables.with_file_name(name).join(name).with_extension("abi"), &api),
    };
    match (*what, rest) {
        ("header", []) => Ok(header::header(&api, &abi("standard")?)),
        ("header", [name]) => Ok(header::header(&api, &abi(name)?)),
        ("extensions", [name]) => Ok(header::extensions(&api, &abi(name)?)),
        ("names", []) => Ok(exports::names(&api).join("\n") + "\n"),
        ("constants", [name]) => Ok(header::numbers(&api, &abi(name)?)),
        ("declarations", [name]) => Ok(header::declarations(&api, &abi(name)?)),
        ("manual", [folder]) => {
            manual::write(&api, &abi("standard")?, &tables, Path::new(folder)).map(|()| String::new())
        }
        ("mpif.h" | "modules", []) => run_fortran(what, "standard", &tables, &api),
        ("mpif.h" | "modules", [library]) => run_fortran(what, library, &tables, &api),
        _ => Err(USAGE.to_string()),
    }
}

/// What programs in Fortran are compiled with, for a library of `faces/fortran`.
fn run_fortran(what: &str, library: &str, tables: &Path, api: &Api) -> Result<String, String> {
    let libraries = tables.join("../../fortran");
    let library = Library::read(&libraries.join(library).join(library).with_extension("fortran"))?;
    let abi = Abi::read(&tables.with_file_name(&library.abi).join(&library.abi).with_extension("abi"), api)?;
    Ok(match what {
        "mpif.h" => interface::include_file(api, &abi, library.is_wide()),
        _ => interface::modules(api, &abi, &library),
    })
}
