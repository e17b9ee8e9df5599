//! Operations of all ranks, of a group, or of a domain: barriers, broadcasts, reductions in place.

use super::argument_checks::{not_negative, not_null, of_host};
use super::group_of_c::GroupOfC;
use super::processor_groups::{communicator, rank_of_absolute};
use super::world_of_armci::{all, world};
use crate::common::entry::Call;
use crate::objects::{Comm, Op};
use serried_engine::collective::{Data, Operation, Root};
use serried_engine::datatype::{Basic, Datatype};
use serried_engine::reduce::Builtin;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::Arc;

/// `SCOPE_ALL`, `SCOPE_NODE`, `SCOPE_MASTERS`.
const ALL: c_int = 0;
const NODE: c_int = 1;
const MASTERS: c_int = 2;

/// Elements of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Where they are.
    pub x: *mut c_void,
    /// How many.
    pub n: c_int,
    /// `ARMCI_INT` …
    pub kind: c_int,
}

fn basic(kind: c_int) -> Result<Basic> {
    match kind {
        0 => Ok(Basic::Int32),
        1 | 2 => Ok(Basic::Int64),
        3 => Ok(Basic::Float32),
        4 => Ok(Basic::Float64),
        _ => {
            let sentence =
                format!("argument type is {kind}; the types are ARMCI_INT (0) to ARMCI_DOUBLE (4)");
            Err(Error::new(Class::Type, sentence))
        }
    }
}

/// Whether an operation of a scope is one of all ranks of the group, where `world` is that of all; else it is one of the
/// calling rank alone, for all ranks are one domain, or each is one.
///
/// # Errors
/// `Arg` for no scope.
fn is_of_all(scope: c_int) -> Result<bool> {
    let together = world(|world| world.domains.share_memory())?;
    match scope {
        ALL => Ok(true),
        NODE => Ok(together),
        MASTERS => Ok(!together),
        _ => {
            let sentence = format!(
                "argument scope is {scope}; the scopes are SCOPE_ALL (0), SCOPE_NODE (1) and SCOPE_MASTERS (2)"
            );
            Err(Error::new(Class::Arg, sentence))
        }
    }
}

/// `armci_msg_barrier`.
pub fn barrier(_: &Call) -> Result<()> {
    let (engine, comm) = all()?;
    engine.run_collective(&comm, &Operation::Barrier)
}

/// `armci_msg_group_barrier`.
///
/// # Safety
/// The group is null or one of ARMCI's.
pub unsafe fn group_barrier(call: &Call, group: *const GroupOfC) -> Result<()> {
    // SAFETY: by the caller.
    let comm = unsafe { communicator(call, group)? };
    all()?.0.run_collective(comm, &Operation::Barrier)
}

/// `armci_msg_bcast` and its kin.
///
/// # Safety
/// The buffer can be read and written for `len` bytes.
pub unsafe fn broadcast(_: &Call, scope: c_int, buffer: *mut c_void, len: c_int, root: c_int) -> Result<()> {
    let root = world(|world| world.check_rank("root", root))??;
    let comm = all()?.1;
    // SAFETY: by the caller.
    unsafe { broadcast_in(scope, (buffer, len), root, &comm) }
}

/// `armci_msg_group_bcast_scope`: the root is an absolute rank.
///
/// # Safety
/// As [`broadcast`] and [`group_barrier`].
pub unsafe fn group_broadcast(
    call: &Call,
    scope: c_int,
    data: (*mut c_void, c_int),
    root: c_int,
    group: *const GroupOfC,
) -> Result<()> {
    // SAFETY: by the caller.
    unsafe { broadcast_in(scope, data, rank_of_absolute(group, root)?, communicator(call, group)?) }
}

/// # Safety
/// As [`broadcast`].
unsafe fn broadcast_in(
    scope: c_int,
    (buffer, len): (*mut c_void, c_int),
    root: u32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let bytes = not_negative("len", len)?;
    if bytes == 0 || !is_of_all(scope)? {
        return Ok(());
    }
    of_host("buffer", buffer)?;
    let data = Data::new(buffer.cast(), 0, bytes as i64, Datatype::shared(Basic::Byte))?;
    all()?.0.run_collective(comm, &Operation::Broadcast { root: Root::Rank(root), data })
}

/// How elements are combined, and whether by their absolute values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Combined {
    by: Builtin,
    absolute: bool,
}

impl Combined {
    /// The operation that a word begins with.
    fn parse(word: &str) -> Option<Combined> {
        const WORDS: [(&str, Builtin); 15] = [
            ("+", Builtin::Sum),
            ("*", Builtin::Product),
            ("max", Builtin::Max),
            ("min", Builtin::Min),
            ("absmax", Builtin::Max),
            ("absmin", Builtin::Min),
            ("&&", Builtin::LogicalAnd),
            ("land", Builtin::LogicalAnd),
            ("||", Builtin::LogicalOr),
            ("lor", Builtin::LogicalOr),
            ("&", Builtin::BitAnd),
            ("band", Builtin::BitAnd),
            ("|", Builtin::BitOr),
            ("bor", Builtin::BitOr),
            ("or", Builtin::BitOr),
        ];
        let (_, by) = *WORDS.iter().find(|(begin, _)| word.starts_with(begin))?;
        Some(Combined { by, absolute: word.starts_with("abs") })
    }

