//! Memory that a schedule owns while it runs.

use super::port::Data;
use crate::datatype::{Basic, Datatype};
use crate::{Class, Error, Result};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The unit of allocation: what any element type may want as its alignment.
#[repr(align(64))]
#[allow(dead_code)] // only its size and alignment count
struct Line(MaybeUninit<[u8; 64]>);

const LINE: usize = std::mem::size_of::<Line>();

/// A piece of heap memory that stays where it is until it is dropped.
pub(super) struct Temporary {
    lines: Vec<Line>,
}

impl Temporary {
    /// Room for `count` items of `datatype`, gaps between them included, and
    /// where they lie. The contents are not initialised.
    ///
    /// # Errors
    /// `NoMem` when there is not that much.
    pub fn new(count: u64, datatype: &Arc<Datatype>) -> Result<(Temporary, Data)> {
        let (begin, end) = datatype.span(count)?;
        // Item 0 is aligned as a line, whatever lies before it.
        let before = (begin.min(0).unsigned_abs() as usize).next_multiple_of(LINE);
        let bytes = before.saturating_add(end.max(0) as usize);
        let mut lines = Vec::new();
        let reserved = lines.try_reserve_exact(bytes.div_ceil(LINE).max(1));
        reserved.map_err(|_| no_memory(count, datatype))?;
        let mut temporary = Temporary { lines };
        let address = temporary.lines.as_mut_ptr().cast::<u8>().wrapping_add(before);
        Ok((temporary, Data { address, count, datatype: datatype.into() }))
    }

    /// Where its first line lies.
    pub fn address(&self) -> *mut u8 {
        self.lines.as_ptr().cast_mut().cast()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        (self.lines.capacity() * LINE) as u64
    }

    /// Room for `bytes` bytes of packed data.
    pub fn packed(bytes: u64) -> Result<(Temporary, Data)> {
        Temporary::new(bytes, Datatype::shared(Basic::Packed))
    }
}

#[cold]
fn no_memory(count: u64, datatype: &Datatype) -> Error {
    let sentence = format!(
        "no memory for a temporary buffer of {count} items of {} bytes; use smaller counts or more memory",
        datatype.size()
    );
    Error::new(Class::NoMem, sentence)
}
