//! What a schedule needs of the world below it: sending and receiving by rank.
//!
//! The message room implements it over the transports; tests implement it in
//! one process, so that every algorithm is checked without starting a job.

use super::multicast::Said;
use crate::datatype::Datatype;
use crate::kept::Kept;
use crate::Result;
use smallvec::SmallVec;

/// `count` items of `datatype` at `address`: what a step sends or receives.
/// The caller keeps the memory alive and untouched until the step is done.
#[derive(Clone, Debug)]
pub struct Data {
    /// Where item 0 lies (its lower bound may be elsewhere, as in MPI).
    pub address: *mut u8,
    /// How many items.
    pub count: u64,
    /// Their type.
    pub datatype: Kept<Datatype>,
}

/// A block for each peer. Those of few are kept in place: to ask for memory would take as long as the operation.
pub type Blocks = SmallVec<[Data; 4]>;

/// A started send or receive.
pub type Ticket = u64;

/// Sending and receiving between the ranks of one communicator (for an
/// intercommunicator, `peer` is a rank of the remote group). Messages of one
/// pair with one tag arrive in order. All calls return at once.
pub trait Port {
    /// Starts a send; the ticket is done when the memory may be reused.
    fn send(&mut self, peer: u32, tag: i32, data: &Data) -> Result<Ticket>;
    /// Starts a receive; the ticket is done when the data are there.
    fn receive(&mut self, peer: u32, tag: i32, data: &Data) -> Result<Ticket>;
    /// Whether it is done; once it has said so the ticket is spent.
    fn done(&mut self, ticket: Ticket) -> Result<bool>;

    /// Sends at once; `false`, and nothing is sent, where that is not possible.
    fn send_at_once(&mut self, _peer: u32, _tag: i32, _data: &Data) -> bool {
        false
    }

    /// Receives what is there, or if it `may_wait`, what comes soon; `false`, and nothing is received, else.
    fn receive_at_once(&mut self, _peer: u32, _tag: i32, _data: &Data, _may_wait: bool) -> bool {
        false
    }

    /// Says something beside messages, in a round of the communicator's group (`multicast`); `false`, and nothing is
    /// said, where there is no room for it now.
    fn say(&mut self, _peer: u32, _epoch: u32, _said: &Said) -> Result<bool> {
        Ok(true)
    }
}
