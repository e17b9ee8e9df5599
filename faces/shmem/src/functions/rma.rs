//! Remote memory access, and put with signal (OpenSHMEM 1.6 chapters 9.6, 9.7, 9.9). On a node all is done when a call
//! returns. Of the nonblocking forms only a get is another call: what it brings from another node may come until a quiet.

use crate::common::buffers;
use crate::common::entry::Call;
use crate::shmem::handles::{shmem_ctx_t, SHMEM_CTX_DEFAULT};
use crate::shmem::state::shmem;
use serried_engine::datatype::{Basic, Use};
use serried_engine::engine::symmetric::{Remote, Strided};
use serried_engine::engine::Engine;
use serried_engine::reduce::Builtin;
use serried_engine::symmetric::Symmetric;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Bytes of so many elements; those that do not fit go beyond any memory.
fn bytes_of<T>(nelems: usize) -> usize {
    nelems.saturating_mul(size_of::<T>())
}

/// `shmem_put`.
#[inline]
pub fn put<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) -> Result<()> {
    put_bytes(call, ctx, dest.cast(), source.cast(), bytes_of::<T>(nelems), pe)
}

fn put_bytes(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    pe: c_int,
) -> Result<()> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, ("dest", dest), pe)?;
    let source = buffers::host_bytes(source.cast_mut(), bytes, Use::Read)?;
    shmem.engine.put_symmetric(&shmem.symmetric, remote, source, bytes)
}

/// `shmem_get`.
#[inline]
pub fn get<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) -> Result<()> {
    get_bytes(call, ctx, dest.cast(), source.cast(), (bytes_of::<T>(nelems), pe), Engine::get_symmetric)
}

fn get_bytes(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut u8,
    source: *const u8,
    (bytes, pe): (usize, c_int),
    get: impl FnOnce(&Engine, &Symmetric, Remote, *mut u8, usize) -> Result<()>,
) -> Result<()> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, ("source", source), pe)?;
    let dest = buffers::host_bytes(dest, bytes, Use::Change)?;
    get(shmem.engine, &shmem.symmetric, remote, dest, bytes)
}

/// `shmem_p`.
#[inline]
pub fn p<T>(call: &Call, ctx: shmem_ctx_t, dest: *mut T, value: T, pe: c_int) -> Result<()> {
    put_bytes(call, ctx, dest.cast(), (&raw const value).cast(), size_of::<T>(), pe)
}

/// `shmem_g`.
#[inline]
pub fn g<T: Copy>(call: &Call, ctx: shmem_ctx_t, source: *const T, pe: c_int) -> Result<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let dest = value.as_mut_ptr().cast();
    get_bytes(call, ctx, dest, source.cast(), (size_of::<T>(), pe), Engine::get_symmetric)?;
    // SAFETY: got; all bytes of these types mean something.
    Ok(unsafe { value.assume_init() })
}

/// `shmem_put_nbi`.
#[inline]
pub fn put_nbi<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) -> Result<()> {
    put(call, ctx, dest, source, nelems, pe)
}

/// `shmem_get_nbi`.
#[inline]
pub fn get_nbi<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    pe: c_int,
) -> Result<()> {
    get_bytes(call, ctx, dest.cast(), source.cast(), (bytes_of::<T>(nelems), pe), Engine::get_symmetric_later)
}

/// Strides are in elements and positive; blocks may not overlap.
fn strided<T>(there: isize, here: isize, bsize: usize, blocks: usize) -> Result<Strided> {
    let least = bsize.max(1);
    let bytes = |name: &str, stride: isize| match usize::try_from(stride) {
        Ok(stride) if stride >= least => Ok(bytes_of::<T>(stride)),
        _ => Err(Error::new(
            Class::Arg,
            format!("the stride of the {name} is {stride}; it must be {least} elements at least"),
        )),
    };
    let (there, here) = (bytes("symmetric array", there)?, bytes("local array", here)?);
    Ok(Strided { block: bytes_of::<T>(bsize), blocks, there, here })
}

/// The blocks of the local array.
fn of_local(layout: &Strided) -> (usize, usize, usize) {
    (layout.blocks, layout.block, layout.here)
}

/// `shmem_iput`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn iput<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    pe: c_int,
) -> Result<()> {
    ibput(call, ctx, dest, source, dst, sst, 1, nelems, pe)
}

/// `shmem_iget`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn iget<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    pe: c_int,
) -> Result<()> {
    ibget(call, ctx, dest, source, dst, sst, 1, nelems, pe)
}

/// `shmem_ibput`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn ibput<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) -> Result<()> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, ("dest", dest.cast()), pe)?;
    let layout = strided::<T>(dst, sst, bsize, nblocks)?;
    let source = buffers::host_blocks(source.cast_mut().cast(), of_local(&layout), Use::Read)?;
    shmem.engine.put_strided(&shmem.symmetric, remote, source, layout)
}

/// `shmem_ibget`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn ibget<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    pe: c_int,
) -> Result<()> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, ("source", source.cast()), pe)?;
    let layout = strided::<T>(sst, dst, bsize, nblocks)?;
    let dest = buffers::host_blocks(dest.cast(), of_local(&layout), Use::Change)?;
    shmem.engine.get_strided(&shmem.symmetric, remote, dest, layout)
}

/// `shmem_put_signal`: the signal is changed after the data are there.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn put_signal<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) -> Result<()> {
    let builtin = match sig_op {
        0 => Builtin::Replace,
        1 => Builtin::Sum,
        _ => {
            let sentence =
                format!("argument sig_op is {sig_op}; it must be SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD");
            return Err(Error::new(Class::Arg, sentence));
        }
    };
    put(call, ctx, dest, source, nelems, pe)?;
    change_signal(call, ctx, sig_addr, signal, builtin, pe)
}

/// `shmem_put_signal_nbi`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn put_signal_nbi<T>(
    call: &Call,
    ctx: shmem_ctx_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) -> Result<()> {
    put_signal(call, ctx, dest, source, nelems, sig_addr, signal, sig_op, pe)
}

fn change_signal(
    call: &Call,
    ctx: shmem_ctx_t,
    sig_addr: *mut u64,
    signal: u64,
    builtin: Builtin,
    pe: c_int,
) -> Result<()> {
    let shmem = shmem()?;
    let remote = shmem.remote(call, ctx, ("sig_addr", sig_addr.cast()), pe)?;
    let items = ((&raw const signal).cast(), std::ptr::null_mut());
    shmem.engine.change_word(&shmem.symmetric, remote, (Basic::Uint64, builtin), items)
}

/// `shmem_signal_add`.
pub fn signal_add(call: &Call, ctx: shmem_ctx_t, sig_addr: *mut u64, signal: u64, pe: c_int) -> Result<()> {
    change_signal(call, ctx, sig_addr, signal, Builtin::Sum, pe)
}

/// `shmem_signal_set`.
pub fn signal_set(call: &Call, ctx: shmem_ctx_t, sig_addr: *mut u64, signal: u64, pe: c_int) -> Result<()> {
    change_signal(call, ctx, sig_addr, signal, Builtin::Replace, pe)
}

/// `shmem_signal_fetch`: of this PE.
pub fn signal_fetch(call: &Call, sig_addr: *const u64) -> Result<u64> {
    let me = shmem()?.symmetric.rank() as c_int;
    super::atomic::atomic_fetch(call, SHMEM_CTX_DEFAULT, sig_addr, me)
}
