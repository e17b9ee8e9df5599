//! Errors for people: a class that a program can test, and a sentence that
//! says which argument, its value, the likely cause and what to do.
//!
//! The classes are those of MPI-5.0 §9.4; a face gives them its own numbers.

use std::fmt;

/// The result of everything that can fail in the engine.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure this is (MPI-5.0 §9.4, table 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Invalid buffer pointer.
    Buffer,
    /// Invalid count.
    Count,
    /// Invalid datatype.
    Type,
    /// Invalid tag.
    Tag,
    /// Invalid communicator.
    Comm,
    /// Invalid rank.
    Rank,
    /// Invalid request handle.
    Request,
    /// Invalid root.
    Root,
    /// Invalid group.
    Group,
    /// Invalid operation.
    Op,
    /// Invalid topology.
    Topology,
    /// Invalid dimension argument.
    Dims,
    /// Invalid argument of some other kind.
    Arg,
    /// Unknown error.
    Unknown,
    /// Message truncated on receive.
    Truncate,
    /// Known error not in this list.
    Other,
    /// Internal error of this library.
    Intern,
    /// The error code is in the status.
    InStatus,
    /// Pending request.
    Pending,
    /// Invalid keyval.
    Keyval,
    /// Not enough memory.
    NoMem,
    /// Invalid base passed to MPI_Free_mem.
    Base,
    /// Info key too long.
    InfoKey,
    /// Info value too long.
    InfoValue,
    /// No such info key.
    InfoNokey,
    /// Process spawning failed.
    Spawn,
    /// Invalid port.
    Port,
    /// Invalid service name.
    Service,
    /// Invalid published name.
    Name,
    /// Invalid window.
    Win,
    /// Invalid size.
    Size,
    /// Invalid displacement.
    Disp,
    /// Invalid info object.
    Info,
    /// Invalid locktype.
    Locktype,
    /// Invalid assert.
    Assert,
    /// Conflicting window accesses.
    RmaConflict,
    /// Wrong window synchronization.
    RmaSync,
    /// Target memory outside of the window.
    RmaRange,
    /// Memory cannot be attached.
    RmaAttach,
    /// Memory cannot be shared.
    RmaShared,
    /// Wrong window flavor.
    RmaFlavor,
    /// Invalid file handle.
    File,
    /// Collective argument not the same on all processes.
    NotSame,
    /// Invalid access mode.
    Amode,
    /// Unsupported data representation.
    UnsupportedDatarep,
    /// Unsupported operation.
    UnsupportedOperation,
    /// No such file.
    NoSuchFile,
    /// File exists.
    FileExists,
    /// Bad file name.
    BadFile,
    /// Permission denied.
    Access,
    /// Not enough space.
    NoSpace,
    /// Quota exceeded.
    Quota,
    /// Read-only file or file system.
    ReadOnly,
    /// File operation could not be completed, file in use.
    FileInUse,
    /// Conversion error.
    Conversion,
    /// Data representation already defined.
    DupDatarep,
    /// Other input/output error.
    Io,
    /// Invalid session.
    Session,
    /// Invalid process set, or process aborted.
    ProcAborted,
    /// The value does not fit into the type of the result.
    ValueTooLarge,
    /// Invalid error handler.
    Errhandler,
    /// A code or class that the program made with `MPI_Add_error_class` or
    /// `MPI_Add_error_code`; the number is the face's.
    User(i32),
}

/// A failure: its class and a sentence for a person. One word large, so that
/// results stay cheap on the hot path.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    class: Class,
    message: String,
    context: Option<u64>,
}

impl Error {
    /// An error of `class` with the sentence `message` (no capital at the
    /// beginning, no full stop at the end; name the value that was wrong).
    #[cold]
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { class, message: message.into(), context: None }))
    }

    /// A capability that is not there yet, named.
    #[cold]
    pub fn not_there_yet(what: &str) -> Self {
        Error::new(Class::UnsupportedOperation, format!("{what} is not there yet in this version of Serried"))
    }

    /// Says on which communicator it happened, by its point-to-point context,
    /// where the call that reports it has no communicator among its arguments.
    pub fn in_context(mut self, context: u64) -> Self {
        self.0.context = Some(context & !1);
        self
    }

    /// The point-to-point context of the communicator on which it happened.
    pub fn context(&self) -> Option<u64> {
        self.0.context
    }

    /// The class of this error.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// The sentence for a person.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.class, self.0.message)
    }
}

impl std::error::Error for Error {}