    /// # Safety
    /// The word is null or a string.
    unsafe fn read(word: *const c_char) -> Result<Combined> {
        not_null("op", word)?;
        // SAFETY: by the caller.
        let word = unsafe { CStr::from_ptr(word) }.to_string_lossy();
        Combined::parse(&word).ok_or_else(|| {
            let known = "+ * max min absmax absmin or && land || lor & band | bor";
            Error::new(Class::Op, format!("argument op is \"{word}\"; the operations are {known}"))
        })
    }
}

/// Makes elements what they are without their sign.
///
/// # Safety
/// There are so many.
unsafe fn make_absolute(basic: Basic, address: *mut u8, count: usize) {
    macro_rules! each {
        ($number:ty, $absolute:expr) => {
            for index in 0..count {
                let element = address.cast::<$number>().wrapping_add(index);
                // SAFETY: by the caller.
                unsafe { element.write_unaligned($absolute(element.read_unaligned())) };
            }
        };
    }
    match basic {
        Basic::Int32 => each!(i32, i32::wrapping_abs),
        Basic::Int64 => each!(i64, i64::wrapping_abs),
        Basic::Float32 => each!(f32, f32::abs),
        _ => each!(f64, f64::abs),
    }
}

/// `armci_msg_gop_scope` and its kin.
///
/// # Safety
/// The elements can be read and written; `op` is null or a string.
pub unsafe fn reduce(_: &Call, scope: c_int, elements: Elements, op: *const c_char) -> Result<()> {
    let comm = all()?.1;
    // SAFETY: by the caller.
    unsafe { reduce_in(scope, elements, op, &comm, None) }
}

/// `armci_msg_reduce`: rank 0 alone gets the result.
///
/// # Safety
/// As [`reduce`].
pub unsafe fn reduce_to_first(_: &Call, scope: c_int, elements: Elements, op: *const c_char) -> Result<()> {
    let comm = all()?.1;
    // SAFETY: by the caller.
    unsafe { reduce_in(scope, elements, op, &comm, Some(0)) }
}

/// `armci_msg_group_gop_scope` and its kin.
///
/// # Safety
/// As [`reduce`] and [`group_barrier`].
pub unsafe fn group_reduce(
    call: &Call,
    scope: c_int,
    elements: Elements,
    op: *const c_char,
    group: *const GroupOfC,
) -> Result<()> {
    // SAFETY: by the caller.
    unsafe { reduce_in(scope, elements, op, communicator(call, group)?, None) }
}

/// # Safety
/// As [`reduce`].
unsafe fn reduce_in(
    scope: c_int,
    Elements { x, n, kind }: Elements,
    op: *const c_char,
    comm: &Arc<Comm>,
    root: Option<u32>,
) -> Result<()> {
    // SAFETY: by the caller.
    let combined = unsafe { Combined::read(op)? };
    let (basic, count) = (basic(kind)?, not_negative("n", n)?);
    if count == 0 {
        return Ok(());
    }
    of_host("x", x)?;
    if combined.absolute {
        // SAFETY: by the caller.
        unsafe { make_absolute(basic, x.cast(), count as usize) };
    }
    if !is_of_all(scope)? {
        return Ok(());
    }
    let data = Data::new(x.cast(), 0, count as i64, Datatype::shared(basic))?;
    let operator = Arc::new(Op::builtin(combined.by));
    let operator = (&operator).into();
    let operation = match root {
        None => Operation::Allreduce { send: None, receive: data, operator },
        Some(root) if root == comm.rank => {
            Operation::Reduce { root: Root::Rank(root), send: None, receive: Some(data), operator }
        }
        Some(root) => Operation::Reduce { root: Root::Rank(root), send: Some(data), receive: None, operator },
    };
    all()?.0.run_collective(comm, &operation)
}

