//! `serried-mpi-generate header`: writes `mpi.h` of the standard ABI to
//! standard output. `… names`: the names of all calls. The folder of the tables
//! may follow; it is `faces/mpi/api` otherwise.

use serried_mpi_generate::{header, rust, Api};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, folder) = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [what @ ("header" | "names")] => (*what, "faces/mpi/api"),
        [what @ ("header" | "names"), folder] => (*what, *folder),
        _ => {
            eprintln!("usage: serried-mpi-generate header|names [FOLDER]");
            return ExitCode::from(2);
        }
    };
    match Api::read(Path::new(folder)) {
        Ok(api) if what == "header" => print!("{}", header::header(&api)),
        Ok(api) => println!("{}", rust::names(&api).join("\n")),
        Err(problem) => {
            eprintln!("serried-mpi-generate: {problem}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
