//! Ranks and nodes, and how a process finds out which rank of which job it is.

pub mod node_segment;

pub use node_segment::NodeSegment;
