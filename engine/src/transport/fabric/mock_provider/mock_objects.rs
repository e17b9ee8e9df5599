//! The mock's objects: their tables, and what stands behind them.

use super::super::structures::*;
use super::super::tables::*;
use super::mock_world::{world, Registered};
use std::ffi::{c_int, c_void};

/// A table may be used by any thread.
struct Shared<T>(T);

// SAFETY: functions, and places that nobody looks at.
unsafe impl<T> Sync for Shared<T> {}

const NOTHING: *const c_void = std::ptr::null();

#[repr(C)]
struct MockQueue {
    head: QueueObject,
    event: c_int,
    endpoint: u64,
}

#[repr(C)]
struct MockEndpoint {
    head: EndpointObject,
    number: u64,
    is_strict: bool,
}

#[repr(C)]
struct MockMemory {
    head: MemoryObject,
    number: u64,
}

fn object(class: usize, table: &'static Shared<ObjectTable>) -> Object {
    Object { class, context: std::ptr::null_mut(), operations: &raw const table.0 }
}

fn made<T>(made: T) -> *mut T {
    Box::into_raw(Box::new(made))
}

const ENDPOINT: usize = 3;
const QUEUE: usize = 14;
const MEMORY: usize = 12;

static PLAIN: Shared<ObjectTable> = Shared(ObjectTable { size: 24, close, bind, control });

unsafe extern "C" fn close(one: *mut Object) -> c_int {
    // SAFETY: an object of ours, of its class.
    unsafe {
        match (*one).class {
            ENDPOINT => world(|world| world.close_endpoint((*one.cast::<MockEndpoint>()).number)),
            MEMORY => {
                let memory = Box::from_raw(one.cast::<MockMemory>());
                assert!(world(|world| world.memory.remove(&memory.number)).is_some(), "it was open");
            }
            _ => {}
        }
    }
    0
}

unsafe extern "C" fn bind(one: *mut Object, to: *mut Object, _: u64) -> c_int {
    // SAFETY: objects of ours, of their classes.
    unsafe {
        match ((*one).class, (*to).class) {
            (ENDPOINT, QUEUE) => {
                let (endpoint, queue) = (one.cast::<MockEndpoint>(), to.cast::<MockQueue>());
                (*queue).endpoint = (*endpoint).number;
                world(|world| world.set_event((*endpoint).number, (*queue).event));
            }
            (MEMORY, ENDPOINT) => world(|world| {
                let memory = world.memory.get_mut(&(*one.cast::<MockMemory>()).number).expect("it is open");
                memory.endpoint = (*to.cast::<MockEndpoint>()).number;
            }),
            _ => {}
        }
    }
    0
}

unsafe extern "C" fn control(one: *mut Object, command: c_int, place: *mut c_void) -> c_int {
    // SAFETY: objects of ours, of their classes; a wait descriptor is a number.
    unsafe {
        match ((*one).class, command) {
            (QUEUE, GET_WAIT) => place.cast::<c_int>().write((*one.cast::<MockQueue>()).event),
            (MEMORY, ENABLE) => world(|world| {
                let memory = world.memory.get_mut(&(*one.cast::<MockMemory>()).number).expect("it is open");
                assert_ne!(memory.endpoint, 0, "it is bound first");
                memory.is_enabled = true;
            }),
            _ => {}
        }
    }
    0
}

static FABRIC: Shared<FabricTable> =
    Shared(FabricTable { size: 48, domain: open_domain, unused: [NOTHING; 3], try_wait });

/// Opens the fabric.
pub unsafe extern "C" fn open_fabric(
    _: *mut FabricAttributes,
    place: *mut *mut FabricObject,
    _: *mut c_void,
) -> c_int {
    // SAFETY: there is a place for the answer.
    unsafe { place.write(made(FabricObject { object: object(1, &PLAIN), table: &raw const FABRIC.0 })) };
    0
}

unsafe extern "C" fn try_wait(_: *mut FabricObject, objects: *mut *mut Object, _: c_int) -> c_int {
    // SAFETY: one queue of ours.
    let queue = unsafe { &*(*objects).cast::<MockQueue>() };
    let mut drained = 0u64;
    // SAFETY: an eventfd gives eight bytes.
    unsafe { libc::read(queue.event, (&raw mut drained).cast(), 8) };
    if world(|world| world.has_news(queue.endpoint)) {
        AGAIN as c_int
    } else {
        0
    }
}

