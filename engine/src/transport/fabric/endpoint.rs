//! An endpoint of libfabric's: where messages of a lane leave and arrive, and the queue that says what has happened.

use super::domain::{Domain, Memory};
use super::structures::*;
use super::tables::{
    bind, close, descriptor_of, enable, AddressesObject, EndpointObject, Message, Object, QueueObject,
};
use crate::transport::Ready;
use crate::Result;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of an address, at most.
pub const ADDRESS_BYTES: usize = 256;
/// Entries of the queue that are read at a time.
pub const AT_A_TIME: usize = 16;

/// What has become of an operation that was handed to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// It is under way.
    Over,
    /// There is no room for it now.
    NoRoom,
    /// The provider refuses it, with this code.
    Refused(isize),
}

impl Handed {
    fn of(answer: isize) -> Handed {
        match answer {
            0 => Handed::Over,
            AGAIN => Handed::NoRoom,
            code => Handed::Refused(code),
        }
    }
}

/// An operation that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// What was given with the operation.
    pub context: *mut c_void,
    /// The operation, in bits.
    pub flags: u64,
    /// Where a message is, and its length.
    pub place: (*const u8, usize),
    /// Why it has failed.
    pub error: Option<isize>,
}

/// The queue of an endpoint. It stays for as long as the process lives: threads ask it without a lock.
#[derive(Debug)]
pub struct Queue {
    domain: &'static Domain,
    object: *mut QueueObject,
    descriptor: RawFd,
    /// The last call to the provider has found the queue empty. Providers go on with their work when the queue is read, and
    /// only what comes from then on shows at the descriptor.
    is_drained: AtomicBool,
}

// SAFETY: the domain is safe for threads.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

/// To ask also is to prepare for a wait: the provider sees to it that the descriptor tells what comes from then on.
impl Ready for Queue {
    fn is_ready(&self) -> bool {
        let mut object: *mut Object = self.object.cast();
        let fabric = self.domain.fabric();
        // SAFETY: both are open, for ever.
        let mut refuses = || unsafe { ((*(*fabric).table).try_wait)(fabric, &raw mut object, 1) != 0 };
        !self.is_drained.load(Ordering::Acquire) || refuses()
    }
}

impl Queue {
    fn open(domain: &'static Domain) -> Result<&'static Queue> {
        let mut object = std::ptr::null_mut();
        let mut attributes = QueueAttributes {
            size: 0,
            flags: 0,
            format: FORMAT_DATA,
            wait_object: WAIT_DESCRIPTOR,
            vector: 0,
            wait_condition: 0,
            wait_set: std::ptr::null_mut(),
        };
        // SAFETY: the domain is open, and there is a place for the answer.
        let answer = unsafe {
            let open = (*(*domain.raw()).table).queue;
            open(domain.raw(), &raw mut attributes, &raw mut object, std::ptr::null_mut())
        };
        if answer != 0 {
            return Err(domain.refused("fi_cq_open with a descriptor to wait for", answer as isize));
        }
        // SAFETY: it is open.
        let descriptor = unsafe { descriptor_of(object.cast()) };
        let descriptor = descriptor.map_err(|code| domain.refused("FI_GETWAIT", code as isize))?;
        Ok(Box::leak(Box::new(Queue { domain, object, descriptor, is_drained: AtomicBool::new(false) })))
    }

    /// Whoever asks whether there is something is told so, once: the provider has refused something, and will not say when it
    /// is possible.
    pub fn look_again(&self) {
        self.is_drained.store(false, Ordering::Release);
    }

    /// What a rank that sleeps waits for, once [`Ready::is_ready`] has said no.
    pub fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    /// The next operations that are complete, in the order in which they are.
    pub fn completions(&self) -> impl Iterator<Item = Completion> + '_ {
        let mut entries = [MaybeUninit::<Entry>::uninit(); AT_A_TIME];
        // SAFETY: the queue is open, and there is room for so many entries of its format.
        let count =
            unsafe { ((*(*self.object).table).read)(self.object, entries.as_mut_ptr().cast(), AT_A_TIME) };
        self.is_drained.store(count == AGAIN, Ordering::Release);
        let failed = (count == ERROR_WAITS).then(|| self.failed()).flatten();
        let complete = entries.into_iter().take(count.max(0) as usize).map(|entry| {
            // SAFETY: the provider has filled so many.
            let Entry { context, flags, bytes, place, .. } = unsafe { entry.assume_init() };
            Completion { context, flags, place: (place.cast_const().cast(), bytes), error: None }
        });
        complete.chain(failed)
    }

