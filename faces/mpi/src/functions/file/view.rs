//! Views and file pointers (MPI-5.0 §14.3, §14.4.3, §14.4.4).

use crate::abi;
use crate::arguments::{read_string, uncommitted, write_string, OutCount, OutValue};
use crate::entry::engine;
use crate::handle_arguments::Out;
use crate::objects::{Datatype, File, Info};
use serried_engine::file::{Representation, Whence};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Where a view begins; nothing for where the shared pointer is.
fn displacement_of(disp: i64) -> Result<Option<u64>> {
    match u64::try_from(disp) {
        Ok(displacement) => Ok(Some(displacement)),
        Err(_) if disp == abi::MPI_DISPLACEMENT_CURRENT => Ok(None),
        Err(_) => Err(Error::new(Class::Arg, format!("argument disp is {disp}; it cannot be negative"))),
    }
}

/// `MPI_File_set_view` (§14.3).
pub fn file_set_view(
    fh: &Arc<File>,
    disp: i64,
    etype: &Arc<Datatype>,
    filetype: &Arc<Datatype>,
    datarep: *const c_char,
    info: Option<&Arc<Info>>,
) -> Result<()> {
    let wanted = (|| {
        for (name, datatype) in [("etype", etype), ("filetype", filetype)] {
            if !datatype.is_committed() {
                return Err(uncommitted(name, datatype));
            }
        }
        let displacement = displacement_of(disp)?;
        Ok((displacement, Representation::find(&read_string("datarep", datarep)?)?))
    })();
    fh.set_view(&engine()?.team_of(fh), (etype, filetype), wanted)?;
    if let Some(info) = info {
        fh.set_hints(info);
    }
    Ok(())
}

/// `MPI_File_get_view` (§14.3).
pub fn file_get_view(
    fh: &Arc<File>,
    disp: OutValue<i64>,
    etype: Out<Datatype>,
    filetype: Out<Datatype>,
    datarep: *mut c_char,
) -> Result<()> {
    let view = fh.view();
    write_string("datarep", datarep, abi::MPI_MAX_DATAREP_STRING as usize, view.representation.name())?;
    disp.set(view.displacement as i64);
    etype.put(view.etype.clone())?;
    filetype.put(view.filetype.clone())
}

/// `MPI_File_get_type_extent` (§14.5.1).
pub fn file_get_type_extent(fh: &Arc<File>, datatype: &Arc<Datatype>, extent: OutCount) -> Result<()> {
    extent.set(fh.view().representation.in_file(datatype)?.extent());
    Ok(())
}

/// `MPI_File_get_byte_offset` (§14.4.3).
pub fn file_get_byte_offset(fh: &Arc<File>, offset: i64, disp: OutValue<i64>) -> Result<()> {
    disp.set(fh.byte_offset(offset)? as i64);
    Ok(())
}

fn whence_of(whence: c_int) -> Result<Whence> {
    match whence {
        abi::MPI_SEEK_SET => Ok(Whence::Set),
        abi::MPI_SEEK_CUR => Ok(Whence::Current),
        abi::MPI_SEEK_END => Ok(Whence::End),
        _ => {
            let message = format!(
                "argument whence is {whence}, and not one of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END"
            );
            Err(Error::new(Class::Arg, message))
        }
    }
}

/// `MPI_File_seek` (§14.4.3).
pub fn file_seek(fh: &Arc<File>, offset: i64, whence: c_int) -> Result<()> {
    fh.seek(offset, whence_of(whence)?)
}

/// `MPI_File_get_position` (§14.4.3).
pub fn file_get_position(fh: &Arc<File>, offset: OutValue<i64>) -> Result<()> {
    offset.set(fh.position()? as i64);
    Ok(())
}

/// `MPI_File_seek_shared` (§14.4.4).
pub fn file_seek_shared(fh: &Arc<File>, offset: i64, whence: c_int) -> Result<()> {
    fh.seek_shared(&engine()?.team_of(fh), offset, whence_of(whence))
}

/// `MPI_File_get_position_shared` (§14.4.4).
pub fn file_get_position_shared(fh: &Arc<File>, offset: OutValue<i64>) -> Result<()> {
    offset.set(fh.shared_position()? as i64);
    Ok(())
}
