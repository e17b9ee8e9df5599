//! Writes to standard output what the tables make:
//!
//! ```text
//! serried-shmem-generate shmem.h        the header of programs
//! serried-shmem-generate pshmem.h       that of profiling tools
//! serried-shmem-generate symbols        the names of all functions
//! ```
//! The last argument may be the folder of the tables, `faces/shmem/api` otherwise.

use serried_shmem_generate::{header, symbol, Api};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: serried-shmem-generate shmem.h|pshmem.h|symbols [FOLDER]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("serried-shmem-generate: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<String, String> {
    let (what, folder) = match arguments {
        [what] => (*what, "faces/shmem/api"),
        [what, folder] => (*what, *folder),
        _ => return Err(USAGE.to_owned()),
    };
    let api = Api::read(Path::new(folder))?;
    match what {
        "shmem.h" => Ok(header::header(&api)),
        "pshmem.h" => Ok(header::profiling_header(&api)),
        "symbols" => {
            let all = api.declarations.iter().flat_map(symbol::symbols);
            Ok(all.map(|one| format!("{}\n{}\n", one.name(false), one.name(true))).collect())
        }
        _ => Err(USAGE.to_owned()),
    }
}
