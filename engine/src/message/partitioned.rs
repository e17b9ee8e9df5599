//! Partitioned communication (MPI-5.0 chapter 4) over messages.
//!
//! A sender and a receiver that were made for each other share a *channel*: a
//! context id of their own, which the sender takes when it is made. It tells
//! the receiver in one small message, the announcement, in a context where
//! nothing else is sent with tags of the program; so matching is that of
//! messages, in the order in which both sides make their requests.
//!
//! Each partition of the sender is then one message in the channel, whose tag
//! is the partition's number; it leaves with `MPI_Pready`. The receiver, which
//! may divide its buffer in another way, posts one receive for each partition
//! of the sender when it is started, or, if the announcement comes later, when
//! it has come. A partition whose ends lie inside an item of the receiver's
//! datatype is received beside the buffer and unpacked at the end.

use super::{Buffer, Envelope};
use crate::datatype::Datatype;
use crate::device::stand_ins;
use crate::request::{Slab, Status};
use crate::{Cause, Class, Error, JobRank, Result};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// What the sender tells the receiver.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Announcement {
    pub(super) channel: u64,
    pub(super) partitions: u64,
    /// Bytes of one partition.
    pub(super) bytes: u64,
}

/// The data of one side.
pub struct Data {
    /// The address that displacements count from.
    pub address: *mut u8,
    /// Items of one partition.
    pub count: u64,
    /// Their type.
    pub datatype: Arc<Datatype>,
    /// How many partitions.
    pub partitions: u64,
    /// The context of the communicator, whose error handler answers.
    pub context: u64,
}

impl Data {
    pub(super) fn partition_bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    /// `count` items from item `first` on.
    pub(super) fn items(&self, first: u64, count: u64) -> Buffer {
        let offset = first as i64 * self.datatype.extent();
        Buffer::new(self.address.wrapping_offset(offset as isize), count, &self.datatype)
    }
}

/// The message of one partition of the sender.
pub(super) struct Part {
    /// Its request; `None` when it is complete.
    pub(super) request: Option<u32>,
    /// It has been handed to the engine in this round.
    pub(super) begun: bool,
    /// Where it is received if not in the buffer itself.
    pub(super) aside: Option<Box<[u8]>>,
}

impl Part {
    pub(super) fn idle() -> Part {
        Part { request: None, begun: false, aside: None }
    }

    pub(super) fn complete(&self, requests: &Slab) -> bool {
        self.begun && self.request.iter().all(|&request| requests[request].complete)
    }
}

/// A partitioned operation at rest or active.
pub struct Partitioned {
    pub(super) data: Data,
    pub(super) side: Side,
    /// By the sender's partition; a receiver knows them once it is matched.
    pub(super) parts: Vec<Part>,
    /// All parts before this one are complete.
    first_open: Cell<usize>,
}

/// What a round waits for.
pub(crate) enum Open {
    /// The announcement that this request receives.
    Announcement(u32),
    /// So many partitions of that sender.
    Parts(Envelope, u64),
    /// So many calls of `MPI_Pready`, and that these requests complete.
    Sends {
        /// As whom it sends, with what tag.
        of: Envelope,
        /// Partitions that are not ready.
        unready: u64,
        /// Requests of those that are.
        under_way: Vec<u32>,
    },
}

/// Which side it is.
pub(super) enum Side {
    /// To whom, as whom in the channel; nobody for the null process.
    Send(Option<(JobRank, Envelope)>),
    Receive(Receiving),
}

/// How far a receiver is.
pub(super) enum Receiving {
    NullProcess,
    /// The request of the announcement, and where it goes.
    Unmatched(u32, Box<Announcement>),
    /// Who sends; the tag of the program.
    Matched {
        source: i32,
        tag: i32,
        from: Announcement,
    },
}

impl Partitioned {
    /// Bytes of one partition of this side.
    pub(super) fn partition_bytes(&self) -> u64 {
        self.data.partition_bytes()
    }

    /// The number of a partition that can be sent now, and to whom.
    pub(super) fn check_ready(&self, partition: i64) -> Result<(usize, &Option<(JobRank, Envelope)>)> {
        let Side::Send(to) = &self.side else {
            let message = "the request is a partitioned receive; only partitions of a send are made ready";
            return Err(wrong(Class::Request, message));
        };
        let number = check_partition(partition, self.data.partitions)?;
        if self.parts[number].begun {
            return Err(Error::because(Class::Arg, Cause::PartitionIsReady(partition)));
        }
        Ok((number, to))
    }

    pub(super) fn new(data: Data, side: Side, parts: u64) -> Box<Partitioned> {
        let parts = (0..parts).map(|_| Part::idle()).collect();
        Box::new(Partitioned { data, side, parts, first_open: Cell::new(0) })
    }

    /// Whether the round is complete.
    pub(super) fn settled(&self, requests: &Slab) -> bool {
        if matches!(self.side, Side::Receive(Receiving::Unmatched(..))) {
            return false;
        }
        let open = &self.parts[self.first_open.get()..];
        let complete = open.iter().take_while(|part| part.complete(requests)).count();
        self.first_open.set(self.first_open.get() + complete);
        complete == open.len()
    }

