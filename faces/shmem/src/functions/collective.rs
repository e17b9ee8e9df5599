//! Collectives of teams (OpenSHMEM 1.6 chapter 9.11).

use crate::common::entry::Call;
use crate::common::page;
use crate::shmem::element::Element;
use crate::shmem::handles::{no_pe, shmem_team_t, team};
use crate::shmem::state::shmem;
use serried_engine::collective::{Blocks, Data, Operation, Root};
use serried_engine::datatype::{Basic, Datatype};
use serried_engine::observe::page::NONE;
use serried_engine::reduce::{Builtin, Operator};
use serried_engine::world::Communicator;
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::ptr;
use std::sync::{Arc, LazyLock};

type Members = Arc<Communicator>;

fn members(call: &Call, handle: shmem_team_t) -> Result<&Members> {
    Ok(&team(call, "team", handle)?.communicator)
}

fn run(members: &Members, operation: &Operation) -> Result<()> {
    page::own().about(members.context(), NONE, NONE, 0);
    shmem()?.engine.run_collective(members, operation)
}

/// So many elements at an address.
fn data<T: Element>(name: &str, address: *const T, count: usize) -> Result<Data> {
    if address.is_null() && count > 0 {
        return Err(Error::new(
            Class::Buffer,
            format!("argument {name} is a null pointer, but there are elements"),
        ));
    }
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Data::new(address.cast_mut().cast(), 0, count, Datatype::shared(T::BASIC))
}

/// The same with gaps: elements are `stride` elements apart.
fn strided<T: Element>(name: &str, address: *const T, stride: isize, count: usize) -> Result<Data> {
    if stride < 1 {
        let sentence = format!("the stride of argument {name} is {stride}; it must be positive");
        return Err(Error::new(Class::Arg, sentence));
    }
    let dense = data(name, address, count)?;
    let extent = i64::try_from(size_of::<T>()).unwrap_or(1).saturating_mul(stride as i64);
    let apart = Datatype::resized(0, extent, Datatype::shared(T::BASIC))?;
    Data::new(dense.address, 0, dense.count as i64, &apart)
}

/// `shmem_barrier_all`.
#[inline]
pub fn barrier_all(_call: &Call) -> Result<()> {
    let shmem = shmem()?;
    shmem.engine.quiet()?;
    run(shmem.symmetric.world(), &Operation::Barrier)
}

/// `shmem_sync_all`.
#[inline]
pub fn sync_all(_call: &Call) -> Result<()> {
    run(shmem()?.symmetric.world(), &Operation::Barrier)
}

/// `shmem_team_sync`.
#[inline]
pub fn team_sync(call: &Call, team: shmem_team_t) -> Result<()> {
    run(members(call, team)?, &Operation::Barrier)
}

/// `shmem_broadcast`: also to the root's own `dest`.
pub fn broadcast<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
) -> Result<()> {
    let members = members(call, team)?;
    broadcast_among(members, dest, source, nelems, root)?;
    if members.rank as c_int == root && nelems > 0 {
        // SAFETY: the program's arrays of so many elements, checked above.
        unsafe { ptr::copy(source, dest, nelems) };
    }
    Ok(())
}

/// To all but the root.
pub fn broadcast_among<T: Element>(
    members: &Members,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: c_int,
) -> Result<()> {
    let Some(root) = u32::try_from(root).ok().filter(|&root| root < members.size()) else {
        return Err(no_pe("PE_root", root, members.size()));
    };
    let (there, here) = (data("dest", dest, nelems)?, data("source", source, nelems)?);
    let data = if root == members.rank { here } else { there };
    run(members, &Operation::Broadcast { root: Root::Rank(root), data })
}

/// `shmem_collect`: each gives as many elements as it likes.
pub fn collect<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    collect_among(members(call, team)?, dest, source, nelems)
}

/// The same of any members.
pub fn collect_among<T: Element>(
    members: &Members,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    let send = data("source", source, nelems)?;
    let mut counts = vec![0u64; members.size() as usize];
    let mine = [nelems as u64];
    let word =
        |address: *const u64| Data::new(address.cast_mut().cast(), 0, 1, Datatype::shared(Basic::Uint64));
    let gather =
        Operation::Allgather { send: Some(word(mine.as_ptr())?), receive: word(counts.as_mut_ptr())? };
    run(members, &gather)?;
    let mut before = 0usize;
    let blocks = counts.iter().map(|&count| {
        let block = data("dest", dest.wrapping_add(before), count as usize);
        before += count as usize;
        block
    });
    let receive = blocks.collect::<Result<Blocks>>()?;
    run(members, &Operation::Allgatherv { send: Some(send), receive })
}

