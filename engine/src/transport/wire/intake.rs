//! What comes over connections: frames, taken apart where they were received.
//!
//! All connections of a lane share one buffer, which is used for one of them at a time. What is left in it of a
//! frame that is not whole yet goes to its connection: so a connection at rest has no buffer of its own.

use super::pipe::Pipe;
use crate::transport::network::framing::{Head, Sort, HEAD_BYTES};
use crate::transport::network::kept_payload::room;
use crate::transport::INLINE_BYTES;
use std::io;

/// Bytes that are received at a time.
const BUFFER_BYTES: usize = 128 << 10;

/// The part of a connection that has to do with what comes.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// The beginning of a frame that is not whole.
    beginning: Vec<u8>,
    /// A long frame whose payload is being received.
    long: Option<Long>,
    /// Data that are being received: the number of the question, and the bytes that are left of the frame.
    pub data: Option<(u64, usize)>,
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
    /// The beginning of a frame of data: so many of its bytes, from here on in the buffer. The others go where they
    /// belong.
    Data(Head, usize, usize),
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

    /// What lies there.
    pub fn bytes(&self, place: usize, bytes: usize) -> &[u8] {
        &self.buffer[place..place + bytes]
    }

    /// Throws away what is in the buffer: its connection is gone.
    pub fn clear(&mut self) {
        (self.start, self.end, self.whole) = (0, 0, None);
    }

    /// Receives what there is, when all that was received before has been taken. `direct` are the places of data that
    /// are being received. How many bytes went there; `None` if nothing has come.
    ///
    /// # Errors
    /// When the connection is at its end.
    pub fn receive(
        &mut self,
        pipe: &mut Pipe,
        unfinished: &mut Unfinished,
        direct: &[libc::iovec],
    ) -> io::Result<Option<usize>> {
        debug_assert!(self.start == self.end && self.whole.is_none());
        let before = unfinished.beginning.len();
        self.buffer[..before].copy_from_slice(&unfinished.beginning);
        let room = &mut self.buffer[before..BUFFER_BYTES];
        let rest = match &mut unfinished.long {
            Some(long) => &mut long.payload[long.filled..long.head.bytes as usize],
            None => &mut [],
        };
        let rest_bytes = rest.len();
        let places: usize = direct.iter().map(|place| place.iov_len).sum();
        let received = match &mut unfinished.data {
            // SAFETY: the places are those of the program for these data.
            Some((_, left)) => unsafe {
                pipe.receive_into(direct, if places == *left { room } else { &mut [] })
            },
            None => pipe.receive(rest, room),
        };
        let bytes = match received {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let went = bytes.min(places);
        if let Some((_, left)) = &mut unfinished.data {
            *left -= went;
            if *left == 0 {
                unfinished.data = None;
            }
        }
        if let Some(long) = &mut unfinished.long {
            long.filled += bytes.min(rest_bytes);
            if bytes >= rest_bytes {
                self.whole = unfinished.long.take().map(|long| (long.head, long.payload));
            }
        }
        unfinished.beginning.clear();
        (self.start, self.end) = (0, before + (bytes - went).saturating_sub(rest_bytes));
        Ok(Some(went))
    }

    /// The next frame of what was received.
    pub fn next(&mut self, unfinished: &mut Unfinished) -> Next {
        if let Some((head, payload)) = self.whole.take() {
            return Next::Frame(head, Place::Owned(payload));
        }
        if self.start == self.end {
            // The connection keeps what it has of a frame.
            return Next::Nothing;
        }
        let here = &self.buffer[self.start..self.end];
        let Some(head) = here.first_chunk::<HEAD_BYTES>() else { return self.set_aside(unfinished) };
        let Some(head) = Head::read(head) else { return Next::Nonsense };
        let bytes = HEAD_BYTES + head.bytes as usize;
        if head.sort == Sort::Data {
            let (place, found) = (self.start + HEAD_BYTES, here.len().min(bytes));
            self.start += found;
            unfinished.data = Some((head.header[0], bytes - found)).filter(|(_, left)| *left > 0);
            return Next::Data(head, place, found - HEAD_BYTES);
        }
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
        unfinished.beginning = here.to_vec();
        (self.start, self.end) = (0, 0);
        Next::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_frame_that_comes_in_two_parts_is_whole_however_often_is_looked_between() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut receiver = Pipe::new(listener.accept().unwrap().0, None);
        let payload = [7; 40];
        for sort in [Sort::Packet, Sort::Long] {
            let head = Head { bytes: payload.len() as u32, ..Head::bare(sort, 9, [1, 2]) };
            let frame = [&head.write()[..], &payload[..]].concat();
            for cut in 1..frame.len() {
                let (mut intake, mut unfinished) = (Intake::default(), Unfinished::default());
                for part in [&frame[..cut], &frame[cut..]] {
                    assert!(matches!(intake.next(&mut unfinished), Next::Nothing));
                    assert!(matches!(intake.next(&mut unfinished), Next::Nothing));
                    sender.write_all(part).unwrap();
                    while intake.receive(&mut receiver, &mut unfinished, &[]).unwrap().is_none() {}
                }
                let came = match intake.next(&mut unfinished) {
                    Next::Frame(came, Place::At(place)) => {
                        (came, intake.bytes(place, payload.len()).to_vec())
                    }
                    Next::Frame(came, Place::Owned(bytes)) => (came, bytes[..payload.len()].to_vec()),
                    other => panic!("{other:?}, cut after {cut} bytes"),
                };
                assert_eq!(came, (head, payload.to_vec()), "cut after {cut} bytes");
                assert!(matches!(intake.next(&mut unfinished), Next::Nothing));
            }
        }
    }
}
