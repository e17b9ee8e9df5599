//! Checks of arguments that collective operations share.

use super::LateType;
use crate::arguments::{self, is_in_place, Counts};
use crate::common::page;
use crate::handle_arguments::Handles;
use crate::objects::{Comm, Datatype};
use serried_engine::collective::{Blocks, Data, Members, Root};
use serried_engine::message::{PROC_NULL, ROOT};
use serried_engine::observe::page::NONE;
use serried_engine::{Class, Error, Result};
use std::ffi::c_void;
use std::sync::Arc;

/// Who takes part; says on the rank's page what the call is about.
#[inline]
pub fn members(comm: &Comm) -> Result<Members> {
    page::own().about(comm.context(), NONE, NONE, 0);
    Ok(Members::from(comm))
}

/// As [`members`], for an operation that has no form between two groups.
///
/// # Errors
/// `Comm` for an intercommunicator.
pub fn members_of_one_group(comm: &Comm) -> Result<Members> {
    if comm.is_inter() {
        return Err(Error::new(
            Class::Comm,
            "argument comm is an intercommunicator; this operation works within one group only",
        ));
    }
    members(comm)
}

/// As [`members`], for an operation with a root (MPI-5.0 §6.2.3).
///
/// # Errors
/// `Root` for what is no root in this communicator.
#[inline(always)]
pub fn members_and_root(comm: &Comm, root: i32) -> Result<(Members, Root)> {
    page::own().about(comm.context(), if root < 0 { NONE } else { root }, NONE, 0);
    let members = Members::from(comm);
    let checked = match root {
        ROOT if comm.is_inter() => Some(Root::Me),
        PROC_NULL if comm.is_inter() => Some(Root::Nobody),
        _ => u32::try_from(root).ok().filter(|&rank| rank < members.peers()).map(Root::Rank),
    };
    Ok((members, checked.ok_or_else(|| wrong_root(&members, root))?))
}

#[cold]
fn wrong_root(members: &Members, root: i32) -> Error {
    let (last, given) = (members.peers() - 1, arguments::rank_text(root));
    let sentence = match members.remote {
        None => format!("argument root is {given}, but the ranks of this communicator are 0 to {last}"),
        Some(_) => format!(
            "argument root is {given}; in this intercommunicator it must be a rank of the remote group \
             (0 to {last}), or MPI_ROOT or MPI_PROC_NULL in the group of the root"
        ),
    };
    Error::new(Class::Root, sentence)
}

/// How a call names the arguments of one buffer.
pub struct Names {
    buffer: &'static str,
    count: &'static str,
    datatype: &'static str,
}

/// The only buffer.
pub const BUFFER: Names = Names { buffer: "buffer", count: "count", datatype: "datatype" };
/// What is sent.
pub const SEND: Names = Names { buffer: "sendbuf", count: "sendcount", datatype: "sendtype" };
/// What is received.
pub const RECEIVE: Names = Names { buffer: "recvbuf", count: "recvcount", datatype: "recvtype" };
/// What is sent, of the count and type of what is received.
pub const OPERAND: Names = Names { buffer: "sendbuf", count: "count", datatype: "datatype" };
/// The result of a reduction.
pub const RESULT: Names = Names { buffer: "recvbuf", count: "count", datatype: "datatype" };

impl Names {
    /// The names that a call has for a buffer, its count and its datatype.
    pub const fn new(buffer: &'static str, count: &'static str, datatype: &'static str) -> Names {
        Names { buffer, count, datatype }
    }

    /// The data of a buffer.
    ///
    /// # Errors
    /// `Count`, `Type` or `Buffer`, with the argument that is wrong.
    #[inline(always)]
    pub fn data(&self, buffer: *const c_void, count: i64, datatype: &Arc<Datatype>) -> Result<Data> {
        arguments::count(self.count, count)?;
        self.committed(datatype)?;
        self.placed(buffer, 0, count, datatype)
    }

