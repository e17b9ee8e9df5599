//! Sizes, bounds, names, addresses, and what a status counts
//! (MPI-5.0 §5.1.5 to §5.1.11, §7.8, §3.2.5).

use crate::abi;
use crate::arguments::{read_string, write_string, OutCount, OutValue};
use crate::objects::Datatype;
use crate::status::{StatusIn, StatusOut};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// MPI_Type_size; `MPI_UNDEFINED` where an int cannot hold it.
pub fn type_size(datatype: &Arc<Datatype>, size: OutCount) -> Result<()> {
    size.set(datatype.size() as i64);
    Ok(())
}

/// MPI_Type_size_x.
pub fn type_size_x(datatype: &Arc<Datatype>, size: OutCount) -> Result<()> {
    type_size(datatype, size)
}

/// MPI_Type_get_extent.
pub fn type_get_extent(datatype: &Arc<Datatype>, lower_bound: OutCount, extent: OutCount) -> Result<()> {
    lower_bound.set(datatype.lower_bound());
    extent.set(datatype.extent());
    Ok(())
}

/// MPI_Type_get_extent_x.
pub fn type_get_extent_x(datatype: &Arc<Datatype>, lower_bound: OutCount, extent: OutCount) -> Result<()> {
    type_get_extent(datatype, lower_bound, extent)
}

/// MPI_Type_get_true_extent.
pub fn type_get_true_extent(datatype: &Arc<Datatype>, lower_bound: OutCount, extent: OutCount) -> Result<()> {
    lower_bound.set(datatype.true_lower_bound());
    extent.set(datatype.true_extent());
    Ok(())
}

/// MPI_Type_get_true_extent_x.
pub fn type_get_true_extent_x(
    datatype: &Arc<Datatype>,
    lower_bound: OutCount,
    extent: OutCount,
) -> Result<()> {
    type_get_true_extent(datatype, lower_bound, extent)
}

/// MPI_Type_set_name.
pub fn type_set_name(datatype: &Arc<Datatype>, name: *const c_char) -> Result<()> {
    let name = read_string("type_name", name)?;
    let longest = abi::MPI_MAX_OBJECT_NAME as usize - 1;
    if name.len() > longest {
        let message = format!("argument type_name has {} bytes; a name may have {longest}", name.len());
        return Err(Error::new(Class::Arg, message));
    }
    datatype.set_name(&name);
    Ok(())
}

/// MPI_Type_get_name.
pub fn type_get_name(
    datatype: Option<&Arc<Datatype>>,
    name: *mut c_char,
    length: OutValue<c_int>,
) -> Result<()> {
    let capacity = abi::MPI_MAX_OBJECT_NAME as usize;
    let text = datatype.map_or("MPI_DATATYPE_NULL".to_string(), |datatype| datatype.name());
    length.set(write_string("type_name", name, capacity, &text)? as c_int);
    Ok(())
}

/// MPI_Get_address.
pub fn get_address(location: *const c_void, address: OutValue<i64>) -> Result<()> {
    address.set(location as i64);
    Ok(())
}

/// MPI_Get_count: whole items; `MPI_UNDEFINED` where the data end inside one.
pub fn get_count(status: StatusIn, datatype: &Arc<Datatype>, count: OutCount) -> Result<()> {
    let bytes = status.get().bytes;
    match bytes.checked_rem(datatype.size()) {
        Some(0) => count.set((bytes / datatype.size()) as i64),
        None if bytes == 0 => count.set(0),
        _ => count.set_undefined(),
    }
    Ok(())
}

/// MPI_Get_elements: basic elements; `MPI_UNDEFINED` where the data end inside one.
pub fn get_elements(status: StatusIn, datatype: &Arc<Datatype>, count: OutCount) -> Result<()> {
    match datatype.get_elements(status.get().bytes) {
        Some(elements) => count.set(elements as i64),
        None => count.set_undefined(),
    }
    Ok(())
}

/// MPI_Get_elements_x.
pub fn get_elements_x(status: StatusIn, datatype: &Arc<Datatype>, count: OutCount) -> Result<()> {
    get_elements(status, datatype, count)
}

/// MPI_Status_set_elements: what MPI_Get_elements will say.
pub fn status_set_elements(status: StatusOut, datatype: &Arc<Datatype>, count: i64) -> Result<()> {
    let count = u64::try_from(count).map_err(|_| {
        Error::new(Class::Count, format!("argument count is {count} and must not be negative"))
    })?;
    let bytes = datatype.bytes_of_elements(count)?;
    status.change(0, |raw| raw.set_bytes(bytes, raw.cancelled()));
    Ok(())
}

/// MPI_Status_set_elements_x.
pub fn status_set_elements_x(status: StatusOut, datatype: &Arc<Datatype>, count: i64) -> Result<()> {
    status_set_elements(status, datatype, count)
}

/// The pieces of one item of a type at address 0, in the order of sending.
fn pieces(datatype: &Datatype) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    datatype.segments(std::ptr::null_mut(), 1, 0, u64::MAX, &mut pieces, usize::MAX);
    pieces
}

/// `MPIX_Type_iov_len`: how many whole pieces there are in the first
/// `max_iov_bytes` (all, if it is negative), and how many bytes those have.
pub fn mpix_type_iov_len(
    datatype: &Arc<Datatype>,
    max_iov_bytes: i64,
    iov_len: OutCount,
    actual_iov_bytes: OutCount,
) -> Result<()> {
    let most = u64::try_from(max_iov_bytes).unwrap_or(u64::MAX);
    let (mut count, mut bytes) = (0, 0);
    for (_, length) in pieces(datatype) {
        if bytes + length as u64 > most {
            break;
        }
        (count, bytes) = (count + 1, bytes + length as u64);
    }
    iov_len.set(count);
    actual_iov_bytes.set(bytes as i64);
    Ok(())
}

/// `MPIX_Type_iov`: the pieces from number `iov_offset` on, as address and
/// length, at most `max_iov_len` of them.
pub fn mpix_type_iov(
    datatype: &Arc<Datatype>,
    iov_offset: i64,
    iov: *mut c_void,
    max_iov_len: i64,
    actual_iov_len: OutCount,
) -> Result<()> {
    let place = |name, value: i64| {
        usize::try_from(value).map_err(|_| {
            Error::new(Class::Arg, format!("argument {name} is {value} and must not be negative"))
        })
    };
    let (first, most) = (place("iov_offset", iov_offset)?, place("max_iov_len", max_iov_len)?);
    let pieces = pieces(datatype);
    let chosen = pieces.get(first..).unwrap_or_default();
    let chosen = &chosen[..most.min(chosen.len())];
    if !chosen.is_empty() {
        crate::arguments::not_null("iov", iov)?;
    }
    for (index, &(address, length)) in chosen.iter().enumerate() {
        // SAFETY: the program passes an array of `max_iov_len` pairs of a
        // pointer and an MPI_Aint.
        unsafe { iov.cast::<[usize; 2]>().add(index).write([address, length]) };
    }
    actual_iov_len.set(chosen.len() as i64);
    Ok(())
}
