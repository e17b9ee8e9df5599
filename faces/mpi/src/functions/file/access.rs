//! Reading and writing (MPI-5.0 §14.4.2 to §14.4.4).
//!
//! The forms of a call differ in whose pointer they go by, and in who takes part; what they do is the engine's.

use crate::common::{buffers, page};
use crate::entry::engine;
use crate::functions::point_to_point;
use crate::objects::{Datatype, File};
use crate::request::OutRequest;
use crate::status::StatusOut;
use serried_engine::datatype::Use;
use serried_engine::file::{behind, Items, Place};
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// The data of a call, checked.
pub(super) fn items(buf: *mut c_void, count: i64, datatype: &Arc<Datatype>, used: Use) -> Result<Items> {
    point_to_point::check_data(buf, count, datatype)?;
    let address = buffers::host(buf.cast(), count as u64, datatype, used)?;
    Ok(Items { address, count: count as u64, datatype: datatype.clone() })
}

/// Tells how many bytes were moved.
pub(super) fn tell(status: StatusOut, bytes: u64) {
    status.change(0, |raw| raw.set_bytes(bytes, false));
}

/// Writes, now or, where short writes follow one another, before the next call that says anything to anybody.
fn write(fh: &Arc<File>, place: Place, items: &Items) -> Result<u64> {
    if engine()?.is_threaded() || place == Place::Shared {
        return fh.write(place, items);
    }
    let bytes = fh.write_behind(place, items)?;
    if behind::any() {
        page::own().hold_up();
    }
    Ok(bytes)
}

/// The calls by one kind of pointer: `($offset)` is the argument before the buffer, if there is one.
macro_rules! calls {
    ($place:expr, ($($offset:ident)?), $read:ident $write:ident $iread:ident $iwrite:ident) => {
        /// Blocking.
        pub fn $read(
            fh: &Arc<File>, $($offset: i64,)? buf: *mut c_void, count: i64, datatype: &Arc<Datatype>, status: StatusOut,
        ) -> Result<()> {
            tell(status, fh.read($place, &items(buf, count, datatype, Use::Change)?)?);
            Ok(())
        }

        /// Blocking.
        pub fn $write(
            fh: &Arc<File>, $($offset: i64,)? buf: *const c_void, count: i64, datatype: &Arc<Datatype>, status: StatusOut,
        ) -> Result<()> {
            tell(status, write(fh, $place, &items(buf.cast_mut(), count, datatype, Use::Read)?)?);
            Ok(())
        }

        calls!(@nonblocking $place, ($($offset)?), $iread $iwrite);
    };
    (@all $place:expr, ($($offset:ident)?), $read:ident $write:ident $iread:ident $iwrite:ident) => {
        /// Collective.
        pub fn $read(
            fh: &Arc<File>, $($offset: i64,)? buf: *mut c_void, count: i64, datatype: &Arc<Datatype>, status: StatusOut,
        ) -> Result<()> {
            tell(status, fh.read_all(&engine()?.team_of(fh), $place, &items(buf, count, datatype, Use::Change)?)?);
            Ok(())
        }

        /// Collective.
        pub fn $write(
            fh: &Arc<File>, $($offset: i64,)? buf: *const c_void, count: i64, datatype: &Arc<Datatype>, status: StatusOut,
        ) -> Result<()> {
            let items = items(buf.cast_mut(), count, datatype, Use::Read)?;
            tell(status, fh.write_all(&engine()?.team_of(fh), $place, &items)?);
            Ok(())
        }

        calls!(@nonblocking $place, ($($offset)?), $iread $iwrite);
    };
    (@nonblocking $place:expr, ($($offset:ident)?), $iread:ident $iwrite:ident) => {
        /// Nonblocking.
        pub fn $iread(
            fh: &Arc<File>, $($offset: i64,)? buf: *mut c_void, count: i64, datatype: &Arc<Datatype>, request: OutRequest,
        ) -> Result<()> {
            request.put(engine()?.start_transfer(fh, $place, &items(buf, count, datatype, Use::Change)?, false)?);
            Ok(())
        }

        /// Nonblocking.
        pub fn $iwrite(
            fh: &Arc<File>, $($offset: i64,)? buf: *const c_void, count: i64, datatype: &Arc<Datatype>, request: OutRequest,
        ) -> Result<()> {
            request.put(engine()?.start_transfer(fh, $place, &items(buf.cast_mut(), count, datatype, Use::Read)?, true)?);
            Ok(())
        }
    };
}

calls!(Place::At(offset), (offset), file_read_at file_write_at file_iread_at file_iwrite_at);
calls!(Place::Individual, (), file_read file_write file_iread file_iwrite);
calls!(Place::Shared, (), file_read_shared file_write_shared file_iread_shared file_iwrite_shared);
calls!(@all Place::At(offset), (offset), file_read_at_all file_write_at_all file_iread_at_all file_iwrite_at_all);
calls!(@all Place::Individual, (), file_read_all file_write_all file_iread_all file_iwrite_all);

/// `MPI_File_read_ordered` (§14.4.4).
pub fn file_read_ordered(
    fh: &Arc<File>,
    buf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut,
) -> Result<()> {
    tell(status, fh.read_ordered(&engine()?.team_of(fh), &items(buf, count, datatype, Use::Change)?)?);
    Ok(())
}

/// `MPI_File_write_ordered` (§14.4.4).
pub fn file_write_ordered(
    fh: &Arc<File>,
    buf: *const c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    status: StatusOut,
) -> Result<()> {
    tell(
        status,
        fh.write_ordered(&engine()?.team_of(fh), &items(buf.cast_mut(), count, datatype, Use::Read)?)?,
    );
    Ok(())
}
