//! Puts, gets and accumulates of pieces anywhere.

use super::argument_checks::{not_negative, not_null, of_host};
use super::contiguous::scaled;
use super::world_of_armci::at;
use crate::common::entry::Call;
use serried_engine::engine::Engine;
use serried_engine::onesided::{Region, Scattered};
use serried_engine::{Class, Result};
use std::ffi::{c_int, c_void};

/// `armci_giov_t`: pieces of one length.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct VectorOfC {
    src: *const *mut u8,
    dst: *const *mut u8,
    bytes: c_int,
    number: c_int,
}

/// The vectors of a call.
#[derive(Clone, Copy, Debug)]
pub struct Vectors(pub *const VectorOfC, pub c_int);

/// Which side of a vector is remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remote {
    Source,
    Destination,
}

impl Vectors {
    /// # Safety
    /// The arrays are null or as long as ARMCI says.
    unsafe fn each<'a>(
        self,
        remote: Remote,
        mut visit: impl FnMut(Scattered<'a>) -> Result<()>,
    ) -> Result<()> {
        let number = not_negative("len", self.1)? as usize;
        if number == 0 {
            return Ok(());
        }
        not_null("iov", self.0)?;
        // SAFETY: by the caller.
        for vector in unsafe { std::slice::from_raw_parts(self.0, number) } {
            let bytes = not_negative("iov.bytes", vector.bytes)?;
            let number = not_negative("iov.ptr_array_len", vector.number)? as usize;
            if bytes == 0 || number == 0 {
                continue;
            }
            not_null("iov.src_ptr_array", vector.src)?;
            not_null("iov.dst_ptr_array", vector.dst)?;
            // SAFETY: by the caller.
            let (src, dst) = unsafe {
                (
                    std::slice::from_raw_parts(vector.src, number),
                    std::slice::from_raw_parts(vector.dst, number),
                )
            };
            let here = if let Remote::Source = remote { dst } else { src };
            here.iter().try_for_each(|&piece| of_host("of the local pieces", piece))?;
            visit(match remote {
                Remote::Source => Scattered { here: dst, there: src, bytes },
                Remote::Destination => Scattered { here: src, there: dst, bytes },
            })?;
        }
        Ok(())
    }

    /// Does something with the pieces of each vector, all of which lie in memory of a rank.
    ///
    /// # Safety
    /// As [`Vectors::each`].
    unsafe fn with(
        self,
        remote: Remote,
        proc: c_int,
        work: impl Fn(&'static Engine, &Region, &Scattered) -> Result<()>,
    ) -> Result<c_int> {
        let visit = |all: Scattered| {
            let first = all.there[0];
            let bytes = all.bytes.saturating_mul(all.there.len() as u64);
            let done =
                at(proc, (first.cast_const().cast(), bytes), |engine, region| work(engine, region, &all));
            match done {
                Err(error) if error.class() == Class::RmaRange => one_by_one(proc, &all, &work),
                done => done,
            }
        };
        // SAFETY: by the caller.
        unsafe { self.each(remote, visit)? };
        Ok(0)
    }
}

/// The same where the pieces lie in several regions: nothing was done yet, for not all of them lie in that of the first.
#[cold]
fn one_by_one(
    proc: c_int,
    all: &Scattered,
    work: &impl Fn(&'static Engine, &Region, &Scattered) -> Result<()>,
) -> Result<()> {
    let piece = |place: usize| Scattered {
        here: &all.here[place..=place],
        there: &all.there[place..=place],
        bytes: all.bytes,
    };
    let number = all.there.len();
    let nothing = |place: usize| {
        let there = all.there[place];
        at(proc, (there.cast_const().cast(), all.bytes), |_, region| region.check(there as u64, all.bytes))
    };
    (0..number).try_for_each(nothing)?;
    (0..number).try_for_each(|place| {
        let there = all.there[place];
        at(proc, (there.cast_const().cast(), all.bytes), |engine, region| work(engine, region, &piece(place)))
    })
}

/// `ARMCI_PutV`.
///
/// # Safety
/// As [`Vectors::each`]; the pieces can be read.
pub unsafe fn put(_: &Call, vectors: Vectors, proc: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe {
        vectors.with(Remote::Destination, proc, |engine, region, pieces| engine.put_pieces_to(region, pieces))
    }
}

/// `ARMCI_GetV`.
///
/// # Safety
/// As [`Vectors::each`]; the pieces can be written.
pub unsafe fn get(_: &Call, vectors: Vectors, proc: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe {
        vectors.with(Remote::Source, proc, |engine, region, pieces| engine.get_pieces_from(region, pieces))
    }
}

/// `ARMCI_NbGetV`.
///
/// # Safety
/// As [`Vectors::each`]; the pieces can be written until they are waited for.
pub unsafe fn get_later(_: &Call, vectors: Vectors, proc: c_int) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe {
        vectors.with(Remote::Source, proc, |engine, region, pieces| engine.get_pieces_later(region, pieces))
    }
}

/// `ARMCI_AccV`: where pieces have the same destination, all are added.
///
/// # Safety
/// As [`put`]; `scale` points to an element of the type.
pub unsafe fn accumulate(
    _: &Call,
    (datatype, scale): (c_int, *const c_void),
    vectors: Vectors,
    proc: c_int,
) -> Result<c_int> {
    // SAFETY: by the caller.
    unsafe {
        let how = scaled(datatype, scale)?;
        vectors.with(Remote::Destination, proc, |engine, region, pieces| {
            engine.add_pieces_to(region, pieces, how)
        })
    }
}
