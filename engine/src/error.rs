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
    /// A process that takes part has failed (ULFM).
    ProcFailed,
    /// A process that may be the sender has failed, and the receive is still there (ULFM).
    ProcFailedPending,
    /// The communicator was revoked (ULFM).
    Revoked,
    /// The value does not fit into the type of the result.
    ValueTooLarge,
    /// Invalid error handler.
    Errhandler,
    /// A code or class that the program made with `MPI_Add_error_class` or
    /// `MPI_Add_error_code`; the number is the face's.
    User(i32),
}

/// What went wrong, where a face says it better in its own terms: the names of what
/// the program has called, and of what it may call instead. In the engine's own words
/// it is the [`Display`](fmt::Display) of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A request that has been completed or freed, or never was one.
    RequestIsOver,
    /// A partition is made ready for the second time since the operation was started.
    PartitionIsReady(i64),
    /// A partition of a send that has not been started.
    SendIsNotStarted,
    /// A negative color.
    NegativeColor(i32),
    /// Some processes give weights of edges and others none.
    WeightsDiffer,
    /// Neither precision nor range of a type is given.
    NothingIsAskedFor,
    /// An operator of this name is for one-sided accumulation alone.
    NoReduction(&'static str),
    /// An operator of this name is to take a derived datatype.
    OperatorTakesNoDerived(&'static str),
    /// An operator is to take a datatype that it does not take.
    OperatorTakesNot {
        /// The operator's name.
        operator: &'static str,
        /// The datatype's name.
        datatype: String,
        /// What it takes.
        takes: Operands,
    },
    /// A value of an element that has fewer bytes in external32 than here.
    DoesNotFit {
        /// The value.
        value: String,
        /// What it is a value of.
        element: NarrowElement,
    },
}

/// What an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Numbers that have an order.
    Ordered,
    /// All numbers.
    Numbers,
    /// Truth values, and integers as such.
    Logical,
    /// Bits: integers and bytes.
    Bits,
    /// Pairs of a value and a location.
    Pairs,
}

/// An element that has fewer bytes in external32 than here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NarrowElement {
    /// `long`.
    Long,
    /// `unsigned long`.
    UnsignedLong,
    /// `wchar_t`.
    WideCharacter,
}

impl NarrowElement {
    /// Its bytes in external32.
    pub fn bytes(self) -> usize {
        match self {
            NarrowElement::Long | NarrowElement::UnsignedLong => 4,
            NarrowElement::WideCharacter => 2,
        }
    }
}

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operands::Ordered => "integers and floating point numbers",
            Operands::Numbers => "integers, floating point and complex numbers",
            Operands::Logical => "integers and truth values",
            Operands::Bits => "integers and bytes",
            Operands::Pairs => "pairs of a value and a location",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::RequestIsOver => {
                f.write_str("the request has already been completed or freed, or never was one")
            }
            Cause::PartitionIsReady(partition) => {
                write!(f, "partition {partition} has been made ready already since the operation was started")
            }
            Cause::SendIsNotStarted => f.write_str("the partitioned send is not active; start it first"),
            Cause::NegativeColor(color) => write!(f, "color {color}: a color is not negative"),
            Cause::WeightsDiffer => f.write_str("some processes give weights and others none"),
            Cause::NothingIsAskedFor => {
                f.write_str("neither precision nor range is given; give at least one")
            }
            Cause::NoReduction(operator) => {
                write!(f, "{operator} is for one-sided accumulation and not for reductions")
            }
            Cause::OperatorTakesNoDerived(operator) => write!(
                f,
                "{operator} takes predefined datatypes only, and this datatype is derived: reduce its elements as \
                 the predefined type that they are"
            ),
            Cause::OperatorTakesNot { operator, datatype, takes } => {
                write!(f, "{operator} does not take {datatype}: it takes {takes}")
            }
            Cause::DoesNotFit { value, element } => write!(
                f,
                "the value {value} does not fit the {} bytes that external32 gives it",
                element.bytes()
            ),
        }
    }
}

/// A failure: its class and a sentence for a person. One word large, so that
/// results stay cheap on the hot path.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    class: Class,
    message: String,
    cause: Option<Cause>,
    context: Option<u64>,
    is_an_echo: bool,
    first: Option<Error>,
}

impl Error {
    /// An error of `class` with the sentence `message` (no capital at the
    /// beginning, no full stop at the end; name the value that was wrong).
    #[cold]
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            class,
            message: message.into(),
            cause: None,
            context: None,
            is_an_echo: false,
            first: None,
        }))
    }

    /// The error of a call that ends several operations, of which this was the first to fail (`MPI_ERR_IN_STATUS`).
    #[cold]
    pub fn in_status(first: Error) -> Self {
        let message =
            format!("at least one of the operations failed (look at MPI_ERROR of each status): {first}");
        let mut error = Error::new(Class::InStatus, message);
        error.0.context = first.context();
        error.0.first = Some(first);
        error
    }

    /// The first of several, if this is an error [of several](Self::in_status).
    pub fn first(&self) -> Option<&Error> {
        self.0.first.as_ref()
    }

    /// An error of `class` that a face words by its cause.
    #[cold]
    pub fn because(class: Class, cause: Cause) -> Self {
        let mut error = Error::new(class, cause.to_string());
        error.0.cause = Some(cause);
        error
    }

    /// An error that this rank only hears of: another rank has made the mistake, and says itself what it is.
    #[cold]
    pub fn echo(class: Class, message: impl Into<String>) -> Self {
        let mut error = Error::new(class, message);
        error.0.is_an_echo = true;
        error
    }

    /// Whether it is an [`echo`](Self::echo).
    pub fn is_an_echo(&self) -> bool {
        self.0.is_an_echo
    }

    /// What went wrong, where a face may say it in its own terms.
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
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

    /// Whether a member has failed, or has revoked the communicator: the other members hear of it by themselves.
    pub fn is_known_to_all(&self) -> bool {
        matches!(self.class(), Class::ProcFailed | Class::Revoked)
    }

    /// The sentence for a person, in the engine's words.
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
