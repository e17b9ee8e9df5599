//! Error classes: their numbers in this ABI and a few words for each
//! (MPI-5.0 §9.4, §15.3.10).

use crate::abi::*;
use serried_engine::Class;
use std::ffi::c_int;

/// A `match` over all classes: the engine's name and the ABI's of each.
macro_rules! number {
    ($of:expr; $($class:ident $number:ident,)*) => {
        match $of {
            $(Class::$class => $number,)*
            Class::User(number) => number,
        }
    };
}

/// The number of a class of the engine in this ABI.
pub fn class_number(class: Class) -> c_int {
    number! { class;
        Buffer MPI_ERR_BUFFER, Count MPI_ERR_COUNT, Type MPI_ERR_TYPE, Tag MPI_ERR_TAG, Comm MPI_ERR_COMM,
        Rank MPI_ERR_RANK, Request MPI_ERR_REQUEST, Root MPI_ERR_ROOT, Group MPI_ERR_GROUP, Op MPI_ERR_OP,
        Topology MPI_ERR_TOPOLOGY, Dims MPI_ERR_DIMS, Arg MPI_ERR_ARG, Unknown MPI_ERR_UNKNOWN,
        Truncate MPI_ERR_TRUNCATE, Other MPI_ERR_OTHER, Intern MPI_ERR_INTERN, InStatus MPI_ERR_IN_STATUS,
        Pending MPI_ERR_PENDING, Keyval MPI_ERR_KEYVAL, NoMem MPI_ERR_NO_MEM, Base MPI_ERR_BASE,
        InfoKey MPI_ERR_INFO_KEY, InfoValue MPI_ERR_INFO_VALUE, InfoNokey MPI_ERR_INFO_NOKEY,
        Spawn MPI_ERR_SPAWN, Port MPI_ERR_PORT, Service MPI_ERR_SERVICE, Name MPI_ERR_NAME, Win MPI_ERR_WIN,
        Size MPI_ERR_SIZE, Disp MPI_ERR_DISP, Info MPI_ERR_INFO, Locktype MPI_ERR_LOCKTYPE,
        Assert MPI_ERR_ASSERT, RmaConflict MPI_ERR_RMA_CONFLICT, RmaSync MPI_ERR_RMA_SYNC,
        RmaRange MPI_ERR_RMA_RANGE, RmaAttach MPI_ERR_RMA_ATTACH, RmaShared MPI_ERR_RMA_SHARED,
        RmaFlavor MPI_ERR_RMA_FLAVOR, File MPI_ERR_FILE, NotSame MPI_ERR_NOT_SAME, Amode MPI_ERR_AMODE,
        UnsupportedDatarep MPI_ERR_UNSUPPORTED_DATAREP, UnsupportedOperation MPI_ERR_UNSUPPORTED_OPERATION,
        NoSuchFile MPI_ERR_NO_SUCH_FILE, FileExists MPI_ERR_FILE_EXISTS, BadFile MPI_ERR_BAD_FILE,
        Access MPI_ERR_ACCESS, NoSpace MPI_ERR_NO_SPACE, Quota MPI_ERR_QUOTA, ReadOnly MPI_ERR_READ_ONLY,
        FileInUse MPI_ERR_FILE_IN_USE, Conversion MPI_ERR_CONVERSION, DupDatarep MPI_ERR_DUP_DATAREP,
        Io MPI_ERR_IO, Session MPI_ERR_SESSION, ProcAborted MPI_ERR_PROC_ABORTED,
        ProcFailed MPIX_ERR_PROC_FAILED, ProcFailedPending MPIX_ERR_PROC_FAILED_PENDING,
        Revoked MPIX_ERR_REVOKED, ValueTooLarge MPI_ERR_VALUE_TOO_LARGE, Errhandler MPI_ERR_ERRHANDLER,
    }
}

