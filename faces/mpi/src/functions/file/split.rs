//! Split collectives (MPI-5.0 §14.4.5): all is done at the beginning, as MPI allows; the end tells how it went.

use super::access::{items, tell};
use crate::entry::engine;
use crate::objects::{Datatype, File};
use crate::status::StatusOut;
use serried_engine::datatype::Use;
use serried_engine::file::{Items, Place, Split, SplitKind, Team};
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

fn begin(
    fh: &File,
    kind: SplitKind,
    buffer: usize,
    items: impl FnOnce() -> Result<Items>,
    run: impl FnOnce(&dyn Team, &Items) -> Result<u64>,
) -> Result<()> {
    fh.check_no_split()?;
    let items = items()?;
    let outcome = run(&engine()?.team_of(fh), &items);
    fh.begin_split(Split { kind, buffer, outcome });
    Ok(())
}

macro_rules! split {
    ($kind:ident, ($($offset:ident)?), $buffer:ty, $used:ident, $begin:ident $end:ident, $run:ident $(, $place:expr)?) => {
        /// The beginning.
        pub fn $begin(
            fh: &Arc<File>, $($offset: i64,)? buf: $buffer, count: i64, datatype: &Arc<Datatype>,
        ) -> Result<()> {
            let items = || items(buf.cast_mut().cast(), count, datatype, Use::$used);
            begin(fh, SplitKind::$kind, buf as usize, items, |team, items| fh.$run(team, $($place,)? items))
        }

        /// The end.
        pub fn $end(fh: &Arc<File>, buf: $buffer, status: StatusOut) -> Result<()> {
            tell(status, fh.end_split(SplitKind::$kind, buf as usize)?);
            Ok(())
        }
    };
}

/// So that one macro makes both kinds of buffers the same.
trait CastMut {
    fn cast_mut(self) -> *mut c_void;
}

impl CastMut for *mut c_void {
    fn cast_mut(self) -> *mut c_void {
        self
    }
}

split!(ReadAt, (offset), *mut c_void, Change, file_read_at_all_begin file_read_at_all_end, read_all, Place::At(offset));
split!(ReadIndividual, (), *mut c_void, Change, file_read_all_begin file_read_all_end, read_all, Place::Individual);
split!(ReadOrdered, (), *mut c_void, Change, file_read_ordered_begin file_read_ordered_end, read_ordered);
split!(WriteAt, (offset), *const c_void, Read, file_write_at_all_begin file_write_at_all_end, write_all, Place::At(offset));
split!(WriteIndividual, (), *const c_void, Read, file_write_all_begin file_write_all_end, write_all, Place::Individual);
split!(WriteOrdered, (), *const c_void, Read, file_write_ordered_begin file_write_ordered_end, write_ordered);
