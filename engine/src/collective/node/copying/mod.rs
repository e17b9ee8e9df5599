//! How data are copied in collective operations: by what they are for, and as is measured to be quicker.

pub mod copy_kind;
pub mod push_or_pull;
