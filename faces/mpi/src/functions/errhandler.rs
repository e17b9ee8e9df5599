//! Error handlers (MPI-5.0 §9.3, §16.1).

use crate::callbacks::{ExtraState, HandleError, HandleErrorWithState, HandleFileErrorWithState};
use crate::error_handler;
use crate::handle::{Handle, COMMS, FILES, SESSIONS, WINS};
use crate::handle_arguments::{InOut, Out};
use crate::objects::{Comm, ErrorHandler, File, Session, Win};
use crate::predefined::known_error_handler;
use crate::{abi, codes};
use serried_engine::world::errhandler::Subject;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

fn create(
    subject: Subject,
    name: &str,
    function: *const c_void,
    errhandler: &Out<ErrorHandler>,
) -> Result<()> {
    crate::arguments::not_null(name, function)?;
    // SAFETY: not null, and the program says that it is an error handler.
    let function = unsafe { std::mem::transmute::<*const c_void, HandleError>(function) };
    let handler = ErrorHandler::User(
        subject,
        Box::new(move |object, code| {
            let mut file = abi::FileHandle::from_word(object);
            let mut other = abi::Handle::from_word(object);
            let object = if subject == Subject::File { (&raw mut file).cast() } else { &raw mut other };
            // SAFETY: the program says that this is its error handler, for objects of this kind.
            unsafe { function(object, code) };
        }),
    );
    errhandler.put(Arc::new(handler))
}

/// As MPICH has it, for callbacks that need a word of their own.
fn create_with_state(
    subject: Subject,
    function: *const c_void,
    (destructor, extra_state): (*const c_void, *mut c_void),
    errhandler: &Out<ErrorHandler>,
) -> Result<()> {
    crate::arguments::not_null("errhandler_fn_x", function)?;
    // SAFETY: the program says that it is a destructor.
    let state = unsafe { ExtraState::new(extra_state, destructor) };
    let call: serried_engine::world::errhandler::Function = if subject == Subject::File {
        // SAFETY: not null, and the program says that it is an error handler for files.
        let function = unsafe { std::mem::transmute::<*const c_void, HandleFileErrorWithState>(function) };
        // SAFETY: as above.
        Box::new(move |object, code| unsafe {
            function(abi::FileHandle::from_word(object), *code, state.get());
        })
    } else {
        // SAFETY: not null, and the program says that it is an error handler for objects of this kind.
        let function = unsafe { std::mem::transmute::<*const c_void, HandleErrorWithState>(function) };
        // SAFETY: as above.
        Box::new(move |object, code| unsafe { function(abi::Handle::from_word(object), *code, state.get()) })
    };
    errhandler.put(Arc::new(ErrorHandler::User(subject, call)))
}

