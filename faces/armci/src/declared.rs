//! Every function of ARMCI, declared once: its name, the one that tools call (`PARMCI_…`, which has the work), its
//! arguments, when it may be called, and its body. A call is known by its place here.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use super::fences::HandleOfC;
use super::global_operations::Elements;
use super::group_of_c::GroupOfC;
use super::mutex_sets::Set;
use super::strides::{Shape, Side};
use super::vectors::{VectorOfC, Vectors};
use super::{
    allocation, begin, contiguous, fences, global_operations as global, mutex_sets as mutexes, notifications,
    processor_groups as groups, strides, two_sided, values, vectors, wall, which_domain as domains,
};
use crate::abi::Handle;
use crate::common::entry::When::{Anytime, Running};
use std::ffi::{c_char, c_double, c_float, c_int, c_long, c_ulong, c_void};

type Ints = *const c_int;
type Group = *const GroupOfC;
type Op = *const c_char;

macro_rules! exported {
    ($place:ident, $when:ident, $name:ident, $twin:ident, ($($argument:ident: $type:ty),*) -> $returned:ty, $body:expr) => {
        exported!($place, $when, $twin, ($($argument: $type),*) -> $returned, $body);
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $returned {
            // SAFETY: by the caller.
            unsafe { $twin($($argument),*) }
        }
    };
    ($place:ident, $when:ident, $name:ident, ($($argument:ident: $type:ty),*) -> $returned:ty, $body:expr) => {
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $returned {
            // SAFETY: by the caller, who calls as ARMCI says; a body says what it needs of that.
            #[allow(unused_unsafe)]
            wall::call(Place::$place as usize, $when, |call| unsafe { ($body)(call) })
        }
    };
}

macro_rules! functions {
    ($($when:ident $name:ident $(| $twin:ident)? ($($argument:ident: $type:ty),*) $(-> $returned:ty)? = $body:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($name),* }
        /// The names of all calls, by their places.
        pub static NAMES: &[&str] = &[$(stringify!($name)),*];
        $(exported!($name, $when, $name, $($twin,)? ($($argument: $type),*) -> returned!($($returned)?), $body);)*
    };
}

macro_rules! returned {
    () => {
        ()
    };
    ($returned:ty) => {
        $returned
    };
}

