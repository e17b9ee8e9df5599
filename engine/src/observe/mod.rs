//! What a rank shows of itself: one page in shared memory that others only
//! read (the launcher for its death message, its verdicts and `--stats`; tools),
//! and an area into which it writes a description when it is asked.
//!
//! Writing costs a few plain stores to cache lines that belong to the writer;
//! nothing is written for a reader's sake alone, and no reader can make a
//! writer wait.

pub mod affinity;
pub mod call;
mod count;
pub mod delays;
pub mod description;
pub mod events;
pub mod flow;
pub mod inquiry;
pub mod ledger;
pub mod mirror;
pub mod packet_counts;
pub mod page;
pub mod recorder;
mod threads;

pub use call::Call;
pub use description::Description;
pub use page::{Page, State};
