//! Making and freeing windows (MPI-5.0 §12.2).

use super::hints;
use super::members::{about, member};
use crate::arguments::{not_null, store_address, OutCount, OutValue};
use crate::common::buffers;
use crate::entry::engine;
use crate::functions::attribute::window_owner;
use crate::handle_arguments::{InOut, Out};
use crate::objects::{Comm, Info, Win};
use serried_engine::engine::onesided::Memory;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

fn make(comm: &Arc<Comm>, memory: Result<Memory>, unit: i64, info: Option<&Arc<Info>>) -> Result<Arc<Win>> {
    let exposure = engine()?.expose_found(comm, memory, unit)?;
    exposure.use_in_epochs();
    let window = Arc::new(Win::new(exposure));
    hints::begin(&window, info.map(|info| &**info));
    Ok(window)
}

/// `MPI_Win_create` (§12.2.1).
pub fn win_create(
    base: *mut c_void,
    size: i64,
    disp_unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    win: Out<Win>,
) -> Result<()> {
    let (address, bytes) = (base.cast(), size);
    let memory = buffers::whose("base", address, bytes).map(|found| match found {
        Some(memory) => Memory::OfDevice { address, bytes, memory },
        None => Memory::Given { address, bytes },
    });
    win.put(make(comm, memory, disp_unit, info)?)
}

/// A window whose memory the library allocates; `baseptr` gets its address.
fn allocate(
    memory: Memory,
    unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    baseptr: *mut c_void,
    win: &Out<Win>,
) -> Result<()> {
    not_null("baseptr", baseptr)?;
    let made = make(comm, Ok(memory), unit, info)?;
    store_address("baseptr", baseptr, made.own().address as *mut u8)?;
    win.put(made)
}

/// `MPI_Win_allocate` (§12.2.2).
pub fn win_allocate(
    size: i64,
    disp_unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    baseptr: *mut c_void,
    win: Out<Win>,
) -> Result<()> {
    allocate(Memory::Allocated(size), disp_unit, info, comm, baseptr, &win)
}

/// `MPI_Win_allocate_shared` (§12.2.3).
pub fn win_allocate_shared(
    size: i64,
    disp_unit: i64,
    info: Option<&Arc<Info>>,
    comm: &Arc<Comm>,
    baseptr: *mut c_void,
    win: Out<Win>,
) -> Result<()> {
    let contiguous = !hints::apart(info.map(|info| &**info));
    allocate(Memory::Shared(size, contiguous), disp_unit, info, comm, baseptr, &win)
}

/// `MPI_Win_shared_query` (§12.2.3).
pub fn win_shared_query(
    win: &Arc<Win>,
    rank: i32,
    size: OutValue<i64>,
    disp_unit: OutCount,
    baseptr: *mut c_void,
) -> Result<()> {
    not_null("baseptr", baseptr)?;
    let segment = engine()?.shared(win, member("rank", win, rank)?)?;
    size.set(segment.bytes as i64);
    disp_unit.set(segment.unit as i64);
    store_address("baseptr", baseptr, segment.address as *mut u8)
}

/// `MPI_Win_create_dynamic` (§12.2.4).
pub fn win_create_dynamic(info: Option<&Arc<Info>>, comm: &Arc<Comm>, win: Out<Win>) -> Result<()> {
    win.put(make(comm, Ok(Memory::Dynamic), 1, info)?)
}

/// `MPI_Win_attach` (§12.2.4).
pub fn win_attach(win: &Arc<Win>, base: *mut c_void, size: i64) -> Result<()> {
    match buffers::whose("base", base.cast(), size)? {
        Some(memory) => engine()?.attach_device(win.exposure(), memory, (base.cast(), size)),
        None => engine()?.attach(win, base.cast(), size),
    }
}

/// `MPI_Win_detach` (§12.2.4).
pub fn win_detach(win: &Arc<Win>, base: *const c_void) -> Result<()> {
    engine()?.detach(win, base.cast())
}

/// `MPI_Win_free` (§12.2.5).
pub fn win_free(win: InOut<Win>) -> Result<()> {
    let window = win.get()?;
    about(window);
    window.check_free()?; // before the program's functions hear that it goes
    window.members().attributes.delete_all(window_owner(window))?;
    engine()?.unexpose(window)?;
    win.take().map(drop)
}
