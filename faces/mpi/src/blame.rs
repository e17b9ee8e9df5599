//! From an error to the error handler that answers for the call (MPI-5.0 §9.3).

use crate::abi::{self, Handle};
use crate::border::{self, Call};
use crate::codes;
use crate::handle::{COMMS, SESSIONS};
use crate::objects::ErrorHandler;
use serried_engine::Error;
use std::ffi::c_int;
use std::sync::Arc;

/// Whose error handler answers for a call.
#[derive(Clone, Copy, Debug)]
pub enum Blame {
    /// That of the communicator on which the error says it happened, if it
    /// does; else that of `MPI_COMM_SELF`.
    CommSelf,
    /// That of this communicator, if it is one; else that of `MPI_COMM_SELF`.
    Comm(Handle),
    /// That of this session, if it is one; else that of `MPI_COMM_SELF`.
    Session(Handle),
    /// That of files, which returns.
    File,
    /// Nobody: the code is returned (tool interface).
    Nobody,
}

/// Hands an error to the handler that answers for it, and gives the code that
/// the call returns. Without an engine there is no communicator and so no
/// handler but the one that ends the program (MPI-5.0 §9.3).
#[cold]
pub fn answer(call: &Call, blame: Blame, function: &str, code: c_int, error: &Error) -> c_int {
    let (handler, handle) = match blame {
        Blame::File | Blame::Nobody => return code,
        Blame::Comm(handle) => of_communicator(call, handle),
        Blame::Session(handle) => of_session(call, handle),
        // The requests of the call know their communicator.
        Blame::CommSelf => error
            .context()
            .and_then(|context| COMMS.find(|communicator| communicator.context() == context))
            .and_then(|handle| of_communicator(call, handle)),
    }
    .or_else(|| of_communicator(call, abi::MPI_COMM_SELF))
    .unwrap_or_else(|| (Arc::new(ErrorHandler::Fatal), abi::MPI_COMM_NULL));
    run(&handler, handle, function, code, error)
}

/// Runs an error handler for an object, as [`answer`] does.
pub fn run(handler: &ErrorHandler, object: Handle, function: &str, code: c_int, error: &Error) -> c_int {
    match handler {
        ErrorHandler::Fatal | ErrorHandler::Abort => fatal(function, code, error),
        ErrorHandler::Return => code,
        ErrorHandler::User(_, function) => {
            let mut code = code;
            function(abi::word(object), &mut code);
            code
        }
    }
}

fn of_communicator(call: &Call, handle: Handle) -> Option<(Arc<ErrorHandler>, Handle)> {
    COMMS.get(call, handle).map(|communicator| (communicator.error_handler(), handle))
}

fn of_session(call: &Call, handle: Handle) -> Option<(Arc<ErrorHandler>, Handle)> {
    SESSIONS.get(call, handle).map(|session| (session.error_handler(), handle))
}

/// Ends the program because of an error that nobody handles; the exit status
/// is the error's class.
fn fatal(function: &str, code: c_int, error: &Error) -> ! {
    let class = codes::class_of(code).unwrap_or(abi::MPI_ERR_UNKNOWN);
    match border::engine() {
        Ok(engine) => {
            let message = format!("serried: rank {}: {function} failed: {error}", engine.rank());
            engine.abort(class, &message)
        }
        Err(_) => {
            eprintln!("serried: {function} failed: {error}");
            std::process::exit(serried_engine::job::exit_status(class))
        }
    }
}
