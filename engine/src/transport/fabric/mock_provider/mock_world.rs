//! What the mock knows: endpoints, registered memory, and what is on its way.

use super::super::structures::{Entry, MANY_MESSAGES, READ, RECEIVE, REMOTE_READ, SEND};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::Mutex;

/// Operations of an endpoint that are not complete, at most.
const MOST: usize = 24;
/// One of so many operations finds no room, whatever there is.
const REFUSED: u64 = 5;

/// Memory that is registered.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub address: usize,
    pub bytes: usize,
    pub access: u64,
    pub key: u64,
    pub endpoint: u64,
    pub is_enabled: bool,
}

/// A message that has not been received, and lies with its sender.
#[derive(Debug)]
struct Message {
    from: u64,
    data: Data,
    /// Of the sender, who is told when it is received.
    context: Option<usize>,
}

#[derive(Debug)]
enum Data {
    Owned(Vec<u8>),
    At(usize, usize),
}

#[derive(Debug)]
struct Posted {
    address: usize,
    bytes: usize,
    used: usize,
    context: usize,
}

/// A read that is done when its queue is read the next time.
#[derive(Debug)]
struct Read {
    to: usize,
    from: usize,
    bytes: usize,
    context: usize,
}

#[derive(Debug, Default)]
struct EndpointState {
    event: i32,
    least_room: usize,
    posted: VecDeque<Posted>,
    incoming: VecDeque<Message>,
    reads: VecDeque<Read>,
    complete: VecDeque<(usize, u64, usize, usize)>,
    under_way: usize,
    operations: u64,
}

/// All of it.
#[derive(Debug, Default)]
pub struct World {
    last: u64,
    endpoints: HashMap<u64, EndpointState>,
    pub memory: HashMap<u64, Registered>,
}

/// The one of this process.
pub static WORLD: Mutex<Option<World>> = Mutex::new(None);

/// Asks the world something.
pub fn world<T>(ask: impl FnOnce(&mut World) -> T) -> T {
    ask(WORLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert_default())
}

fn signal(event: i32) {
    let one = 1u64;
    // SAFETY: an eventfd takes eight bytes.
    unsafe { libc::write(event, (&raw const one).cast(), 8) };
}

impl World {
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub fn open_endpoint(&mut self, event: i32) -> u64 {
        let number = self.number();
        self.endpoints.insert(number, EndpointState { event, ..EndpointState::default() });
        number
    }

    pub fn close_endpoint(&mut self, number: u64) {
        self.endpoints.remove(&number);
    }

    fn at(&mut self, number: u64) -> &mut EndpointState {
        self.endpoints.get_mut(&number).expect("an open endpoint")
    }

    pub fn set_event(&mut self, number: u64, event: i32) {
        self.at(number).event = event;
    }

    pub fn set_least_room(&mut self, number: u64, bytes: usize) {
        self.at(number).least_room = bytes;
    }

    /// Whether an operation of an endpoint has room.
    fn has_room(&mut self, number: u64) -> bool {
        let endpoint = self.at(number);
        endpoint.operations += 1;
        endpoint.under_way < MOST && !endpoint.operations.is_multiple_of(REFUSED)
    }

    /// A message is sent; with a context it stays where it is until it is received.
    pub fn send(&mut self, from: u64, to: u64, bytes: &[u8], context: Option<*mut c_void>) -> isize {
        if !self.has_room(from) {
            return super::super::structures::AGAIN;
        }
        let data = match context {
            Some(_) => Data::At(bytes.as_ptr() as usize, bytes.len()),
            None => Data::Owned(bytes.to_vec()),
        };
        let context = context.map(|context| context as usize);
        let Some(peer) = self.endpoints.get_mut(&to) else {
            return -(libc::ECONNREFUSED as isize);
        };
        peer.incoming.push_back(Message { from, data, context });
        signal(peer.event);
        self.at(from).under_way += usize::from(context.is_some());
        0
    }

    pub fn post(&mut self, number: u64, address: usize, bytes: usize, context: *mut c_void) {
        let posted = Posted { address, bytes, used: 0, context: context as usize };
        let endpoint = self.at(number);
        endpoint.posted.push_back(posted);
        signal(endpoint.event);
    }