    /// As [`Names::data`], where the datatype counts from here on: before it the
    /// buffer, for with `MPI_IN_PLACE` it may be anything.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn late_data(&self, buffer: *const c_void, count: i64, datatype: LateType) -> Result<Data> {
        self.outside_place(buffer)?;
        arguments::count(self.count, count)?;
        self.data(buffer, count, datatype.get()?)
    }

    /// As [`Names::data`], unless the buffer is `MPI_IN_PLACE`.
    ///
    /// # Errors
    /// As there; `Buffer` for `MPI_IN_PLACE` in an intercommunicator.
    #[inline(always)]
    pub fn unless_in_place(
        &self,
        members: &Members,
        buffer: *const c_void,
        count: i64,
        datatype: &Arc<Datatype>,
    ) -> Result<Option<Data>> {
        if in_place(members, buffer) {
            return Ok(None);
        }
        self.data(buffer, count, datatype).map(Some)
    }

    /// `number` blocks of one datatype; displacements in its extents.
    ///
    /// # Errors
    /// As [`Names::data`]; `Arg` for a null array.
    pub fn blocks(
        &self,
        buffer: *const c_void,
        (counts, displacements): (Counts, Counts),
        datatype: LateType,
        number: usize,
    ) -> Result<Blocks> {
        self.outside_place(buffer)?;
        if number == 0 {
            return Ok(Blocks::new());
        }
        let datatype = datatype.get()?;
        self.committed(datatype)?;
        self.arrays(counts, displacements)?;
        let block = |index| {
            let count = self.count_at(counts, index)?;
            self.placed(buffer, displacements.get(index), count, datatype)
        };
        let mut blocks = Blocks::with_capacity(number);
        for index in 0..number {
            blocks.push(block(index)?);
        }
        Ok(blocks)
    }

    /// `number` blocks of a datatype each; displacements in bytes. The datatype
    /// of an empty block may be null.
    ///
    /// # Errors
    /// As [`Names::blocks`].
    pub fn typed_blocks(
        &self,
        buffer: *const c_void,
        (counts, displacements): (Counts, Counts),
        datatypes: Handles<Datatype>,
        number: usize,
    ) -> Result<Blocks> {
        self.outside_place(buffer)?;
        if number > 0 {
            self.arrays(counts, displacements)?;
        }
        let block = |index| {
            let count = self.count_at(counts, index)?;
            let datatype = match datatypes.get_nullable(index)? {
                Some(datatype) => datatype,
                None if count == 0 => return Ok(Data::nothing()),
                None => return Err(null_datatype(self.datatype)),
            };
            self.committed(datatype)?;
            let place = buffer.cast::<u8>().wrapping_offset(displacements.get(index) as isize);
            self.placed(place.cast(), 0, count, datatype)
        };
        (0..number).map(block).collect()
    }

    /// The counts of `number` blocks that lie one after the other.
    ///
    /// # Errors
    /// `Count` for a negative one; `Arg` for a null array.
    pub fn counts(&self, counts: Counts, number: u32) -> Result<Vec<u64>> {
        self.arrays(counts, counts)?;
        (0..number as usize).map(|index| Ok(self.count_at(counts, index)? as u64)).collect()
    }

    fn count_at(&self, counts: Counts, index: usize) -> Result<i64> {
        let count = counts.get(index);
        if count < 0 {
            let sentence = format!("{}s[{index}] is {count}; a count cannot be negative", self.count);
            return Err(Error::new(Class::Count, sentence));
        }
        Ok(count)
    }

    fn arrays(&self, counts: Counts, displacements: Counts) -> Result<()> {
        if counts.is_null() || displacements.is_null() {
            let sentence = format!(
                "a null pointer as {}s or as the displacements of {}; pass an array with an entry for each rank",
                self.count, self.buffer
            );
            return Err(Error::new(Class::Arg, sentence));
        }
        Ok(())
    }

    /// # Errors
    /// `Type` for a datatype that is not committed.
    #[inline(always)]
    pub fn committed(&self, datatype: &Datatype) -> Result<()> {
        if !datatype.is_committed() {
            return Err(arguments::uncommitted(self.datatype, datatype));
        }
        Ok(())
    }

    /// Data whose count and datatype have been checked.
    #[inline(always)]
    fn placed(
        &self,
        buffer: *const c_void,
        displacement: i64,
        count: i64,
        datatype: &Arc<Datatype>,
    ) -> Result<Data> {
        self.outside_place(buffer)?;
        let data = Data::new(buffer.cast_mut().cast(), displacement, count, datatype)?;
        // MPI_BOTTOM is a null pointer too: then the type has the addresses.
        if data.address.is_null() && data.bytes() > 0 && datatype.true_lower_bound() == 0 {
            return Err(self.null_pointer(count));
        }
        Ok(data)
    }

    #[inline(always)]
    pub fn outside_place(&self, buffer: *const c_void) -> Result<()> {
        match is_in_place(buffer) {
            true => Err(self.in_place_here()),
            false => Ok(()),
        }
    }

    #[cold]
    fn null_pointer(&self, count: i64) -> Error {
        let sentence = format!("argument {} is a null pointer, but {} is {count}", self.buffer, self.count);
        Error::new(Class::Buffer, sentence)
    }

    #[cold]
    fn in_place_here(&self) -> Error {
        let sentence = format!("argument {} cannot be MPI_IN_PLACE here; pass a buffer", self.buffer);
        Error::new(Class::Buffer, sentence)
    }
}

#[cold]
fn null_datatype(name: &str) -> Error {
    Error::new(Class::Type, format!("argument {name} is the null datatype"))
}

/// Whether a send buffer says that the data are in place, where that may be.
pub fn in_place(members: &Members, buffer: *const c_void) -> bool {
    members.remote.is_none() && is_in_place(buffer)
}

/// That what is sent does not overlap what is received, as far as a look at
/// dense data tells.
///
/// # Errors
/// `Buffer`.
#[inline]
pub fn apart(send: &Data, receive: &Data) -> Result<()> {
    let (Some(sent), Some(received)) = (range(send), range(receive)) else { return Ok(()) };
    match sent.start < received.end && received.start < sent.end {
        true => Err(overlap()),
        false => Ok(()),
    }
}

#[cold]
fn overlap() -> Error {
    let sentence = "arguments sendbuf and recvbuf overlap; use MPI_IN_PLACE where the operation allows it";
    Error::new(Class::Buffer, sentence)
}

/// The bytes of data without gaps, if there are any.
#[inline]
fn range(data: &Data) -> Option<std::ops::Range<usize>> {
    let (address, bytes) = data.dense()?;
    let start = address as usize;
    (bytes > 0).then(|| start..start.saturating_add(bytes as usize))
}

/// That a block that I send to myself fits where I receive it.
///
/// # Errors
/// `Truncate`.
pub fn fits(send: &Data, receive: &Data) -> Result<()> {
    if send.bytes() > receive.bytes() {
        let sentence = format!(
            "a block of {} bytes is sent and one of {} bytes is received; sendcount and sendtype must match \
             recvcount and recvtype",
            send.bytes(),
            receive.bytes()
        );
        return Err(Error::new(Class::Truncate, sentence));
    }
    Ok(())
}
