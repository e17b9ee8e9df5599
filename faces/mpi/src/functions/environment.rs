//! Environment (MPI-5.0 chapters 2, 9, 11 and 20): start and end, versions,
//! clocks, memory.

use crate::arguments::{read_string, store_address, write_string, OutValue};
use crate::entry::engine;
use crate::handle_arguments::Out;
use crate::objects::{Comm, Info};
use crate::{abi, armci, codes, entry, predefined, start};
use serried_engine::job::hardware;
use serried_engine::memory::window;
use serried_engine::observe::page::add;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

static INITIALIZED: AtomicBool = AtomicBool::new(false);
static FINALIZATION: AtomicU32 = AtomicU32::new(NOT_YET);
const NOT_YET: u32 = 0;
const UNDER_WAY: u32 = 1;
const FINALIZED: u32 = 2;
static THREAD_LEVEL: AtomicI32 = AtomicI32::new(abi::MPI_THREAD_SINGLE);
static MAIN_THREAD: OnceLock<std::thread::ThreadId> = OnceLock::new();

/// `MPI_Init` (§11.2.1). The arguments of the program are left alone.
pub fn init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Result<()> {
    if INITIALIZED.swap(true, Relaxed) {
        return Err(Error::new(Class::Other, "MPI_Init or MPI_Init_thread has been called before"));
    }
    start::acquire_engine()?;
    let _ = MAIN_THREAD.set(std::thread::current().id());
    Ok(())
}

/// `MPI_Init_thread` (§11.2.1): every level is granted.
pub fn init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: OutValue<c_int>,
) -> Result<()> {
    if !(abi::MPI_THREAD_SINGLE..=abi::MPI_THREAD_MULTIPLE).contains(&required) {
        return Err(Error::new(
            Class::Arg,
            format!("argument required ({required}) is no level of thread support"),
        ));
    }
    init(argc, argv)?;
    if required == abi::MPI_THREAD_MULTIPLE {
        entry::engine()?.set_threaded();
    }
    THREAD_LEVEL.store(required, Relaxed);
    provided.set(required);
    Ok(())
}

/// `MPI_Finalize` (§11.2.2). The delete functions of the attributes run while MPI does: in
/// them `MPI_Finalized` gives false (§11.2.4), and where one refuses, MPI goes on running.
pub fn finalize() -> Result<()> {
    if !INITIALIZED.load(Relaxed) {
        return Err(Error::new(Class::Other, "MPI_Init or MPI_Init_thread has not been called"));
    }
    match FINALIZATION.compare_exchange(NOT_YET, UNDER_WAY, Relaxed, Relaxed) {
        Ok(_) => {}
        Err(UNDER_WAY) => {
            let sentence =
                "MPI_Finalize is under way: it was called again in a delete function of an attribute, \
                            or in another thread";
            return Err(Error::new(Class::Other, sentence));
        }
        Err(_) => return Err(Error::new(Class::Other, "MPI_Finalize has been called before")),
    }
    let deleted = armci::end_with_mpi().and_then(|()| predefined::delete_attributes());
    FINALIZATION.store(if deleted.is_ok() { FINALIZED } else { NOT_YET }, Relaxed);
    deleted?;
    start::release_engine()
}

/// `MPI_Initialized` (§11.2.1).
pub fn initialized(flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(INITIALIZED.load(Relaxed));
    Ok(())
}

/// `MPI_Finalized` (§11.2.3).
pub fn finalized(flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(FINALIZATION.load(Relaxed) == FINALIZED);
    Ok(())
}

/// `MPI_Query_thread` (§11.6.2).
pub fn query_thread(provided: OutValue<c_int>) -> Result<()> {
    provided.set(THREAD_LEVEL.load(Relaxed));
    Ok(())
}

/// `MPI_Is_thread_main` (§11.6.2).
pub fn is_thread_main(flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(MAIN_THREAD.get() == Some(&std::thread::current().id()));
    Ok(())
}

