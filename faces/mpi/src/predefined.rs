//! The objects behind predefined handles.

use crate::abi::*;
use crate::handle::{self, Handle as _, COMMS};
use crate::objects::{Comm, ErrorHandler, Group, Info, Op};
use crate::{initial_error_handler, memory_kinds};
use serried_engine::engine::Engine;
use serried_engine::job::detect;
use serried_engine::reduce::Builtin;
use serried_engine::world::info;
use std::ffi::c_int;
use std::sync::{Arc, LazyLock, Once, OnceLock};

/// The longest key of an info object, in bytes: as the engine and the ABI have it.
pub const LONGEST_KEY: usize = lower(info::LONGEST_KEY, MPI_MAX_INFO_KEY);
/// The longest value, in bytes.
pub const LONGEST_VALUE: usize = lower(info::LONGEST_VALUE, MPI_MAX_INFO_VAL);

/// The lower of a limit of the engine and one of the ABI, which counts the final 0.
const fn lower(engine: usize, abi: c_int) -> usize {
    let abi = abi as usize - 1;
    if engine < abi {
        engine
    } else {
        abi
    }
}

/// Fills the tables with everything that needs no job: datatypes, operations,
/// error handlers. Costs one load after the first time.
pub fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let handles = [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN];
        for (handle, handler) in handles.into_iter().zip(&*ERROR_HANDLERS) {
            handle::ERRHANDLERS.put_predefined(handle, handler.clone());
        }
        let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        let environment = environment_info(arguments).unwrap_or_default();
        handle::INFOS.put_predefined(MPI_INFO_ENV, ENVIRONMENT.get_or_init(|| Arc::new(environment)).clone());
        handle::GROUPS.put_predefined(MPI_GROUP_EMPTY, empty_group());
        install_operations();
        crate::predefined_datatypes::install();
    });
}

static ERROR_HANDLERS: LazyLock<[Arc<ErrorHandler>; 3]> =
    LazyLock::new(|| [ErrorHandler::Fatal, ErrorHandler::Abort, ErrorHandler::Return].map(Arc::new));

/// The handler that has a handle, of one that the engine has given: it may have made one
/// of MPI's by itself.
pub fn known_error_handler(handler: Arc<ErrorHandler>) -> Arc<ErrorHandler> {
    let place = match *handler {
        ErrorHandler::Fatal => 0,
        ErrorHandler::Abort => 1,
        ErrorHandler::Return => 2,
        ErrorHandler::User(..) => return handler,
    };
    ERROR_HANDLERS[place].clone()
}

/// The error handler with which communicators begin, if this process was told one.
pub fn first_error_handler() -> Option<Arc<ErrorHandler>> {
    initial_error_handler::told().map(|(_, place)| ERROR_HANDLERS[place].clone())
}

/// What `MPI_ERRORS_RETURN` stands for.
pub fn returning() -> Arc<ErrorHandler> {
    ERROR_HANDLERS[2].clone()
}

/// What `MPI_GROUP_EMPTY` stands for.
pub fn empty_group() -> Arc<Group> {
    static EMPTY: OnceLock<Arc<Group>> = OnceLock::new();
    EMPTY.get_or_init(|| Arc::new(Group::empty())).clone()
}

/// What `MPI_INFO_ENV` holds for a program with these arguments (MPI-5.0
/// §11.2.1), before MPI starts as well as later; what does not fit is cut.
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
    let known = ENVIRONMENT.get().and_then(|known| known.get("maxprocs"));
    let announced =
        || detect::announced_ranks(&|name| std::env::var(name).ok()).map(|ranks| ranks.to_string());
    entries.extend(known.or_else(announced).map(|ranks| ("maxprocs", ranks)));
    if let Ok(directory) = std::env::current_dir() {
        entries.push(("wdir", directory.display().to_string()));
    }
    entries.extend(memory_kinds::asked_at_start().map(|kinds| (memory_kinds::SUPPORTED, kinds)));
    entries.extend(initial_error_handler::told().map(|(name, _)| (initial_error_handler::KEY, name)));
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

/// Puts the world communicators in when MPI begins.
pub fn install_communicators(engine: &Engine) {
    let made = COMMUNICATORS.get_or_init(|| {
        let world = Comm::world(engine.rank(), engine.size());
        world.set_name("MPI_COMM_WORLD");
        let alone = Comm::self_(engine.rank());
        alone.set_name("MPI_COMM_SELF");
        if let Some(handler) = first_error_handler() {
            world.set_error_handler(handler.clone());
            alone.set_error_handler(handler);
        }
        [Arc::new(world), Arc::new(alone)]
    });
    if let Some(environment) = ENVIRONMENT.get() {
        let _ = environment.set("maxprocs", &engine.size().to_string()); // a valid key and value
    }
    for (handle, communicator) in [MPI_COMM_WORLD, MPI_COMM_SELF].into_iter().zip(made) {
        if COMMS.handle_of(communicator).is_none() {
            COMMS.put_predefined(handle, communicator.clone());
        }
    }
}

/// Takes them out while the engine goes on without MPI.
pub fn withdraw_communicators() {
    COMMS.withdraw(MPI_COMM_WORLD);
    COMMS.withdraw(MPI_COMM_SELF);
}

/// Deletes the attributes of `MPI_COMM_SELF`, which is the first thing that
/// finalization does (MPI-5.0 §11.2.4), and then those of `MPI_COMM_WORLD`.
///
/// # Errors
/// What a delete function of the program returns.
pub fn delete_attributes() -> serried_engine::Result<()> {
    if let Some([world, alone]) = COMMUNICATORS.get() {
        alone.attributes.delete_all(MPI_COMM_SELF.word())?;
        world.attributes.delete_all(MPI_COMM_WORLD.word())?;
    }
    Ok(())
}

macro_rules! named_operators {
    ($($name:ident $builtin:ident;)*) => {
        [$(($name, stringify!($name), Builtin::$builtin)),*]
    };
}

fn install_operations() {
    let operations = named_operators! {
        MPI_MAX Max;
        MPI_MIN Min;
        MPI_SUM Sum;
        MPI_PROD Product;
        MPI_LAND LogicalAnd;
        MPI_BAND BitAnd;
        MPI_LOR LogicalOr;
        MPI_BOR BitOr;
        MPI_LXOR LogicalXor;
        MPI_BXOR BitXor;
        MPI_MINLOC MinLocation;
        MPI_MAXLOC MaxLocation;
        MPI_REPLACE Replace;
        MPI_NO_OP NoOp;
    };
    for (handle, name, builtin) in operations {
        handle::OPS.put_predefined(handle, Op::predefined(builtin, name));
    }
}
