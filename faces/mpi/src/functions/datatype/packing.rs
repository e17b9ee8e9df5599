//! Pack and unpack, also in external32 (MPI-5.0 §5.2, §5.3).

use crate::arguments::{is_in_place, not_null, read_string, uncommitted, OutCount};
use crate::common::buffers;
use crate::objects::{Comm, Datatype};
use serried_engine::datatype::{Basic, Use};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// MPI_Pack.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn pack(
    inbuf: *const c_void,
    incount: i64,
    datatype: &Arc<Datatype>,
    outbuf: *mut c_void,
    outsize: i64,
    position: OutCount,
    _comm: &Arc<Comm>,
) -> Result<()> {
    let count = incount as u64;
    let bytes = check_items("inbuf", inbuf, count, datatype)?;
    let begin = check_piece("outbuf", outbuf, outsize, position.get(), bytes)?;
    if bytes > 0 {
        // SAFETY: the program passes `outsize` bytes at `outbuf` and the items
        // at `inbuf`; what is written lies within, and they do not overlap.
        unsafe {
            let out =
                std::slice::from_raw_parts_mut(packed(outbuf, begin, bytes, Use::Change)?, bytes as usize);
            datatype.pack(items(inbuf, count, datatype, Use::Read)?, count, 0, out);
        }
    }
    position.set(begin as i64 + bytes as i64);
    Ok(())
}

/// MPI_Unpack.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn unpack(
    inbuf: *const c_void,
    insize: i64,
    position: OutCount,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: &Arc<Datatype>,
    _comm: &Arc<Comm>,
) -> Result<()> {
    let count = outcount as u64;
    let bytes = check_items("outbuf", outbuf, count, datatype)?;
    let begin = check_piece("inbuf", inbuf, insize, position.get(), bytes)?;
    if bytes > 0 {
        // SAFETY: the program passes `insize` bytes at `inbuf` and room for the
        // items at `outbuf`; what is read lies within, and they do not overlap.
        unsafe {
            let input = std::slice::from_raw_parts(packed(inbuf, begin, bytes, Use::Read)?, bytes as usize);
            datatype.unpack(items(outbuf, count, datatype, Use::Change)?, count, 0, input);
        }
    }
    position.set(begin as i64 + bytes as i64);
    Ok(())
}

/// MPI_Pack_size: exactly the bytes of the data.
pub fn pack_size(incount: i64, datatype: &Arc<Datatype>, _comm: &Arc<Comm>, size: OutCount) -> Result<()> {
    size.set(datatype.bytes(incount as u64)? as i64);
    Ok(())
}

/// MPI_Pack_external.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn pack_external(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: i64,
    datatype: &Arc<Datatype>,
    outbuf: *mut c_void,
    outsize: i64,
    position: OutCount,
) -> Result<()> {
    check_representation(datarep)?;
    let count = incount as u64;
    check_items("inbuf", inbuf, count, datatype)?;
    let bytes = datatype.external_size(count)?;
    let begin = check_piece("outbuf", outbuf, outsize, position.get(), bytes)?;
    if bytes > 0 {
        // SAFETY: as in `pack`.
        unsafe {
            let out =
                std::slice::from_raw_parts_mut(packed(outbuf, begin, bytes, Use::Change)?, bytes as usize);
            datatype.pack_external(items(inbuf, count, datatype, Use::Read)?, count, out)?;
        }
    }
    position.set(begin as i64 + bytes as i64);
    Ok(())
}

/// MPI_Unpack_external.
#[allow(clippy::too_many_arguments)] // as many as MPI gives it
pub fn unpack_external(
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: i64,
    position: OutCount,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: &Arc<Datatype>,
) -> Result<()> {
    check_representation(datarep)?;
    let count = outcount as u64;
    check_items("outbuf", outbuf, count, datatype)?;
    let bytes = datatype.external_size(count)?;
    let begin = check_piece("inbuf", inbuf, insize, position.get(), bytes)?;
    if bytes > 0 {
        // SAFETY: as in `unpack`.
        unsafe {
            let input = std::slice::from_raw_parts(packed(inbuf, begin, bytes, Use::Read)?, bytes as usize);
            datatype.unpack_external(input, items(outbuf, count, datatype, Use::Change)?, count)?;
        }
    }
    position.set(begin as i64 + bytes as i64);
    Ok(())
}

/// MPI_Pack_external_size.
pub fn pack_external_size(
    datarep: *const c_char,
    incount: i64,
    datatype: &Arc<Datatype>,
    size: OutCount,
) -> Result<()> {
    check_representation(datarep)?;
    size.set(datatype.external_size(incount as u64)? as i64);
    Ok(())
}

fn check_representation(datarep: *const c_char) -> Result<()> {
    let name = read_string("datarep", datarep)?;
    if name == "external32" {
        return Ok(());
    }
    Err(Error::new(Class::Arg, format!("argument datarep is \"{name}\"; only \"external32\" can be packed")))
}

/// Where the items of a call are, for the processor.
fn items(buffer: *const c_void, count: u64, datatype: &Arc<Datatype>, used: Use) -> Result<*mut u8> {
    buffers::host(buffer.cast_mut().cast(), count, datatype, used)
}

/// Where the bytes of a packed buffer from `begin` on are, for the processor.
fn packed(buffer: *const c_void, begin: usize, bytes: u64, used: Use) -> Result<*mut u8> {
    let first = buffer.cast_mut().cast::<u8>().wrapping_add(begin);
    buffers::host(first, bytes, Datatype::shared(Basic::Packed), used)
}

/// Checks the items of a call and gives their bytes of data.
fn check_items(name: &str, buffer: *const c_void, count: u64, datatype: &Datatype) -> Result<u64> {
    if !datatype.is_committed() {
        return Err(uncommitted("datatype", datatype));
    }
    let bytes = datatype.bytes(count)?;
    if is_in_place(buffer) {
        let message = format!("argument {name} is MPI_IN_PLACE, which only collective operations take");
        return Err(Error::new(Class::Buffer, message));
    }
    // MPI_BOTTOM is null, so only what no absolute address can be is wrong.
    if bytes > 0 && buffer.is_null() && datatype.true_lower_bound() == 0 {
        return Err(Error::new(
            Class::Buffer,
            format!("argument {name} is a null pointer, but there are {bytes} bytes of data"),
        ));
    }
    Ok(bytes)
}

/// Checks that `bytes` from `position` on lie within a packed buffer of `size`
/// bytes, and gives the position.
fn check_piece(name: &str, buffer: *const c_void, size: i64, position: i64, bytes: u64) -> Result<usize> {
    if position < 0 || position > size {
        let message = format!("argument position is {position}, not within the {size} bytes of {name}");
        return Err(Error::new(Class::Arg, message));
    }
    let room = (size - position) as u64;
    if bytes > room {
        let message =
            format!("{name} has {room} bytes from position {position} on, but the data take {bytes}");
        return Err(Error::new(Class::Truncate, message));
    }
    if bytes > 0 {
        not_null(name, buffer).map_err(|error| Error::new(Class::Buffer, error.message()))?;
    }
    Ok(position as usize)
}
