//! The transport of a rank: what reaches the ranks of its node, and those beyond.

use super::pretended::{silent, Pretended};
use crate::job::node_card::NodeDirectory;
use crate::job::{Job, Nodes};
use crate::settings::{Network, Settings};
use crate::transport::fabric::{self, Domain, Fabric, Libfabric, Offer, Wanted};
use crate::transport::loopback::{Loopback, Name, Sockets};
use crate::transport::network;
use crate::transport::node::{doorbell_of, NodeTransport};
use crate::transport::wire::{Identity, Wire};
use crate::transport::{Routed, Routes};
use crate::{JobRank, LocalRank, Result};
use std::sync::Arc;

/// The nodes of a job: where there is only one, those that are pretended. Over the loopback each rank is one, if
/// nothing else was said.
pub(super) fn nodes_of(settings: &Settings, job: &'static Job) -> Nodes {
    if let Some(network) = job.network() {
        return Nodes::Real(network.map());
    }
    match (settings.network, settings.nodes) {
        (Network::Loopback(_) | Network::Wire | Network::Fabric(_), Nodes::One) if job.size > 1 => {
            Nodes::Cyclic(job.size)
        }
        (_, nodes) => nodes,
    }
}

/// By what other nodes are reached: what the settings say, else the network's own hardware, where libfabric has a provider for
/// it, and the wire.
fn network_of(settings: &Settings, job: &Job) -> Network {
    match settings.network {
        Network::Nothing if job.network().is_some() => Network::Fabric(Wanted::Fast),
        network => network,
    }
}

/// The transport of this rank of a job.
///
/// # Errors
/// `NoMem` when the mailbox cannot be reserved, and what the network says.
pub(super) fn transport(settings: &Settings, nodes: Nodes, job: &'static Job) -> Result<Routed> {
    let mut node = NodeTransport::attach(&job.node, job.local_rank)?;
    node.limit_means(settings.copy);
    let node_of = |rank| nodes.node_of(rank, job.size);
    let is_elsewhere = |rank| node_of(rank) != node_of(job.rank);
    node.keep_apart(job.local_ranks.iter().map(|&rank| is_elsewhere(rank)).collect());
    let kind = network_of(settings, job);
    if kind != Network::Nothing && nodes.are_several() {
        node.know_servers(first_of_nodes(&job.local_ranks, node_of));
    }
    let is_far = |rank: JobRank| kind != Network::Nothing && is_elsewhere(rank.0);
    let routes = Routes::new(JobRank(job.rank), job.size, &job.local_ranks, is_far);
    let network: Option<Box<dyn network::Network>> = match kind {
        _ if !nodes.are_several() => None,
        Network::Nothing => None,
        Network::Loopback(seed) => Some(Box::new(open_loopback(job, seed)?)),
        Network::Wire => Some(Box::new(open_wire(job, settings.seals)?.0)),
        Network::Fabric(wanted) => Some(Box::new(open_fabric(job, wanted)?)),
    };
    Ok(Routed::new(Arc::new(routes), node, network))
}

/// The local ranks that are the first of their node: they have its server.
fn first_of_nodes(local_ranks: &[u32], node_of: impl Fn(u32) -> u32) -> Vec<u32> {
    let is_first = |&(local, rank): &(usize, &u32)| {
        local_ranks[..local].iter().all(|&other| node_of(other) != node_of(*rank))
    };
    local_ranks.iter().enumerate().filter(is_first).map(|(local, _)| local as u32).collect()
}

/// Listens, tells all ranks of the job where, and learns where they do.
fn open_loopback(job: &'static Job, seed: Option<u64>) -> Result<Loopback> {
    let listening = Sockets::listen()?;
    let key = |rank: u32| format!("serried-loopback-{rank}");
    let mut bootstrap = job.bootstrap();
    bootstrap.put(&key(job.rank), listening.name().as_text())?;
    bootstrap.fence()?;
    let mut name_of = |rank| -> Result<Name> {
        let found = bootstrap.get(rank, &key(rank))?;
        found.as_deref().and_then(Name::from_text).ok_or_else(|| silent(rank))
    };
    let names: Arc<[Name]> = (0..job.size).map(&mut name_of).collect::<Result<_>>()?;
    let doorbell = doorbell_of(&job.node, LocalRank(job.local_rank));
    let sockets = Sockets::new(JobRank(job.rank), listening, names, doorbell)?;
    Ok(Loopback::over_sockets(sockets, job.size, seed.map(|seed| seed.wrapping_add(u64::from(job.rank)))))
}

/// Connects with other nodes over TCP; also with those that are pretended.
fn open_wire(job: &'static Job, is_sealed: bool) -> Result<(Wire, &'static dyn NodeDirectory)> {
    let directory: &'static dyn NodeDirectory = match job.network() {
        Some(network) => network,
        None => Box::leak(Box::new(Pretended::meet(job)?)),
    };
    let me = Identity { rank: JobRank(job.rank), ranks: job.size, directory, is_sealed };
    Ok((Wire::new(me, doorbell_of(&job.node, LocalRank(job.local_rank)))?, directory))
}

/// Opens a fabric beside the wire. Without one that was asked for the job cannot go on; one that is only hoped for may be missing
/// here and there.
fn open_fabric(job: &'static Job, wanted: Wanted) -> Result<Fabric> {
    let (wire, directory) = open_wire(job, false)?;
    let open = || {
        let card = directory.card(directory.own_node())?;
        let addresses: Vec<_> = card.addresses.iter().map(|address| address.ip).collect();
        let library = Libfabric::load()?;
        Domain::open(library, Offer::choose(library, wanted, &addresses, job.local_rank)?)
    };
    let domain = match wanted {
        Wanted::Fast if !fabric::is_there_hardware() => None,
        Wanted::Fast => open().ok(),
        Wanted::Best | Wanted::Named(_) => Some(open()?),
    };
    Fabric::new(JobRank(job.rank), Box::new(wire), domain)
}
