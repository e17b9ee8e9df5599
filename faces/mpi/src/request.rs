//! Requests as handles: the engine numbers them, the face adds the kind.

use crate::abi;
use crate::abi::KIND_OF_REQUEST;
use crate::arguments::not_null;
use crate::common::buffers;
use crate::handle::{prefix, Handle};
use serried_engine::request::RequestId;
use serried_engine::{Class, Error, Result};

const ID_BITS: u32 = 26;

/// The handle of a request.
pub fn handle(id: RequestId) -> abi::Handle {
    abi::Handle::from_raw(prefix(KIND_OF_REQUEST) | id.0)
}

/// The request of an argument; `None` for `MPI_REQUEST_NULL`. That it is not
/// stale is for the engine to say.
///
/// # Errors
/// `Request` for what is no request.
#[inline]
pub fn get(name: &str, handle: abi::Handle) -> Result<Option<RequestId>> {
    if handle == abi::MPI_REQUEST_NULL {
        return Ok(None);
    }
    let raw = handle.raw();
    if raw >> ID_BITS != prefix(KIND_OF_REQUEST) >> ID_BITS {
        return Err(no_request(name, handle));
    }
    Ok(Some(RequestId(raw & ((1 << ID_BITS) - 1))))
}

#[cold]
fn no_request(name: &str, handle: abi::Handle) -> Error {
    Error::new(Class::Request, format!("argument {name} ({handle:#x}) is no request: it was never made"))
}

/// Where a call puts a request.
#[derive(Clone, Copy)]
pub struct OutRequest {
    place: *mut abi::Handle,
}

impl OutRequest {
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// `place` is null or can be written for the time of the call.
    #[inline(always)]
    pub unsafe fn new(name: &str, place: *mut abi::Handle) -> Result<Self> {
        not_null(name, place)?;
        Ok(OutRequest { place })
    }

    /// Stores a request that has been made; it takes what stands for the buffers of the call.
    #[inline(always)]
    pub fn put(&self, id: RequestId) {
        self.put_plain(buffers::keep(id));
    }

    /// The same of one whose buffers are surely memory of the host.
    #[inline(always)]
    pub fn put_plain(&self, id: RequestId) {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.place.write(handle(id)) };
    }
}

/// A request that a call uses and may end.
#[derive(Clone, Copy)]
pub struct InOutRequest {
    name: &'static str,
    place: *mut abi::Handle,
}

impl InOutRequest {
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// `place` is null or can be read and written for the time of the call.
    #[inline]
    pub unsafe fn new(name: &'static str, place: *mut abi::Handle) -> Result<Self> {
        not_null(name, place)?;
        Ok(InOutRequest { name, place })
    }

    /// The request; `None` for `MPI_REQUEST_NULL`.
    ///
    /// # Errors
    /// `Request` for what is no request.
    #[inline]
    pub fn get(&self) -> Result<Option<RequestId>> {
        // SAFETY: valid by the contract of `new`.
        get(self.name, unsafe { self.place.read() })
    }

    /// Stores `MPI_REQUEST_NULL`.
    pub fn put_null(&self) {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.place.write(abi::MPI_REQUEST_NULL) };
    }
}

/// An array of requests.
#[derive(Clone, Copy)]
pub struct Requests {
    name: &'static str,
    first: *mut abi::Handle,
}

impl Requests {
    /// # Safety
    /// `first` is null or an array as long as MPI says for the call, which
    /// [`Requests::put_null`] may write only where MPI lets the call write.
    pub unsafe fn new(name: &'static str, first: *mut abi::Handle) -> Self {
        Requests { name, first }
    }

    /// The request at `index`, which the call's count must allow.
    ///
    /// # Errors
    /// `Arg` when there is no array, `Request` for what is no request.
    #[inline]
    pub fn get(&self, index: usize) -> Result<Option<RequestId>> {
        not_null(self.name, self.first)?;
        // SAFETY: long enough by the contract of `new`.
        get(self.name, unsafe { self.first.add(index).read() })
    }

    /// Stores `MPI_REQUEST_NULL` at `index`, where [`Requests::get`] has read.
    pub fn put_null(&self, index: usize) {
        // SAFETY: long enough by the contract of `new`; not null, since read.
        unsafe { self.first.add(index).write(abi::MPI_REQUEST_NULL) };
    }
}
