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

use super::work::{Recipe, Work};
use super::{Buffer, Envelope, Mode};
use crate::core::Core;
use crate::datatype::Datatype;
use crate::request::{Slab, Status};
use crate::{Cause, Class, Error, JobRank, Result};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// What the sender tells the receiver.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Announcement {
    channel: u64,
    partitions: u64,
    /// Bytes of one partition.
    bytes: u64,
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
    fn partition_bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    /// `count` items from item `first` on.
    fn items(&self, first: u64, count: u64) -> Buffer {
        let offset = first as i64 * self.datatype.extent();
        Buffer::new(self.address.wrapping_offset(offset as isize), count, &self.datatype)
    }
}

/// The message of one partition of the sender.
struct Part {
    /// Its request; `None` when it is complete.
    request: Option<u32>,
    /// It has been handed to the engine in this round.
    begun: bool,
    /// Where it is received if not in the buffer itself.
    aside: Option<Box<[u8]>>,
}

impl Part {
    fn idle() -> Part {
        Part { request: None, begun: false, aside: None }
    }

    fn complete(&self, requests: &Slab) -> bool {
        self.begun && self.request.iter().all(|&request| requests[request].complete)
    }
}

/// A partitioned operation at rest or active.
pub struct Partitioned {
    data: Data,
    side: Side,
    /// By the sender's partition; a receiver knows them once it is matched.
    parts: Vec<Part>,
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

enum Side {
    /// To whom, as whom in the channel; nobody for the null process.
    Send(Option<(JobRank, Envelope)>),
    Receive(Receiving),
}

enum Receiving {
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
    /// The number of a partition that can be sent now, and to whom.
    fn check_ready(&self, partition: i64) -> Result<(usize, &Option<(JobRank, Envelope)>)> {
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

    fn new(data: Data, side: Side, parts: u64) -> Box<Partitioned> {
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
            if status.error.is_none() && of_part.error.is_some() {
                status.error = Some(self.failure());
            }
        }
        status
    }