    /// What an active round waits for, for observers.
    pub(crate) fn open(&self, requests: &Slab) -> Open {
        let incomplete = || self.parts.iter().filter(|part| !part.complete(requests));
        let of = |source, tag| Envelope { context: self.data.context, source, tag };
        match &self.side {
            Side::Receive(Receiving::Unmatched(request, _)) => Open::Announcement(*request),
            Side::Receive(Receiving::Matched { source, tag, .. }) => {
                Open::Parts(of(*source, *tag), incomplete().count() as u64)
            }
            Side::Receive(Receiving::NullProcess) | Side::Send(None) => {
                Open::Sends { of: of(0, 0), unready: incomplete().count() as u64, under_way: Vec::new() }
            }
            Side::Send(Some((_, envelope))) => Open::Sends {
                of: of(envelope.source, envelope.tag),
                unready: incomplete().filter(|part| !part.begun).count() as u64,
                under_way: incomplete().filter_map(|part| part.request).collect(),
            },
        }
    }

    /// The status of a complete round.
    pub(super) fn status(&self, requests: &Slab) -> Status {
        let mut status = Status::empty();
        match &self.side {
            Side::Send(_) => {}
            Side::Receive(Receiving::Matched { source, tag, .. }) => {
                (status.source, status.tag) = (*source, *tag);
            }
            Side::Receive(_) => status = Status::null_process(),
        }
        for part in self.parts.iter().filter_map(|part| part.request) {
            let of_part = &requests[part].status;
            status.bytes += of_part.bytes;
            let failure = || of_part.error.as_ref().map(|error| self.failure(error));
            status.error = status.error.take().or_else(failure);
        }
        status
    }

    /// Why a part has failed: what is said of one part of a sender that has more holds for the whole.
    #[cold]
    fn failure(&self, of_part: &Error) -> Error {
        if of_part.class() != Class::Truncate {
            return of_part.clone();
        }
        let room = self.data.partition_bytes() * self.data.partitions;
        let sent = match &self.side {
            Side::Receive(Receiving::Matched { from, .. }) => from.bytes * from.partitions,
            _ => 0,
        };
        let message = format!(
            "the partitioned send has {sent} bytes in all, but the receive buffer has room for {room}; the rest is lost"
        );
        wrong(Class::Truncate, message).in_context(self.data.context)
    }

    /// Ends a complete round: what was received aside goes where it belongs.
    pub(super) fn end_round(&mut self, requests: &mut Slab) -> Status {
        let status = self.status(requests);
        for number in 0..self.parts.len() {
            self.unpack(number);
            let part = std::mem::replace(&mut self.parts[number], Part::idle());
            part.request.map(|request| requests.remove(request));
        }
        self.first_open.set(0);
        status
    }

    /// Puts a complete part that was received aside into the buffer.
    pub(super) fn unpack(&mut self, number: usize) {
        let Some(aside) = self.parts[number].aside.take() else { return };
        let Side::Receive(Receiving::Matched { from, .. }) = &self.side else { return };
        let whole = self.data.items(0, self.data.count * self.data.partitions);
        let offset = (number as u64 * from.bytes).min(whole.bytes());
        let bytes = (whole.bytes() - offset).min(aside.len() as u64);
        if let Some(address) = whole.dense() {
            stand_ins::written(address.wrapping_add(offset as usize), bytes);
        }
        // SAFETY: the program lends the buffer, which has `bytes` from `offset` on.
        unsafe { whole.unpack(offset, aside.as_ptr(), bytes as usize) };
    }

    /// The memory for one partition of the sender; with a copy aside where an
    /// item of the receiver is cut.
    pub(super) fn room(&self, number: u64, bytes: u64) -> (Buffer, Option<Box<[u8]>>) {
        let size = self.data.datatype.size();
        let all = self.data.partition_bytes() * self.data.partitions;
        let offset = (number * bytes).min(all);
        let room = (all - offset).min(bytes);
        let whole_items = |bytes: u64| bytes.checked_rem(size) == Some(0);
        if room == 0 || (whole_items(offset) && whole_items(room)) {
            let first = offset.checked_div(size).unwrap_or(0);
            return (self.data.items(first, room.checked_div(size).unwrap_or(0)), None);
        }
        let mut aside = vec![0; room as usize].into_boxed_slice();
        (Buffer::Dense { address: aside.as_mut_ptr(), bytes: room }, Some(aside))
    }

    /// The sender's partitions that hold data of a partition of the receiver.
    pub(super) fn covering(&self, partition: u64, from: &Announcement) -> Range<usize> {
        let (begin, end, unit) = match (self.data.partition_bytes(), from.bytes) {
            // Without data there is no better measure than the share.
            (0, _) | (_, 0) => {
                (partition * from.partitions, (partition + 1) * from.partitions, self.data.partitions)
            }
            (mine, theirs) => (partition * mine, (partition + 1) * mine, theirs),
        };
        let last = (end.div_ceil(unit)).min(from.partitions);
        (begin / unit).min(last) as usize..last as usize
    }
}

pub(super) fn wrong(class: Class, message: impl Into<String>) -> Error {
    Error::new(class, message)
}

pub(super) fn check_partition(partition: i64, partitions: u64) -> Result<usize> {
    match u64::try_from(partition) {
        Ok(number) if number < partitions => Ok(number as usize),
        _ => {
            let last = partitions as i64 - 1;
            Err(wrong(Class::Arg, format!("there is no partition {partition}: there are 0 to {last}")))
        }
    }
}
