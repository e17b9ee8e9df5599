//! What a rank shows of itself: one page in shared memory that others only
//! read (the launcher for its death message and `--stats`; later tools).
//!
//! Writing costs a few plain stores to cache lines that belong to the writer;
//! nothing is written for a reader's sake alone, and no reader can make a
//! writer wait.

pub mod flow;
pub mod page;

pub use page::{Page, State};
