//! Opening, closing, sizes, hints, consistency (MPI-5.0 §14.2, §14.6).

use super::mode;
use crate::arguments::{read_string, OutValue};
use crate::entry::engine;
use crate::error_handler;
use crate::handle_arguments::{InOutFile, Out, OutFile};
use crate::memory_kinds::with_kinds;
use crate::objects::{Comm, File, Group, Info};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// `MPI_File_open` (§14.2.1).
pub fn file_open(
    comm: &Arc<Comm>,
    filename: *const c_char,
    amode: c_int,
    info: Option<&Arc<Info>>,
    fh: OutFile,
) -> Result<()> {
    let name = read_name(filename);
    let wanted = name.as_ref().map_err(Error::clone).and_then(|_| mode::read(amode));
    let name = name.as_deref().unwrap_or("without a name");
    let file = engine()?.open_file(comm, name, wanted, info.map(|info| &**info))?;
    file.set_error_handler(error_handler::of_no_file());
    fh.put(file)
}

fn read_name(filename: *const c_char) -> Result<String> {
    let name = read_string("filename", filename)?;
    match name.is_empty() {
        true => Err(Error::new(Class::BadFile, "argument filename is empty")),
        false => Ok(name),
    }
}

/// `MPI_File_close` (§14.2.2).
pub fn file_close(fh: InOutFile) -> Result<()> {
    fh.get()?.check_no_split()?;
    let file = fh.take()?;
    engine()?.close_file(&file)
}

/// `MPI_File_delete` (§14.2.3).
pub fn file_delete(filename: *const c_char, _info: Option<&Arc<Info>>) -> Result<()> {
    serried_engine::file::delete(&read_name(filename)?)
}

/// `MPI_File_set_size` (§14.2.4).
pub fn file_set_size(fh: &Arc<File>, size: i64) -> Result<()> {
    fh.set_size(&engine()?.team_of(fh), size)
}

/// `MPI_File_preallocate` (§14.2.5).
pub fn file_preallocate(fh: &Arc<File>, size: i64) -> Result<()> {
    fh.preallocate(&engine()?.team_of(fh), size)
}

/// `MPI_File_get_size` (§14.2.6).
pub fn file_get_size(fh: &Arc<File>, size: OutValue<i64>) -> Result<()> {
    size.set(fh.size()? as i64);
    Ok(())
}

/// `MPI_File_get_group` (§14.2.7).
pub fn file_get_group(fh: &Arc<File>, group: Out<Group>) -> Result<()> {
    group.put(fh.communicator.group.clone())
}

/// `MPI_File_get_amode` (§14.2.7).
pub fn file_get_amode(fh: &Arc<File>, amode: OutValue<c_int>) -> Result<()> {
    amode.set(mode::write(&fh.mode));
    Ok(())
}

/// `MPI_File_set_info` (§14.2.8).
pub fn file_set_info(fh: &Arc<File>, info: Option<&Arc<Info>>) -> Result<()> {
    if let Some(info) = info {
        fh.set_hints(info);
    }
    Ok(())
}

/// `MPI_File_get_info` (§14.2.8).
pub fn file_get_info(fh: &Arc<File>, info_used: Out<Info>) -> Result<()> {
    info_used.put(with_kinds(fh.hints())?)
}

/// `MPI_File_set_atomicity` (§14.6.1).
pub fn file_set_atomicity(fh: &Arc<File>, flag: c_int) -> Result<()> {
    fh.set_atomicity(&engine()?.team_of(fh), flag != 0)
}

/// `MPI_File_get_atomicity` (§14.6.1).
pub fn file_get_atomicity(fh: &Arc<File>, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(fh.is_atomic());
    Ok(())
}

/// `MPI_File_sync` (§14.6.1).
pub fn file_sync(fh: &Arc<File>) -> Result<()> {
    fh.sync(&engine()?.team_of(fh))
}