/// `shmem_fcollect`: each gives as many as the others.
pub fn fcollect<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    fcollect_among(members(call, team)?, dest, source, nelems)
}

/// The same of any members.
pub fn fcollect_among<T: Element>(
    members: &Members,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    let (send, receive) = (Some(data("source", source, nelems)?), data("dest", dest, nelems)?);
    run(members, &Operation::Allgather { send, receive })
}

/// `shmem_alltoall`.
pub fn alltoall<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    alltoall_among(members(call, team)?, dest, source, nelems)
}

/// The same of any members.
pub fn alltoall_among<T: Element>(
    members: &Members,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    let (send, receive) = (Some(data("source", source, nelems)?), data("dest", dest, nelems)?);
    run(members, &Operation::Alltoall { send, receive })
}

/// `shmem_alltoalls`.
#[allow(clippy::too_many_arguments)] // those of the standard
pub fn alltoalls<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
) -> Result<()> {
    alltoalls_among(members(call, team)?, dest, source, (dst, sst), nelems)
}

/// The same of any members.
pub fn alltoalls_among<T: Element>(
    members: &Members,
    dest: *mut T,
    source: *const T,
    (dst, sst): (isize, isize),
    nelems: usize,
) -> Result<()> {
    let send = Some(strided("source", source, sst, nelems)?);
    let receive = strided("dest", dest, dst, nelems)?;
    run(members, &Operation::Alltoall { send, receive })
}

/// The operators of reductions.
static OPERATORS: LazyLock<[(Builtin, Arc<Operator>); 7]> = LazyLock::new(|| {
    use Builtin::*;
    [Max, Min, Sum, Product, BitAnd, BitOr, BitXor].map(|one| (one, Arc::new(Operator::builtin(one))))
});

fn operator(builtin: Builtin) -> Result<&'static Arc<Operator>> {
    let found = OPERATORS.iter().find(|(one, _)| *one == builtin).map(|(_, operator)| operator);
    found.ok_or_else(|| Error::new(Class::Intern, "no operator of reductions"))
}

/// What is contributed: in place if both arrays are one.
fn contribution<T: Element>(dest: *mut T, source: *const T, count: usize) -> Result<Option<Data>> {
    match ptr::eq(dest, source) {
        true => Ok(None),
        false => data("source", source, count).map(Some),
    }
}

/// A reduction of any members.
pub fn reduce_among<T: Element>(
    members: &Members,
    builtin: Builtin,
    dest: *mut T,
    source: *const T,
    count: usize,
) -> Result<()> {
    let (send, receive) = (contribution(dest, source, count)?, data("dest", dest, count)?);
    run(members, &Operation::Allreduce { send, receive, operator: operator(builtin)?.into() })
}

macro_rules! reductions {
    ($($name:ident $builtin:ident;)*) => {$(
        /// A reduction of a team.
        pub fn $name<T: Element>(
            call: &Call, team: shmem_team_t, dest: *mut T, source: *const T, nreduce: usize,
        ) -> Result<()> {
            reduce_among(members(call, team)?, Builtin::$builtin, dest, source, nreduce)
        }
    )*};
}

reductions! {
    and_reduce BitAnd; or_reduce BitOr; xor_reduce BitXor;
    max_reduce Max; min_reduce Min; sum_reduce Sum; prod_reduce Product;
}

/// `shmem_sum_inscan`.
pub fn sum_inscan<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    let (send, receive) = (contribution(dest, source, nelems)?, data("dest", dest, nelems)?);
    run(members(call, team)?, &Operation::Scan { send, receive, operator: operator(Builtin::Sum)?.into() })
}

/// `shmem_sum_exscan`: the first PE gets zeros.
pub fn sum_exscan<T: Element>(
    call: &Call,
    team: shmem_team_t,
    dest: *mut T,
    source: *const T,
    nelems: usize,
) -> Result<()> {
    let members = members(call, team)?;
    let (send, receive) = (contribution(dest, source, nelems)?, data("dest", dest, nelems)?);
    run(members, &Operation::Exscan { send, receive, operator: operator(Builtin::Sum)?.into() })?;
    if members.rank == 0 && nelems > 0 {
        // SAFETY: the program's array of so many elements, checked above; zero bytes are zeros of all types.
        unsafe { dest.write_bytes(0, nelems) };
    }
    Ok(())
}
