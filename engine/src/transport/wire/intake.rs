//! What comes over connections: frames, taken apart where they were received.
//!
//! All connections of a lane share one buffer, which is used for one of them at a time. What is left in it of a
//! frame that is not whole yet goes to its connection: so a connection at rest has no buffer of its own.

use super::framing::{Head, Sort, HEAD_BYTES};
use super::tcp;
use crate::transport::INLINE_BYTES;
use std::io;
use std::net::TcpStream;

/// Bytes that are received at a time.
const BUFFER_BYTES: usize = 128 << 10;

/// The part of a connection that has to do with what comes.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// The beginning of a frame that is not whole.
    beginning: Vec<u8>,
    /// A long frame whose payload is being received.
    long: Option<Long>,
}

#[derive(Debug)]
struct Long {
    head: Head,
    payload: Box<[u8]>,
    filled: usize,
}

/// Where a payload is.
#[derive(Debug)]
pub enum Place {
    /// In the buffer, from here on.
    At(usize),
    /// In memory of its own, of [`room`] bytes.
    Owned(Box<[u8]>),
}

/// What the buffer has next.
#[derive(Debug)]
pub enum Next {
    /// A frame.
    Frame(Head, Place),
    /// Nothing more that is whole.
    Nothing,
    /// What is no frame.
    Nonsense,
}

/// The buffer of a lane.
#[derive(Debug)]
pub struct Intake {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// A long frame that has been received whole.
    whole: Option<(Head, Box<[u8]>)>,
}

impl Default for Intake {
    fn default() -> Self {
        // Readers of a packet may look beyond its end.
        let buffer = vec![0; BUFFER_BYTES + INLINE_BYTES].into_boxed_slice();
        Intake { buffer, start: 0, end: 0, whole: None }
    }
}

impl Intake {
    /// Where a place in the buffer is.
    pub fn at(&self, place: usize) -> *const u8 {
        self.buffer[place..].as_ptr()
    }

    /// Throws away what is in the buffer: its connection is gone.
    pub fn clear(&mut self) {
        (self.start, self.end, self.whole) = (0, 0, None);
    }

    /// Receives what there is, when all that was received before has been taken. Whether anything has come.
    ///
    /// # Errors
    /// When the connection is at its end.
    pub fn receive(&mut self, socket: &TcpStream, unfinished: &mut Unfinished) -> io::Result<bool> {
        debug_assert!(self.start == self.end && self.whole.is_none());
        let before = unfinished.beginning.len();
        self.buffer[..before].copy_from_slice(&unfinished.beginning);
        let room = &mut self.buffer[before..BUFFER_BYTES];
        let rest = match &mut unfinished.long {
            Some(long) => &mut long.payload[long.filled..long.head.bytes as usize],
            None => &mut [],
        };
        let rest_bytes = rest.len();
        let bytes = match tcp::receive(socket, rest, room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        if let Some(long) = &mut unfinished.long {
            long.filled += bytes.min(rest_bytes);
            if bytes >= rest_bytes {
                self.whole = unfinished.long.take().map(|long| (long.head, long.payload));
            }
        }
        unfinished.beginning.clear();
        (self.start, self.end) = (0, before + bytes.saturating_sub(rest_bytes));
        Ok(true)
    }

    /// The next frame of what was received.
    pub fn next(&mut self, unfinished: &mut Unfinished) -> Next {
        if let Some((head, payload)) = self.whole.take() {
            return Next::Frame(head, Place::Owned(payload));
        }
        let here = &self.buffer[self.start..self.end];
        let Some(head) = here.first_chunk::<HEAD_BYTES>() else { return self.set_aside(unfinished) };
        let Some(head) = Head::read(head) else { return Next::Nonsense };
        let bytes = HEAD_BYTES + head.bytes as usize;
        if here.len() >= bytes {
            let place = self.start + HEAD_BYTES;
            self.start += bytes;
            return Next::Frame(head, Place::At(place));
        }
        if matches!(head.sort, Sort::Long | Sort::Awaited) {
            let mut payload = vec![0; room(head.bytes as usize)].into_boxed_slice();
            let filled = here.len() - HEAD_BYTES;
            payload[..filled].copy_from_slice(&here[HEAD_BYTES..]);
            unfinished.long = Some(Long { head, payload, filled });
            (self.start, self.end) = (0, 0);
            return Next::Nothing;
        }
        self.set_aside(unfinished)
    }

    /// Gives the beginning of a frame to its connection, which has memory for it only until the rest comes.
    fn set_aside(&mut self, unfinished: &mut Unfinished) -> Next {
        let here = &self.buffer[self.start..self.end];
        unfinished.beginning = if here.is_empty() { Vec::new() } else { here.to_vec() };
        (self.start, self.end) = (0, 0);
        Next::Nothing
    }
}

/// Bytes that a payload of `bytes` bytes is kept in.
pub fn room(bytes: usize) -> usize {
    bytes.max(INLINE_BYTES)
}

/// A copy of a payload, in memory of its own.
pub fn copy(payload: &[u8]) -> Box<[u8]> {
    let mut copy = vec![0; room(payload.len())].into_boxed_slice();
    copy[..payload.len()].copy_from_slice(payload);
    copy
}
