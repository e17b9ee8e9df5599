//! Groups, communicators, and what hangs on them: attributes, hints, error
//! handlers, topologies, sessions.
//!
//! A communicator is made by agreeing on a context id. All that making needs
//! of the rooms below is [`BootstrapChannel`]: small byte strings between ranks. The
//! engine implements it over messages; tests implement it over threads.

pub mod attribute;
pub mod bootstrap_channel;
pub mod calls;
pub mod communicator;
pub mod context;
pub mod create;
pub mod errhandler;
pub mod group;
pub mod info;
pub mod session;
pub mod topology;
#[cfg(test)]
pub(crate) mod twin;

pub use attribute::{Attributes, Keyval};
pub use bootstrap_channel::{complete, BootstrapChannel, Line, Pending};
pub use communicator::{how_many_were_made, Communicator};
pub use context::Contexts;
pub use errhandler::ErrorHandler;
pub use group::{Comparison, Group};
pub use info::Info;
pub use session::Session;
pub use topology::Topology;
