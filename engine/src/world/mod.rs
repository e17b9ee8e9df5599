//! Groups, communicators, and what hangs on them.
pub mod communicator;
pub mod group;
pub use communicator::Communicator;
pub use group::Group;
