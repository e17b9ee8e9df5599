//! Memory for messages while they are with the provider: out of it, and into it.
//!
//! A buffer is lent to the provider with each operation, and its context comes back with the completion. So buffers have
//! names, and their contexts fixed places.

use super::domain::Memory;
use super::endpoint::{Endpoint, Handed};
use super::structures::{PeerAddress, ProvidersOwn, MEMORY_LOCAL, RECEIVE, SEND};
use crate::transport::network::framing::HEAD_BYTES;
use crate::transport::INLINE_BYTES;
use crate::Result;
use std::ffi::c_void;

/// Bytes of a seal, with which a message begins.
pub const SEAL_BYTES: usize = 8;
/// Bytes before a payload.
pub const BEFORE_PAYLOAD: usize = SEAL_BYTES + HEAD_BYTES;
/// Buffers of a length that are kept for the next messages, at most.
const KEPT: usize = 16;

/// What an operation is about: its context points here.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    own: ProvidersOwn,
    /// What it is about.
    pub about: About,
}

// SAFETY: the provider's words mean something to it alone, and it is safe for threads.
unsafe impl Send for Context {}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// It sends what is in this buffer.
    Sending(usize),
    /// It receives into this buffer.
    Receiving(usize),
    /// It reads memory of a peer, and has this number.
    Reading(usize),
}

impl Context {
    /// In a place of its own.
    pub fn new(about: About) -> Box<Context> {
        Box::new(Context { own: [std::ptr::null_mut(); 8], about })
    }

    /// For the provider.
    pub fn raw(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }
}

/// A buffer.
#[derive(Debug)]
struct Buffer {
    context: Box<Context>,
    /// Readers of a packet may look beyond its end.
    memory: Box<[u8]>,
    /// As the provider knows it, where it wants to.
    registered: Option<Memory>,
    /// The peer that is sent to, and how many bytes.
    pub sent: (usize, usize),
}

/// The buffers of a lane.
#[derive(Debug)]
pub struct Buffers {
    /// Lengths, shortest first.
    lengths: [usize; 2],
    list: Vec<Option<Buffer>>,
    /// Names that are not in use.
    free_names: Vec<usize>,
    /// Buffers that are not in use, by length.
    kept: [Vec<usize>; 2],
}

impl Buffers {
    /// Of two lengths.
    pub fn new(lengths: [usize; 2]) -> Buffers {
        Buffers { lengths, list: Vec::new(), free_names: Vec::new(), kept: Default::default() }
    }

    fn at(&mut self, name: usize) -> &mut Buffer {
        self.list[name].as_mut().expect("a buffer that is in use")
    }

    fn add(&mut self, endpoint: &Endpoint, bytes: usize, access: u64) -> Result<usize> {
        let memory = vec![0; bytes + INLINE_BYTES].into_boxed_slice();
        let registered = match endpoint.domain().wants(MEMORY_LOCAL) {
            // SAFETY: the memory has its place until the buffer is gone, and the registration goes with it.
            true => Some(unsafe { endpoint.register((memory.as_ptr(), memory.len()), access)? }),
            false => None,
        };
        let name = self.free_names.pop().unwrap_or_else(|| {
            self.list.push(None);
            self.list.len() - 1
        });
        let about = if access == RECEIVE { About::Receiving(name) } else { About::Sending(name) };
        self.list[name] = Some(Buffer { context: Context::new(about), memory, registered, sent: (0, 0) });
        Ok(name)
    }

    /// A buffer for a message of so many bytes, no longer than the longest.
    ///
    /// # Errors
    /// What the provider says of its memory.
    pub fn take(&mut self, endpoint: &Endpoint, bytes: usize) -> Result<usize> {
        let class = usize::from(bytes > self.lengths[0]);
        match self.kept[class].pop() {
            Some(name) => Ok(name),
            // What is read from a peer comes into such a buffer too.
            None => self.add(endpoint, self.lengths[class], SEND | super::structures::READ),
        }
    }

    /// What is in a buffer.
    pub fn bytes(&mut self, name: usize) -> &mut [u8] {
        &mut self.at(name).memory
    }

    /// Gives a buffer back.
    pub fn give(&mut self, name: usize) {
        let class = usize::from(self.at(name).memory.len() > self.lengths[0] + INLINE_BYTES);
        if self.kept[class].len() < KEPT {
            return self.kept[class].push(name);
        }
        self.list[name] = None;
        self.free_names.push(name);
    }

    /// Sends the first bytes of a buffer to a peer, which is `index` to the lane.
    pub fn send(
        &mut self,
        endpoint: &Endpoint,
        name: usize,
        bytes: usize,
        to: (usize, PeerAddress),
    ) -> Handed {
        let buffer = self.at(name);
        buffer.sent = (to.0, bytes);
        let descriptor = buffer.descriptor();
        let message = (buffer.memory.as_ptr(), bytes);
        // SAFETY: the buffer stays as it is until the completion comes.
        unsafe { endpoint.send(to.1, message, descriptor, buffer.context.raw()) }
    }

    /// The peer to which a buffer was sent, and how many bytes of it.
    pub fn sent(&mut self, name: usize) -> (usize, usize) {
        self.at(name).sent
    }

    /// The memory of a buffer, for an operation under a context of its own.
    pub fn memory(&mut self, name: usize) -> (*mut u8, *mut c_void) {
        let buffer = self.at(name);
        (buffer.memory.as_mut_ptr(), buffer.descriptor())
    }

    /// A new buffer of any length, in which messages are received.
    ///
    /// # Errors
    /// What the provider says of its memory.
    pub fn for_receiving(&mut self, endpoint: &Endpoint, bytes: usize) -> Result<usize> {
        self.add(endpoint, bytes, RECEIVE)
    }

    /// Receives into a buffer.
    pub fn receive(&mut self, endpoint: &Endpoint, name: usize) -> Handed {
        let buffer = self.at(name);
        let descriptor = buffer.descriptor();
        let room = (buffer.memory.as_mut_ptr(), buffer.memory.len() - INLINE_BYTES);
        // SAFETY: the buffer stays, and nobody writes there; what has come is read behind what comes.
        unsafe { endpoint.receive(room, descriptor, buffer.context.raw()) }
    }
}

impl Buffer {
    fn descriptor(&self) -> *mut c_void {
        self.registered.as_ref().map_or(std::ptr::null_mut(), Memory::descriptor)
    }
}
