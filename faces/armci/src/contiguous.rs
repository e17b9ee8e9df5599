//! Puts, gets and accumulates of one piece, and read-modify-writes of one word.

use super::argument_checks::{not_negative, not_null, of_host};
use super::world_of_armci::at;
use crate::common::entry::Call;
use serried_engine::datatype::Basic;
use serried_engine::onesided::{Pieces, Strided};
use serried_engine::reduce::{Builtin, Factor};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_long, c_void};

/// Types of accumulates (`ARMCI_ACC_INT` …), by their numbers.
const ACCUMULATED: [Basic; 6] = [
    Basic::Int32,
    Basic::Int64,
    Basic::Float32,
    Basic::Float64,
    Basic::ComplexFloat32,
    Basic::ComplexFloat64,
];

/// The type of an accumulate, and its factor unless that is 1.
///
/// # Errors
/// `Type` when there is no such type; `Arg` without a factor.
///
/// # Safety
/// `scale` is null or points to an element of the type.
pub unsafe fn scaled(datatype: c_int, scale: *const c_void) -> Result<(Basic, Option<Factor>)> {
    let basic = usize::try_from(datatype).ok().and_then(|place| ACCUMULATED.get(place)).copied();
    let basic = basic.ok_or_else(|| {
        let sentence =
            format!("argument datatype is {datatype}; the types are ARMCI_ACC_INT (0) to ARMCI_ACC_DCP (5)");
        Error::new(Class::Type, sentence)
    })?;
    not_null("scale", scale)?;
    // SAFETY: by the caller.
    Ok((basic, unsafe { Factor::read(basic, scale.cast())? }))
}

/// One piece, at `here` in this process and at `there` in that of a rank; `None` if it has no bytes.
///
/// # Errors
/// `Count`, `Arg`.
#[inline]
fn piece(here: *const c_void, there: *const c_void, bytes: c_int) -> Result<Option<Strided>> {
    let bytes = not_negative("bytes", bytes)?;
    if bytes == 0 {
        return Ok(None);
    }
    of_host("of the local memory", here)?;
    Ok(Some(Strided::new(here.cast_mut().cast(), there as u64, bytes)))
}

/// `ARMCI_Put`.
///
/// # Safety
/// `src` can be read for `bytes` bytes.
#[inline]
pub unsafe fn put(
    _: &Call,
    src: *const c_void,
    dst: *mut c_void,
    bytes: c_int,
    proc: c_int,
) -> Result<c_int> {
    if let Some(piece) = piece(src, dst, bytes)? {
        // SAFETY: by the caller.
        at(proc, (dst, piece.bytes()), |engine, region| unsafe { engine.put_pieces_to(region, &piece) })?;
    }
    Ok(0)
}

/// `ARMCI_Get`.
///
/// # Safety
/// `dst` can be written for `bytes` bytes.
#[inline]
pub unsafe fn get(
    _: &Call,
    src: *const c_void,
    dst: *mut c_void,
    bytes: c_int,
    proc: c_int,
) -> Result<c_int> {
    if let Some(piece) = piece(dst, src, bytes)? {
        // SAFETY: by the caller.
        at(proc, (src, piece.bytes()), |engine, region| unsafe { engine.get_pieces_from(region, &piece) })?;
    }
    Ok(0)
}

/// `ARMCI_NbGet`.
///
/// # Safety
/// `dst` can be written for `bytes` bytes until it is waited for.
pub unsafe fn get_later(
    _: &Call,
    src: *const c_void,
    dst: *mut c_void,
    bytes: c_int,
    proc: c_int,
) -> Result<c_int> {
    if let Some(piece) = piece(dst, src, bytes)? {
        // SAFETY: by the caller.
        at(proc, (src, piece.bytes()), |engine, region| unsafe { engine.get_pieces_later(region, &piece) })?;
    }
    Ok(0)
}

