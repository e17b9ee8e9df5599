//! `serried-mpi-generate header API-FOLDER`: writes `mpi.h` of the standard ABI
//! to standard output. `… names API-FOLDER`: the names of all calls.

use serried_mpi_generate::{header, rust, Api};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["header", api] => Api::read(Path::new(api)).map(|api| header::header(&api)),
        ["names", api] => Api::read(Path::new(api)).map(|api| rust::names(&api).join("\n") + "\n"),
        _ => Err("usage: serried-mpi-generate header|names API-FOLDER".to_string()),
    };
    match result {
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