    /// The only way in which a part can fail: the sender has more.
    #[cold]
    fn failure(&self) -> Error {
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
    fn unpack(&mut self, number: usize) {
        let Some(aside) = self.parts[number].aside.take() else { return };
        let Side::Receive(Receiving::Matched { from, .. }) = &self.side else { return };
        let whole = self.data.items(0, self.data.count * self.data.partitions);
        let offset = (number as u64 * from.bytes).min(whole.bytes());
        let bytes = (whole.bytes() - offset).min(aside.len() as u64);
        // SAFETY: the program lends the buffer, which has `bytes` from `offset` on.
        unsafe { whole.unpack(offset, aside.as_ptr(), bytes as usize) };
    }

    /// The memory for one partition of the sender; with a copy aside where an
    /// item of the receiver is cut.
    fn room(&self, number: u64, bytes: u64) -> (Buffer, Option<Box<[u8]>>) {
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
    fn covering(&self, partition: u64, from: &Announcement) -> Range<usize> {
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

fn wrong(class: Class, message: impl Into<String>) -> Error {
    Error::new(class, message)
}

impl Core {
    /// Adds a partitioned send in a new channel, and announces it to `peer`
    /// in the context of `announced`.
    pub(crate) fn add_partitioned_send(
        &mut self,
        data: Data,
        peer: Option<JobRank>,
        announced: Envelope,
        channel: u64,
    ) -> Result<u32> {
        let partitions = data.partitions;
        if let Some(peer) = peer {
            let mut announcement = Announcement { channel, partitions, bytes: data.partition_bytes() };
            // Buffered: it leaves this place at once.
            self.start_send(peer, announced, bytes_of(&mut announcement), Mode::Buffered)?;
        }
        let to = peer.map(|peer| (peer, Envelope { context: channel, ..announced }));
        self.add_persistent(Recipe::Partitioned(Partitioned::new(data, Side::Send(to), partitions)))
    }

    /// Adds a partitioned receive that waits for an announcement; `None` for
    /// the null process.
    pub(crate) fn add_partitioned_receive(&mut self, data: Data, wanted: Option<Envelope>) -> Result<u32> {
        let receiving = match wanted {
            None => Receiving::NullProcess,
            Some(wanted) => {
                let mut announcement = Box::<Announcement>::default();
                let request = self.start_receive(wanted, bytes_of(&mut announcement))?;
                Receiving::Unmatched(request, announcement)
            }
        };
        self.add_persistent(Recipe::Partitioned(Partitioned::new(data, Side::Receive(receiving), 0)))
    }

    /// Runs `work` on a partitioned operation, which is out of the table
    /// meanwhile.
    fn with_partitioned<R>(
        &mut self,
        index: u32,
        work: impl FnOnce(&mut Core, &mut Partitioned) -> Result<R>,
    ) -> Result<R> {
        let mut taken = std::mem::replace(&mut self.requests[index].work, Work::Nothing);
        let result = match &mut taken {
            Work::Persistent(persistent) => match &mut persistent.recipe {
                Recipe::Partitioned(partitioned) => work(self, partitioned),
                _ => Err(wrong(Class::Request, "the request is that of no partitioned operation")),
            },
            _ => Err(wrong(Class::Request, "the request is that of no partitioned operation")),
        };
        self.requests[index].work = taken;
        result
    }

    /// Starts a round.
    pub(super) fn start_partitioned(&mut self, index: u32) -> Result<()> {
        self.with_partitioned(index, |core, partitioned| {
            if matches!(partitioned.side, Side::Receive(_)) && !core.post_parts(partitioned)? {
                core.unmatched.push(index);
            }
            Ok(())
        })
    }

    /// Posts the receives of a round; `false` if nothing is announced yet.
    fn post_parts(&mut self, partitioned: &mut Partitioned) -> Result<bool> {
        if let Side::Receive(Receiving::Unmatched(request, announcement)) = &partitioned.side {
            if !self.requests[*request].complete {
                return Ok(false);
            }
            let from = **announcement;
            let status = self.requests.remove(*request);
            let matched = Receiving::Matched { source: status.source, tag: status.tag, from };
            partitioned.side = Side::Receive(matched);
            partitioned.parts = (0..from.partitions).map(|_| Part::idle()).collect();
        }
        let Side::Receive(Receiving::Matched { source, from, .. }) = &partitioned.side else {
            return Ok(true);
        };
        for number in 0..from.partitions {
            let (buffer, aside) = partitioned.room(number, from.bytes);
            let wanted = Envelope { context: from.channel, source: *source, tag: number as i32 };
            let request = Some(self.start_receive(wanted, buffer)?);
            partitioned.parts[number as usize] = Part { request, begun: true, aside };
        }
        Ok(true)
    }

    /// Looks at the receives that wait for their announcement.
    #[cold]
    pub(crate) fn match_partitioned(&mut self) -> Result<()> {
        for index in std::mem::take(&mut self.unmatched) {
            let given_up = self.requests[index].detached;
            let matched = self.with_partitioned(index, |core, partitioned| match given_up {
                true => Ok(core.announced(partitioned)),
                false => core.post_parts(partitioned),
            })?;
            match (matched, given_up) {
                (false, _) => self.unmatched.push(index),
                (true, false) => self.epoch += 1,
                (true, true) => drop(self.requests.remove(index)),
            }
        }
        Ok(())
    }

    /// Whether a receive that is given up has had its announcement, so that no
    /// later one gets it.
    fn announced(&mut self, partitioned: &Partitioned) -> bool {
        match &partitioned.side {
            Side::Receive(Receiving::Unmatched(request, _)) if self.requests[*request].complete => {
                self.requests.remove(*request);
                true
            }
            Side::Receive(Receiving::Unmatched(..)) => false,
            _ => true,
        }
    }

    /// Sends partitions of an active send; none, if one of them cannot be.
    pub(crate) fn ready(&mut self, index: u32, partitions: impl Iterator<Item = i64> + Clone) -> Result<()> {
        if !self.requests[index].active {
            return Err(Error::because(Class::Request, Cause::SendIsNotStarted));
        }
        self.with_partitioned(index, |core, partitioned| {
            for partition in partitions.clone() {
                partitioned.check_ready(partition)?;
            }
            for partition in partitions {
                core.send_partition(partitioned, partition)?;
            }
            core.epoch += 1;
            Ok(())
        })
    }

    fn send_partition(&mut self, partitioned: &mut Partitioned, partition: i64) -> Result<()> {
        let (number, to) = partitioned.check_ready(partition)?;
        let request = match to {
            Some((peer, envelope)) => {
                let count = partitioned.data.count;
                let buffer = partitioned.data.items(number as u64 * count, count);
                let envelope = Envelope { tag: number as i32, ..*envelope };
                self.start_send(*peer, envelope, buffer, Mode::Standard)?
            }
            None => None,
        };
        partitioned.parts[number] = Part { request, begun: true, aside: None };
        Ok(())
    }

    /// Whether a partition of a receive has come (all have, of an inactive one).
    pub(crate) fn arrived_partition(&mut self, index: u32, partition: i64) -> Result<bool> {
        let active = self.requests[index].active;
        self.with_partitioned(index, |core, partitioned| {
            let Side::Receive(receiving) = &partitioned.side else {
                let message = "the request is a partitioned send; only partitions of a receive arrive";
                return Err(wrong(Class::Request, message));
            };
            let number = check_partition(partition, partitioned.data.partitions)?;
            let covering = match receiving {
                _ if !active => return Ok(true),
                Receiving::NullProcess => return Ok(true),
                Receiving::Unmatched(..) => return Ok(false),
                Receiving::Matched { from, .. } => partitioned.covering(number as u64, from),
            };
            let all = partitioned.parts[covering.clone()].iter().all(|part| part.complete(&core.requests));
            if all {
                covering.for_each(|part| partitioned.unpack(part));
            }
            Ok(all)
        })
    }

    /// Gives up a partitioned request that is not active.
    ///
    /// # Errors
    /// `Request` if it is active (MPI-5.0 §4.2).
    pub(super) fn release_partitioned(&mut self, index: u32) -> Result<()> {
        if self.requests[index].active {
            let message = "the partitioned operation is active; complete it before it is freed";
            return Err(wrong(Class::Request, message));
        }
        let unmatched = self.with_partitioned(index, |core, partitioned| match &partitioned.side {
            Side::Receive(Receiving::Matched { from, .. }) => {
                core.matching.retire(from.channel);
                Ok(false)
            }
            Side::Receive(Receiving::Unmatched(..)) => Ok(!core.announced(partitioned)),
            _ => Ok(false),
        })?;
        if unmatched {
            self.requests[index].detached = true;
            self.requests[index].complete = true; // finalization does not wait for it
            self.unmatched.push(index);
        } else {
            self.requests.remove(index);
        }
        Ok(())
    }
}

fn check_partition(partition: i64, partitions: u64) -> Result<usize> {
    match u64::try_from(partition) {
        Ok(number) if number < partitions => Ok(number as usize),
        _ => {
            let last = partitions as i64 - 1;
            Err(wrong(Class::Arg, format!("there is no partition {partition}: there are 0 to {last}")))
        }
    }
}

fn bytes_of(announcement: &mut Announcement) -> Buffer {
    let address = std::ptr::from_mut(announcement).cast();
    Buffer::Dense { address, bytes: size_of::<Announcement>() as u64 }
}
