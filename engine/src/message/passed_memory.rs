//! Device memory that its program has mapped by itself, in pieces, as pools of frameworks do: there are no handles of it. Its
//! owner passes a descriptor of each piece over a local socket, once; then the receiver maps it as any other.
//!
//! ```text
//! sender                                    receiver
//!                                      <--  HELD, PASS: it listens at a socket
//! connects and passes each descriptor;
//! PASSED: how many                     -->  maps them, goes on
//! ```
//!
//! The socket has no name in a file system. Both ends check that the other runs as the same user.

use super::piece_descriptors::{listen_for_descriptors, pass_descriptors, take_descriptor};
use super::wire::{Offer, Ticket, Wanted, Why, HELD, PASS, PASSED};
use super::work::{Passing, Work};
use crate::core::Core;
use crate::device::borrowing::{self, Mapping};
use crate::device::lent::{Lent, MOST_PIECES};
use crate::device::{self, Piece};
use crate::transport::{Arrival, Packet};
use crate::{Class, Error, Result};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

/// Offered memory as it is mapped here, piece by piece.
pub(super) struct MappedPieces(Vec<Arc<Mapping>>);

impl MappedPieces {
    /// Maps all pieces, if that can be done without more from their owner.
    pub fn new(lent: &[Lent]) -> Result<MappedPieces> {
        lent.iter().map(borrowing::map_for_messages).collect::<Result<_>>().map(MappedPieces)
    }

    /// The memory of the first one.
    pub fn memory(&self) -> device::DeviceMemory {
        self.0[0].memory()
    }

    /// Lists what is to be copied from an address of the owner on.
    pub fn list(
        &self,
        mut from: u64,
        (mut to, mut bytes): (usize, u64),
        listed: &mut Vec<Piece>,
    ) -> Result<()> {
        while bytes > 0 {
            let found = self.0.iter().find_map(|mapping| mapping.part_from(from));
            let (here, left) = found.ok_or_else(|| {
                Error::new(
                    Class::Intern,
                    "a message lies beyond the device memory that its sender has described",
                )
            })?;
            let part = left.min(bytes);
            listed.push(Piece { to: to as *mut u8, from: here as *const u8, bytes: part as usize });
            (from, to, bytes) = (from + part, to + part as usize, bytes - part);
        }
        Ok(())
    }
}

impl Core {
    /// What the sender tells of the memory that it offers, piece by piece.
    pub(super) fn described(&self, offer: &Offer) -> std::result::Result<Vec<Lent>, Why> {
        let local = self.job.local(offer.peer).ok_or(Why::Never)?;
        let base = self.job.node.blocks_area(local.0);
        let mut place = 64 * u64::from(offer.place().checked_sub(1).ok_or(Why::Never)?);
        let memory = offer.memory();
        let end = memory.address + memory.bytes;
        let (mut all, mut last): (Vec<Lent>, Option<Lent>) = (Vec::new(), None);
        for _ in 0..MOST_PIECES {
            // SAFETY: the owner describes memory there, or has done so; its area is longer.
            let lent = unsafe { base.add(place as usize).cast::<Lent>().read_unaligned() };
            // It may describe other memory by now.
            let is_next = match last {
                None => lent.number == memory.key && lent.first <= memory.address,
                Some(last) => lent.first == last.first + last.bytes,
            };
            if !is_next {
                break;
            }
            // The message may begin behind the first piece.
            if lent.first + lent.bytes > memory.address {
                all.push(lent);
            }
            if lent.first + lent.bytes >= end {
                return Ok(all);
            }
            last = Some(lent);
            place = lent.next.checked_sub(1).ok_or(Why::NotNow)?;
        }
        Err(Why::NotNow)
    }

    /// Asks the sender for descriptors.
    pub(super) fn ask_to_pass(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        let Some((listener, name)) = listen_for_descriptors() else {
            return self.ask_to_fill(index, offer, taken, Why::Never);
        };
        // Of those whose sender has failed nothing comes any more.
        let requests = &self.requests;
        self.passing.retain(|one| requests.is_used(one.request) && !requests[one.request].complete);
        self.passing.push(Passing { request: index, listener, offer, taken });
        if let Work::Receive(receive) = &mut self.requests[index].work {
            receive.expected = taken;
        }
        self.post(offer.peer, &Packet::with(HELD, [0; 2], &offer.request))?;
        let receiver = Ticket { peer: self.name_for(offer.peer), request: index };
        let wanted = Wanted { receiver, name: [(name >> 64) as u64, name as u64] };
        self.post(offer.peer, &Packet::with(PASS, [u64::from(offer.request), 0], &wanted)).map(drop)
    }

    /// A receiver asks for them.
    pub(crate) fn pass_pieces(&mut self, arrival: &Arrival) -> Result<()> {
        let (request, wanted) = (arrival.header[0] as u32, arrival.read::<Wanted>());
        let Work::Send(send) = &self.requests[request].work else { return Ok(()) };
        let name = u128::from(wanted.name[0]) << 64 | u128::from(wanted.name[1]);
        // Where it fails none are told of, and the message goes through the host.
        let memory = (send.memory.address, send.memory.bytes);
        let number = pass_descriptors(memory, name).map_or(0, |passed| passed.len() as u64);
        let Ticket { peer, request } = wanted.receiver;
        self.post(peer, &Packet::new(PASSED, [u64::from(request), number])).map(drop)
    }

    /// They have been passed, or none could be.
    pub(crate) fn pieces_passed(&mut self, arrival: &Arrival) -> Result<()> {
        let (request, number) = (arrival.header[0] as u32, arrival.header[1]);
        let Some(place) = self.passing.iter().position(|one| one.request == request) else { return Ok(()) };
        let Passing { listener, offer, taken, .. } = self.passing.swap_remove(place);
        let imported = match self.described(&offer) {
            Ok(lent) if lent.len() as u64 == number => import(&listener, &lent).map_err(|_| Why::Never),
            Ok(_) if number == 0 => Err(Why::Never),
            Ok(_) => Err(Why::NotNow),
            Err(why) => Err(why),
        };
        match imported {
            Ok(pieces) => self.take_of_device(request, offer, &pieces, taken),
            Err(why) => self.ask_to_fill(request, offer, taken, why),
        }
    }
}

/// Maps each piece by the descriptor that comes next.
fn import(listener: &UnixListener, lent: &[Lent]) -> Result<MappedPieces> {
    let one = |lent: &Lent| borrowing::import_for_messages(lent, take_descriptor(listener)?.as_fd());
    lent.iter().map(one).collect::<Result<_>>().map(MappedPieces)
}
