//! The objects behind predefined handles.

use crate::abi::*;
use crate::handle;
use crate::objects::{Comm, ErrorHandler, Info};
use serried_engine::datatype::Basic;
use std::sync::{Arc, Once};

/// Fills the tables with everything that needs no job: datatypes, operations,
/// error handlers. Costs one load after the first time.
pub fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_ARE_FATAL, Arc::new(ErrorHandler::Fatal));
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_ABORT, Arc::new(ErrorHandler::Abort));
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_RETURN, Arc::new(ErrorHandler::Return));
        handle::INFOS.put_predefined(MPI_INFO_ENV, Arc::new(Info::default()));
    });
}
