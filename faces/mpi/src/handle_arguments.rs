//! Handles behind pointers: results, handles that a call frees, arrays; and
//! handles that a call may have to leave alone.
//!
//! Each of these is made by a generated function from a C pointer that, by
//! MPI's rules, is valid for the time of the call; a body must not keep it.

use crate::abi;
use crate::arguments::not_null;
use crate::common::entry::Call;
use crate::common::handles;
use crate::handle;
use crate::objects::File;
use serried_engine::Result;
use std::cell::Cell;
use std::sync::Arc;

/// Where a call puts a handle. A call that fails leaves the null handle there.
pub struct Out<T: 'static, H: handles::Handle = abi::Handle> {
    table: &'static handles::Table<T, H>,
    place: *mut H,
    is_stored: Cell<bool>,
}

/// Where a call puts the handle of a file.
pub type OutFile = Out<File, abi::FileHandle>;
/// The handle of a file that a call uses and may free.
pub type InOutFile<'call> = InOut<'call, File, abi::FileHandle>;

impl<T, H: handles::Handle> Out<T, H> {
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// `place` is null or can be written for the time of the call.
    pub unsafe fn new(table: &'static handles::Table<T, H>, name: &str, place: *mut H) -> Result<Self> {
        not_null(name, place)?;
        Ok(Out { table, place, is_stored: Cell::new(false) })
    }

    /// Gives the object a handle and stores it.
    ///
    /// # Errors
    /// `NoMem` when there are too many.
    pub fn put(&self, object: Arc<T>) -> Result<()> {
        self.put_handle(self.table.put(object)?);
        Ok(())
    }

    /// Stores a handle of an object that is nowhere else ([`Table::put_alone`]).
    ///
    /// # Errors
    /// `NoMem` when the table is full.
    pub fn put_alone(&self, object: T) -> Result<()> {
        self.put_handle(self.table.put_alone(object)?);
        Ok(())
    }

    /// Stores the null handle.
    pub fn put_null(&self) {
        self.put_handle(self.table.null());
    }

    /// Stores a handle with a meaning of its own (`MPI_MESSAGE_NO_PROC`).
    pub fn put_handle(&self, handle: H) {
        self.is_stored.set(true);
        // SAFETY: valid by the contract of `new`.
        unsafe { self.place.write(handle) };
    }
}

impl<T, H: handles::Handle> Drop for Out<T, H> {
    fn drop(&mut self) {
        if !self.is_stored.get() {
            self.put_null();
        }
    }
}

/// A handle that a call uses and may free.
pub struct InOut<'call, T: 'static, H: 'static = abi::Handle> {
    table: &'static handles::Table<T, H>,
    call: &'call Call,
    name: &'static str,
    place: *mut H,
}

impl<'call, T, H: handles::Handle> InOut<'call, T, H> {
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// `place` is null or can be read and written for the time of the call.
    pub unsafe fn new(
        table: &'static handles::Table<T, H>,
        call: &'call Call,
        name: &'static str,
        place: *mut H,
    ) -> Result<Self> {
        not_null(name, place)?;
        Ok(InOut { table, call, name, place })
    }

    /// The handle as it is.
    pub fn handle(&self) -> H {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.place.read() }
    }

    /// The object.
    ///
    /// # Errors
    /// The kind's class for a null or stale handle.
    pub fn get(&self) -> Result<&'call Arc<T>> {
        handle::required(self.table, self.call, self.name, self.handle())
    }

    /// Takes the object out; the handle is null then.
    ///
    /// # Errors
    /// The kind's class for a null, stale or predefined handle.
    pub fn take(&self) -> Result<Arc<T>> {
        let object = self.table.take(self.name, self.handle())?;
        self.put_handle(self.table.null());
        Ok(object)
    }

    /// Stores a handle.
    pub fn put_handle(&self, handle: H) {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.place.write(handle) };
    }
}

/// A handle that does not count in every call: whatever it is, nobody looks at it
/// before the body asks.
pub struct Late<'call, T: 'static> {
    table: &'static handle::Table<T>,
    call: &'call Call,
    name: &'static str,
    handle: abi::Handle,
}

impl<T> Clone for Late<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Late<'_, T> {}

impl<'call, T> Late<'call, T> {
    /// The handle as the program passed it.
    #[inline(always)]
    pub fn new(
        table: &'static handle::Table<T>,
        call: &'call Call,
        name: &'static str,
        handle: abi::Handle,
    ) -> Late<'call, T> {
        Late { table, call, name, handle }
    }

    /// The object.
    ///
    /// # Errors
    /// The kind's class for a null or stale handle.
    #[inline(always)]
    pub fn get(&self) -> Result<&'call Arc<T>> {
        handle::required(self.table, self.call, self.name, self.handle)
    }

    /// The object, or `None` for the null handle.
    ///
    /// # Errors
    /// The kind's class for a stale handle.
    pub fn get_nullable(&self) -> Result<Option<&'call Arc<T>>> {
        handle::optional(self.table, self.call, self.name, self.handle)
    }
}

/// An array of handles that a call reads.
pub struct Handles<'call, T: 'static> {
    table: &'static handle::Table<T>,
    call: &'call Call,
    name: &'static str,
    first: *const abi::Handle,
}

impl<T> Clone for Handles<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handles<'_, T> {}

impl<'call, T> Handles<'call, T> {
    /// # Safety
    /// `first` is null or an array as long as MPI says for the call.
    pub unsafe fn new(
        table: &'static handle::Table<T>,
        call: &'call Call,
        name: &'static str,
        first: *const abi::Handle,
    ) -> Self {
        Handles { table, call, name, first }
    }

    /// The handle at `index`, which the call's counts must allow.
    ///
    /// # Errors
    /// `Arg` when there is no array.
    pub fn handle(&self, index: usize) -> Result<abi::Handle> {
        not_null(self.name, self.first)?;
        // SAFETY: long enough by the contract of `new`.
        Ok(unsafe { self.first.add(index).read() })
    }

    /// The object at `index`.
    ///
    /// # Errors
    /// `Arg` when there is no array, the kind's class for a null or stale handle.
    pub fn get(&self, index: usize) -> Result<&'call Arc<T>> {
        handle::required(self.table, self.call, self.name, self.handle(index)?)
    }

    /// The object at `index`, or `None` for the null handle.
    ///
    /// # Errors
    /// `Arg` when there is no array, the kind's class for a stale handle.
    pub fn get_nullable(&self, index: usize) -> Result<Option<&'call Arc<T>>> {
        handle::optional(self.table, self.call, self.name, self.handle(index)?)
    }
}

/// An array of handles that a call fills.
pub struct OutHandles<T: 'static> {
    table: &'static handle::Table<T>,
    name: &'static str,
    first: *mut abi::Handle,
}

impl<T> OutHandles<T> {
    /// # Safety
    /// `first` is null or an array as long as MPI says for the call.
    pub unsafe fn new(table: &'static handle::Table<T>, name: &'static str, first: *mut abi::Handle) -> Self {
        OutHandles { table, name, first }
    }

    /// Gives the object a handle and stores it at `index`.
    ///
    /// # Errors
    /// `Arg` when there is no array, `NoMem` when there are too many handles.
    pub fn put(&self, index: usize, object: Arc<T>) -> Result<()> {
        not_null(self.name, self.first)?;
        let handle = self.table.put(object)?;
        // SAFETY: long enough by the contract of `new`.
        unsafe { self.first.add(index).write(handle) };
        Ok(())
    }
}
