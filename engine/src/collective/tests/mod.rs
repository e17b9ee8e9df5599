//! Every algorithm, in one process, against what MPI says the result is.

pub mod buffer;
mod exact;
mod hierarchy;
mod inter;
mod movement;
mod neighbours;
mod reduction;
/// The example of `docs/guides/new-algorithm.md`.
#[path = "../../../../docs/guides/toy_algorithm.rs"]
mod toy_algorithm;
pub mod twin;

use super::{Advance, Data, Port, Schedule, Ticket};
use crate::datatype::{Basic, Datatype};
use crate::{Class, Error, Result};

/// A port on which every receive is truncated.
struct Truncating {
    sent: u32,
    bytes: u64,
}

impl Port for Truncating {
    fn send(&mut self, _: u32, _: i32, data: &Data) -> Result<Ticket> {
        self.sent += 1;
        self.bytes += data.bytes();
        Ok(0)
    }

    fn receive(&mut self, _: u32, _: i32, _: &Data) -> Result<Ticket> {
        Ok(1)
    }

    fn done(&mut self, ticket: Ticket) -> Result<bool> {
        match ticket {
            0 => Ok(true),
            _ => Err(Error::new(Class::Truncate, "too long")),
        }
    }
}

#[test]
fn a_failure_is_told_at_the_end_and_peers_get_their_messages_without_bytes() {
    let mut schedule = Schedule::new();
    schedule.receive(1, Data::nothing());
    schedule.wait();
    schedule.send(2, Data::packed(100));
    let mut port = Truncating { sent: 0, bytes: 0 };
    let failure = schedule.advance(&mut port, 0).err().map(|failure| failure.class());
    assert_eq!(failure, Some(Class::Truncate));
    assert_eq!((port.sent, port.bytes), (1, 0));
    schedule.reset();
    assert!(schedule.advance(&mut port, 0).is_err());
}

#[test]
fn an_empty_schedule_is_done_at_once() {
    let advanced = Schedule::new().advance(&mut Truncating { sent: 0, bytes: 0 }, 0);
    assert!(matches!(advanced, Ok(Advance::Done)));
}

#[test]
fn counts_beyond_64_bits_are_refused() {
    let number = Datatype::basic(Basic::Int64);
    let class = |data: Result<Data>| data.err().map(|failure| failure.class());
    let null = std::ptr::null_mut();
    assert_eq!(class(Data::new(null, 0, i64::MAX / 4, &number)), Some(Class::Count));
    assert_eq!(class(Data::new(null, i64::MAX / 8, 2, &number)), Some(Class::Count));
    assert_eq!(class(Data::new(null, 0, -1, &number)), Some(Class::Count));
    assert_eq!(class(Data::new(null, 0, 1 << 50, &number).unwrap().times(1 << 20)), Some(Class::Count));
}

#[test]
fn temporaries_of_types_with_negative_bounds_stay_in_their_memory() {
    for datatype in buffer::shapes() {
        let mut schedule = Schedule::new();
        let data = schedule.temporary(5, &datatype).unwrap();
        let items = buffer::items(1, 5);
        let source = buffer::Buffer::with(&items, &datatype).data();
        // SAFETY: both are as large as they say.
        unsafe { super::schedule::copy(&source, &data) };
        assert_eq!(data.address.align_offset(16), 0);
    }
}
