//! libfabric's objects. All but a few of its functions are calls through tables of function pointers to which its objects
//! point; here are the tables, as far as they are used, and calls without that.

use super::structures::{
    AddressAttributes, Entry, ErrorEntry, Info, PeerAddress, QueueAttributes, ENABLE, GET_WAIT,
};
use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;

/// `struct fid`: every object begins with it.
#[repr(C)]
pub struct Object {
    pub class: usize,
    pub context: *mut c_void,
    pub operations: *const ObjectTable,
}

/// `struct fi_ops`
#[repr(C)]
pub struct ObjectTable {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Object) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Object, *mut Object, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Object, c_int, *mut c_void) -> c_int,
}

/// `struct fid_fabric`
#[repr(C)]
pub struct FabricObject {
    pub object: Object,
    pub table: *const FabricTable,
}

/// `struct fi_ops_fabric`
#[repr(C)]
pub struct FabricTable {
    pub size: usize,
    pub domain:
        unsafe extern "C" fn(*mut FabricObject, *mut Info, *mut *mut DomainObject, *mut c_void) -> c_int,
    pub unused: [*const c_void; 3],
    pub try_wait: unsafe extern "C" fn(*mut FabricObject, *mut *mut Object, c_int) -> c_int,
}

/// `struct fid_domain`
#[repr(C)]
pub struct DomainObject {
    pub object: Object,
    pub table: *const DomainTable,
    pub memory: *const MemoryTable,
}

/// `struct fi_ops_domain`
#[repr(C)]
pub struct DomainTable {
    pub size: usize,
    pub addresses: unsafe extern "C" fn(
        *mut DomainObject,
        *mut AddressAttributes,
        *mut *mut AddressesObject,
        *mut c_void,
    ) -> c_int,
    pub queue: unsafe extern "C" fn(
        *mut DomainObject,
        *mut QueueAttributes,
        *mut *mut QueueObject,
        *mut c_void,
    ) -> c_int,
    pub endpoint:
        unsafe extern "C" fn(*mut DomainObject, *mut Info, *mut *mut EndpointObject, *mut c_void) -> c_int,
}

/// `struct fi_ops_mr`
#[repr(C)]
pub struct MemoryTable {
    pub size: usize,
    pub register: unsafe extern "C" fn(
        *mut Object,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut MemoryObject,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_mr`
#[repr(C)]
pub struct MemoryObject {
    pub object: Object,
    pub descriptor: *mut c_void,
    pub key: u64,
}

/// `struct fid_av`
#[repr(C)]
pub struct AddressesObject {
    pub object: Object,
    pub table: *const AddressesTable,
}

/// `struct fi_ops_av`
#[repr(C)]
pub struct AddressesTable {
    pub size: usize,
    pub insert: unsafe extern "C" fn(
        *mut AddressesObject,
        *const c_void,
        usize,
        *mut PeerAddress,
        u64,
        *mut c_void,
    ) -> c_int,
}

/// `struct fid_cq`
#[repr(C)]
pub struct QueueObject {
    pub object: Object,
    pub table: *const QueueTable,
}

/// `struct fi_ops_cq`
#[repr(C)]
pub struct QueueTable {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut QueueObject, *mut Entry, usize) -> isize,
    pub unused: *const c_void,
    pub read_error: unsafe extern "C" fn(*mut QueueObject, *mut ErrorEntry, u64) -> isize,
}

/// `struct fid_ep`
#[repr(C)]
pub struct EndpointObject {
    pub object: Object,
    pub table: *const EndpointTable,
    pub connections: *const ConnectionTable,
    pub messages: *const MessageTable,
    pub remote: *const RemoteTable,
}

/// `struct fi_ops_ep`
#[repr(C)]
pub struct EndpointTable {
    pub size: usize,
    pub unused: [*const c_void; 2],
    pub set_option: unsafe extern "C" fn(*mut Object, c_int, c_int, *const c_void, usize) -> c_int,
}

/// `struct fi_ops_cm`
#[repr(C)]
pub struct ConnectionTable {
    pub size: usize,
    pub unused: *const c_void,
    pub name: unsafe extern "C" fn(*mut Object, *mut c_void, *mut usize) -> c_int,
}

/// `struct fi_msg`
#[repr(C)]
pub struct Message {
    pub parts: *const libc::iovec,
    pub descriptors: *mut *mut c_void,
    pub count: usize,
    pub peer: PeerAddress,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_ops_msg`
#[repr(C)]
pub struct MessageTable {
    pub size: usize,
    pub unused: [*const c_void; 2],
    pub receive: unsafe extern "C" fn(*mut EndpointObject, *const Message, u64) -> isize,
    pub send: unsafe extern "C" fn(
        *mut EndpointObject,
        *const c_void,
        usize,
        *mut c_void,
        PeerAddress,
        *mut c_void,
    ) -> isize,
    pub unused_too: [*const c_void; 2],
    pub inject: unsafe extern "C" fn(*mut EndpointObject, *const c_void, usize, PeerAddress) -> isize,
}

/// `struct fi_ops_rma`
#[repr(C)]
pub struct RemoteTable {
    pub size: usize,
    pub read: unsafe extern "C" fn(
        *mut EndpointObject,
        *mut c_void,
        usize,
        *mut c_void,
        PeerAddress,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
}

/// `fi_close`
///
/// # Safety
/// The object must be open, and nobody may use it any more.
pub unsafe fn close(object: *mut Object) -> c_int {
    // SAFETY: by the caller it has a table.
    unsafe { ((*(*object).operations).close)(object) }
}

/// `fi_ep_bind`, `fi_mr_bind`
///
/// # Safety
/// Both must be open.
pub unsafe fn bind(object: *mut Object, to: *mut Object, flags: u64) -> c_int {
    // SAFETY: by the caller it has a table.
    unsafe { ((*(*object).operations).bind)(object, to, flags) }
}

/// `fi_enable`
///
/// # Safety
/// It must be open.
pub unsafe fn enable(object: *mut Object) -> c_int {
    // SAFETY: by the caller it has a table.
    unsafe { ((*(*object).operations).control)(object, ENABLE, std::ptr::null_mut()) }
}

/// The descriptor that can be read when a queue has something.
///
/// # Safety
/// It must be an open queue.
pub unsafe fn descriptor_of(queue: *mut Object) -> Result<RawFd, c_int> {
    let mut descriptor: RawFd = -1;
    // SAFETY: by the caller it has a table; the command writes one number.
    let answer = unsafe { ((*(*queue).operations).control)(queue, GET_WAIT, (&raw mut descriptor).cast()) };
    if answer == 0 {
        Ok(descriptor)
    } else {
        Err(answer)
    }
}
