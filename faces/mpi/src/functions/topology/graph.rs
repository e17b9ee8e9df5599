//! Graphs among the virtual topologies (MPI-5.0 §8.5.3, §8.5.4).

use super::{fill, mapped};
use crate::abi;
use crate::arguments::{number, Ints, OutArray, OutValue};
use crate::entry::engine;
use crate::functions::communicator::put;
use crate::handle_arguments::Out;
use crate::objects::{Comm, Info};
use serried_engine::engine::agreed::Agreed;
use serried_engine::world::topology::{self, DistGraph, Edges, Graph};
use serried_engine::{Class, Error, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// `MPI_Graph_create`.
pub fn graph_create(
    comm_old: &Arc<Comm>,
    nnodes: c_int,
    indx: Ints,
    edges: Ints,
    reorder: c_int,
    comm_graph: Out<Comm>,
) -> Result<()> {
    let graph = whole_graph(nnodes, indx, edges)?;
    let agreed = || {
        let edges: Vec<i32> = graph.edges().iter().map(|&edge| edge as i32).collect();
        let (index, edges) = (Agreed::numbers("indx", graph.index()), Agreed::numbers("edges", &edges));
        vec![index, edges, Agreed::flag("reorder", reorder != 0)]
    };
    put(&comm_graph, topology::graph_create(&engine()?.agreeing(&agreed), comm_old, graph.clone())?)
}

/// `MPI_Graph_map`.
pub fn graph_map(
    comm: &Arc<Comm>,
    nnodes: c_int,
    indx: Ints,
    edges: Ints,
    newrank: OutValue<c_int>,
) -> Result<()> {
    newrank.set(mapped(comm, whole_graph(nnodes, indx, edges)?.nodes()));
    Ok(())
}

fn whole_graph(nnodes: c_int, indx: Ints, edges: Ints) -> Result<Graph> {
    let index = indx.to_vec(number("nnodes", nnodes)?)?;
    let count = index.last().map_or(Ok(0), |&end| number("indx", end))?;
    Graph::new(&index, &edges.to_vec(count)?)
}

/// `MPI_Graphdims_get`.
pub fn graphdims_get(comm: &Arc<Comm>, nnodes: OutValue<c_int>, nedges: OutValue<c_int>) -> Result<()> {
    let graph = comm.graph()?;
    nnodes.set(graph.nodes() as c_int);
    nedges.set(graph.edges().len() as c_int);
    Ok(())
}

/// `MPI_Graph_get`.
pub fn graph_get(
    comm: &Arc<Comm>,
    maxindex: c_int,
    maxedges: c_int,
    indx: OutArray<c_int>,
    edges: OutArray<c_int>,
) -> Result<()> {
    let graph = comm.graph()?;
    fill(indx, "maxindex", maxindex, graph.index())?;
    fill(edges, "maxedges", maxedges, &ints(graph.edges()))
}

/// `MPI_Graph_neighbors_count`.
pub fn graph_neighbors_count(comm: &Arc<Comm>, rank: i32, nneighbors: OutValue<c_int>) -> Result<()> {
    nneighbors.set(comm.graph()?.neighbours(comm.group.check_rank(rank)?).len() as c_int);
    Ok(())
}

/// `MPI_Graph_neighbors`.
pub fn graph_neighbors(
    comm: &Arc<Comm>,
    rank: i32,
    maxneighbors: c_int,
    neighbors: OutArray<c_int>,
) -> Result<()> {
    let found = comm.graph()?.neighbours(comm.group.check_rank(rank)?);
    fill(neighbors, "maxneighbors", maxneighbors, &ints(found))
}

/// `MPI_Dist_graph_create_adjacent`.
#[allow(clippy::too_many_arguments)] // as MPI has it
pub fn dist_graph_create_adjacent(
    comm_old: &Arc<Comm>,
    indegree: c_int,
    sources: Ints,
    sourceweights: Ints,
    outdegree: c_int,
    destinations: Ints,
    destweights: Ints,
    info: Option<&Arc<Info>>,
    reorder: c_int,
    comm_dist_graph: Out<Comm>,
) -> Result<()> {
    let edges = |name, degree, ranks: Ints, given| {
        let degree = number(name, degree)?;
        Edges::new(&ranks.to_vec(degree)?, weights(given, degree)?.as_deref(), comm_old.size())
    };
    let graph = DistGraph {
        incoming: edges("indegree", indegree, sources, sourceweights)?,
        outgoing: edges("outdegree", outdegree, destinations, destweights)?,
    };
    let unweighted = graph.incoming.weights.is_none();
    let agreed = || in_common("sourceweights", unweighted, reorder);
    let exchange = engine()?.agreeing(&agreed);
    comm_dist_graph.put(topology::dist_graph_create_adjacent(&exchange, comm_old, graph, hints(info))?)
}

/// `MPI_Dist_graph_create`.
#[allow(clippy::too_many_arguments)] // as MPI has it
pub fn dist_graph_create(
    comm_old: &Arc<Comm>,
    n: c_int,
    sources: Ints,
    degrees: Ints,
    destinations: Ints,
    given_weights: Ints,
    info: Option<&Arc<Info>>,
    reorder: c_int,
    comm_dist_graph: Out<Comm>,
) -> Result<()> {
    let n = number("n", n)?;
    let (sources, degrees) = (sources.to_vec(n)?, degrees.to_vec(n)?);
    let mut count: usize = 0;
    for &degree in &degrees {
        count = count.saturating_add(number("degrees", degree)?);
    }
    let destinations = destinations.to_vec(count)?;
    let weights = weights(given_weights, count)?;
    let edges = ((&*sources, &*degrees), (&*destinations, weights.as_deref()));
    let agreed = || in_common("weights", weights.is_none(), reorder);
    let exchange = engine()?.agreeing(&agreed);
    comm_dist_graph.put(topology::dist_graph_create(&exchange, comm_old, edges.0, edges.1, hints(info))?)
}

/// What all processes of a distributed graph must say alike (§8.5.4).
fn in_common(name: &'static str, unweighted: bool, reorder: c_int) -> Vec<Agreed> {
    const WEIGHTS: &[&str] = &["", "as MPI_UNWEIGHTED", "as an array"];
    let weights = Agreed::choice(name, WEIGHTS, if unweighted { 1 } else { 2 });
    vec![weights, Agreed::flag("reorder", reorder != 0)]
}

/// The weights of `count` edges; `None` for `MPI_UNWEIGHTED`.
fn weights(given: Ints, count: usize) -> Result<Option<Vec<c_int>>> {
    if given.address() == abi::MPI_UNWEIGHTED.cast_const() {
        return Ok(None);
    }
    if given.address() != abi::MPI_WEIGHTS_EMPTY.cast_const() {
        return given.to_vec(count).map(Some);
    }
    match count {
        0 => Ok(Some(Vec::new())),
        _ => Err(Error::new(Class::Arg, format!("MPI_WEIGHTS_EMPTY is given for {count} edges"))),
    }
}

fn hints(info: Option<&Arc<Info>>) -> Info {
    info.map(|info| Info::clone(info)).unwrap_or_default()
}

/// `MPI_Dist_graph_neighbors_count`.
pub fn dist_graph_neighbors_count(
    comm: &Arc<Comm>,
    indegree: OutValue<c_int>,
    outdegree: OutValue<c_int>,
    weighted: OutValue<c_int>,
) -> Result<()> {
    let graph = comm.dist_graph()?;
    indegree.set(graph.incoming.ranks.len() as c_int);
    outdegree.set(graph.outgoing.ranks.len() as c_int);
    weighted.set_flag(graph.weighted());
    Ok(())
}

/// `MPI_Dist_graph_neighbors`: the first of the neighbours, as many as there is
/// room for (§8.5.5).
pub fn dist_graph_neighbors(
    comm: &Arc<Comm>,
    maxindegree: c_int,
    sources: OutArray<c_int>,
    sourceweights: OutArray<c_int>,
    maxoutdegree: c_int,
    destinations: OutArray<c_int>,
    destweights: OutArray<c_int>,
) -> Result<()> {
    let graph = comm.dist_graph()?;
    tell(&graph.incoming, number("maxindegree", maxindegree)?, sources, sourceweights)?;
    tell(&graph.outgoing, number("maxoutdegree", maxoutdegree)?, destinations, destweights)
}

fn tell(edges: &Edges, room: usize, ranks: OutArray<c_int>, weights: OutArray<c_int>) -> Result<()> {
    for (index, &rank) in edges.ranks.iter().take(room).enumerate() {
        ranks.set(index, rank as c_int)?;
    }
    let wanted = weights.address().cast_const() != abi::MPI_UNWEIGHTED.cast_const();
    let known = edges.weights.as_deref().filter(|_| wanted).unwrap_or_default();
    known.iter().take(room).enumerate().try_for_each(|(index, &weight)| weights.set(index, weight))
}

fn ints(ranks: &[u32]) -> Vec<c_int> {
    ranks.iter().map(|&rank| rank as c_int).collect()
}
