//! The objects behind predefined handles.

use crate::abi::*;
use crate::handle;
use crate::objects::{Comm, ErrorHandler, Group, Info, Op};
use serried_engine::engine::Engine;
use serried_engine::reduce::Builtin;
use std::sync::{Arc, Once, OnceLock};

/// Fills the tables with everything that needs no job: datatypes, operations,
/// error handlers. Costs one load after the first time.
pub fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_ARE_FATAL, Arc::new(ErrorHandler::Fatal));
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_ABORT, Arc::new(ErrorHandler::Abort));
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_RETURN, Arc::new(ErrorHandler::Return));
        handle::INFOS.put_predefined(MPI_INFO_ENV, Arc::new(Info::default()));
        handle::GROUPS.put_predefined(MPI_GROUP_EMPTY, Arc::new(Group::new(Vec::new())));
        install_operations();
        crate::predefined_datatypes::install();
    });
}

static COMMUNICATORS: OnceLock<[Arc<Comm>; 2]> = OnceLock::new();

/// Puts the world communicators in when the engine has started.
pub fn install_communicators(engine: &Engine) {
    let made = COMMUNICATORS.get_or_init(|| {
        [Arc::new(Comm::world(engine.rank(), engine.size())), Arc::new(Comm::self_(engine.rank()))]
    });
    handle::COMMS.put_predefined(MPI_COMM_WORLD, made[0].clone());
    handle::COMMS.put_predefined(MPI_COMM_SELF, made[1].clone());
}

/// Deletes the attributes of `MPI_COMM_SELF`, which is the first thing that
/// finalization does (MPI-5.0 §11.2.4), and then those of `MPI_COMM_WORLD`.
///
/// # Errors
/// What a delete function of the program returns.
pub fn delete_attributes() -> serried_engine::Result<()> {
    if let Some([world, alone]) = COMMUNICATORS.get() {
        alone.attributes.delete_all(word(MPI_COMM_SELF))?;
        world.attributes.delete_all(word(MPI_COMM_WORLD))?;
    }
    Ok(())
}

fn install_operations() {
    let operations = [
        (MPI_MAX, Builtin::Max),
        (MPI_MIN, Builtin::Min),
        (MPI_SUM, Builtin::Sum),
        (MPI_PROD, Builtin::Product),
        (MPI_LAND, Builtin::LogicalAnd),
        (MPI_BAND, Builtin::BitAnd),
        (MPI_LOR, Builtin::LogicalOr),
        (MPI_BOR, Builtin::BitOr),
        (MPI_LXOR, Builtin::LogicalXor),
        (MPI_BXOR, Builtin::BitXor),
        (MPI_MINLOC, Builtin::MinLocation),
        (MPI_MAXLOC, Builtin::MaxLocation),
        (MPI_REPLACE, Builtin::Replace),
        (MPI_NO_OP, Builtin::NoOp),
    ];
    for (handle, builtin) in operations {
        handle::OPS.put_predefined(handle, Arc::new(Op::builtin(builtin)));
    }
}
