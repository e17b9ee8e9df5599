//! Collective communication (MPI-5.0 chapter 6) and on neighbourhoods (§8.6).
//!
//! Each operation is one function that checks its arguments and describes the
//! [`Operation`]; blocking, nonblocking and persistent forms are made of it here.
//! The operation holds what it needs of datatypes and operations, so a program
//! may free those while the operation is pending (§6.12).

pub mod check;
mod movement;
mod neighbor;
mod reduction;

use crate::arguments::Counts;
use crate::common::buffers;
use crate::entry::engine;
use crate::handle_arguments::{Handles, Late};
use crate::objects::{Comm, Datatype, Info, Op};
use crate::request::OutRequest;
use serried_engine::collective::{Members, Operation};
use serried_engine::device;
use serried_engine::engine::failed_fetches::OnHost;
use serried_engine::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// The operation is used where it was written: moving it takes longer than many a check.
#[inline]
fn run(comm: &Arc<Comm>, described: Result<Operation>) -> Result<()> {
    match &described {
        Ok(operation) if !device::is_on() => engine()?.run_collective(comm, operation),
        Ok(operation) => {
            let on_host = |operation| on_host(comm, operation);
            engine()?.run_collective_with_devices(comm, operation.clone(), on_host)
        }
        Err(_) => described.map(drop),
    }
}

fn start(comm: &Arc<Comm>, operation: Operation, request: OutRequest) -> Result<()> {
    request.put(match device::is_on() {
        true => engine()?.start_collective_with_devices(comm, on_host(comm, operation)?)?,
        false => engine()?.start_collective(comm, operation)?,
    });
    Ok(())
}

/// The hints of §6.13 are taken and not used.
fn persist(comm: &Arc<Comm>, operation: Operation, request: OutRequest) -> Result<()> {
    // What cannot be fetched now is fetched when it starts.
    let operation = if device::is_on() { on_host(comm, operation)?.operation } else { operation };
    request.put(engine()?.persistent_collective(comm, operation)?);
    Ok(())
}

/// The operation with host memory in the place of its buffers in the memory of a device. Other ranks wait for this one, so it takes
/// part also with buffers that cannot be fetched.
#[cold]
fn on_host(comm: &Arc<Comm>, mut operation: Operation) -> Result<OnHost> {
    let members = Members::from(&**comm);
    // Before anything is copied: blocks together may not fit 64 bits.
    operation.check(&members)?;
    operation.each_buffer(&members, &mut |data, items, used| {
        data.address = buffers::host_in_any_case(data.address, items, &data.datatype, used)?;
        Ok(())
    })?;
    Ok(OnHost { operation, is_unfetched: buffers::are_unfetched() })
}

/// The three forms of operations that have the same arguments before `comm`.
macro_rules! forms {
    ($file:ident $arguments:tt $($blocking:ident $nonblocking:ident $persistent:ident,)*) => {
        $(forms! { @one $file $arguments $blocking $nonblocking $persistent })*
    };
    (@one $file:ident ($($name:ident: $type:ty),*) $blocking:ident $nonblocking:ident $persistent:ident) => {
        /// The blocking form. A call between would copy arguments that the caller has only just written to the stack,
        /// two at once: that waits for all stores before.
        #[inline(always)]
        #[allow(clippy::too_many_arguments)] // MPI's own
        pub fn $blocking($($name: $type,)* comm: &Arc<Comm>) -> Result<()> {
            run(comm, $file::$blocking($($name,)* comm))
        }

        /// The nonblocking form.
        #[allow(clippy::too_many_arguments)]
        pub fn $nonblocking($($name: $type,)* comm: &Arc<Comm>, request: OutRequest) -> Result<()> {
            start(comm, $file::$blocking($($name,)* comm)?, request)
        }

        /// The persistent form.
        #[allow(clippy::too_many_arguments)]
        pub fn $persistent(
            $($name: $type,)*
            comm: &Arc<Comm>,
            _info: Option<&Arc<Info>>,
            request: OutRequest,
        ) -> Result<()> {
            persist(comm, $file::$blocking($($name,)* comm)?, request)
        }
    };
}

/// A datatype that counts at some ranks only, or not with `MPI_IN_PLACE`.
type LateType<'call> = Late<'call, Datatype>;

forms! { movement ()
    barrier ibarrier barrier_init,
}

forms! { movement (buffer: *mut c_void, count: i64, datatype: &Arc<Datatype>, root: i32)
    bcast ibcast bcast_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcount: i64, sendtype: LateType,
        recvbuf: *mut c_void, recvcount: i64, recvtype: LateType,
        root: i32
    )
    gather igather gather_init,
    scatter iscatter scatter_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcount: i64, sendtype: LateType,
        recvbuf: *mut c_void, recvcounts: Counts, displs: Counts, recvtype: LateType,
        root: i32
    )
    gatherv igatherv gatherv_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcounts: Counts, displs: Counts, sendtype: LateType,
        recvbuf: *mut c_void, recvcount: i64, recvtype: LateType,
        root: i32
    )
    scatterv iscatterv scatterv_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcount: i64, sendtype: LateType,
        recvbuf: *mut c_void, recvcount: i64, recvtype: LateType
    )
    allgather iallgather allgather_init,
    alltoall ialltoall alltoall_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcount: i64, sendtype: LateType,
        recvbuf: *mut c_void, recvcounts: Counts, displs: Counts, recvtype: LateType
    )
    allgatherv iallgatherv allgatherv_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtype: LateType,
        recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtype: LateType
    )
    alltoallv ialltoallv alltoallv_init,
}

forms! { movement (
        sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtypes: Handles<Datatype>,
        recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtypes: Handles<Datatype>
    )
    alltoallw ialltoallw alltoallw_init,
}

forms! { reduction (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: &Arc<Datatype>,
        op: &Arc<Op>, root: i32
    )
    reduce ireduce reduce_init,
}

forms! { reduction (
        sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: &Arc<Datatype>, op: &Arc<Op>
    )
    allreduce iallreduce allreduce_init,
    scan iscan scan_init,
    exscan iexscan exscan_init,
    reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init,
}

forms! { reduction (
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: Counts, datatype: &Arc<Datatype>, op: &Arc<Op>
    )
    reduce_scatter ireduce_scatter reduce_scatter_init,
}

forms! { neighbor (
        sendbuf: *const c_void, sendcount: i64, sendtype: LateType,
        recvbuf: *mut c_void, recvcount: i64, recvtype: LateType
    )
    neighbor_allgather ineighbor_allgather neighbor_allgather_init,
    neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init,
}

forms! { neighbor (
        sendbuf: *const c_void, sendcount: i64, sendtype: LateType,
        recvbuf: *mut c_void, recvcounts: Counts, displs: Counts, recvtype: LateType
    )
    neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init,
}

forms! { neighbor (
        sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtype: LateType,
        recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtype: LateType
    )
    neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init,
}

forms! { neighbor (
        sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtypes: Handles<Datatype>,
        recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtypes: Handles<Datatype>
    )
    neighbor_alltoallw ineighbor_alltoallw neighbor_alltoallw_init,
}