static STRICT: Shared<DomainTable> = Shared(DomainTable {
    size: 32,
    addresses: open_addresses,
    queue: open_queue,
    endpoint: open_endpoint::<true>,
});
static SCALABLE: Shared<DomainTable> = Shared(DomainTable {
    size: 32,
    addresses: open_addresses,
    queue: open_queue,
    endpoint: open_endpoint::<false>,
});
static STRICT_MEMORY: Shared<MemoryTable> = Shared(MemoryTable { size: 16, register: register::<true> });
static SCALABLE_MEMORY: Shared<MemoryTable> = Shared(MemoryTable { size: 16, register: register::<false> });

unsafe extern "C" fn open_domain(
    _: *mut FabricObject,
    info: *mut Info,
    place: *mut *mut DomainObject,
    _: *mut c_void,
) -> c_int {
    // SAFETY: an offer of ours, and a place for the answer.
    unsafe {
        let (table, memory) = match (*(*info).domain).memory_mode {
            0 => (&SCALABLE, &SCALABLE_MEMORY),
            _ => (&STRICT, &STRICT_MEMORY),
        };
        let domain = DomainObject {
            object: object(2, &PLAIN),
            table: &raw const table.0,
            memory: &raw const memory.0,
        };
        place.write(made(domain));
    }
    0
}

static ADDRESSES: Shared<AddressesTable> = Shared(AddressesTable { size: 16, insert });

unsafe extern "C" fn open_addresses(
    _: *mut DomainObject,
    _: *mut AddressAttributes,
    place: *mut *mut AddressesObject,
    _: *mut c_void,
) -> c_int {
    // SAFETY: there is a place for the answer.
    unsafe {
        place.write(made(AddressesObject { object: object(11, &PLAIN), table: &raw const ADDRESSES.0 }))
    };
    0
}

/// An address is the number of an endpoint.
unsafe extern "C" fn insert(
    _: *mut AddressesObject,
    address: *const c_void,
    _: usize,
    place: *mut PeerAddress,
    _: u64,
    _: *mut c_void,
) -> c_int {
    // SAFETY: an address of ours, and a place for the answer.
    unsafe { place.write(address.cast::<u64>().read_unaligned()) };
    1
}

static QUEUES: Shared<QueueTable> =
    Shared(QueueTable { size: 32, read: read_queue, unused: NOTHING, read_error });

unsafe extern "C" fn open_queue(
    _: *mut DomainObject,
    attributes: *mut QueueAttributes,
    place: *mut *mut QueueObject,
    _: *mut c_void,
) -> c_int {
    // SAFETY: attributes, and a place for the answer.
    unsafe {
        assert_eq!(((*attributes).format, (*attributes).wait_object), (FORMAT_DATA, WAIT_DESCRIPTOR));
        let event = libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC);
        let head = QueueObject { object: object(QUEUE, &PLAIN), table: &raw const QUEUES.0 };
        place.write(made(MockQueue { head, event, endpoint: 0 }).cast());
    }
    0
}

unsafe extern "C" fn read_queue(queue: *mut QueueObject, place: *mut Entry, most: usize) -> isize {
    // SAFETY: a queue of ours.
    let number = unsafe { (*queue.cast::<MockQueue>()).endpoint };
    let entries = world(|world| world.completions(number, most));
    for (index, entry) in entries.iter().enumerate() {
        // SAFETY: there is room for so many.
        unsafe { place.add(index).write(*entry) };
    }
    if entries.is_empty() {
        AGAIN
    } else {
        entries.len() as isize
    }
}

unsafe extern "C" fn read_error(_: *mut QueueObject, _: *mut ErrorEntry, _: u64) -> isize {
    AGAIN
}

static ENDPOINTS: Shared<EndpointTable> =
    Shared(EndpointTable { size: 32, unused: [NOTHING; 2], set_option });
static CONNECTIONS: Shared<ConnectionTable> = Shared(ConnectionTable { size: 24, unused: NOTHING, name });
static MESSAGES_TABLE: Shared<MessageTable> =
    Shared(MessageTable { size: 64, unused: [NOTHING; 2], receive, send, unused_too: [NOTHING; 2], inject });
static REMOTE: Shared<RemoteTable> = Shared(RemoteTable { size: 16, read });

unsafe extern "C" fn open_endpoint<const IS_STRICT: bool>(
    _: *mut DomainObject,
    _: *mut Info,
    place: *mut *mut EndpointObject,
    _: *mut c_void,
) -> c_int {
    let head = EndpointObject {
        object: object(ENDPOINT, &PLAIN),
        table: &raw const ENDPOINTS.0,
        connections: &raw const CONNECTIONS.0,
        messages: &raw const MESSAGES_TABLE.0,
        remote: &raw const REMOTE.0,
    };
    let number = world(|world| world.open_endpoint(-1));
    // SAFETY: there is a place for the answer.
    unsafe { place.write(made(MockEndpoint { head, number, is_strict: IS_STRICT }).cast()) };
    0
}