/// `armci_msg_sel_scope`: all get the bytes of the rank whose value, at their beginning, is the highest or lowest; of equal
/// ones, of the lowest rank. Ranks that do not contribute do not count; if none does, nothing changes.
///
/// # Safety
/// `x` can be read and written for `n` bytes; `op` is null or a string.
pub unsafe fn select(
    _: &Call,
    scope: c_int,
    Elements { x, n, kind }: Elements,
    op: *const c_char,
    contributes: bool,
) -> Result<()> {
    // SAFETY: by the caller.
    let combined = unsafe { Combined::read(op)? };
    let (basic, bytes) = (basic(kind)?, not_negative("n", n)? as usize);
    let is_higher = match combined {
        Combined { by: Builtin::Max, absolute: false } => true,
        Combined { by: Builtin::Min, absolute: false } => false,
        _ => return Err(Error::new(Class::Op, "argument op is neither \"max\" nor \"min\"")),
    };
    if bytes < basic.size() as usize {
        let sentence = format!("argument n is {n}; the value at the beginning has {} bytes", basic.size());
        return Err(Error::new(Class::Count, sentence));
    }
    of_host("x", x)?;
    if !is_of_all(scope)? {
        return Ok(());
    }
    let (engine, comm) = all()?;
    let mut blocks = vec![0u8; (bytes + 1) * comm.size() as usize];
    let mut mine = vec![u8::from(contributes)];
    // SAFETY: by the caller.
    mine.extend_from_slice(unsafe { std::slice::from_raw_parts(x.cast::<u8>(), bytes) });
    let data = |address: *mut u8| Data::new(address, 0, bytes as i64 + 1, Datatype::shared(Basic::Byte));
    let (send, receive) = (Some(data(mine.as_mut_ptr())?), data(blocks.as_mut_ptr())?);
    engine.run_collective(&comm, &Operation::Allgather { send, receive })?;
    let candidates = blocks.chunks_exact(bytes + 1).filter(|block| block[0] != 0).map(|block| &block[1..]);
    let best =
        candidates.reduce(|best, next| if is_better(basic, is_higher, next, best) { next } else { best });
    if let Some(best) = best {
        // SAFETY: by the caller.
        unsafe { std::ptr::copy_nonoverlapping(best.as_ptr(), x.cast(), bytes) };
    }
    Ok(())
}

/// Whether the value at the beginning of some bytes is higher, or lower, than that of others.
fn is_better(basic: Basic, is_higher: bool, one: &[u8], other: &[u8]) -> bool {
    macro_rules! compare {
        ($number:ty) => {{
            let value = |bytes: &[u8]| {
                let bytes = bytes[..size_of::<$number>()].try_into().expect("as long as a value");
                <$number>::from_ne_bytes(bytes)
            };
            if is_higher {
                value(one) > value(other)
            } else {
                value(one) < value(other)
            }
        }};
    }
    match basic {
        Basic::Int32 => compare!(i32),
        Basic::Int64 => compare!(i64),
        Basic::Float32 => compare!(f32),
        _ => compare!(f64),
    }
}

/// `armci_msg_bintree`: a binary tree of all ranks whose root is rank 0; -1 where there is nobody.
///
/// # Safety
/// The four can be written.
pub unsafe fn tree(_: &Call, scope: c_int, [root, up, left, right]: [*mut c_int; 4]) -> Result<()> {
    let of_all = is_of_all(scope)?;
    let (me, size) = world(|world| (i64::from(world.comm.rank), i64::from(world.comm.size())))?;
    let child = |number: i64| if of_all && number < size { number } else { -1 };
    let parent = if of_all && me > 0 { (me - 1) / 2 } else { -1 };
    let first = if of_all { 0 } else { me };
    let values = [(root, first), (up, parent), (left, child(2 * me + 1)), (right, child(2 * me + 2))];
    for (place, value) in values {
        not_null("of the tree", place)?;
        // SAFETY: by the caller.
        unsafe { place.write(value as c_int) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_known_by_how_they_begin() {
        let parsed = |word: &str| Combined::parse(word).map(|combined| (combined.by, combined.absolute));
        assert_eq!(parsed("+"), Some((Builtin::Sum, false)));
        assert_eq!(parsed("absmax"), Some((Builtin::Max, true)));
        assert_eq!(parsed("&&"), Some((Builtin::LogicalAnd, false)));
        assert_eq!(parsed("&"), Some((Builtin::BitAnd, false)));
        assert_eq!(parsed("or "), Some((Builtin::BitOr, false)));
        assert_eq!(parsed("lor"), Some((Builtin::LogicalOr, false)));
        assert_eq!((parsed("xor"), parsed("")), (None, None));
    }

    #[test]
    fn values_are_compared_by_their_type() {
        let (low, high) = ((-3.5_f64).to_ne_bytes(), 2.0_f64.to_ne_bytes());
        assert!(
            is_better(Basic::Float64, true, &high, &low) && is_better(Basic::Float64, false, &low, &high)
        );
        let (low, high) = ((-1_i32).to_ne_bytes(), 1_i32.to_ne_bytes());
        assert!(is_better(Basic::Int32, true, &high, &low) && !is_better(Basic::Int32, true, &low, &low));
    }

    #[test]
    fn signs_are_taken_away() {
        let mut numbers = [-1.5_f32, 2.0];
        // SAFETY: two singles.
        unsafe { make_absolute(Basic::Float32, numbers.as_mut_ptr().cast(), 2) };
        assert_eq!(numbers, [1.5, 2.0]);
    }
}
