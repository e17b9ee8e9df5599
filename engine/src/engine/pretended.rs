//! Nodes that are only pretended, for a transport that goes to other nodes: each rank listens by itself, at an
//! address that only this machine knows, and the launcher passes on where. For tests.

use crate::job::node_card::{Address, JobKey, NodeCard, NodeDirectory};
use crate::job::Job;
use crate::transport::network::refused;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

/// Each rank is a node.
pub(super) struct Pretended {
    job: &'static Job,
    own: u32,
    key: JobKey,
    listener: TcpListener,
    ports: Vec<u16>,
}

const KEY: &str = "serried-wire-key";

impl Pretended {
    /// Listens, tells all ranks of the job where, and learns where they do. Rank 0 makes the key.
    ///
    /// # Errors
    /// What the system refuses; `Other` when the launcher breaks off.
    pub(super) fn meet(job: &'static Job) -> Result<Pretended> {
        let system = |error| refused("listening", &error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        let port = listener.local_addr().map_err(system)?.port();
        let place = |rank: u32| format!("serried-wire-{rank}");
        let mut bootstrap = job.bootstrap();
        bootstrap.put(&place(job.rank), &port.to_string())?;
        if job.rank == 0 {
            bootstrap.put(KEY, &JobKey::random().map_err(system)?.to_text())?;
        }
        bootstrap.fence()?;
        let key = bootstrap.get(0, KEY)?.as_deref().and_then(JobKey::from_text).ok_or_else(|| silent(0))?;
        let mut port_of = |rank: u32| {
            let told = bootstrap.get(rank, &place(rank))?;
            told.and_then(|text| text.parse().ok()).ok_or_else(|| silent(rank))
        };
        let ports = (0..job.size).map(&mut port_of).collect::<Result<_>>()?;
        Ok(Pretended { job, own: job.rank, key, listener, ports })
    }
}

impl NodeDirectory for Pretended {
    fn own_node(&self) -> u32 {
        self.own
    }

    fn nodes(&self) -> u32 {
        self.ports.len() as u32
    }

    fn place_of(&self, rank: JobRank) -> (u32, LocalRank) {
        (rank.0, LocalRank(0))
    }

    fn card(&self, node: u32) -> Result<NodeCard> {
        let port = *self.ports.get(node as usize).ok_or_else(|| silent(node))?;
        let addresses = vec![Address { ip: Ipv4Addr::LOCALHOST.into(), prefix: 8 }];
        Ok(NodeCard { node, ranks: 1, port, addresses })
    }

    fn key(&self) -> JobKey {
        self.key
    }

    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.listener.as_fd()]
    }

    fn goes_on(&self) -> bool {
        self.job.node.goes_on_without_ranks()
    }

    fn has_failed(&self, rank: JobRank) -> bool {
        self.job.failure_of(rank).is_some()
    }
}

/// The error of a rank that has said nothing.
#[cold]
pub(super) fn silent(rank: u32) -> Error {
    let message = format!(
        "rank {rank} has not said where it listens; all ranks of a job need the same setting SERRIED_TRANSPORT"
    );
    Error::new(Class::Other, message)
}
