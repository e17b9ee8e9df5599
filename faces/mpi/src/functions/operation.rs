//! Reduction operations (MPI-5.0 §6.9): making and freeing them, and applying
//! one on the spot.

use crate::abi::Handle;
use crate::arguments::{is_in_place, not_null, uncommitted, OutValue};
use crate::callbacks::{ExtraState, UserFunction, UserFunctionWide, UserFunctionWithState};
use crate::common::buffers;
use crate::handle::DATATYPES;
use crate::handle_arguments::{InOut, Out};
use crate::objects::{Datatype, Op};
use serried_engine::datatype::Use;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `MPI_Op_create`
pub fn op_create(user_fn: *const c_void, commute: c_int, op: Out<Op>) -> Result<()> {
    not_null("user_fn", user_fn)?;
    // SAFETY: the program passes a function of this type.
    let function = unsafe { std::mem::transmute::<*const c_void, UserFunction>(user_fn) };
    let apply = move |input: *const u8, inout: *mut u8, count: u64, datatype: &Arc<Datatype>| {
        with_handle(datatype, |mut handle| {
            for (offset, length) in pieces(count, datatype.extent()) {
                let (input, inout) = (input.wrapping_offset(offset), inout.wrapping_offset(offset));
                let mut length = length;
                // SAFETY: the engine passes `count` items at both addresses,
                // and a piece lies within them; MPI says that the function
                // reads `input` only.
                unsafe { function(input.cast_mut().cast(), inout.cast(), &mut length, &mut handle) };
            }
        });
    };
    op.put(Arc::new(Op::user(Box::new(apply), commute != 0)))
}

/// `MPI_Op_create_c`
pub fn op_create_c(user_fn: *const c_void, commute: c_int, op: Out<Op>) -> Result<()> {
    not_null("user_fn", user_fn)?;
    // SAFETY: the program passes a function of this type.
    let function = unsafe { std::mem::transmute::<*const c_void, UserFunctionWide>(user_fn) };
    let apply = move |input: *const u8, inout: *mut u8, count: u64, datatype: &Arc<Datatype>| {
        with_handle(datatype, |mut handle| {
            let mut count = count as i64;
            // SAFETY: the engine passes `count` items at both addresses; MPI
            // says that the function reads `input` only.
            unsafe { function(input.cast_mut().cast(), inout.cast(), &mut count, &mut handle) };
        });
    };
    op.put(Arc::new(Op::user(Box::new(apply), commute != 0)))
}

/// `MPIX_Op_create_x`: as MPICH has it, for callbacks that need a word of their own.
pub fn mpix_op_create_x(
    user_fn: *const c_void,
    destructor: *const c_void,
    commute: c_int,
    extra_state: *mut c_void,
    op: Out<Op>,
) -> Result<()> {
    not_null("user_fn_x", user_fn)?;
    // SAFETY: the program passes functions of these types.
    let (function, state) = unsafe {
        let function = std::mem::transmute::<*const c_void, UserFunctionWithState>(user_fn);
        (function, ExtraState::new(extra_state, destructor))
    };
    let apply = move |input: *const u8, inout: *mut u8, count: u64, datatype: &Arc<Datatype>| {
        with_handle(datatype, |handle| {
            // SAFETY: the engine passes `count` items at both addresses; MPI
            // says that the function reads `input` only.
            unsafe { function(input.cast_mut().cast(), inout.cast(), count as i64, handle, state.get()) };
        });
    };
    op.put(Arc::new(Op::user(Box::new(apply), commute != 0)))
}

/// `MPI_Op_free`
pub fn op_free(op: InOut<Op>) -> Result<()> {
    op.take().map(drop)
}

/// `MPI_Op_commutative`
pub fn op_commutative(op: &Arc<Op>, commute: OutValue<c_int>) -> Result<()> {
    commute.set_flag(op.is_commutative());
    Ok(())
}

/// `MPI_Reduce_local`
pub fn reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: i64,
    datatype: &Arc<Datatype>,
    op: &Arc<Op>,
) -> Result<()> {
    if !datatype.is_committed() {
        return Err(uncommitted("datatype", datatype));
    }
    op.check(datatype)?;
    if count == 0 {
        return Ok(());
    }
    check_buffers(inbuf, inoutbuf, datatype)?;
    // SAFETY: as below.
    if unsafe { op.apply_on_device(inbuf.cast(), inoutbuf.cast(), count as u64, datatype)? } {
        return Ok(());
    }
    let inbuf = buffers::host(inbuf.cast_mut().cast(), count as u64, datatype, Use::Read)?;
    let inoutbuf = buffers::host(inoutbuf.cast(), count as u64, datatype, Use::Change)?;
    // SAFETY: the program passes `count` items in both buffers, which do not
    // overlap by MPI's rule.
    unsafe { op.apply(inbuf, inoutbuf, count as u64, datatype) };
    Ok(())
}

/// The two buffers of [`reduce_local`] are two. (A null pointer may be
/// `MPI_BOTTOM`, which goes with derived datatypes.)
fn check_buffers(inbuf: *const c_void, inoutbuf: *mut c_void, datatype: &Datatype) -> Result<()> {
    let wrong = |sentence: String| Err(Error::new(Class::Buffer, sentence));
    for (name, buffer) in [("inbuf", inbuf), ("inoutbuf", inoutbuf.cast_const())] {
        if is_in_place(buffer) {
            return wrong(format!("argument {name} is MPI_IN_PLACE, which MPI_Reduce_local does not take"));
        }
        if buffer.is_null() && datatype.is_predefined() {
            return wrong(format!("argument {name} is a null pointer, but the count is not 0"));
        }
    }
    if inbuf == inoutbuf.cast_const() && !inbuf.is_null() {
        return wrong("arguments inbuf and inoutbuf are the same address: they must not overlap".into());
    }
    Ok(())
}

/// Calls `body` with the handle that the program knows the datatype by; with
/// one made for this time where the program has freed it since.
fn with_handle(datatype: &Arc<Datatype>, body: impl FnOnce(Handle)) {
    if let Some(handle) = DATATYPES.handle_of(datatype) {
        return body(handle);
    }
    let handle = DATATYPES.put(datatype.clone()).expect("there is room for one more datatype");
    body(handle);
    // The function may have freed it, against MPI's rules: then it is gone.
    let _ = DATATYPES.take("datatype", handle);
}

/// `count` items in pieces that an `int` can count: the offset of each in
/// bytes and its number of items.
fn pieces(count: u64, extent: i64) -> impl Iterator<Item = (isize, c_int)> {
    const LARGEST: u64 = c_int::MAX as u64;
    (0..count.div_ceil(LARGEST)).map(move |piece| {
        let first = piece * LARGEST;
        ((first as i64 * extent) as isize, (count - first).min(LARGEST) as c_int)
    })
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn many_items_come_in_pieces_that_an_int_can_count() {
        assert_eq!(pieces(0, 8).count(), 0);
        assert_eq!(pieces(7, 8).collect::<Vec<_>>(), [(0, 7)]);
        let largest = i32::MAX as i64;
        let three: Vec<_> = pieces(2 * largest as u64 + 5, -4).collect();
        assert_eq!(
            three,
            [(0, i32::MAX), ((largest * -4) as isize, i32::MAX), ((2 * largest * -4) as isize, 5)]
        );
    }
}