    /// An operation is handed to the provider.
    fn is_stirred(&self) {
        self.is_drained.store(false, Ordering::Release);
    }

    /// The operation that has failed.
    #[cold]
    fn failed(&self) -> Option<Completion> {
        // SAFETY: zeros are a valid entry.
        let mut entry: ErrorEntry = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is open, and the entry has room for what versions to come add.
        let count = unsafe { ((*(*self.object).table).read_error)(self.object, &raw mut entry, 0) };
        (count == 1).then(|| Completion {
            context: entry.context,
            flags: entry.flags,
            place: (std::ptr::null(), 0),
            error: Some(-(entry.error as isize)),
        })
    }
}

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    domain: &'static Domain,
    object: *mut EndpointObject,
    addresses: *mut AddressesObject,
    queue: &'static Queue,
    /// Its address, as its peers have to know it.
    pub name: Vec<u8>,
    /// Bytes of a message that is copied at once, at most.
    pub inject_bytes: usize,
    /// Bytes of an operation, at most.
    pub longest: usize,
}

// SAFETY: the domain is safe for threads.
unsafe impl Send for Endpoint {}

/// It ends before the memory that it uses.
impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody uses it any more.
        unsafe { close(self.object.cast()) };
    }
}

impl Endpoint {
    /// Opens one. A receive for many messages ends when it has less than `least_room` bytes.
    ///
    /// # Errors
    /// What the provider says.
    pub fn open(domain: &'static Domain, least_room: usize) -> Result<Endpoint> {
        let queue = Queue::open(domain)?;
        let addresses = open_addresses(domain)?;
        let mut object = std::ptr::null_mut();
        // SAFETY: the domain is open, and there is a place for the answer.
        let answer = unsafe {
            let open = (*(*domain.raw()).table).endpoint;
            open(domain.raw(), domain.offer().raw(), &raw mut object, std::ptr::null_mut())
        };
        if answer != 0 {
            return Err(domain.refused("fi_endpoint", answer as isize));
        }
        let info = domain.offer().info();
        // SAFETY: an offer of the library's has all its parts.
        let (inject_bytes, longest) = unsafe { ((*info.send).inject_size, (*info.endpoint).longest_message) };
        let name = Vec::new();
        let mut endpoint = Endpoint { domain, object, addresses, queue, name, inject_bytes, longest };
        endpoint.begin(least_room)?;
        endpoint.name = endpoint.own_address()?;
        Ok(endpoint)
    }

    fn begin(&self, least_room: usize) -> Result<()> {
        let object: *mut Object = self.object.cast();
        let checked = |call, answer: i32| match answer {
            0 => Ok(()),
            code => Err(self.domain.refused(call, code as isize)),
        };
        // SAFETY: all three are open, and the option is a size.
        unsafe {
            checked("fi_ep_bind", bind(object, self.addresses.cast(), 0))?;
            checked("fi_ep_bind", bind(object, self.queue.object.cast(), SEND | RECEIVE))?;
            let (option, bytes) = ((&raw const least_room).cast(), size_of::<usize>());
            let set = (*(*self.object).table).set_option;
            checked("FI_OPT_MIN_MULTI_RECV", set(object, OPTION_ENDPOINT, OPTION_LEAST_ROOM, option, bytes))?;
            checked("fi_enable", enable(object))
        }
    }

    fn own_address(&self) -> Result<Vec<u8>> {
        let (mut name, mut bytes) = (vec![0; ADDRESS_BYTES], ADDRESS_BYTES);
        // SAFETY: the endpoint is open, and the place has so many bytes.
        let answer = unsafe {
            let call = (*(*self.object).connections).name;
            call(self.object.cast(), name.as_mut_ptr().cast(), &raw mut bytes)
        };
        if answer != 0 || bytes > ADDRESS_BYTES {
            return Err(self.domain.refused("fi_getname", answer as isize));
        }
        name.truncate(bytes);
        Ok(name)
    }

