//! From an error to the error handler that answers for the call (MPI-5.0 §9.3).

use crate::abi::{self, FileHandle, Handle};
use crate::common::engine;
use crate::common::entry::Call;
use crate::handle::{Handle as _, COMMS, ERRHANDLERS, FILES, SESSIONS, WINS};
use crate::objects::ErrorHandler;
use crate::{codes, predefined, wording};
use serried_engine::world::errhandler::Subject;
use serried_engine::Error;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

/// Whose error handler answers for a call.
#[derive(Clone, Copy, Debug)]
pub enum RaisedOn {
    /// That of the communicator or window on which the error says it happened, if it
    /// does; else [`of_no_object`].
    NoObject,
    /// That of this communicator, if it is one; else [`of_no_object`].
    Comm(Handle),
    /// That of this session, if it is one; else [`of_no_object`].
    Session(Handle),
    /// That of this window, if it is one; else [`of_no_object`].
    Win(Handle),
    /// This one, which a new communicator shall have (§7.4.2), if it is one for
    /// communicators; else [`of_no_object`].
    NewComm(Handle),
    /// As [`RaisedOn::NewComm`], for a new session (§11.3.1).
    NewSession(Handle),
    /// That of this file, if it is one; else that of [`of_no_file`].
    File(FileHandle),
    /// Nobody: the code is returned (tool interface).
    Nobody,
}

/// An error handler and the object that it is told, by the word of its handle.
type Answer = (Arc<ErrorHandler>, usize);

/// The error handler of `MPI_FILE_NULL`, if it is not the one that returns.
static OF_NO_FILE: Mutex<Option<Arc<ErrorHandler>>> = Mutex::new(None);

/// The error handler of `MPI_FILE_NULL`: that of calls on no file, and of files when they are opened (§14.7).
pub fn of_no_file() -> Arc<ErrorHandler> {
    let chosen = OF_NO_FILE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    chosen.unwrap_or_else(predefined::returning)
}

/// Chooses the error handler of `MPI_FILE_NULL`.
pub fn set_of_no_file(handler: Arc<ErrorHandler>) {
    *OF_NO_FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
}

/// Hands an error to the handler that answers for it, and gives the code that
/// the call returns. Without an engine there is no communicator and so no
/// handler but the one that ends the program (MPI-5.0 §9.3).
#[cold]
pub fn answer(call: &Call, raised_on: RaisedOn, function: &str, code: c_int, error: &Error) -> c_int {
    let found = match raised_on {
        RaisedOn::Nobody => return code,
        RaisedOn::File(handle) => Some(of_file(call, handle)),
        RaisedOn::Comm(handle) => of_communicator(call, handle),
        RaisedOn::Session(handle) => of_session(call, handle),
        RaisedOn::Win(handle) => of_window(call, handle),
        RaisedOn::NewComm(handler) => given(call, handler, Subject::Communicator, abi::MPI_COMM_NULL.word()),
        RaisedOn::NewSession(handler) => given(call, handler, Subject::Session, abi::MPI_SESSION_NULL.word()),
        // The requests of the call know their communicator or file, or the communicator of their window.
        RaisedOn::NoObject => error.context().and_then(|context| of_context(call, context)),
    };
    let found = found.or_else(|| of_no_object(call));
    let (handler, object) =
        found.unwrap_or_else(|| (Arc::new(ErrorHandler::Fatal), abi::MPI_COMM_NULL.word()));
    run(&handler, object, function, code, error)
}

/// Who answers where no object does (docs/errors.md): `MPI_COMM_SELF`, as MPI-5.0
/// §9.3 says; but as long as that has the handler that it had first, and that ends
/// the job, `MPI_COMM_WORLD`, as it was before MPI-4.0.
fn of_no_object(call: &Call) -> Option<Answer> {
    of_communicator(call, abi::MPI_COMM_SELF)
        .filter(|(handler, _)| !matches!(**handler, ErrorHandler::Fatal))
        .or_else(|| of_communicator(call, abi::MPI_COMM_WORLD))
}

/// The handler of what has this context of its own.
fn of_context(call: &Call, context: u64) -> Option<Answer> {
    if let Some(handle) = COMMS.find(|communicator| communicator.context() == context) {
        return of_communicator(call, handle);
    }
    if let Some(handle) = WINS.find(|window| window.members().context() == context) {
        return of_window(call, handle);
    }
    let handle = FILES.find(|file| file.communicator.context() == context)?;
    Some(of_file(call, handle))
}

/// Runs an error handler for an object, named by the word of its handle, as [`answer`] does.
pub fn run(handler: &ErrorHandler, object: usize, function: &str, code: c_int, error: &Error) -> c_int {
    match handler {
        ErrorHandler::Fatal | ErrorHandler::Abort => fatal(function, code, error),
        ErrorHandler::Return => code,
        ErrorHandler::User(_, function) => {
            // Of several operations the handler is told the first that failed (MPI-5.0 §9.3.1).
            let told = error.first().map_or(code, codes::code);
            let mut answered = told;
            function(object, &mut answered);
            if answered == told {
                code
            } else {
                answered
            }
        }
    }
}

fn of_communicator(call: &Call, handle: Handle) -> Option<Answer> {
    COMMS.get(call, handle).map(|communicator| (communicator.error_handler(), handle.word()))
}

fn of_window(call: &Call, handle: Handle) -> Option<Answer> {
    WINS.get(call, handle).map(|window| (window.members().error_handler(), handle.word()))
}

fn of_session(call: &Call, handle: Handle) -> Option<Answer> {
    SESSIONS.get(call, handle).map(|session| (session.error_handler(), handle.word()))
}

fn of_file(call: &Call, handle: FileHandle) -> Answer {
    let handler = FILES.get(call, handle).map_or_else(of_no_file, |file| file.error_handler());
    (handler, handle.word())
}

/// A handler that the call was given for an object of a kind, which is not there yet.
fn given(call: &Call, handler: Handle, subject: Subject, object: usize) -> Option<Answer> {
    predefined::install(); // a session may begin before everything else
    let handler = ERRHANDLERS.get(call, handler).filter(|handler| handler.suits(subject))?;
    Some((handler.clone(), object))
}

/// Ends the program because of an error that nobody handles; the exit status
/// is the error's class.
fn fatal(function: &str, code: c_int, error: &Error) -> ! {
    let class = codes::class_of(code).unwrap_or(abi::MPI_ERR_UNKNOWN);
    let sentence = wording::sentence(error);
    match engine::running() {
        Some(engine) => {
            let message = format!("serried: rank {}: {function} failed: {sentence}", engine.rank());
            engine.fail(error, class, &message)
        }
        None => {
            eprintln!("serried: {function} failed: {sentence}");
            std::process::exit(serried_engine::job::exit_status(class))
        }
    }
}
