//! What a member is asked for, before it is part of a message.

use crate::onesided::Ask;

/// Adds data to a message.
pub(super) type Add<'a> = &'a dyn Fn(&mut Vec<u8>);

/// Adds these bytes.
pub(super) fn all_of(data: &[u8]) -> impl Fn(&mut Vec<u8>) + '_ {
    move |to| to.extend_from_slice(data)
}

/// Something to be asked for.
pub(super) struct Request<'a> {
    pub ask: Ask,
    /// How long its data are,
    pub bytes: usize,
    /// which this adds to a message.
    pub add: Add<'a>,
}

impl Request<'_> {
    /// Without data.
    pub fn bare(ask: Ask) -> Request<'static> {
        Request { ask, bytes: 0, add: &|_| () }
    }
}
