//! Large messages: the receiver has got an offer and decides how the data come.

use super::together;
use super::wire::{Fetched, Finish, Offer, Stream, Ticket, FETCHED, FINISH, HELD, STREAM};
use super::work::Work;
use crate::core::Core;
use crate::observe::events::{self, Kind};
use crate::observe::page::add;
use crate::transport::{Arrival, Means, OfferedMemory, Packet, RemoteMemory, Told};
use crate::tuning::crossovers::READ_ALONE;
use crate::{Class, Error, JobRank, Result};

/// Pieces listed at a time for a receive buffer with gaps.
const PIECES: usize = 512;
/// Pieces smaller than this on average are cheaper as a stream.
const PIECE_BYTES: u64 = 256;

impl Core {
    /// Takes `taken` bytes of an offered message into receive `index`.
    pub(crate) fn accept(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        if taken == 0 {
            return self.received_all(index, offer);
        }
        if offer.is_of_device() {
            return self.accept_of_device(index, offer, taken);
        }
        if self.take_through_slabs(index, offer, taken)? {
            return Ok(());
        }
        if let Work::Receive(receive) = &self.requests[index].work {
            receive.buffer.will_be_written(taken);
        }
        events::raise(Kind::Rendezvous, [u64::from(offer.peer), taken, 0, 0]);
        if !self.reachable(&offer, taken) || self.too_many_pieces(index) {
            return match offer.memory().key != 0 && !self.too_many_pieces(index) {
                true => self.fetch(index, offer, taken),
                false => self.ask_for_stream(index, offer, taken),
            };
        }
        if self.had_better_come_in_parts(index, &offer, taken).unwrap_or(true) {
            return self.ask_for_stream(index, offer, taken);
        }
        if offer.peer != self.rank && together::worth_it(self, index, taken) {
            return self.copy_together(index, offer, taken);
        }
        match self.pull(index, &offer, taken) {
            Ok(()) => self.received_all(index, offer),
            // The kernel has changed its mind (a sandbox entered since): the
            // sender can still copy.
            Err(_) => self.ask_for_stream(index, offer, taken),
        }
    }

    /// Whether the offered message can be read where it is.
    pub(super) fn reachable(&mut self, offer: &Offer, taken: u64) -> bool {
        let memory = offer.memory();
        memory.is_reachable()
            && (self.transport.means(offer.peer) != Means::Cells
                || self.transport.direct(offer.peer, memory.part(0, taken)).is_some())
    }

    pub(super) fn received_all(&mut self, index: u32, offer: Offer) -> Result<()> {
        self.complete(index);
        self.finish(offer.peer, offer.request)
    }

    /// Tells a peer that its request is complete: with the packet that waits
    /// already, if it tells the same of others, so that many need little memory.
    #[inline]
    pub(super) fn finish(&mut self, peer: JobRank, request: u32) -> Result<()> {
        if let Some(packet) = self.last_waiting(peer) {
            if packet.kind == FINISH && packet.append(&request) {
                return Ok(());
            }
        }
        self.post(peer, &Packet::with(FINISH, [0; 2], &request))?;
        Ok(())
    }

    /// All is copied: of sends of ours, or of receives whose copying was shared.
    pub(crate) fn finished(&mut self, arrival: &Arrival) {
        let count = arrival.bytes as usize / std::mem::size_of::<u32>();
        let finish: Finish = arrival.read();
        finish.requests.into_iter().take(count).for_each(|request| self.complete(request));
    }

    /// Reads an offered message by plain loads, with no request; `false` if it
    /// cannot be had like that, or is worth sharing the copying.
    #[inline]
    pub(super) fn read_at_once(&mut self, offer: &Offer, target: *mut u8) -> bool {
        // Where no address is told there is nothing to be read, also not by the sender itself.
        let memory = offer.memory();
        if !memory.is_reachable() || offer.is_of_device() || READ_ALONE.is_passed_by(offer.bytes) {
            return false;
        }
        let Some(source) = self.transport.direct(offer.peer, memory) else {
            return false;
        };
        // SAFETY: readable until the sender is told; the target is as long. It may
        // be the source if a rank sends to itself.
        self.page.copying(|| unsafe { std::ptr::copy(source, target, offer.bytes as usize) });
        Means::Direct.count(self.counters, offer.bytes);
        true
    }

    fn too_many_pieces(&self, index: u32) -> bool {
        let Work::Receive(receive) = &self.requests[index].work else { return false };
        if receive.buffer.dense().is_some() {
            return false;
        }
        let mut pieces = Vec::new();
        let covered = receive.buffer.pieces(0, u64::MAX, 16, &mut pieces);
        covered / (pieces.len().max(1) as u64) < PIECE_BYTES
    }

    /// Copies straight from the sender's memory into the receive buffer.
    pub(super) fn pull(&mut self, index: u32, offer: &Offer, taken: u64) -> Result<()> {
        let Work::Receive(receive) = &self.requests[index].work else { return Ok(()) };
        let memory = offer.memory();
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < taken {
            let covered = receive.buffer.pieces(done, taken - done, PIECES, &mut pieces);
            // SAFETY: the pieces lie in the buffer that the program lends.
            let read = || unsafe { self.transport.read(offer.peer, memory.part(done, covered), &pieces) };
            let means = self.page.copying(read)?;
            means.count(self.counters, covered);
            done += covered;
        }
        Ok(())
    }

    /// Begins to fetch the sender's memory into the receive buffer, and tells the sender, who could withdraw it else.
    fn fetch(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        let Work::Receive(receive) = &mut self.requests[index].work else { return Ok(()) };
        (receive.expected, receive.received) = (taken, 0);
        receive.sender = Some(Ticket { peer: offer.peer, request: offer.request });
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < taken {
            let bytes = receive.buffer.pieces(done, taken - done, PIECES, &mut pieces);
            let told = Told { kind: FETCHED, header: Fetched { bytes, request: index }.header() };
            let memory = offer.memory().part(done, bytes);
            // SAFETY: the pieces lie in the buffer that the program lends; the sender waits for our word.
            unsafe { self.transport.fetch(offer.peer, memory, &pieces, told)? };
            done += bytes;
        }
        self.post(offer.peer, &Packet::with(HELD, [0; 2], &offer.request)).map(drop)
    }

    /// A part of an offered message is here.
    pub(crate) fn fetched(&mut self, arrival: &Arrival) -> Result<()> {
        let Fetched { bytes, request } = Fetched::of(arrival.header);
        if arrival.bytes > 0 {
            // SAFETY: the payload is that long.
            let why = unsafe { std::slice::from_raw_parts(arrival.payload(), arrival.bytes as usize) };
            self.requests[request].status.error =
                Some(Error::new(Class::Other, String::from_utf8_lossy(why).into_owned()));
        }
        let Work::Receive(receive) = &mut self.requests[request].work else { return Ok(()) };
        add(&self.counters.bytes_cells, bytes);
        receive.received += bytes;
        let Some(sender) = receive.sender.filter(|_| receive.received == receive.expected) else {
            return Ok(());
        };
        self.complete(request);
        self.finish(sender.peer, sender.request)
    }

    pub(super) fn ask_for_stream(&mut self, index: u32, offer: Offer, taken: u64) -> Result<()> {
        if let Work::Receive(receive) = &mut self.requests[index].work {
            receive.expected = taken;
        }
        let stream = Stream {
            bytes: taken,
            request: offer.request,
            receiver_request: index,
            peer: self.name_for(offer.peer),
            spare: 0,
        };
        self.post(offer.peer, &Packet::with(STREAM, [0; 2], &stream))?;
        Ok(())
    }
}
