//! What handles of MPI stand for: a table for each kind of object.

use crate::abi;
use crate::common::entry::Call;
use crate::common::handles;
use crate::objects::{Comm, Datatype, ErrorHandler, File, Group, Info, Message, Op, Session, Win};
use serried_engine::{Class, Result};
use std::sync::Arc;

pub use crate::common::handles::{optional, prefix, required, Handle};

/// A table of handles of this ABI.
pub type Table<T> = handles::Table<T, abi::Handle>;

/// Communicators.
pub static COMMS: Table<Comm> =
    Table::new(abi::KIND_OF_COMM, Class::Comm, "communicator", abi::MPI_COMM_NULL);
/// Groups.
pub static GROUPS: Table<Group> = Table::new(abi::KIND_OF_GROUP, Class::Group, "group", abi::MPI_GROUP_NULL);
/// Datatypes.
pub static DATATYPES: Table<Datatype> =
    Table::new(abi::KIND_OF_DATATYPE, Class::Type, "datatype", abi::MPI_DATATYPE_NULL);
/// Error handlers.
pub static ERRHANDLERS: Table<ErrorHandler> =
    Table::new(abi::KIND_OF_ERRHANDLER, Class::Errhandler, "error handler", abi::MPI_ERRHANDLER_NULL);
/// Reduction operations.
pub static OPS: Table<Op> = Table::new(abi::KIND_OF_OP, Class::Op, "operation", abi::MPI_OP_NULL);
/// Info objects.
pub static INFOS: Table<Info> = Table::new(abi::KIND_OF_INFO, Class::Info, "info object", abi::MPI_INFO_NULL);
/// Sessions.
pub static SESSIONS: Table<Session> =
    Table::new(abi::KIND_OF_SESSION, Class::Session, "session", abi::MPI_SESSION_NULL);
/// Windows.
pub static WINS: Table<Win> = Table::new(abi::KIND_OF_WIN, Class::Win, "window", abi::MPI_WIN_NULL);
/// Files, whose handles may have another form than all others.
pub static FILES: handles::Table<File, abi::FileHandle> =
    handles::Table::new(abi::KIND_OF_FILE, Class::File, "file", abi::MPI_FILE_NULL);
/// Matched messages.
pub static MESSAGES: Table<Message> =
    Table::new(abi::KIND_OF_MESSAGE, Class::Request, "message", abi::MPI_MESSAGE_NULL);

/// The datatype of a message of `count` items; of one without items it may be
/// null, as MPICH and Intel MPI take it, and is that of bytes.
///
/// # Errors
/// `Type` when the handle is null or stale.
#[inline]
pub fn datatype_of<'call>(
    call: &'call Call,
    name: &str,
    handle: abi::Handle,
    count: i64,
) -> Result<&'call Arc<Datatype>> {
    match DATATYPES.get(call, handle) {
        Some(datatype) => Ok(datatype),
        None => datatype_of_none(call, name, handle, count),
    }
}

#[cold]
fn datatype_of_none<'call>(
    call: &'call Call,
    name: &str,
    handle: abi::Handle,
    count: i64,
) -> Result<&'call Arc<Datatype>> {
    let empty = handle == DATATYPES.null() && count == 0;
    required(&DATATYPES, call, name, if empty { abi::MPI_BYTE } else { handle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_predefined_datatype_has_a_place_of_its_own() {
        crate::predefined::install();
        let call = Call::for_tests();
        for &(handle, name, ..) in abi::PREDEFINED_DATATYPES {
            let found = required(&DATATYPES, &call, "datatype", handle).map(|datatype| datatype.name());
            assert_eq!(found.unwrap(), name);
        }
        assert!(abi::PREDEFINED_DATATYPES.len() > 60);
        assert!(required(&DATATYPES, &call, "datatype", abi::MPI_COMM_WORLD).is_err());
    }

    #[test]
    fn a_null_datatype_is_that_of_bytes_where_there_are_no_items() {
        crate::predefined::install();
        let call = Call::for_tests();
        let found =
            |handle, count| datatype_of(&call, "sendtype", handle, count).map(|datatype| datatype.name());
        assert_eq!(found(abi::MPI_DATATYPE_NULL, 0).unwrap(), "MPI_BYTE");
        assert_eq!(found(abi::MPI_INT, 0).unwrap(), "MPI_INT");
        for (handle, count) in [(abi::MPI_DATATYPE_NULL, 1), (abi::MPI_COMM_WORLD, 0)] {
            let error = found(handle, count).unwrap_err();
            assert!(error.class() == Class::Type && error.message().contains("sendtype"), "{error}");
        }
    }
}
