//! The objects behind predefined handles.

use crate::abi::*;
use crate::handle;
use crate::objects::{Comm, ErrorHandler, Group, Info, Op};
use serried_engine::engine::Engine;
use serried_engine::reduce::Builtin;
use serried_engine::world::info::LONGEST_VALUE;
use std::sync::{Arc, Once, OnceLock};

/// Fills the tables with everything that needs no job: datatypes, operations,
/// error handlers. Costs one load after the first time.
pub fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_ARE_FATAL, Arc::new(ErrorHandler::Fatal));
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_ABORT, Arc::new(ErrorHandler::Abort));
        handle::ERRHANDLERS.put_predefined(MPI_ERRORS_RETURN, Arc::new(ErrorHandler::Return));
        let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        let environment = environment_info(arguments).unwrap_or_default();
        handle::INFOS.put_predefined(MPI_INFO_ENV, ENVIRONMENT.get_or_init(|| Arc::new(environment)).clone());
        handle::GROUPS.put_predefined(MPI_GROUP_EMPTY, empty_group());
        install_operations();
        crate::predefined_datatypes::install();
    });
}

/// What `MPI_GROUP_EMPTY` stands for.
pub fn empty_group() -> Arc<Group> {
    static EMPTY: OnceLock<Arc<Group>> = OnceLock::new();
    EMPTY.get_or_init(|| Arc::new(Group::empty())).clone()
}

/// What `MPI_INFO_ENV` holds for a program with these arguments (MPI-5.0
/// §11.2.1); what does not fit is cut.
///
/// # Errors
/// None that is known.
pub fn environment_info(mut arguments: impl Iterator<Item = String>) -> serried_engine::Result<Info> {
    let mut entries = vec![("arch", std::env::consts::ARCH.to_owned())];
    entries.extend(arguments.next().map(|command| ("command", command)));
    let arguments: Vec<String> = arguments.collect();
    if !arguments.is_empty() {
        entries.push(("argv", arguments.join(" ")));
    }
    if let Some(maxprocs) = ENVIRONMENT.get().and_then(|known| known.get("maxprocs")) {
        entries.push(("maxprocs", maxprocs));
    }
    if let Ok(directory) = std::env::current_dir() {
        entries.push(("wdir", directory.display().to_string()));
    }
    let info = Info::default();
    for (key, mut value) in entries {
        let mut length = value.len().min(LONGEST_VALUE);
        while !value.is_char_boundary(length) {
            length -= 1;
        }
        value.truncate(length);
        info.set(key, &value)?;
    }
    Ok(info)
}

static ENVIRONMENT: OnceLock<Arc<Info>> = OnceLock::new();
static COMMUNICATORS: OnceLock<[Arc<Comm>; 2]> = OnceLock::new();

/// Puts the world communicators in when the engine has started.
pub fn install_communicators(engine: &Engine) {
    let made = COMMUNICATORS.get_or_init(|| {
        [Arc::new(Comm::world(engine.rank(), engine.size())), Arc::new(Comm::self_(engine.rank()))]
    });
    if let Some(environment) = ENVIRONMENT.get() {
        let _ = environment.set("maxprocs", &engine.size().to_string()); // a valid key and value
    }
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
        handle::OPS.put_predefined(handle, Op::predefined(builtin));
    }
}
