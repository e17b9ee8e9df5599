//! The server of a node: it does what ranks of other nodes ask for with the memory of its node's ranks, and passes on
//! what is for others.
//!
//! Servers stand in a grid ([`Grid`]) and send requests to their neighbours only, on a way of at most as many hops as
//! the grid has dimensions. Each link has a fixed number of credits, and each credit is a buffer at its end. So the
//! memory of a server grows with its links, whose number is a root of the number of nodes. The study's own protocol
//! ([`Clusters`]) is another setting of the same machine. `docs/rooms/server.md` tells why all this cannot deadlock.
//!
//! [`Server`] is a state machine without input and output: [`Server::step`] takes an [`Event`] and calls [`Outside`].
//! Sockets, memory and clock are outside. Nothing here knows anything else of the engine, so tests compile this room
//! alone, and drive the same code through all interleavings of small worlds and at the scale of a million nodes.
//!
//! # Promises
//! * A step never waits. A request waits in its buffer for the next link, and there for nothing else; at its target for
//!   room for an answer, or for its own data, which need no buffer on their way.
//! * Requests of one node to another are done in the order in which they were asked for.
//! * What has been asked for ends once, in one way ([`End`]).
//! * A message that makes no sense is a [`Fault`] and changes nothing but what it had said by then.

mod acknowledgements;
mod arriving;
mod clusters;
mod grid;
mod header;
mod incoming;
pub mod law;
mod lock_homes;
mod lock_waiters;
mod lock_words;
mod losses;
mod node_server;
mod outgoing;
mod outside;
mod parked;
mod topology;
mod under_way;

pub use clusters::Clusters;
pub use grid::Grid;
pub use header::{Header, Kind, ANSWER, BROKEN, FETCH, FOLLOWED, GONE, HEADER_BYTES, REFUSED, SHARED, TELL};
pub use lock_homes::{LockHomes, LockId, LOST, NOT_HELD};
pub use node_server::{Server, Settings};
pub use outgoing::Link;
pub use outside::{Asked, Body, End, Event, Fault, Outside};
pub use topology::{Gone, Hop, Sender, Topology, View};
