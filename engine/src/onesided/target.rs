//! A place in the exposed memory of a member.

use crate::datatype::Datatype;
use std::sync::Arc;

/// `count` items of `datatype` in the segment of a member.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Rank of the member.
    pub rank: u32,
    /// Where item 0 lies, in units of that member from the beginning of its segment; in
    /// memory that was attached, the address there.
    pub displacement: i64,
    /// How many items; negative is an error.
    pub count: i64,
    /// Their type.
    pub datatype: &'a Arc<Datatype>,
}
