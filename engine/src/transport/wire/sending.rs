//! Frames out: what a connection takes, and in which order.
//!
//! Frames that are not numbered go first, then those that are, then data that the peer has asked for, a frame at a
//! time. A frame that has been begun goes on before all else.

use super::link::{Connection, Link, State};
use super::unreceived::{Outgoing, PARTS};
use super::{tcp, Wire};
use crate::transport::network::framing::{Head, HEAD_BYTES};
use crate::transport::network::kept_payload;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;

/// What a connection has been given, in the order in which it takes it.
struct Given {
    urgent: usize,
    is_data: bool,
}

impl Wire {
    /// Gives a connection what it takes.
    pub(super) fn flush(&mut self, index: usize) {
        let received = self.links[index].received as u16;
        let Link { state: State::Up(connection), outgoing, serving, .. } = &mut self.links[index] else {
            return;
        };
        let mut wants_room = false;
        match connection.pipe.push() {
            Ok(()) => {}
            Err(error) if tcp::is_full(&error) => wants_room = true,
            // What the peer has said before may still be read; its end shows there.
            Err(_) => connection.may_send = false,
        }
        while connection.may_send && !wants_room {
            if connection.data.is_none() && connection.urgent.is_empty() && outgoing.unsent() == 0 {
                let Some(next) = serving.front_mut() else { break };
                let (data, is_last) = next.next(received);
                connection.data = Some(data);
                if is_last {
                    serving.pop_front();
                }
            }
            match connection.give(outgoing) {
                Ok((given, bytes)) => connection.has_taken(outgoing, &given, bytes),
                Err(error) if tcp::is_full(&error) => {
                    wants_room = true;
                    break;
                }
                // What the peer has said before may still be read; its end shows there.
                Err(_) => connection.may_send = false,
            }
        }
        wants_room |= connection.pipe.has_waiting();
        if connection.wants_room != wants_room {
            connection.wants_room = wants_room;
            // If it is refused, the rank looks again when its sleep ends.
            let _ = self.ready.set.change(connection.pipe.socket().as_raw_fd(), index as u64, wants_room);
        }
    }

    /// Sends a frame whose payload lies with the program, if the connection has nothing else to do; the link keeps a
    /// copy of it. `false` if it has.
    ///
    /// # Safety
    /// The payload must be readable for as many bytes as the head says.
    pub(super) unsafe fn send_block(&mut self, index: usize, head: Head, payload: *const u8) -> bool {
        let link = &mut self.links[index];
        if !link.is_free() {
            return false;
        }
        let head = link.telling(head);
        let Link { state: State::Up(connection), outgoing, .. } = link else { return false };
        // SAFETY: by the caller.
        let payload = unsafe { std::slice::from_raw_parts(payload, head.bytes as usize) };
        let sent = connection.pipe.send(&[IoSlice::new(&head.write()), IoSlice::new(payload)]);
        // The copy is made while the bytes are on their way.
        outgoing.add_taken(&head, kept_payload::copy(payload), sent.unwrap_or(0));
        if outgoing.unsent() > 0 {
            self.flush(index);
        }
        true
    }
}

impl Link {
    /// Whether its connection has nothing to do.
    fn is_free(&self) -> bool {
        let State::Up(connection) = &self.state else { return false };
        let is_idle = connection.data.is_none() && connection.urgent.is_empty() && self.serving.is_empty();
        connection.may_send && is_idle && self.outgoing.unsent() == 0
    }
}

impl Connection {
    /// Gives the socket what is next. What it was given, and how many bytes of that it has taken.
    fn give(&mut self, outgoing: &Outgoing) -> io::Result<(Given, usize)> {
        if let Some(data) = &self.data {
            let bytes = self.pipe.send(&data.parts())?;
            return Ok((Given { urgent: 0, is_data: true }, bytes));
        }
        let mut list = [IoSlice::new(&[]); PARTS];
        let mut count = outgoing.parts(&mut list);
        let urgent = if outgoing.is_between_frames() { self.urgent.len() } else { 0 };
        if urgent > 0 {
            count = count.min(PARTS - 1);
            list.copy_within(..count, 1);
            list[0] = IoSlice::new(&self.urgent);
            count += 1;
        }
        let bytes = self.pipe.send(&list[..count])?;
        Ok((Given { urgent, is_data: false }, bytes))
    }

    /// It has taken so many bytes of what it was given.
    fn has_taken(&mut self, outgoing: &mut Outgoing, given: &Given, bytes: usize) {
        if given.is_data {
            if self.data.as_mut().is_some_and(|data| data.is_taken(bytes)) {
                self.data = None;
            }
            return;
        }
        let urgent = bytes.min(given.urgent);
        if urgent == self.urgent.len() && self.urgent.capacity() > 8 * HEAD_BYTES {
            self.urgent = Vec::new();
        } else {
            self.urgent.drain(..urgent);
        }
        outgoing.taken(bytes - urgent);
    }
}
