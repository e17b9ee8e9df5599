//! Why a job does not go on: asking its ranks, the graph of their waits, and the
//! verdict in words. `serried run` watches its own job with it (`run/watch.rs`).

pub mod ask;
mod collectives;
pub mod explain;
pub mod graph;
mod words;