macro_rules! with_state {
    ($($name:ident of $subject:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`, an extension of MPICH.")]
        pub fn $name(
            function: *const c_void,
            destructor: *const c_void,
            extra_state: *mut c_void,
            errhandler: Out<ErrorHandler>,
        ) -> Result<()> {
            create_with_state(Subject::$subject, function, (destructor, extra_state), &errhandler)
        }
    )*};
}

with_state! {
    mpix_comm_create_errhandler_x of Communicator;
    mpix_file_create_errhandler_x of File;
    mpix_session_create_errhandler_x of Session;
    mpix_win_create_errhandler_x of Window;
}

/// Whether an object of a kind can have an error handler.
///
/// # Errors
/// `Errhandler` for the program's own that was made for another kind.
pub fn check(handler: &ErrorHandler, subject: Subject) -> Result<()> {
    match handler {
        ErrorHandler::User(made_for, _) if !handler.suits(subject) => Err(Error::new(
            Class::Errhandler,
            format!("argument errhandler was made for a {made_for:?} and not for a {subject:?}"),
        )),
        _ => Ok(()),
    }
}

/// Calls a handler as an error of `function` would.
fn call(handler: &ErrorHandler, object: impl Handle, function: &str, errorcode: c_int) -> Result<()> {
    let text = codes::text_of(errorcode)?;
    error_handler::run(
        handler,
        object.word(),
        function,
        errorcode,
        &Error::new(Class::User(errorcode), text),
    );
    Ok(())
}

/// `MPI_Comm_create_errhandler`.
pub fn comm_create_errhandler(
    comm_errhandler_fn: *const c_void,
    errhandler: Out<ErrorHandler>,
) -> Result<()> {
    create(Subject::Communicator, "comm_errhandler_fn", comm_errhandler_fn, &errhandler)
}

/// `MPI_Comm_set_errhandler`.
pub fn comm_set_errhandler(comm: &Arc<Comm>, errhandler: &Arc<ErrorHandler>) -> Result<()> {
    check(errhandler, Subject::Communicator)?;
    comm.set_error_handler(errhandler.clone());
    Ok(())
}

/// `MPI_Comm_get_errhandler`.
pub fn comm_get_errhandler(comm: &Arc<Comm>, errhandler: Out<ErrorHandler>) -> Result<()> {
    errhandler.put(known_error_handler(comm.error_handler()))
}

/// `MPI_Comm_call_errhandler`.
pub fn comm_call_errhandler(comm: &Arc<Comm>, errorcode: c_int) -> Result<()> {
    let handle = COMMS.handle_of(comm).unwrap_or(abi::MPI_COMM_NULL);
    call(&comm.error_handler(), handle, "MPI_Comm_call_errhandler", errorcode)
}

/// `MPI_Errhandler_create` (removed from MPI; old programs call it).
pub fn errhandler_create(comm_errhandler_fn: *const c_void, errhandler: Out<ErrorHandler>) -> Result<()> {
    comm_create_errhandler(comm_errhandler_fn, errhandler)
}

/// `MPI_Errhandler_set` (removed from MPI; old programs call it).
pub fn errhandler_set(comm: &Arc<Comm>, errhandler: &Arc<ErrorHandler>) -> Result<()> {
    comm_set_errhandler(comm, errhandler)
}

/// `MPI_Errhandler_get` (removed from MPI; old programs call it).
pub fn errhandler_get(comm: &Arc<Comm>, errhandler: Out<ErrorHandler>) -> Result<()> {
    comm_get_errhandler(comm, errhandler)
}

/// `MPI_Session_create_errhandler`.
pub fn session_create_errhandler(
    session_errhandler_fn: *const c_void,
    errhandler: Out<ErrorHandler>,
) -> Result<()> {
    create(Subject::Session, "session_errhandler_fn", session_errhandler_fn, &errhandler)
}

/// `MPI_Session_set_errhandler`.
pub fn session_set_errhandler(session: &Arc<Session>, errhandler: &Arc<ErrorHandler>) -> Result<()> {
    check(errhandler, Subject::Session)?;
    session.set_error_handler(errhandler.clone());
    Ok(())
}

/// `MPI_Session_get_errhandler`.
pub fn session_get_errhandler(session: &Arc<Session>, errhandler: Out<ErrorHandler>) -> Result<()> {
    errhandler.put(known_error_handler(session.error_handler()))
}

/// `MPI_Session_call_errhandler`.
pub fn session_call_errhandler(session: &Arc<Session>, errorcode: c_int) -> Result<()> {
    let handle = SESSIONS.handle_of(session).unwrap_or(abi::MPI_SESSION_NULL);
    call(&session.error_handler(), handle, "MPI_Session_call_errhandler", errorcode)
}

/// `MPI_File_create_errhandler`.
pub fn file_create_errhandler(
    file_errhandler_fn: *const c_void,
    errhandler: Out<ErrorHandler>,
) -> Result<()> {
    create(Subject::File, "file_errhandler_fn", file_errhandler_fn, &errhandler)
}

/// `MPI_File_set_errhandler`: that of `MPI_FILE_NULL` is the one of files that are opened later (§14.7).
pub fn file_set_errhandler(file: Option<&Arc<File>>, errhandler: &Arc<ErrorHandler>) -> Result<()> {
    check(errhandler, Subject::File)?;
    match file {
        Some(file) => file.set_error_handler(errhandler.clone()),
        None => error_handler::set_of_no_file(errhandler.clone()),
    }
    Ok(())
}

/// `MPI_File_get_errhandler`.
pub fn file_get_errhandler(file: Option<&Arc<File>>, errhandler: Out<ErrorHandler>) -> Result<()> {
    errhandler.put(file.map_or_else(error_handler::of_no_file, |file| file.error_handler()))
}

/// `MPI_File_call_errhandler`.
pub fn file_call_errhandler(fh: Option<&Arc<File>>, errorcode: c_int) -> Result<()> {
    let handler = fh.map_or_else(error_handler::of_no_file, |file| file.error_handler());
    let handle = fh.and_then(|file| FILES.handle_of(file)).unwrap_or(abi::MPI_FILE_NULL);
    call(&handler, handle, "MPI_File_call_errhandler", errorcode)
}

/// `MPI_Win_create_errhandler`.
pub fn win_create_errhandler(win_errhandler_fn: *const c_void, errhandler: Out<ErrorHandler>) -> Result<()> {
    create(Subject::Window, "win_errhandler_fn", win_errhandler_fn, &errhandler)
}

/// `MPI_Win_set_errhandler`.
pub fn win_set_errhandler(win: &Arc<Win>, errhandler: &Arc<ErrorHandler>) -> Result<()> {
    check(errhandler, Subject::Window)?;
    win.members().set_error_handler(errhandler.clone());
    Ok(())
}

/// `MPI_Win_get_errhandler`.
pub fn win_get_errhandler(win: &Arc<Win>, errhandler: Out<ErrorHandler>) -> Result<()> {
    errhandler.put(known_error_handler(win.members().error_handler()))
}

/// `MPI_Win_call_errhandler`.
pub fn win_call_errhandler(win: &Arc<Win>, errorcode: c_int) -> Result<()> {
    let handle = WINS.handle_of(win).unwrap_or(abi::MPI_WIN_NULL);
    call(&win.members().error_handler(), handle, "MPI_Win_call_errhandler", errorcode)
}

/// `MPI_Errhandler_free`: objects that have the handler keep it.
pub fn errhandler_free(errhandler: InOut<ErrorHandler>) -> Result<()> {
    errhandler.take().map(drop)
}
