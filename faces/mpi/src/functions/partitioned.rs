//! Partitioned communication (MPI-5.0 chapter 4).

use super::point_to_point::{check_data, outgoing, wanted};
use crate::arguments::{Ints, OutValue};
use crate::common::buffers;
use crate::entry::engine;
use crate::objects::{Comm, Datatype, Info};
use crate::request::OutRequest;
use serried_engine::datatype::Use;
use serried_engine::message::partitioned::Data;
use serried_engine::message::{ANY_SOURCE, ANY_TAG};
use serried_engine::request::RequestId;
use serried_engine::{Class, Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Checks the buffer of one side.
fn parts(
    buf: *mut c_void,
    partitions: c_int,
    count: i64,
    datatype: &Arc<Datatype>,
    comm: &Comm,
    used: Use,
) -> Result<Data> {
    let number = u64::try_from(partitions).map_err(|_| {
        Error::new(Class::Arg, format!("argument partitions is {partitions}; it cannot be negative"))
    })?;
    let all = i64::from(partitions).checked_mul(count).filter(|all| {
        let size = datatype.size() as i64;
        all.checked_mul(size.max(datatype.extent().saturating_abs()).max(1)).is_some()
    });
    let all = all.ok_or_else(|| {
        let message = format!("{partitions} partitions of {count} items are more than memory has addresses");
        Error::new(Class::Count, message)
    })?;
    check_data(buf, if count < 0 { count } else { all }, datatype)?;
    let address = buffers::host_of_message(buf.cast(), all as u64, datatype, used)?;
    let datatype = Arc::clone(datatype);
    Ok(Data { address, count: count as u64, datatype, partitions: number, context: comm.context() })
}

/// `MPI_Psend_init` (§4.2.1).
#[allow(clippy::too_many_arguments)] // as MPI has it
pub fn psend_init(
    buf: *const c_void,
    partitions: c_int,
    count: i64,
    datatype: &Arc<Datatype>,
    dest: i32,
    tag: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: OutRequest,
) -> Result<()> {
    let data = parts(buf.cast_mut(), partitions, count, datatype, comm, Use::Read)?;
    let outgoing = outgoing(std::ptr::null(), 0, datatype, dest, tag, comm)?;
    request.put(engine()?.partitioned_send(data, outgoing.peer, outgoing.envelope)?);
    Ok(())
}

/// `MPI_Psend_init_c`, which the Forum's header declares beside the only form that
/// the standard has; that takes an `MPI_Count` already.
pub use self::psend_init as psend_init_c;

/// `MPI_Precv_init` (§4.2.1).
#[allow(clippy::too_many_arguments)] // as MPI has it
pub fn precv_init(
    buf: *mut c_void,
    partitions: c_int,
    count: i64,
    datatype: &Arc<Datatype>,
    source: i32,
    tag: i32,
    comm: &Arc<Comm>,
    _info: Option<&Arc<Info>>,
    request: OutRequest,
) -> Result<()> {
    if source == ANY_SOURCE {
        let message = "argument source is MPI_ANY_SOURCE, which partitioned receives do not take";
        return Err(Error::new(Class::Rank, message));
    }
    if tag == ANY_TAG {
        let message = "argument tag is MPI_ANY_TAG, which partitioned receives do not take";
        return Err(Error::new(Class::Tag, message));
    }
    let data = parts(buf, partitions, count, datatype, comm, Use::Change)?;
    let (envelope, null_process) = wanted(source, tag, 0, comm)?;
    request.put(engine()?.partitioned_receive(data, (!null_process).then_some(envelope))?);
    Ok(())
}

/// `MPI_Precv_init_c`, as [`psend_init_c`].
pub use self::precv_init as precv_init_c;

/// `MPI_Pready` (§4.2.2).
pub fn pready(partition: c_int, request: Option<RequestId>) -> Result<()> {
    engine()?.ready(present(request)?, std::iter::once(i64::from(partition)))
}

/// `MPI_Pready_range` (§4.2.2): both ends are in it.
pub fn pready_range(partition_low: c_int, partition_high: c_int, request: Option<RequestId>) -> Result<()> {
    let request = present(request)?;
    if partition_low > partition_high {
        let message =
            format!("argument partition_low ({partition_low}) is above partition_high ({partition_high})");
        return Err(Error::new(Class::Arg, message));
    }
    engine()?.ready(request, i64::from(partition_low)..=i64::from(partition_high))
}

/// `MPI_Pready_list` (§4.2.2).
pub fn pready_list(length: usize, array_of_partitions: Ints, request: Option<RequestId>) -> Result<()> {
    let partitions = array_of_partitions.to_vec(length)?;
    engine()?.ready(present(request)?, partitions.into_iter().map(i64::from))
}

/// `MPI_Parrived` (§4.2.3): a request that is null or inactive has all of its
/// partitions.
pub fn parrived(request: Option<RequestId>, partition: c_int, flag: OutValue<c_int>) -> Result<()> {
    flag.set_flag(match request {
        Some(request) => engine()?.arrived_partition(request, i64::from(partition))?,
        None => true,
    });
    Ok(())
}

fn present(request: Option<RequestId>) -> Result<RequestId> {
    request.ok_or_else(|| Error::new(Class::Request, "argument request is MPI_REQUEST_NULL"))
}
