//! What happens when a call fails (MPI-5.0 §9.3).

use std::fmt;

/// The kind of object an error handler of the program was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Communicators.
    Communicator,
    /// Sessions.
    Session,
    /// Windows.
    Window,
    /// Files.
    File,
}

/// A handler of the program: gets the word by which the face names the object
/// (its handle), and the error code, which it may change.
pub type Function = Box<dyn Fn(usize, &mut i32) + Send + Sync>;

/// What happens when a call fails.
pub enum ErrorHandler {
    /// `MPI_ERRORS_ARE_FATAL`: the job ends.
    Fatal,
    /// `MPI_ERRORS_ABORT`: the processes of the communicator end.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the error code.
    Return,
    /// A function of the program.
    User(Subject, Function),
}

impl ErrorHandler {
    /// Whether an object of this kind can have it: the program's own are for one kind.
    pub fn suits(&self, subject: Subject) -> bool {
        !matches!(self, ErrorHandler::User(made_for, _) if *made_for != subject)
    }
}

impl fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorHandler::Fatal => f.write_str("Fatal"),
            ErrorHandler::Abort => f.write_str("Abort"),
            ErrorHandler::Return => f.write_str("Return"),
            ErrorHandler::User(subject, _) => write!(f, "User({subject:?})"),
        }
    }
}