/// `MPI_Abort` (§9.8): ends the whole job, whatever the communicator.
pub fn abort(_comm: Option<&Arc<Comm>>, errorcode: c_int) -> Result<()> {
    match entry::engine() {
        Ok(engine) => engine.abort(errorcode, ""),
        Err(_) => std::process::exit(serried_engine::job::exit_status(errorcode)),
    }
}

/// `MPI_Get_version` (§9.1.1): what the header of the ABI is for, since programs conclude from it what that declares; but
/// 4.0 at least, whose functions are all there, those with large counts too.
pub fn get_version(version: OutValue<c_int>, subversion: OutValue<c_int>) -> Result<()> {
    let (major, minor) = (abi::MPI_VERSION, abi::MPI_SUBVERSION).max((4, 0));
    version.set(major);
    subversion.set(minor);
    Ok(())
}

/// `MPI_Get_library_version` (§9.1.1).
pub fn get_library_version(version: *mut c_char, resultlen: OutValue<c_int>) -> Result<()> {
    let text = concat!("Serried ", env!("CARGO_PKG_VERSION"), " (MPI-5.0, ");
    let text = format!("{text}{})", abi::ABI_NAME);
    put_string("version", version, abi::MPI_MAX_LIBRARY_VERSION_STRING, &text, resultlen)
}

/// `MPI_Get_processor_name` (§9.1.2).
pub fn get_processor_name(name: *mut c_char, resultlen: OutValue<c_int>) -> Result<()> {
    let mut buffer = [0_u8; 256];
    // SAFETY: the buffer is as long as said.
    let failed = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) } != 0;
    let length = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
    let host = if failed { "localhost".into() } else { String::from_utf8_lossy(&buffer[..length]) };
    put_string("name", name, abi::MPI_MAX_PROCESSOR_NAME, &host, resultlen)
}

/// `MPI_Pcontrol` (§15.2.3): nothing listens.
pub fn pcontrol(_level: c_int) -> Result<()> {
    Ok(())
}