    /// Its queue.
    pub fn queue(&self) -> &'static Queue {
        self.queue
    }

    /// Its domain.
    pub fn domain(&self) -> &'static Domain {
        self.domain
    }

    /// Makes an address of a peer known. What the provider calls it from then on.
    ///
    /// # Errors
    /// What the provider says.
    pub fn know(&self, address: &[u8]) -> Result<PeerAddress> {
        let mut padded = [0; ADDRESS_BYTES];
        padded[..address.len()].copy_from_slice(address);
        let mut peer = PeerAddress::MAX;
        // SAFETY: the list is open; an address of this provider's is no longer than the place.
        let answer = unsafe {
            let insert = (*(*self.addresses).table).insert;
            insert(self.addresses, padded.as_ptr().cast(), 1, &raw mut peer, 0, std::ptr::null_mut())
        };
        match answer {
            1 => Ok(peer),
            _ => Err(self.domain.refused("fi_av_insert", answer as isize)),
        }
    }

    /// Sends a short message, which is copied at once.
    pub fn inject(&self, peer: PeerAddress, message: &[u8]) -> Handed {
        debug_assert!(message.len() <= self.inject_bytes);
        self.queue.is_stirred();
        // SAFETY: the endpoint is open.
        Handed::of(unsafe {
            let inject = (*(*self.object).messages).inject;
            inject(self.object, message.as_ptr().cast(), message.len(), peer)
        })
    }

    /// Sends a message. `descriptor` is that of its memory, where the provider wants one.
    ///
    /// # Safety
    /// Message and context must stay as they are until the operation is complete.
    pub unsafe fn send(
        &self,
        peer: PeerAddress,
        (place, bytes): (*const u8, usize),
        descriptor: *mut c_void,
        context: *mut c_void,
    ) -> Handed {
        self.queue.is_stirred();
        // SAFETY: the endpoint is open; by the caller.
        Handed::of(unsafe {
            let send = (*(*self.object).messages).send;
            send(self.object, place.cast(), bytes, descriptor, peer, context)
        })
    }

    /// Gives memory for the next messages that come, whoever sends them.
    ///
    /// # Safety
    /// As for [`Endpoint::send`]: until a completion says that the provider is done with the memory.
    pub unsafe fn receive(
        &self,
        (place, bytes): (*mut u8, usize),
        descriptor: *mut c_void,
        context: *mut c_void,
    ) -> Handed {
        self.queue.is_stirred();
        let part = libc::iovec { iov_base: place.cast(), iov_len: bytes };
        let mut descriptors = [descriptor];
        let descriptors = descriptors.as_mut_ptr();
        let message = Message {
            parts: &raw const part,
            descriptors,
            count: 1,
            peer: PeerAddress::MAX,
            context,
            data: 0,
        };
        // SAFETY: the endpoint is open; by the caller.
        Handed::of(unsafe {
            let receive = (*(*self.object).messages).receive;
            receive(self.object, &raw const message, MANY_MESSAGES)
        })
    }

    /// Reads memory of a peer: from an address as [`Endpoint::remote_address`] makes it, under a key.
    ///
    /// # Safety
    /// As for [`Endpoint::send`], and nobody else may use the memory meanwhile.
    pub unsafe fn read(
        &self,
        peer: PeerAddress,
        (place, bytes): (*mut u8, usize),
        descriptor: *mut c_void,
        (address, key): (u64, u64),
        context: *mut c_void,
    ) -> Handed {
        self.queue.is_stirred();
        // SAFETY: the endpoint is open; by the caller.
        Handed::of(unsafe {
            let read = (*(*self.object).remote).read;
            read(self.object, place.cast(), bytes, descriptor, peer, address, key, context)
        })
    }

    /// The address by which peers read registered memory: its own, or how far a byte is from its beginning.
    pub fn remote_address(&self, start: u64) -> u64 {
        if self.domain.wants(MEMORY_VIRTUAL) {
            start
        } else {
            0
        }
    }

    /// Registers memory for an access of this endpoint or of its peers.
    ///
    /// # Errors
    /// What the provider says.
    ///
    /// # Safety
    /// The memory must be there until it is dropped, which must be before the endpoint ends if peers may read it.
    pub unsafe fn register(&self, memory: (*const u8, usize), access: u64) -> Result<Memory> {
        // SAFETY: by the caller.
        unsafe { self.domain.register(self.object, memory, access) }
    }
}

fn open_addresses(domain: &'static Domain) -> Result<*mut AddressesObject> {
    let mut object = std::ptr::null_mut();
    let mut attributes = AddressAttributes {
        kind: 0,
        context_bits: 0,
        count: 0,
        per_node: 0,
        name: std::ptr::null(),
        map: std::ptr::null_mut(),
        flags: 0,
    };
    // SAFETY: the domain is open, and there is a place for the answer.
    let answer = unsafe {
        let open = (*(*domain.raw()).table).addresses;
        open(domain.raw(), &raw mut attributes, &raw mut object, std::ptr::null_mut())
    };
    match answer {
        0 => Ok(object),
        code => Err(domain.refused("fi_av_open", code as isize)),
    }
}
