//! A device that has been opened, and memory that it may use.

use super::libfabric::Libfabric;
use super::provider::Offer;
use super::structures::*;
use super::tables::{bind, close, enable, DomainObject, EndpointObject, FabricObject, MemoryObject};
use crate::transport::network::random_bytes;
use crate::Result;
use std::ffi::c_void;

/// Tries to find a key for memory that is not in use.
const TRIES: u32 = 8;

/// A provider's device, opened. It stays open as long as the process lives, because threads ask its queues for news without
/// a lock.
#[derive(Debug)]
pub struct Domain {
    /// The library.
    pub library: &'static Libfabric,
    /// The provider's name.
    pub provider: String,
    offer: &'static Offer,
    fabric: *mut FabricObject,
    domain: *mut DomainObject,
}

// SAFETY: it is opened with FI_THREAD_SAFE: any thread may make any call, also at the same time.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

impl Domain {
    /// Opens what is offered.
    ///
    /// # Errors
    /// What the provider says.
    pub fn open(library: &'static Libfabric, offer: Offer) -> Result<&'static Domain> {
        let mut fabric = std::ptr::null_mut();
        // SAFETY: the offer is the library's, and there is a place for the answer.
        let answer = unsafe { (library.open)(offer.info().fabric, &raw mut fabric, std::ptr::null_mut()) };
        if answer != 0 {
            return Err(library.refused(&offer.provider(), "fi_fabric", answer as isize));
        }
        Domain::of(library, Box::leak(Box::new(offer)), fabric)
    }

    /// Another one on the same device, or the same if the provider opens no more. What a provider does when a queue is read it
    /// does for all queues of a domain, and wakes whoever waits for any of them: so lanes that different threads wait in have
    /// domains of their own.
    pub fn beside(&'static self) -> &'static Domain {
        Domain::of(self.library, self.offer, self.fabric).unwrap_or(self)
    }

    fn of(
        library: &'static Libfabric,
        offer: &'static Offer,
        fabric: *mut FabricObject,
    ) -> Result<&'static Domain> {
        let (provider, mut domain) = (offer.provider(), std::ptr::null_mut());
        // SAFETY: the fabric is open, for ever.
        let answer = unsafe {
            ((*(*fabric).table).domain)(fabric, offer.raw(), &raw mut domain, std::ptr::null_mut())
        };
        if answer != 0 {
            return Err(library.refused(&provider, "fi_domain", answer as isize));
        }
        Ok(Box::leak(Box::new(Domain { library, provider, offer, fabric, domain })))
    }

    /// What was offered.
    pub fn offer(&self) -> &Offer {
        self.offer
    }

    /// For calls of the library's.
    pub fn fabric(&self) -> *mut FabricObject {
        self.fabric
    }

    /// For calls of the library's.
    pub fn raw(&self) -> *mut DomainObject {
        self.domain
    }

    /// The error of a call.
    #[cold]
    pub fn refused(&self, call: &str, code: isize) -> crate::Error {
        self.library.refused(&self.provider, call, code)
    }

    /// Whether the provider wants something of memory: one of the `FI_MR_` bits.
    pub fn wants(&self, mode: i32) -> bool {
        // SAFETY: an offer of the library's has all its parts.
        unsafe { (*self.offer.info().domain).memory_mode & mode != 0 }
    }

    /// A key that is hard to guess, as long as the provider takes it.
    fn random_key(&self) -> u64 {
        // SAFETY: as above.
        let bytes = unsafe { (*self.offer.info().domain).key_size }.min(8);
        let key = u64::from_le_bytes(random_bytes());
        if bytes == 0 {
            0
        } else {
            key >> (64 - 8 * bytes as u32)
        }
    }

    /// Registers memory, for an endpoint.
    ///
    /// # Errors
    /// What the provider says.
    ///
    /// # Safety
    /// The memory must be there until it is dropped, and so must the endpoint.
    pub unsafe fn register(
        &self,
        endpoint: *mut EndpointObject,
        (address, bytes): (*const u8, usize),
        access: u64,
    ) -> Result<Memory> {
        let mut object: *mut MemoryObject = std::ptr::null_mut();
        let mut answer = KEY_IN_USE as i32;
        for _ in 0..TRIES {
            // SAFETY: the domain is open, and there is a place for the answer.
            answer = unsafe {
                let domain = self.domain.cast();
                let (address, key) = (address.cast::<c_void>(), self.random_key());
                let nothing = std::ptr::null_mut();
                ((*(*self.domain).memory).register)(
                    domain,
                    address,
                    bytes,
                    access,
                    0,
                    key,
                    0,
                    &raw mut object,
                    nothing,
                )
            };
            if answer as isize != KEY_IN_USE {
                break;
            }
        }
        if answer != 0 {
            return Err(self.refused("fi_mr_reg", answer as isize));
        }
        let memory = Memory(object);
        if self.wants(MEMORY_OF_ENDPOINT) {
            // SAFETY: both are open.
            let answer = unsafe {
                match bind(object.cast(), endpoint.cast(), 0) {
                    0 => enable(object.cast()),
                    refused => refused,
                }
            };
            if answer != 0 {
                return Err(self.refused("fi_mr_bind", answer as isize));
            }
        }
        Ok(memory)
    }
}

/// Registered memory; given up when it is dropped.
#[derive(Debug)]
pub struct Memory(*mut MemoryObject);

// SAFETY: the domain is safe for threads.
unsafe impl Send for Memory {}

impl Memory {
    /// By which this process names it to the provider.
    pub fn descriptor(&self) -> *mut c_void {
        // SAFETY: it is open.
        unsafe { (*self.0).descriptor }
    }

    /// By which peers name it.
    pub fn key(&self) -> u64 {
        // SAFETY: it is open.
        unsafe { (*self.0).key }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is open, and no operation uses it: its owner has made sure.
        unsafe { close(self.0.cast()) };
    }
}