/// Every class that this library knows, in words.
pub static DESCRIPTIONS: &[(c_int, &str)] = &[
    (MPI_SUCCESS, "no error"),
    (MPI_ERR_BUFFER, "MPI_ERR_BUFFER: invalid buffer"),
    (MPI_ERR_COUNT, "MPI_ERR_COUNT: invalid count"),
    (MPI_ERR_TYPE, "MPI_ERR_TYPE: invalid datatype"),
    (MPI_ERR_TAG, "MPI_ERR_TAG: invalid tag"),
    (MPI_ERR_COMM, "MPI_ERR_COMM: invalid communicator"),
    (MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank"),
    (MPI_ERR_REQUEST, "MPI_ERR_REQUEST: invalid request"),
    (MPI_ERR_ROOT, "MPI_ERR_ROOT: invalid root"),
    (MPI_ERR_GROUP, "MPI_ERR_GROUP: invalid group"),
    (MPI_ERR_OP, "MPI_ERR_OP: invalid reduction operation"),
    (MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: invalid topology"),
    (MPI_ERR_DIMS, "MPI_ERR_DIMS: invalid dimensions"),
    (MPI_ERR_ARG, "MPI_ERR_ARG: invalid argument"),
    (MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: unknown error"),
    (MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: message truncated on receive"),
    (MPI_ERR_OTHER, "MPI_ERR_OTHER: known error that is in no other class"),
    (MPI_ERR_INTERN, "MPI_ERR_INTERN: internal error of the MPI library"),
    (MPI_ERR_PENDING, "MPI_ERR_PENDING: pending request"),
    (MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: error code is in the status"),
    (MPI_ERR_ACCESS, "MPI_ERR_ACCESS: permission denied"),
    (MPI_ERR_AMODE, "MPI_ERR_AMODE: invalid access mode"),
    (MPI_ERR_ASSERT, "MPI_ERR_ASSERT: invalid assertion"),
    (MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE: invalid file name"),
    (MPI_ERR_BASE, "MPI_ERR_BASE: invalid base address"),
    (MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION: error in a data conversion function"),
    (MPI_ERR_DISP, "MPI_ERR_DISP: invalid displacement"),
    (MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP: data representation is already defined"),
    (MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS: file exists"),
    (MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE: file is in use"),
    (MPI_ERR_FILE, "MPI_ERR_FILE: invalid file handle"),
    (MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY: info key is empty or too long"),
    (MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY: no such info key"),
    (MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE: info value is too long"),
    (MPI_ERR_INFO, "MPI_ERR_INFO: invalid info object"),
    (MPI_ERR_IO, "MPI_ERR_IO: input or output error"),
    (MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: invalid key of an attribute"),
    (MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE: invalid lock type"),
    (MPI_ERR_NAME, "MPI_ERR_NAME: name is not published"),
    (MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM: no memory"),
    (MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME: argument is not the same on all processes"),
    (MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE: not enough space"),
    (MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE: no such file"),
    (MPI_ERR_PORT, "MPI_ERR_PORT: invalid port"),
    (MPI_ERR_QUOTA, "MPI_ERR_QUOTA: quota exceeded"),
    (MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY: read-only file or file system"),
    (MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH: memory cannot be attached"),
    (MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window"),
    (MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE: target memory is not in the window"),
    (MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED: memory cannot be shared"),
    (MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC: wrong synchronization of accesses to a window"),
    (MPI_ERR_SERVICE, "MPI_ERR_SERVICE: invalid service name"),
    (MPI_ERR_SIZE, "MPI_ERR_SIZE: invalid size"),
    (MPI_ERR_SPAWN, "MPI_ERR_SPAWN: processes could not be spawned"),
    (MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP: data representation is not supported"),
    (MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION: operation is not supported"),
    (MPI_ERR_WIN, "MPI_ERR_WIN: invalid window"),
    (MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR: wrong flavor of window"),
    (MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED: a peer process has aborted"),
    (MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE: value is too large for the result"),
    (MPI_ERR_SESSION, "MPI_ERR_SESSION: invalid session"),
    (MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER: invalid error handler"),
    (MPI_ERR_ABI, "MPI_ERR_ABI: Fortran ABI is already set"),
    (MPIX_ERR_PROC_FAILED, "MPIX_ERR_PROC_FAILED: a peer process has failed"),
    (MPIX_ERR_PROC_FAILED_PENDING, "MPIX_ERR_PROC_FAILED_PENDING: a process that may match has failed"),
    (MPIX_ERR_REVOKED, "MPIX_ERR_REVOKED: the communicator is revoked"),
    (MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT: tool interface cannot be initialized"),
    (MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE: not accessible"),
    (MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED: tool interface is not initialized"),
    (MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED: not supported"),
    (MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY: no memory"),
    (MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID: invalid use of the tool interface"),
    (MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX: invalid index"),
    (MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM: invalid item"),
    (MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION: invalid tool session"),
    (MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE: invalid tool handle"),
    (MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME: no such name"),
    (MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES: no more handles"),
    (MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions"),
    (MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW: control variable cannot be set now"),
    (MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER: control variable cannot be set any more"),
    (MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE: performance variable cannot be written"),
    (
        MPI_T_ERR_PVAR_NO_STARTSTOP,
        "MPI_T_ERR_PVAR_NO_STARTSTOP: performance variable cannot be started or stopped",
    ),
    (
        MPI_T_ERR_PVAR_NO_ATOMIC,
        "MPI_T_ERR_PVAR_NO_ATOMIC: performance variable cannot be read and written in one step",
    ),
];
