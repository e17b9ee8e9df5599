//! `mpif.h`, in lines that are right in free and in fixed form.

use super::constants::{common, handles, kinds, numbers, Shape, SENTINELS};
use crate::abi::Abi;
use crate::fortran::routine::ONLY_FORTRAN;
use crate::Api;
use std::fmt::Write;

/// The header of an ABI, for programs whose integers are wide or not.
pub fn include_file(api: &Api, abi: &Abi, is_wide: bool) -> String {
    let mut text = format!(
        "! mpif.h of Serried: MPI-5.0 for Fortran 77 over the {} ({}).\n\
         ! Made by serried-mpi-generate. Each line is right in free and in fixed form.\n",
        abi.name, abi.soname
    );
    for (name, bytes) in kinds(is_wide) {
        constant(&mut text, "integer", name, &bytes.to_string());
    }
    for (name, value) in numbers(api, abi) {
        constant(&mut text, "integer", &name, &value.to_string());
    }
    for (name, _, value) in handles(api, abi, is_wide) {
        constant(&mut text, "integer", &name, &value.to_string());
    }
    constant(&mut text, "integer*8", "MPI_DISPLACEMENT_CURRENT", "-1");
    constant(&mut text, "logical", "MPI_SUBARRAYS_SUPPORTED", ".false.");
    constant(&mut text, "logical", "MPI_ASYNC_PROTECTS_NONBLOCKING", ".false.");
    for (name, shape) in SENTINELS {
        let declared = match shape {
            Shape::Integer(0) => format!("integer {name}"),
            Shape::Integer(_) => format!("integer {name}(1)"),
            Shape::Character(dimensions) => {
                format!("character*1 {name}({})", vec!["1"; dimensions].join(","))
            }
            Shape::Status(false) => format!("integer {name}(MPI_STATUS_SIZE)"),
            Shape::Status(true) => format!("integer {name}(MPI_STATUS_SIZE,1)"),
        };
        let block = common(name);
        let _ = writeln!(text, "      {declared}\n      common /{block}/ {name}\n      save /{block}/");
    }
    for name in ONLY_FORTRAN.iter().filter(|name| name.ends_with("_fn") || name.ends_with("_fn_null")) {
        let _ = writeln!(text, "      external {}", name.to_uppercase());
    }
    for (name, returns) in FUNCTIONS {
        let _ = writeln!(text, "      external {name}, P{name}\n      {returns} {name}, P{name}");
    }
    text
}

/// Functions, with their types.
const FUNCTIONS: [(&str, &str); 4] = [
    ("MPI_WTIME", "double precision"),
    ("MPI_WTICK", "double precision"),
    ("MPI_AINT_ADD", "integer*8"),
    ("MPI_AINT_DIFF", "integer*8"),
];

fn constant(text: &mut String, fortran: &str, name: &str, value: &str) {
    let _ = writeln!(text, "      {fortran} {name}\n      parameter ({name}={value})");
}
