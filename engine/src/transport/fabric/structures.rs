//! libfabric's structures, as its headers lay them out.
//!
//! Later versions only add fields at the end. So what the library makes may be longer than what stands here, and what
//! is made here for the library is one of the structures that have not grown, or has room to spare. A test compares
//! all sizes and places with the headers of the machine, if it has them.

use std::ffi::{c_char, c_int, c_void};

/// `fi_addr_t`: what a provider calls a peer.
pub type PeerAddress = u64;

/// Memory that the provider uses while an operation is under way: `fi_context2`, which is the longer one.
pub type ProvidersOwn = [*mut c_void; 8];

/// `fi_tx_attr`
#[repr(C)]
pub struct SendAttributes {
    pub capabilities: u64,
    pub mode: u64,
    pub operation_flags: u64,
    pub message_order: u64,
    pub completion_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub traffic_class: u32,
}

/// `fi_rx_attr`
#[repr(C)]
pub struct ReceiveAttributes {
    pub capabilities: u64,
    pub mode: u64,
    pub operation_flags: u64,
    pub message_order: u64,
    pub completion_order: u64,
    pub total_buffered: usize,
    pub size: usize,
    pub iov_limit: usize,
}

/// `fi_ep_attr`
#[repr(C)]
pub struct EndpointAttributes {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub longest_message: usize,
    pub prefix_size: usize,
    pub orders: [usize; 3],
    pub tag_format: u64,
    pub context_counts: [usize; 2],
    pub authorization_size: usize,
    pub authorization: *mut u8,
}

/// `fi_domain_attr`
#[repr(C)]
pub struct DomainAttributes {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_management: c_int,
    pub address_vector: c_int,
    pub memory_mode: c_int,
    pub key_size: usize,
    pub counts: [usize; 9],
    pub counter_count: usize,
    pub memory_iov_limit: usize,
    pub capabilities: u64,
    pub mode: u64,
    pub authorization: *mut u8,
    pub authorization_size: usize,
    pub error_data_size: usize,
    pub memory_count: usize,
    pub traffic_class: u32,
}

/// `fi_fabric_attr`
#[repr(C)]
pub struct FabricAttributes {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub provider: *mut c_char,
    pub provider_version: u32,
    pub interface_version: u32,
}

/// `fi_info`
#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub capabilities: u64,
    pub mode: u64,
    pub address_format: u32,
    pub source_length: usize,
    pub destination_length: usize,
    pub source: *mut c_void,
    pub destination: *mut c_void,
    pub handle: *mut c_void,
    pub send: *mut SendAttributes,
    pub receive: *mut ReceiveAttributes,
    pub endpoint: *mut EndpointAttributes,
    pub domain: *mut DomainAttributes,
    pub fabric: *mut FabricAttributes,
    pub card: *mut c_void,
}

/// `fi_cq_attr`
#[repr(C)]
pub struct QueueAttributes {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_object: c_int,
    pub vector: c_int,
    pub wait_condition: c_int,
    pub wait_set: *mut c_void,
}

/// `fi_av_attr`
#[repr(C)]
pub struct AddressAttributes {
    pub kind: c_int,
    pub context_bits: c_int,
    pub count: usize,
    pub per_node: usize,
    pub name: *const c_char,
    pub map: *mut c_void,
    pub flags: u64,
}

/// `fi_cq_data_entry`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    pub context: *mut c_void,
    pub flags: u64,
    pub bytes: usize,
    pub place: *mut c_void,
    pub data: u64,
}

/// `fi_cq_err_entry`, and room for what later versions add to it.
#[repr(C)]
pub struct ErrorEntry {
    pub context: *mut c_void,
    pub flags: u64,
    pub bytes: usize,
    pub place: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub too_many: usize,
    pub error: c_int,
    pub providers_error: c_int,
    pub error_data: *mut c_void,
    pub error_data_size: usize,
    pub spare: [u64; 8],
}

/// `FI_VERSION`
pub const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// Of an [`Info`] and of operations: `FI_MSG`, `FI_RMA`, `FI_MULTI_RECV`.
pub const MESSAGES: u64 = 1 << 1;
pub const REMOTE_MEMORY: u64 = 1 << 2;
pub const MANY_MESSAGES: u64 = 1 << 16;
/// Of operations: `FI_READ`, `FI_RECV`, `FI_SEND`; and of memory: `FI_REMOTE_READ`.
pub const READ: u64 = 1 << 8;
pub const RECEIVE: u64 = 1 << 10;
pub const SEND: u64 = 1 << 11;
pub const REMOTE_READ: u64 = 1 << 12;
/// `FI_CONTEXT`, `FI_CONTEXT2`: operations need [`ProvidersOwn`].
pub const CONTEXT: u64 = 1 << 59;
pub const CONTEXT2: u64 = 1 << 52;
/// `FI_ORDER_SAS`
pub const SEND_AFTER_SEND: u64 = 1 << 8;
/// `FI_EP_RDM`
pub const RELIABLE_DATAGRAMS: c_int = 3;
/// `FI_THREAD_SAFE`
pub const THREAD_SAFE: c_int = 1;
/// `FI_MR_LOCAL`, `FI_MR_VIRT_ADDR`, `FI_MR_ALLOCATED`, `FI_MR_PROV_KEY`, `FI_MR_ENDPOINT`
pub const MEMORY_LOCAL: c_int = 1 << 2;
pub const MEMORY_VIRTUAL: c_int = 1 << 4;
pub const MEMORY_ALLOCATED: c_int = 1 << 5;
pub const MEMORY_PROVIDERS_KEY: c_int = 1 << 6;
pub const MEMORY_OF_ENDPOINT: c_int = 1 << 9;
/// `FI_CQ_FORMAT_DATA`
pub const FORMAT_DATA: c_int = 3;
/// `FI_WAIT_FD`
pub const WAIT_DESCRIPTOR: c_int = 3;
/// Commands of `fi_control`: `FI_GETWAIT`, `FI_ENABLE`.
pub const GET_WAIT: c_int = 5;
pub const ENABLE: c_int = 6;
/// `FI_OPT_ENDPOINT`, `FI_OPT_MIN_MULTI_RECV`
pub const OPTION_ENDPOINT: c_int = 0;
pub const OPTION_LEAST_ROOM: c_int = 0;
/// `FI_SOCKADDR_IN`, `FI_SOCKADDR_IN6`
pub const ADDRESS_IPV4: u32 = 2;
pub const ADDRESS_IPV6: u32 = 3;
/// `-FI_EAGAIN`, `-FI_EAVAIL`, `-FI_ENOKEY`
pub const AGAIN: isize = -(libc::EAGAIN as isize);
pub const ERROR_WAITS: isize = -259;
pub const KEY_IN_USE: isize = -266;