    /// Memory of a peer is read, under a key: from its address, or counted from its beginning.
    pub fn read(
        &mut self,
        number: u64,
        (to, bytes): (usize, usize),
        (peer, address, key): (u64, u64, u64),
        is_virtual: bool,
        context: *mut c_void,
    ) -> isize {
        if !self.has_room(number) {
            return super::super::structures::AGAIN;
        }
        let is_it = |memory: &&Registered| memory.key == key && [0, peer].contains(&memory.endpoint);
        let found = self.memory.values().find(is_it).copied();
        let memory = found.expect("a key of that peer");
        assert!(memory.is_enabled && memory.access & REMOTE_READ != 0, "it may be read from afar");
        let start = if is_virtual { address as usize } else { memory.address + address as usize };
        assert!(start >= memory.address && start + bytes <= memory.address + memory.bytes, "inside of it");
        let endpoint = self.at(number);
        endpoint.reads.push_back(Read { to, from: start, bytes, context: context as usize });
        endpoint.under_way += 1;
        signal(endpoint.event);
        0
    }

    /// Whether a descriptor is one of memory around a place, with an access.
    pub fn covers(&self, descriptor: *mut c_void, (address, bytes): (usize, usize), access: u64) -> bool {
        self.memory.get(&(descriptor as u64)).is_some_and(|memory| {
            let is_inside = address >= memory.address && address + bytes <= memory.address + memory.bytes;
            is_inside && memory.access & access != 0 && memory.is_enabled
        })
    }

    /// What is complete, and goes on with what is not. It is late: what happens now is told the next time.
    pub fn completions(&mut self, number: u64, most: usize) -> Vec<Entry> {
        let count = self.at(number).complete.len().min(most);
        let complete: Vec<_> = self.at(number).complete.drain(..count).collect();
        self.receive(number);
        let endpoint = self.at(number);
        while let Some(Read { to, from, bytes, context }) = endpoint.reads.pop_front() {
            // SAFETY: one rank's memory, registered, and another's, which waits for it.
            unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) };
            endpoint.complete.push_back((context, READ, 0, 0));
            endpoint.under_way -= 1;
        }
        if !endpoint.complete.is_empty() {
            signal(endpoint.event);
        }
        let entry = |(context, flags, place, bytes)| Entry {
            context: context as *mut c_void,
            flags,
            bytes,
            place: place as *mut c_void,
            data: 0,
        };
        complete.into_iter().map(entry).collect()
    }

    fn receive(&mut self, number: u64) {
        loop {
            let endpoint = self.at(number);
            let (Some(message), Some(posted)) = (endpoint.incoming.front(), endpoint.posted.front_mut())
            else {
                return;
            };
            let (start, bytes) = match &message.data {
                Data::Owned(data) => (data.as_ptr() as usize, data.len()),
                Data::At(start, bytes) => (*start, *bytes),
            };
            assert!(posted.used + bytes <= posted.bytes, "a receive ends before a message does not fit");
            let place = posted.address + posted.used;
            // SAFETY: the sender leaves its message where it is until it is received; the receiver its buffer.
            unsafe { (place as *mut u8).copy_from_nonoverlapping(start as *const u8, bytes) };
            posted.used += bytes;
            endpoint.complete.push_back((posted.context, RECEIVE, place, bytes));
            if posted.bytes - posted.used < endpoint.least_room {
                // The last word comes by itself.
                endpoint.complete.push_back((posted.context, RECEIVE | MANY_MESSAGES, 0, 0));
                endpoint.posted.pop_front();
            }
            let message = endpoint.incoming.pop_front().expect("it was there");
            if let (Some(context), Some(sender)) = (message.context, self.endpoints.get_mut(&message.from)) {
                sender.complete.push_back((context, SEND, 0, 0));
                sender.under_way -= 1;
                signal(sender.event);
            }
        }
    }

    /// Whether something would be told at once.
    pub fn has_news(&mut self, number: u64) -> bool {
        let endpoint = self.at(number);
        let may_receive = !endpoint.incoming.is_empty() && !endpoint.posted.is_empty();
        !endpoint.complete.is_empty() || !endpoint.reads.is_empty() || may_receive
    }
}