/// `MPI_Wtime` (§9.6): seconds of the machine's monotonic clock.
pub fn wtime() -> f64 {
    // A loop that polls until a time is over shall not be taken for a hang.
    if let Ok(engine) = engine() {
        add(&engine.page().own().clock_reads, 1);
    }
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` can be written; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// `MPI_Wtick` (§9.6).
pub fn wtick() -> f64 {
    1e-9
}

/// `MPI_Aint_add` (§5.1.5).
pub fn aint_add(base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff` (§5.1.5).
pub fn aint_diff(addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

const CACHE_LINE: usize = 64;

/// `MPI_Alloc_mem` (§9.2), of memory that the ranks of this node can map;
/// `baseptr` is where the address goes. Honours the
/// info key `mpi_minimum_memory_alignment`.
pub fn alloc_mem(size: i64, info: Option<&Arc<Info>>, baseptr: *mut c_void) -> Result<()> {
    crate::arguments::not_null("baseptr", baseptr)?;
    let bytes = usize::try_from(size)
        .map_err(|_| Error::new(Class::Arg, format!("argument size is {size}; it cannot be negative")))?;
    let wanted = info.and_then(|info| info.get("mpi_minimum_memory_alignment"));
    let alignment = wanted.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(CACHE_LINE);
    let alignment = alignment.checked_next_power_of_two().unwrap_or(CACHE_LINE).max(CACHE_LINE);
    let memory = window::take(bytes.max(1), alignment).ok_or_else(|| {
        Error::new(Class::NoMem, format!("{bytes} bytes are not to be had from this machine"))
    })?;
    store_address("baseptr", baseptr, memory)
}

/// `MPI_Free_mem` (§9.2).
pub fn free_mem(base: *mut c_void) -> Result<()> {
    // SAFETY: MPI says that it comes from `MPI_Alloc_mem`, or is null.
    unsafe { window::give(base.cast()) };
    Ok(())
}

/// `MPI_Get_hw_resource_info` (§9.1.2): the parts of the machine, and whether
/// this process is confined to one of each kind.
pub fn get_hw_resource_info(hw_info: Out<Info>) -> Result<()> {
    let parts = Info::default();
    parts.set(hardware::NODE, "true")?;
    for (kind, part) in hardware::KINDS.iter().zip(hardware::here()) {
        parts.set(kind, if part.is_some() { "true" } else { "false" })?;
    }
    hw_info.put(Arc::new(parts))
}

/// `MPI_Error_class` (§9.4).
pub fn error_class(errorcode: c_int, errorclass: OutValue<c_int>) -> Result<()> {
    errorclass.set(codes::class_of(errorcode)?);
    Ok(())
}

/// `MPI_Error_string` (§9.4).
pub fn error_string(errorcode: c_int, string: *mut c_char, resultlen: OutValue<c_int>) -> Result<()> {
    let text = codes::text_of(errorcode)?;
    put_string("string", string, abi::MPI_MAX_ERROR_STRING, &text, resultlen)
}

/// `MPI_Add_error_class` (§9.5).
pub fn add_error_class(errorclass: OutValue<c_int>) -> Result<()> {
    errorclass.set(codes::add(None)?);
    Ok(())
}

/// `MPI_Remove_error_class` (§9.5).
pub fn remove_error_class(errorclass: c_int) -> Result<()> {
    codes::remove(errorclass, true)
}

/// `MPI_Add_error_code` (§9.5).
pub fn add_error_code(errorclass: c_int, errorcode: OutValue<c_int>) -> Result<()> {
    errorcode.set(codes::add(Some(errorclass))?);
    Ok(())
}

/// `MPI_Remove_error_code` (§9.5).
pub fn remove_error_code(errorcode: c_int) -> Result<()> {
    codes::remove(errorcode, false)
}

/// `MPI_Add_error_string` (§9.5).
pub fn add_error_string(errorcode: c_int, string: *const c_char) -> Result<()> {
    codes::set_text(errorcode, &read_string("string", string)?)
}

/// `MPI_Remove_error_string` (§9.5).
pub fn remove_error_string(errorcode: c_int) -> Result<()> {
    codes::set_text(errorcode, "")
}

/// `MPI_Abi_get_version` (§20.3).
pub fn abi_get_version(abi_major: OutValue<c_int>, abi_minor: OutValue<c_int>) -> Result<()> {
    let (major, minor) = abi::ABI_VERSION;
    abi_major.set(major);
    abi_minor.set(minor);
    Ok(())
}

/// `MPI_Abi_get_info` (§20.3): the sizes of the three integer types.
pub fn abi_get_info(info: Out<Info>) -> Result<()> {
    let sizes = Info::default();
    for key in ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"] {
        sizes.set(key, "8")?;
    }
    info.put(Arc::new(sizes))
}

/// What the program has told about its Fortran compiler (§20.4).
#[derive(Default)]
struct Fortran {
    info: Option<Arc<Info>>,
    /// By the size's power of two: true and false.
    booleans: [Option<([u8; 16], [u8; 16])>; 5],
}

static FORTRAN: Mutex<Option<Fortran>> = Mutex::new(None);

fn with_fortran<R>(work: impl FnOnce(&mut Fortran) -> R) -> R {
    let mut guard = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    work(guard.get_or_insert_default())
}

fn already_set(what: &str) -> Error {
    Error::new(Class::User(abi::MPI_ERR_ABI), format!("{what} can be set only once"))
}

/// `MPI_Abi_set_fortran_info` (§20.4).
pub fn abi_set_fortran_info(info: Option<&Arc<Info>>) -> Result<()> {
    with_fortran(|fortran| match fortran.info {
        Some(_) => Err(already_set("what is known about Fortran")),
        None => {
            fortran.info = info.map(|info| Arc::new(Info::clone(info)));
            Ok(())
        }
    })
}

/// `MPI_Abi_get_fortran_info` (§20.4): the usual sizes, until the program has set others. Null in other ABIs than the
/// standard's: headers of theirs differ in the types that they know, and which one a program has is not known here.
pub fn abi_get_fortran_info(info: Out<Info>) -> Result<()> {
    match with_fortran(|fortran| fortran.info.clone()) {
        Some(known) => info.put(Arc::new(Info::clone(&known))),
        None if abi::ABI_VERSION.0 < 0 => {
            info.put_null();
            Ok(())
        }
        None => info.put(Arc::new(usual_fortran()?)),
    }
}

/// What gfortran and flang have, if nothing is said to them.
fn usual_fortran() -> Result<Info> {
    let usual = Info::default();
    for (name, bytes) in [("logical", "4"), ("integer", "4"), ("real", "4"), ("double_precision", "8")] {
        usual.set(&format!("mpi_{name}_size"), bytes)?;
    }
    let is_there = |name: &str| abi::PREDEFINED_DATATYPES.iter().any(|known| known.1 == name);
    let sizes: [(&str, &[u32]); 4] = [
        ("LOGICAL", &[1, 2, 4, 8, 16]),
        ("INTEGER", &[1, 2, 4, 8, 16]),
        ("REAL", &[2, 4, 8, 16]),
        ("COMPLEX", &[4, 8, 16, 32]),
    ];
    let sized = sizes.iter().flat_map(|(name, all)| all.iter().map(move |size| format!("MPI_{name}{size}")));
    for name in sized.chain(["MPI_DOUBLE_COMPLEX".to_owned()]) {
        let supported = if is_there(&name) { "true" } else { "false" };
        usual.set(&format!("{}_supported", name.to_lowercase()), supported)?;
    }
    Ok(usual)
}

/// The place of a LOGICAL of this size.
fn logical_place(size: c_int) -> Result<usize> {
    [1, 2, 4, 8, 16].iter().position(|&known| known == size).ok_or_else(|| {
        Error::new(
            Class::Arg,
            format!("argument logical_size is {size}; a Fortran LOGICAL has 1, 2, 4, 8 or 16 bytes"),
        )
    })
}

/// `MPI_Abi_set_fortran_booleans` (§20.4).
pub fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<()> {
    let place = logical_place(logical_size)?;
    let read = |name, from: *mut c_void| -> Result<[u8; 16]> {
        crate::arguments::not_null(name, from)?;
        let mut value = [0; 16];
        // SAFETY: MPI says that a LOGICAL of this size is there.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), value.as_mut_ptr(), 1 << place) };
        Ok(value)
    };
    let values = (read("logical_true", logical_true)?, read("logical_false", logical_false)?);
    with_fortran(|fortran| match fortran.booleans[place].replace(values) {
        Some(before) if before != values => Err(already_set("the truth values of a LOGICAL")),
        _ => Ok(()),
    })
}

/// `MPI_Abi_get_fortran_booleans` (§20.4).
pub fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: OutValue<c_int>,
) -> Result<()> {
    let place = logical_place(logical_size)?;
    // As gfortran and flang have them.
    let usual = (1_u128.to_le_bytes(), 0_u128.to_le_bytes());
    let (yes, no) = with_fortran(|fortran| fortran.booleans[place]).unwrap_or(usual);
    is_set.set_flag(true);
    for (name, to, value) in [("logical_true", logical_true, yes), ("logical_false", logical_false, no)] {
        crate::arguments::not_null(name, to)?;
        // SAFETY: MPI says that there is room for a LOGICAL of this size.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), to.cast(), 1 << place) };
    }
    Ok(())
}

/// Stores a string in an array as long as one of MPI's limits.
fn put_string(
    name: &str,
    place: *mut c_char,
    limit: c_int,
    text: &str,
    resultlen: OutValue<c_int>,
) -> Result<()> {
    let length = write_string(name, place, limit as usize, text)?;
    resultlen.set(length as c_int);
    Ok(())
}
