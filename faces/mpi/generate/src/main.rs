//! Writes to standard output what the tables make:
//!
//! ```text
//! serried-mpi-generate header                        mpi.h of the standard ABI
//! serried-mpi-generate names                         the names of all calls
//! serried-mpi-generate constants standard|mpich      name and value, a line each
//! serried-mpi-generate declarations standard|mpich   callback types and prototypes
//! ```
//! The last argument may be the folder of the tables, `faces/mpi/api` otherwise.

use serried_mpi_generate::{header, rust, Abi, Api};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: serried-mpi-generate header|names|constants ABI|declarations ABI [FOLDER]";

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
    let (what, rest) = arguments.split_first().ok_or(USAGE)?;
    let (abi, rest) = match rest.split_first() {
        Some((&"standard", rest)) => (Some(Abi::Standard), rest),
        Some((&"mpich", rest)) => (Some(Abi::Mpich), rest),
        _ => (None, rest),
    };
    let api = Api::read(Path::new(rest.first().copied().unwrap_or("faces/mpi/api")))?;
    match (*what, abi) {
        ("header", None) => Ok(header::header(&api)),
        ("names", None) => Ok(rust::names(&api).join("\n") + "\n"),
        ("constants", Some(abi)) => Ok(header::numbers(&api, abi)),
        ("declarations", Some(abi)) => Ok(header::declarations(&api, abi)),
        _ => Err(USAGE.to_string()),
    }
}
