//! One kind of request for everything that goes on in the background: messages,
//! collectives, generalized requests, and their persistent forms
//! (MPI-5.0 §3.7, §3.9, §6.12, §13.2).

pub mod slab;
pub mod status;

pub use slab::{lane_of, Request, RequestId, Slab, DONE, DONE_ID};
pub use status::{Ended, Status};
