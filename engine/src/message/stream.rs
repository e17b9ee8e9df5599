//! The sender copies through cells, part by part: for data with gaps, and where
//! the receiver cannot reach the sender's memory. No part waits for the whole,
//! and no staging copy of the message exists.

use super::wire::{Chunk, Stream, CHUNK};
use super::work::Work;
use crate::core::Core;
use crate::observe::page::add;
use crate::transport::{Packet, Transport};
use crate::Result;

impl Core {
    /// The receiver asks for a message through cells.
    pub(crate) fn begin_stream(&mut self, stream: Stream) {
        if let Work::Send(send) = &mut self.requests[stream.request].work {
            send.wanted = stream.bytes;
            send.receiver_request = stream.receiver_request;
            self.streams.push_back(stream.request);
        }
    }

    /// Fills cells as long as there are any; turns go round the streams.
    pub(crate) fn pump_streams(&mut self) -> Result<()> {
        while let Some(index) = self.streams.pop_front() {
            match self.pump(index)? {
                Pumped::Done => self.complete(index),
                Pumped::More => self.streams.push_back(index),
                Pumped::NoCell => {
                    self.streams.push_front(index);
                    if !self.transport.want_cells() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn pump(&mut self, index: u32) -> Result<Pumped> {
        let Work::Send(send) = &mut self.requests[index].work else { return Ok(Pumped::Done) };
        let largest = self.transport.largest_cell();
        let bytes = (send.wanted - send.streamed).min(largest as u64) as usize;
        // Always one of the largest: only streams use them, and what is streamed
        // has been asked for, so they come back. Smaller ones may all lie with
        // messages that nobody asks for before this one has come.
        let Some(cell) = self.transport.take_cell(send.peer, largest)? else { return Ok(Pumped::NoCell) };
        // SAFETY: the program lends the buffer; the cell is ours and large enough.
        unsafe {
            match send.buffer.dense() {
                Some(address) => {
                    let part = address.add(send.streamed as usize);
                    self.page.copying(|| self.transport.fill_cell(send.peer, cell, part, bytes))?;
                }
                None => send.buffer.pack(send.streamed, self.transport.cell_address(cell), bytes),
            }
        }
        let chunk =
            Chunk { offset: send.streamed, cell, bytes: bytes as u32, request: send.receiver_request };
        send.streamed += bytes as u64;
        let (peer, done) = (send.peer, send.streamed == send.wanted);
        add(&self.counters.bytes_cells, bytes as u64);
        self.post(peer, &Packet::with(CHUNK, [0; 2], &chunk))?;
        Ok(if done { Pumped::Done } else { Pumped::More })
    }

    /// A part has come.
    pub(crate) fn arrived_chunk(&mut self, chunk: Chunk) -> Result<()> {
        if let Work::Receive(receive) = &mut self.requests[chunk.request].work {
            let source = self.transport.cell_address(chunk.cell);
            // SAFETY: the cell is ours to read; the sender sends no more than
            // was asked for, which fits the buffer.
            self.page
                .copying(|| unsafe { receive.buffer.unpack(chunk.offset, source, chunk.bytes as usize) });
            receive.received += chunk.bytes as u64;
            if receive.received == receive.expected {
                self.complete(chunk.request);
            }
        }
        self.transport.give_back(chunk.cell);
        Ok(())
    }
}

enum Pumped {
    Done,
    More,
    NoCell,
}
