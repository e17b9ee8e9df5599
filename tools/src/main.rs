//! The serried command.
fn main() {}
