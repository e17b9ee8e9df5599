//! Access modes (MPI-5.0 §14.2.1).

use crate::abi::*;
use serried_engine::file::Mode;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;

const KNOWN: c_int = MPI_MODE_RDONLY
    | MPI_MODE_RDWR
    | MPI_MODE_WRONLY
    | MPI_MODE_CREATE
    | MPI_MODE_EXCL
    | MPI_MODE_DELETE_ON_CLOSE
    | MPI_MODE_UNIQUE_OPEN
    | MPI_MODE_SEQUENTIAL
    | MPI_MODE_APPEND;

/// The mode of an argument.
///
/// # Errors
/// `Amode` for what MPI says is erroneous.
pub fn read(amode: c_int) -> Result<Mode> {
    let has = |bit: c_int| amode & bit != 0;
    let mode = Mode {
        read_only: has(MPI_MODE_RDONLY),
        read_write: has(MPI_MODE_RDWR),
        write_only: has(MPI_MODE_WRONLY),
        create: has(MPI_MODE_CREATE),
        exclusive: has(MPI_MODE_EXCL),
        delete_on_close: has(MPI_MODE_DELETE_ON_CLOSE),
        unique_open: has(MPI_MODE_UNIQUE_OPEN),
        sequential: has(MPI_MODE_SEQUENTIAL),
        append: has(MPI_MODE_APPEND),
    };
    let ways = [mode.read_only, mode.read_write, mode.write_only].into_iter().filter(|&way| way).count();
    let wrong = if amode & !KNOWN != 0 {
        "has bits that are no MPI_MODE_… of files"
    } else if ways != 1 {
        "must have exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY"
    } else if mode.read_only && (mode.create || mode.exclusive) {
        "cannot have MPI_MODE_CREATE or MPI_MODE_EXCL together with MPI_MODE_RDONLY"
    } else if mode.read_write && mode.sequential {
        "cannot have MPI_MODE_SEQUENTIAL together with MPI_MODE_RDWR"
    } else {
        return Ok(mode);
    };
    Err(Error::new(Class::Amode, format!("argument amode ({amode:#x}) {wrong}")))
}

/// The argument of a mode.
pub fn write(mode: &Mode) -> c_int {
    let bits = [
        (mode.read_only, MPI_MODE_RDONLY),
        (mode.read_write, MPI_MODE_RDWR),
        (mode.write_only, MPI_MODE_WRONLY),
        (mode.create, MPI_MODE_CREATE),
        (mode.exclusive, MPI_MODE_EXCL),
        (mode.delete_on_close, MPI_MODE_DELETE_ON_CLOSE),
        (mode.unique_open, MPI_MODE_UNIQUE_OPEN),
        (mode.sequential, MPI_MODE_SEQUENTIAL),
        (mode.append, MPI_MODE_APPEND),
    ];
    bits.into_iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum()
}