functions! {
    Anytime ARMCI_Init | PARMCI_Init() -> c_int = begin::init;
    Anytime ARMCI_Init_args | PARMCI_Init_args(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int =
        |call| begin::init_args(call, argc, argv);
    Anytime ARMCI_Init_thread | PARMCI_Init_thread(requested: c_int) -> c_int = |call| begin::init_thread(call, requested);
    Anytime ARMCI_Init_thread_comm | PARMCI_Init_thread_comm(requested: c_int, comm: Handle) -> c_int =
        |call| begin::init_thread_comm(call, requested, comm);
    Anytime ARMCI_Init_mpi_comm | PARMCI_Init_mpi_comm(comm: Handle) -> c_int = |call| begin::init_mpi_comm(call, comm);
    Anytime ARMCI_Initialized | PARMCI_Initialized() -> c_int = begin::initialized;
    Anytime ARMCI_Finalize | PARMCI_Finalize() -> c_int = begin::finalize;
    Anytime ARMCI_Cleanup() = |_| Ok(());
    Anytime ARMCI_Error(msg: *const c_char, code: c_int) = |call| two_sided::error(call, msg, code);

    Running ARMCI_Malloc | PARMCI_Malloc(ptrs: *mut *mut c_void, bytes: c_long) -> c_int =
        |call| allocation::allocate(call, ptrs, bytes);
    Running ARMCI_Free | PARMCI_Free(ptr: *mut c_void) -> c_int = |call| allocation::free(call, ptr);
    Running ARMCI_Malloc_group(ptrs: *mut *mut c_void, bytes: c_long, group: Group) -> c_int =
        |call| allocation::allocate_group(call, ptrs, bytes, group);
    Running ARMCI_Free_group(ptr: *mut c_void, group: Group) -> c_int = |call| allocation::free_group(call, ptr, group);
    Running ARMCI_Malloc_memdev | PARMCI_Malloc_memdev(ptrs: *mut *mut c_void, bytes: c_long, device: *const c_char) -> c_int =
        |call| allocation::allocate_on(call, ptrs, bytes, device);
    Running ARMCI_Malloc_group_memdev | PARMCI_Malloc_group_memdev(
        ptrs: *mut *mut c_void, bytes: c_long, group: Group, device: *const c_char
    ) -> c_int = |call| allocation::allocate_group_on(call, ptrs, bytes, group, device);
    Running ARMCI_Free_memdev | PARMCI_Free_memdev(ptr: *mut c_void) -> c_int = |call| allocation::free(call, ptr);
    Anytime ARMCI_Malloc_local | PARMCI_Malloc_local(bytes: c_long) -> *mut c_void =
        |call| allocation::allocate_own(call, bytes);
    Anytime ARMCI_Free_local | PARMCI_Free_local(ptr: *mut c_void) -> c_int = |call| allocation::free_own(call, ptr);
    Anytime ARMCI_Set_shm_limit(_bytes: c_ulong) = |_| Ok(());
    Anytime ARMCI_Uses_shm() -> c_int = |_| Ok(1);
    Anytime ARMCI_Uses_shm_grp(_group: Group) -> c_int = |_| Ok(1);

    Running ARMCI_Barrier | PARMCI_Barrier() = fences::barrier;
    Running ARMCI_Fence | PARMCI_Fence(proc: c_int) = |call| fences::fence(call, proc);
    Running ARMCI_AllFence | PARMCI_AllFence() = fences::fence_all;
    Running ARMCI_Access_begin | PARMCI_Access_begin(ptr: *mut c_void) = |call| fences::access(call, ptr);
    Running ARMCI_Access_end | PARMCI_Access_end(ptr: *mut c_void) = |call| fences::access(call, ptr);

    Running ARMCI_Put | PARMCI_Put(src: *const c_void, dst: *mut c_void, bytes: c_int, proc: c_int) -> c_int =
        |call| contiguous::put(call, src, dst, bytes, proc);
    Running ARMCI_Get | PARMCI_Get(src: *const c_void, dst: *mut c_void, bytes: c_int, proc: c_int) -> c_int =
        |call| contiguous::get(call, src, dst, bytes, proc);
    Running ARMCI_Acc | PARMCI_Acc(
        datatype: c_int, scale: *const c_void, src: *const c_void, dst: *mut c_void, bytes: c_int, proc: c_int
    ) -> c_int = |call| contiguous::accumulate(call, datatype, scale, (src, dst, bytes), proc);
    Anytime ARMCI_Copy(src: *const c_void, dst: *mut c_void, size: c_int) = |call| contiguous::copy(call, src, dst, size);
    Running ARMCI_Put_flag | PARMCI_Put_flag(
        src: *const c_void, dst: *mut c_void, size: c_int, flag: *mut c_int, value: c_int, proc: c_int
    ) -> c_int = |call| contiguous::put_flag(call, (src, dst, size), flag, value, proc);
    Running ARMCI_Rmw | PARMCI_Rmw(op: c_int, ploc: *mut c_void, prem: *mut c_void, value: c_int, proc: c_int) -> c_int =
        |call| contiguous::read_modify_write(call, op, ploc, prem, (value, proc));

    Running ARMCI_PutS | PARMCI_PutS(
        src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints, count: Ints, levels: c_int, proc: c_int
    ) -> c_int = |call| strides::put(call, Side(src, src_by), Side(dst, dst_by), Shape(count, levels), proc);
    Running ARMCI_GetS | PARMCI_GetS(
        src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints, count: Ints, levels: c_int, proc: c_int
    ) -> c_int = |call| strides::get(call, Side(src, src_by), Side(dst, dst_by), Shape(count, levels), proc);
    Running ARMCI_AccS | PARMCI_AccS(
        datatype: c_int, scale: *const c_void, src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints,
        count: Ints, levels: c_int, proc: c_int
    ) -> c_int = |call| {
        let shape = Shape(count, levels);
        strides::accumulate(call, (datatype, scale), Side(src, src_by), Side(dst, dst_by), (shape, proc))
    };
    Running ARMCI_PutS_flag | PARMCI_PutS_flag(
        src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints, count: Ints, levels: c_int,
        flag: *mut c_int, value: c_int, proc: c_int
    ) -> c_int = |call| {
        let (sides, shape) = ((Side(src, src_by), Side(dst, dst_by)), Shape(count, levels));
        strides::put_flag(call, sides, (shape, proc), flag, value)
    };
    Anytime armci_write_strided(ptr: *const c_void, levels: c_int, by: Ints, count: Ints, buf: *mut c_void) =
        |call| strides::pack(call, Side(ptr, by), Shape(count, levels), buf.cast());
    Anytime armci_read_strided(ptr: *mut c_void, levels: c_int, by: Ints, count: Ints, buf: *const c_void) =
        |call| strides::unpack(call, Side(ptr, by), Shape(count, levels), buf.cast());

    Running ARMCI_PutV | PARMCI_PutV(iov: *const VectorOfC, len: c_int, proc: c_int) -> c_int =
        |call| vectors::put(call, Vectors(iov, len), proc);
    Running ARMCI_GetV | PARMCI_GetV(iov: *const VectorOfC, len: c_int, proc: c_int) -> c_int =
        |call| vectors::get(call, Vectors(iov, len), proc);
    Running ARMCI_AccV | PARMCI_AccV(
        datatype: c_int, scale: *const c_void, iov: *const VectorOfC, len: c_int, proc: c_int
    ) -> c_int = |call| vectors::accumulate(call, (datatype, scale), Vectors(iov, len), proc);

    Anytime ARMCI_INIT_HANDLE(handle: *mut HandleOfC) = |call| fences::set_handle(call, handle, false);
    Anytime ARMCI_SET_AGGREGATE_HANDLE(handle: *mut HandleOfC) = |call| fences::set_handle(call, handle, true);
    Anytime ARMCI_UNSET_AGGREGATE_HANDLE(handle: *mut HandleOfC) = |call| fences::set_handle(call, handle, false);
    Running ARMCI_Wait | PARMCI_Wait(handle: *mut HandleOfC) -> c_int = |call| fences::wait(call, handle);
    Running ARMCI_Test | PARMCI_Test(handle: *mut HandleOfC) -> c_int = |call| fences::wait(call, handle);
    Running ARMCI_WaitAll | PARMCI_WaitAll() -> c_int = fences::wait_for_all;
    Running ARMCI_WaitProc | PARMCI_WaitProc(proc: c_int) -> c_int = |call| fences::wait_for_rank(call, proc);

    Running ARMCI_NbPut | PARMCI_NbPut(
        src: *const c_void, dst: *mut c_void, bytes: c_int, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| contiguous::put(call, src, dst, bytes, proc);
    Running ARMCI_NbGet | PARMCI_NbGet(
        src: *const c_void, dst: *mut c_void, bytes: c_int, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| contiguous::get_later(call, src, dst, bytes, proc);
    Running ARMCI_NbAcc | PARMCI_NbAcc(
        datatype: c_int, scale: *const c_void, src: *const c_void, dst: *mut c_void, bytes: c_int, proc: c_int,
        _handle: *mut HandleOfC
    ) -> c_int = |call| contiguous::accumulate(call, datatype, scale, (src, dst, bytes), proc);
    Running ARMCI_NbPutS | PARMCI_NbPutS(
        src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints, count: Ints, levels: c_int, proc: c_int,
        _handle: *mut HandleOfC
    ) -> c_int = |call| strides::put(call, Side(src, src_by), Side(dst, dst_by), Shape(count, levels), proc);
    Running ARMCI_NbGetS | PARMCI_NbGetS(
        src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints, count: Ints, levels: c_int, proc: c_int,
        _handle: *mut HandleOfC
    ) -> c_int = |call| strides::get_later(call, Side(src, src_by), Side(dst, dst_by), Shape(count, levels), proc);
    Running ARMCI_NbAccS | PARMCI_NbAccS(
        datatype: c_int, scale: *const c_void, src: *const c_void, src_by: Ints, dst: *mut c_void, dst_by: Ints,
        count: Ints, levels: c_int, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| {
        let shape = Shape(count, levels);
        strides::accumulate(call, (datatype, scale), Side(src, src_by), Side(dst, dst_by), (shape, proc))
    };
    Running ARMCI_NbPutV | PARMCI_NbPutV(iov: *const VectorOfC, len: c_int, proc: c_int, _handle: *mut HandleOfC) -> c_int =
        |call| vectors::put(call, Vectors(iov, len), proc);
    Running ARMCI_NbGetV | PARMCI_NbGetV(iov: *const VectorOfC, len: c_int, proc: c_int, _handle: *mut HandleOfC) -> c_int =
        |call| vectors::get_later(call, Vectors(iov, len), proc);
    Running ARMCI_NbAccV | PARMCI_NbAccV(
        datatype: c_int, scale: *const c_void, iov: *const VectorOfC, len: c_int, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| vectors::accumulate(call, (datatype, scale), Vectors(iov, len), proc);

    Running ARMCI_PutValueInt | PARMCI_PutValueInt(src: c_int, dst: *mut c_void, proc: c_int) -> c_int =
        |call| values::put_value(call, src, dst, proc);
    Running ARMCI_PutValueLong | PARMCI_PutValueLong(src: c_long, dst: *mut c_void, proc: c_int) -> c_int =
        |call| values::put_value(call, src, dst, proc);
    Running ARMCI_PutValueFloat | PARMCI_PutValueFloat(src: c_float, dst: *mut c_void, proc: c_int) -> c_int =
        |call| values::put_value(call, src, dst, proc);
    Running ARMCI_PutValueDouble | PARMCI_PutValueDouble(src: c_double, dst: *mut c_void, proc: c_int) -> c_int =
        |call| values::put_value(call, src, dst, proc);
    Running ARMCI_NbPutValueInt | PARMCI_NbPutValueInt(
        src: c_int, dst: *mut c_void, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| values::put_value(call, src, dst, proc);
    Running ARMCI_NbPutValueLong | PARMCI_NbPutValueLong(
        src: c_long, dst: *mut c_void, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| values::put_value(call, src, dst, proc);
    Running ARMCI_NbPutValueFloat | PARMCI_NbPutValueFloat(
        src: c_float, dst: *mut c_void, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| values::put_value(call, src, dst, proc);
    Running ARMCI_NbPutValueDouble | PARMCI_NbPutValueDouble(
        src: c_double, dst: *mut c_void, proc: c_int, _handle: *mut HandleOfC
    ) -> c_int = |call| values::put_value(call, src, dst, proc);
    Running ARMCI_GetValueInt | PARMCI_GetValueInt(src: *const c_void, proc: c_int) -> c_int =
        |call| values::get_value::<c_int>(call, src, proc);
    Running ARMCI_GetValueLong | PARMCI_GetValueLong(src: *const c_void, proc: c_int) -> c_long =
        |call| values::get_value::<c_long>(call, src, proc);
    Running ARMCI_GetValueFloat | PARMCI_GetValueFloat(src: *const c_void, proc: c_int) -> c_float =
        |call| values::get_value::<c_float>(call, src, proc);
    Running ARMCI_GetValueDouble | PARMCI_GetValueDouble(src: *const c_void, proc: c_int) -> c_double =
        |call| values::get_value::<c_double>(call, src, proc);

    Running ARMCI_Create_mutexes | PARMCI_Create_mutexes(count: c_int) -> c_int = |call| mutexes::create(call, count);
    Running ARMCI_Destroy_mutexes | PARMCI_Destroy_mutexes() -> c_int = mutexes::destroy;
    Running ARMCI_Lock | PARMCI_Lock(mutex: c_int, proc: c_int) = |call| mutexes::lock(call, mutex, proc);
    Running ARMCI_Unlock | PARMCI_Unlock(mutex: c_int, proc: c_int) = |call| mutexes::unlock(call, mutex, proc);
    Running ARMCIX_Create_mutexes_hdl(count: c_int, group: Group) -> Set =
        |call| mutexes::create_set(call, count, group);
    Running ARMCIX_Destroy_mutexes_hdl(set: Set) -> c_int = |call| mutexes::destroy_set(call, set);
    Running ARMCIX_Lock_hdl(set: Set, mutex: c_int, proc: c_int) = |call| mutexes::lock_in(call, set, mutex, proc);
    Running ARMCIX_Trylock_hdl(set: Set, mutex: c_int, proc: c_int) -> c_int =
        |call| mutexes::try_in(call, set, mutex, proc);
    Running ARMCIX_Unlock_hdl(set: Set, mutex: c_int, proc: c_int) = |call| mutexes::unlock_in(call, set, mutex, proc);

    Running ARMCI_Group_create(number: c_int, ranks: Ints, out: *mut GroupOfC) =
        |call| groups::create(call, number, ranks, out);
    Running ARMCI_Group_create_child(number: c_int, ranks: Ints, out: *mut GroupOfC, parent: Group) =
        |call| groups::create_child(call, number, ranks, out, parent);
    Running ARMCI_Group_free(group: *mut GroupOfC) = |call| groups::free(call, group);
    Running ARMCI_Group_rank(group: Group, rank: *mut c_int) -> c_int = |call| groups::rank(call, group, rank);
    Running ARMCI_Group_size(group: Group, size: *mut c_int) = |call| groups::size(call, group, size);
    Running ARMCI_Group_set_default(group: Group) = |call| groups::set_default(call, group);
    Running ARMCI_Group_get_default(group: *mut GroupOfC) = |call| groups::known(call, group, true);
    Running ARMCI_Group_get_world(group: *mut GroupOfC) = |call| groups::known(call, group, false);
    Running ARMCI_Absolute_id(group: Group, rank: c_int) -> c_int = |call| groups::absolute_id(call, group, rank);
    Running ARMCIX_Group_split(parent: Group, color: c_int, key: c_int, out: *mut GroupOfC) -> c_int =
        |call| groups::split(call, parent, color, key, out);
    Running ARMCIX_Group_dup(parent: Group, out: *mut GroupOfC) -> c_int = |call| groups::duplicate(call, parent, out);
    Running ARMCIX_Progress() = two_sided::progress;

    Running armci_domain_nprocs(domain: c_int, id: c_int) -> c_int = |call| domains::ranks(call, domain, id);
    Running armci_domain_id(domain: c_int, proc: c_int) -> c_int = |call| domains::of_rank(call, domain, proc);
    Running armci_domain_glob_proc_id(domain: c_int, id: c_int, local: c_int) -> c_int =
        |call| domains::rank_in(call, domain, id, local);
    Running armci_domain_my_id(domain: c_int) -> c_int = |call| domains::mine(call, domain);
    Running armci_domain_count(domain: c_int) -> c_int = |call| domains::count(call, domain);
    Running armci_domain_same_id(_domain: c_int, proc: c_int) -> c_int = |call| domains::is_mine(call, proc);
    Running ARMCI_Same_node(proc: c_int) -> c_int = |call| domains::is_mine(call, proc);

    Running armci_msg_me() -> c_int = two_sided::me;
    Running armci_msg_nproc() -> c_int = two_sided::ranks;
    Anytime armci_msg_abort(code: c_int) = |call| two_sided::abort(call, code);
    Anytime armci_timer() -> c_double = |_| Ok(crate::functions::environment::wtime());
    Running armci_msg_snd(tag: c_int, buffer: *const c_void, len: c_int, to: c_int) =
        |call| two_sided::send(call, tag, buffer, len, to);
    Running armci_msg_rcv(tag: c_int, buffer: *mut c_void, room: c_int, length: *mut c_int, from: c_int) =
        |call| two_sided::receive(call, tag, (buffer, room), length, Some(from)).map(drop);
    Running armci_msg_rcvany(tag: c_int, buffer: *mut c_void, room: c_int, length: *mut c_int) -> c_int =
        |call| two_sided::receive(call, tag, (buffer, room), length, None);

    Running armci_notify | parmci_notify(proc: c_int) -> c_int = |call| notifications::notify(call, proc);
    Running armci_notify_wait | parmci_notify_wait(proc: c_int, value: *mut c_int) -> c_int =
        |call| notifications::wait(call, proc, value);

    Running armci_msg_barrier | parmci_msg_barrier() = global::barrier;
    Running armci_msg_group_barrier | parmci_msg_group_barrier(group: Group) = |call| global::group_barrier(call, group);
    Running armci_msg_bintree(scope: c_int, root: *mut c_int, up: *mut c_int, left: *mut c_int, right: *mut c_int) =
        |call| global::tree(call, scope, [root, up, left, right]);
    Running armci_msg_bcast(buffer: *mut c_void, len: c_int, root: c_int) =
        |call| global::broadcast(call, 0, buffer, len, root);
    Running armci_msg_brdcst(buffer: *mut c_void, len: c_int, root: c_int) =
        |call| global::broadcast(call, 0, buffer, len, root);
    Running armci_msg_bcast_scope(scope: c_int, buffer: *mut c_void, len: c_int, root: c_int) =
        |call| global::broadcast(call, scope, buffer, len, root);
    Running armci_msg_group_bcast_scope(scope: c_int, buffer: *mut c_void, len: c_int, root: c_int, group: Group) =
        |call| global::group_broadcast(call, scope, (buffer, len), root, group);
    Running armci_msg_sel(x: *mut c_void, n: c_int, op: Op, kind: c_int, contribute: c_int) =
        |call| global::select(call, 0, Elements { x, n, kind }, op, contribute != 0);
    Running armci_msg_sel_scope(scope: c_int, x: *mut c_void, n: c_int, op: Op, kind: c_int, contribute: c_int) =
        |call| global::select(call, scope, Elements { x, n, kind }, op, contribute != 0);
    Running armci_msg_reduce(x: *mut c_void, n: c_int, op: Op, kind: c_int) =
        |call| global::reduce_to_first(call, 0, Elements { x, n, kind }, op);
    Running armci_msg_reduce_scope(scope: c_int, x: *mut c_void, n: c_int, op: Op, kind: c_int) =
        |call| global::reduce_to_first(call, scope, Elements { x, n, kind }, op);
    Running armci_msg_gop_scope(scope: c_int, x: *mut c_void, n: c_int, op: Op, kind: c_int) =
        |call| global::reduce(call, scope, Elements { x, n, kind }, op);
    Running armci_msg_igop(x: *mut c_void, n: c_int, op: Op) = |call| global::reduce(call, 0, Elements { x, n, kind: 0 }, op);
    Running armci_msg_lgop(x: *mut c_void, n: c_int, op: Op) = |call| global::reduce(call, 0, Elements { x, n, kind: 1 }, op);
    Running armci_msg_llgop(x: *mut c_void, n: c_int, op: Op) = |call| global::reduce(call, 0, Elements { x, n, kind: 2 }, op);
    Running armci_msg_fgop(x: *mut c_void, n: c_int, op: Op) = |call| global::reduce(call, 0, Elements { x, n, kind: 3 }, op);
    Running armci_msg_dgop(x: *mut c_void, n: c_int, op: Op) = |call| global::reduce(call, 0, Elements { x, n, kind: 4 }, op);
    Running armci_msg_group_gop_scope(scope: c_int, x: *mut c_void, n: c_int, op: Op, kind: c_int, group: Group) =
        |call| global::group_reduce(call, scope, Elements { x, n, kind }, op, group);
    Running armci_msg_group_igop(x: *mut c_void, n: c_int, op: Op, group: Group) =
        |call| global::group_reduce(call, 0, Elements { x, n, kind: 0 }, op, group);
    Running armci_msg_group_lgop(x: *mut c_void, n: c_int, op: Op, group: Group) =
        |call| global::group_reduce(call, 0, Elements { x, n, kind: 1 }, op, group);
    Running armci_msg_group_llgop(x: *mut c_void, n: c_int, op: Op, group: Group) =
        |call| global::group_reduce(call, 0, Elements { x, n, kind: 2 }, op, group);
    Running armci_msg_group_fgop(x: *mut c_void, n: c_int, op: Op, group: Group) =
        |call| global::group_reduce(call, 0, Elements { x, n, kind: 3 }, op, group);
    Running armci_msg_group_dgop(x: *mut c_void, n: c_int, op: Op, group: Group) =
        |call| global::group_reduce(call, 0, Elements { x, n, kind: 4 }, op, group);
}