/// `ARMCI_Acc`.
///
/// # Safety
/// `src` can be read for `bytes` bytes, and `scale` for an element of the type.
pub unsafe fn accumulate(
    _: &Call,
    datatype: c_int,
    scale: *const c_void,
    (src, dst, bytes): (*const c_void, *mut c_void, c_int),
    proc: c_int,
) -> Result<c_int> {
    // SAFETY: by the caller.
    let how = unsafe { scaled(datatype, scale)? };
    if let Some(piece) = piece(src, dst, bytes)? {
        // SAFETY: by the caller.
        at(proc, (dst, piece.bytes()), |engine, region| unsafe {
            engine.add_pieces_to(region, &piece, how)
        })?;
    }
    Ok(0)
}

/// `ARMCI_Copy`: within this process.
///
/// # Safety
/// `src` can be read and `dst` written for `size` bytes.
pub unsafe fn copy(_: &Call, src: *const c_void, dst: *mut c_void, size: c_int) -> Result<()> {
    let bytes = not_negative("size", size)? as usize;
    if bytes > 0 {
        of_host("src", src)?;
        of_host("dst", dst)?;
        // SAFETY: by the caller.
        unsafe { std::ptr::copy(src.cast::<u8>(), dst.cast(), bytes) };
    }
    Ok(())
}

/// Sets a flag at a rank, for whoever polls it there; what was put before is seen before.
///
/// # Errors
/// As [`at`].
pub fn set_flag(flag: *mut c_int, value: c_int, proc: c_int) -> Result<()> {
    let by = (&raw const value).cast();
    at(proc, (flag.cast_const().cast(), 4), |engine, region| {
        engine.order_accesses()?;
        // SAFETY: `value` is such an int.
        unsafe {
            engine.change_element(
                region,
                flag as u64,
                (Basic::Int32, Builtin::Replace),
                (by, std::ptr::null_mut()),
            )
        }
    })
}

/// `ARMCI_Put_flag`.
///
/// # Safety
/// As [`put`].
pub unsafe fn put_flag(
    call: &Call,
    (src, dst, size): (*const c_void, *mut c_void, c_int),
    flag: *mut c_int,
    value: c_int,
    proc: c_int,
) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe { put(call, src, dst, size, proc)? };
    set_flag(flag, value, proc)?;
    Ok(0)
}

/// `ARMCI_Rmw`: `*ploc` gets what the word at `prem` was; `value` is added to it, or it is exchanged with `*ploc`.
///
/// # Safety
/// `ploc` can be read and written for an int or a long, as `op` says.
pub unsafe fn read_modify_write(
    _: &Call,
    op: c_int,
    ploc: *mut c_void,
    prem: *mut c_void,
    (value, proc): (c_int, c_int),
) -> Result<c_int> {
    not_null("ploc", ploc)?;
    let (mut by, mut was) = (c_long::from(value), 0 as c_long);
    let what = match op {
        0 | 2 => Basic::Int32,
        1 | 3 => Basic::Int64,
        _ => {
            let sentence = format!(
                "argument op is {op}; the operations are ARMCI_FETCH_AND_ADD (0) to ARMCI_SWAP_LONG (3)"
            );
            return Err(Error::new(Class::Op, sentence));
        }
    };
    let size = what.size() as usize;
    let (builtin, by_address) = (if op < 2 { Builtin::Sum } else { Builtin::Replace }, &raw mut by);
    // SAFETY: by the caller; both longs have room for the word. On a machine that stores the low byte first, a long
    // begins with the int of the same value.
    unsafe {
        if op >= 2 {
            std::ptr::copy_nonoverlapping(ploc.cast::<u8>(), by_address.cast(), size);
        }
        let words = (by_address.cast_const().cast(), (&raw mut was).cast());
        at(proc, (prem, size as u64), |engine, region| {
            engine.change_element(region, prem as u64, (what, builtin), words)
        })?;
        std::ptr::copy_nonoverlapping((&raw const was).cast::<u8>(), ploc.cast(), size);
    }
    Ok(0)
}

#[cfg(not(target_endian = "little"))]
compile_error!("see `read_modify_write`");
