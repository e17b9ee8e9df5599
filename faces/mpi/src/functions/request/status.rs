//! What programs read from and write into statuses (MPI-5.0 §3.2.5, §3.8.4,
//! §13.3).

use crate::arguments::{rank_out, tag_out, OutValue};
use crate::entry::moves_nothing;
use crate::status::{StatusIn, StatusOut};
use serried_engine::Result;
use std::ffi::c_int;

/// `MPI_Test_cancelled` (§3.8.4).
pub fn test_cancelled(status: StatusIn, flag: OutValue<c_int>) -> Result<()> {
    moves_nothing();
    flag.set_flag(status.get().cancelled);
    Ok(())
}

/// `MPI_Status_get_source` (§3.2.5).
pub fn status_get_source(status: StatusIn, source: OutValue<c_int>) -> Result<()> {
    moves_nothing();
    source.set(status.raw().MPI_SOURCE);
    Ok(())
}

/// `MPI_Status_get_tag` (§3.2.5).
pub fn status_get_tag(status: StatusIn, tag: OutValue<c_int>) -> Result<()> {
    moves_nothing();
    tag.set(status.raw().MPI_TAG);
    Ok(())
}

/// `MPI_Status_get_error` (§3.2.5).
pub fn status_get_error(status: StatusIn, error: OutValue<c_int>) -> Result<()> {
    moves_nothing();
    error.set(status.raw().MPI_ERROR);
    Ok(())
}

/// `MPI_Status_set_source` (§13.3).
pub fn status_set_source(status: StatusOut, source: i32) -> Result<()> {
    moves_nothing();
    status.change(0, |raw| raw.MPI_SOURCE = rank_out(source));
    Ok(())
}

/// `MPI_Status_set_tag` (§13.3).
pub fn status_set_tag(status: StatusOut, tag: i32) -> Result<()> {
    moves_nothing();
    status.change(0, |raw| raw.MPI_TAG = tag_out(tag));
    Ok(())
}

/// `MPI_Status_set_error` (§13.3).
pub fn status_set_error(status: StatusOut, error: c_int) -> Result<()> {
    moves_nothing();
    status.change(0, |raw| raw.MPI_ERROR = error);
    Ok(())
}

/// `MPI_Status_set_cancelled` (§13.3).
pub fn status_set_cancelled(status: StatusOut, flag: c_int) -> Result<()> {
    moves_nothing();
    status.change(0, |raw| raw.set_bytes(raw.bytes(), flag != 0));
    Ok(())
}
