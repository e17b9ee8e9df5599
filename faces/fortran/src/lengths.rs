//! How long the arrays are that have a handle for each member or neighbour.
#![allow(dead_code)] // where handles are integers nobody asks, and lengths of integers only where these are wide

use crate::abi::{self, Handle};
use crate::integers::{narrow, Fint};
use std::ffi::{c_int, c_void};

/// For the sender: none where the call is in place, for nobody reads the array then.
pub fn members_sending(comm: Handle, sendbuf: *const c_void) -> i64 {
    match abi::is_in_place(sendbuf) {
        true => 0,
        false => members_receiving(comm, sendbuf),
    }
}

/// For the receiver: one for each member that it hears from.
pub fn members_receiving(comm: Handle, _sendbuf: *const c_void) -> i64 {
    let (mut between, mut size) = (0, 0);
    // SAFETY: places for two ints.
    unsafe {
        if abi::c_comm_test_inter(comm, &mut between) == abi::MPI_SUCCESS {
            match between {
                0 => abi::c_comm_size(comm, &mut size),
                _ => abi::c_comm_remote_size(comm, &mut size),
            };
        }
    }
    i64::from(size)
}

/// For each neighbour that this process sends to.
pub fn neighbors_sending(comm: Handle, _sendbuf: *const c_void) -> i64 {
    neighbors(comm).1
}

/// For each neighbour that this process receives from.
pub fn neighbors_receiving(comm: Handle, _sendbuf: *const c_void) -> i64 {
    neighbors(comm).0
}

/// How many neighbours this process receives from and sends to.
fn neighbors(comm: Handle) -> (i64, i64) {
    let (mut topology, mut rank, mut sources, mut destinations, mut weighted): (
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
    ) = (abi::MPI_UNDEFINED, 0, 0, 0, 0);
    // SAFETY: places for ints; each question is one that the topology has an answer to.
    unsafe {
        abi::c_topo_test(comm, &mut topology);
        match topology {
            abi::MPI_CART => {
                abi::c_cartdim_get(comm, &mut sources);
                sources *= 2;
                destinations = sources;
            }
            abi::MPI_GRAPH => {
                abi::c_comm_rank(comm, &mut rank);
                abi::c_graph_neighbors_count(comm, rank, &mut sources);
                destinations = sources;
            }
            abi::MPI_DIST_GRAPH => {
                abi::c_dist_graph_neighbors_count(comm, &mut sources, &mut destinations, &mut weighted);
            }
            _ => {}
        }
    }
    (i64::from(sources), i64::from(destinations))
}

/// The dimensions of a cartesian communicator.
pub fn dimensions(comm: Handle) -> i64 {
    let mut number = 0;
    // SAFETY: a place for an int.
    unsafe { abi::c_cartdim_get(comm, &mut number) };
    i64::from(number)
}

/// The sum of so many integers of the program: how many edges there are, if they are the degrees of nodes.
///
/// # Safety
/// They can be read there.
pub unsafe fn total(first: *const Fint, number: Fint) -> i64 {
    // SAFETY: by the contract.
    (0..usize::try_from(number).unwrap_or(0))
        .map(|index| i64::from(narrow(unsafe { *first.add(index) })))
        .sum()
}

/// The last of so many integers of the program: how many edges there are, if they count those up to a node.
///
/// # Safety
/// They can be read there.
pub unsafe fn last(first: *const Fint, number: Fint) -> i64 {
    match usize::try_from(number) {
        // SAFETY: by the contract.
        Ok(number @ 1..) => i64::from(narrow(unsafe { *first.add(number - 1) })),
        _ => 0,
    }
}
