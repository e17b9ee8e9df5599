//! A provider for tests, within this process. It insists on all that libfabric allows a provider to insist on, and is late
//! with everything: messages stay with their sender until the receiver reads its queue, every fifth operation finds no
//! room, and the last word on a receive comes by itself.

mod mock_library;
mod mock_objects;
mod mock_world;

pub use mock_library::scalable;
pub use mock_library::strict;
