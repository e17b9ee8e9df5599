//! Puts, gets and accumulates of pieces at regular distances.

use super::argument_checks::{not_negative, not_null, of_host};
use super::contiguous::{scaled, set_flag};
use super::world_of_armci::at;
use crate::common::entry::Call;
use serried_engine::onesided::{Pieces, Strided, MOST_LEVELS};
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_void};

/// Addresses and distances of one side.
#[derive(Clone, Copy, Debug)]
pub struct Side(pub *const c_void, pub *const c_int);

/// Counts and levels.
#[derive(Clone, Copy, Debug)]
pub struct Shape(pub *const c_int, pub c_int);

/// The counts of a shape and the distances of a side.
///
/// # Errors
/// `Arg`, `Count`.
///
/// # Safety
/// The arrays are null or as long as ARMCI says: one count more than there are levels.
unsafe fn lists<'a>(name: &str, strides: *const c_int, shape: Shape) -> Result<(&'a [c_int], &'a [c_int])> {
    let Shape(count, levels) = shape;
    let levels = usize::try_from(levels).ok().filter(|&levels| levels <= MOST_LEVELS).ok_or_else(|| {
        Error::new(Class::Arg, format!("argument stride_levels is {levels}; it can be 0 to {MOST_LEVELS}"))
    })?;
    not_null("count", count)?;
    // SAFETY: by the caller.
    let counts = unsafe { std::slice::from_raw_parts(count, levels + 1) };
    for &count in counts {
        not_negative("count (an element of it)", count)?;
    }
    if levels == 0 {
        return Ok((counts, &[]));
    }
    not_null(name, strides)?;
    // SAFETY: by the caller.
    Ok((counts, unsafe { std::slice::from_raw_parts(strides, levels) }))
}

/// The pieces; `None` if there are none.
///
/// # Errors
/// `Arg`, `Count`.
///
/// # Safety
/// As [`lists`].
pub unsafe fn pieces(here: Side, there: Side, shape: Shape) -> Result<Option<Strided>> {
    // SAFETY: by the caller.
    let ((counts, here_by), (_, there_by)) = unsafe {
        (lists("of the local strides", here.1, shape)?, lists("of the remote strides", there.1, shape)?)
    };
    let mut pieces = Strided::new(here.0.cast_mut().cast(), there.0 as u64, counts[0] as u64);
    for (level, &count) in counts[1..].iter().enumerate() {
        pieces = pieces.repeat(count as u64, i64::from(here_by[level]), i64::from(there_by[level]))?;
    }
    if pieces.bytes() == 0 {
        return Ok(None);
    }
    of_host("of the local memory", here.0)?;
    Ok(Some(pieces))
}

/// Bytes of all pieces together.
#[inline]
fn all_bytes(pieces: &Strided) -> u64 {
    pieces.bytes().saturating_mul(pieces.number())
}

/// `ARMCI_PutS`.
///
/// # Safety
/// As [`lists`]; the pieces can be read.
pub unsafe fn put(_: &Call, src: Side, dst: Side, shape: Shape, proc: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    if let Some(pieces) = unsafe { pieces(src, dst, shape)? } {
        // SAFETY: by the caller.
        at(proc, (dst.0, all_bytes(&pieces)), |engine, region| unsafe {
            engine.put_pieces_to(region, &pieces)
        })?;
    }
    Ok(0)
}

/// `ARMCI_GetS`.
///
/// # Safety
/// As [`lists`]; the pieces can be written.
pub unsafe fn get(_: &Call, src: Side, dst: Side, shape: Shape, proc: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    if let Some(pieces) = unsafe { pieces(dst, src, shape)? } {
        // SAFETY: by the caller.
        at(proc, (src.0, all_bytes(&pieces)), |engine, region| unsafe {
            engine.get_pieces_from(region, &pieces)
        })?;
    }
    Ok(0)
}

/// `ARMCI_NbGetS`.
///
/// # Safety
/// As [`lists`]; the pieces can be written until they are waited for.
pub unsafe fn get_later(_: &Call, src: Side, dst: Side, shape: Shape, proc: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    if let Some(pieces) = unsafe { pieces(dst, src, shape)? } {
        // SAFETY: by the caller.
        at(proc, (src.0, all_bytes(&pieces)), |engine, region| unsafe {
            engine.get_pieces_later(region, &pieces)
        })?;
    }
    Ok(0)
}

/// `ARMCI_AccS`.
///
/// # Safety
/// As [`put`]; `scale` points to an element of the type.
pub unsafe fn accumulate(
    _: &Call,
    (datatype, scale): (c_int, *const c_void),
    src: Side,
    dst: Side,
    (shape, proc): (Shape, c_int),
) -> Result<c_int> {
    // SAFETY: by the caller.
    let (how, pieces) = unsafe { (scaled(datatype, scale)?, pieces(src, dst, shape)?) };
    if let Some(pieces) = pieces {
        // SAFETY: by the caller.
        at(proc, (dst.0, all_bytes(&pieces)), |engine, region| unsafe {
            engine.add_pieces_to(region, &pieces, how)
        })?;
    }
    Ok(0)
}

/// `ARMCI_PutS_flag`.
///
/// # Safety
/// As [`put`].
pub unsafe fn put_flag(
    call: &Call,
    (src, dst): (Side, Side),
    (shape, proc): (Shape, c_int),
    flag: *mut c_int,
    value: c_int,
) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe { put(call, src, dst, shape, proc)? };
    set_flag(flag, value, proc)?;
    Ok(0)
}

/// `armci_write_strided`: packs pieces of this process into a buffer.
///
/// # Safety
/// As [`lists`]; the pieces can be read, and the buffer written for as many bytes.
pub unsafe fn pack(_: &Call, from: Side, shape: Shape, buffer: *mut u8) -> Result<()> {
    // SAFETY: by the caller.
    let Some(pieces) = (unsafe { pieces(from, from, shape)? }) else { return Ok(()) };
    not_null("buf", buffer)?;
    let (mut at, bytes) = (buffer, pieces.bytes() as usize);
    pieces.each(|piece, _| {
        // SAFETY: by the caller.
        unsafe { std::ptr::copy_nonoverlapping(piece.cast_const(), at, bytes) };
        at = at.wrapping_add(bytes);
        Ok(())
    })
}

/// `armci_read_strided`: unpacks pieces of this process from a buffer.
///
/// # Safety
/// As [`lists`]; the pieces can be written, and the buffer read for as many bytes.
pub unsafe fn unpack(_: &Call, to: Side, shape: Shape, buffer: *const u8) -> Result<()> {
    // SAFETY: by the caller.
    let Some(pieces) = (unsafe { pieces(to, to, shape)? }) else { return Ok(()) };
    not_null("buf", buffer)?;
    let (mut at, bytes) = (buffer, pieces.bytes() as usize);
    pieces.each(|piece, _| {
        // SAFETY: by the caller.
        unsafe { std::ptr::copy_nonoverlapping(at, piece, bytes) };
        at = at.wrapping_add(bytes);
        Ok(())
    })
}