fn endpoint(one: *mut EndpointObject) -> &'static MockEndpoint {
    // SAFETY: an endpoint of ours, which stays.
    unsafe { &*one.cast::<MockEndpoint>() }
}

unsafe extern "C" fn set_option(
    one: *mut Object,
    level: c_int,
    option: c_int,
    value: *const c_void,
    _: usize,
) -> c_int {
    assert_eq!((level, option), (OPTION_ENDPOINT, OPTION_LEAST_ROOM));
    // SAFETY: an endpoint of ours, and a size.
    let bytes = unsafe { value.cast::<usize>().read_unaligned() };
    world(|world| world.set_least_room(endpoint(one.cast()).number, bytes));
    0
}

unsafe extern "C" fn name(one: *mut Object, place: *mut c_void, bytes: *mut usize) -> c_int {
    // SAFETY: there is room for a number.
    unsafe {
        place.cast::<u64>().write_unaligned(endpoint(one.cast()).number);
        bytes.write(8);
    }
    0
}

/// A strict provider wants all memory that it uses registered, and a context for each operation.
fn insist(
    one: &MockEndpoint,
    memory: (usize, usize),
    access: u64,
    descriptor: *mut c_void,
    context: *mut c_void,
) {
    assert!(!context.is_null());
    let is_known = world(|world| world.covers(descriptor, memory, access));
    assert!(!one.is_strict || is_known, "FI_MR_LOCAL: the memory is not registered");
}

unsafe extern "C" fn receive(one: *mut EndpointObject, message: *const Message, flags: u64) -> isize {
    // SAFETY: a message with one part.
    let (part, descriptor, context) =
        unsafe { (*(*message).parts, *(*message).descriptors, (*message).context) };
    assert_eq!(flags, MANY_MESSAGES);
    let (one, address) = (endpoint(one), part.iov_base as usize);
    insist(one, (address, part.iov_len), RECEIVE, descriptor, context);
    world(|world| world.post(one.number, address, part.iov_len, context));
    0
}

unsafe extern "C" fn send(
    one: *mut EndpointObject,
    place: *const c_void,
    bytes: usize,
    descriptor: *mut c_void,
    peer: PeerAddress,
    context: *mut c_void,
) -> isize {
    let one = endpoint(one);
    insist(one, (place as usize, bytes), SEND, descriptor, context);
    // SAFETY: by the caller.
    let message = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), bytes) };
    world(|world| world.send(one.number, peer, message, Some(context)))
}

unsafe extern "C" fn inject(
    one: *mut EndpointObject,
    place: *const c_void,
    bytes: usize,
    peer: PeerAddress,
) -> isize {
    // SAFETY: by the caller.
    let message = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), bytes) };
    world(|world| world.send(endpoint(one).number, peer, message, None))
}

unsafe extern "C" fn read(
    one: *mut EndpointObject,
    place: *mut c_void,
    bytes: usize,
    descriptor: *mut c_void,
    peer: PeerAddress,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let one = endpoint(one);
    insist(one, (place as usize, bytes), READ, descriptor, context);
    let from = (peer, address, key);
    world(|world| world.read(one.number, (place as usize, bytes), from, one.is_strict, context))
}

/// A strict provider makes the keys by itself, and has memory bound to an endpoint and enabled. The other one takes the key
/// that is asked for, if nobody has it; there are few.
unsafe extern "C" fn register<const IS_STRICT: bool>(
    _: *mut Object,
    address: *const c_void,
    bytes: usize,
    access: u64,
    _: u64,
    key: u64,
    _: u64,
    place: *mut *mut MemoryObject,
    _: *mut c_void,
) -> c_int {
    let made_here = made(MockMemory {
        head: MemoryObject { object: object(MEMORY, &PLAIN), descriptor: std::ptr::null_mut(), key },
        number: 0,
    });
    let number = made_here as u64;
    let is_new = world(|world| {
        let key = if IS_STRICT { world.number() - 1 } else { key };
        let address = address as usize;
        // Of the provider that is not strict, keys belong to a domain; this world has one for all endpoints.
        let registered = Registered { address, bytes, access, key, endpoint: 0, is_enabled: !IS_STRICT };
        let is_taken =
            world.memory.values().any(|memory| memory.key == key && memory.is_enabled != IS_STRICT);
        if !IS_STRICT && is_taken {
            return None;
        }
        world.memory.insert(number, registered);
        Some(key)
    });
    // SAFETY: just made, and a place for the answer.
    unsafe {
        let Some(key) = is_new else {
            drop(Box::from_raw(made_here));
            return KEY_IN_USE as c_int;
        };
        (*made_here).number = number;
        ((*made_here).head.key, (*made_here).head.descriptor) = (key, made_here.cast());
        place.write(made_here.cast());
    }
    0
}
