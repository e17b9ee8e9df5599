//! Making communicators with a topology (MPI-5.0 §8.5).

use super::dist_graph::{check_rank, check_weights};
use super::{Cart, DistGraph, Edges, Graph, Topology};
use crate::world::bootstrap_channel::{read_words, words, Allgather};
use crate::world::create::{create, start_copy, Copied};
use crate::world::{complete, BootstrapChannel, Communicator, Group, Info};
use crate::{Cause, Class, Error, Result};
use std::sync::Arc;

/// `MPI_Cart_create`: the first processes of the parent form a grid; the others
/// get `None`.
///
/// # Errors
/// `Comm` for an intercommunicator, `Dims` when the parent is too small.
pub fn cart_create(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    cart: Cart,
) -> Result<Option<Communicator>> {
    let size = cart.size();
    fits(parent, size, Class::Dims, &format!("a grid of {:?}", cart.dims()))?;
    first_of(exchange, parent, size, Topology::Cart(cart))
}

/// `MPI_Cart_sub`: a grid of the kept dimensions for each position along the
/// others.
///
/// # Errors
/// `Topology` when the parent has no grid, `Arg` when the flags are too few.
pub fn cart_sub(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    kept: &[bool],
) -> Result<Option<Communicator>> {
    let (cart, ranks) = parent.cart()?.sub(parent.rank, kept)?;
    let group = Arc::new(parent.group.incl(&ranks)?);
    let made = create(exchange, parent, &group)?;
    Ok(made.map(|made| made.with_topology(Topology::Cart(cart))))
}

/// `MPI_Graph_create`: the first processes of the parent form a graph; the
/// others get `None`.
///
/// # Errors
/// `Comm` for an intercommunicator, `Arg` when the parent is too small.
pub fn graph_create(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    graph: Graph,
) -> Result<Option<Communicator>> {
    let size = graph.nodes();
    fits(parent, size, Class::Arg, "a graph")?;
    first_of(exchange, parent, size, Topology::Graph(graph))
}

/// `MPI_Dist_graph_create_adjacent`: every process gives its own edges.
///
/// # Errors
/// `Comm` for an intercommunicator.
pub fn dist_graph_create_adjacent(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    graph: DistGraph,
    hints: Info,
) -> Result<Arc<Communicator>> {
    fits(parent, 0, Class::Arg, "a graph")?;
    let copied = Copied { hints, ..Copied::default() };
    let duplication = start_copy(exchange, parent, copied, Some(Topology::DistGraph(graph)))?;
    let made = duplication.made();
    complete(exchange, duplication)?;
    Ok(made)
}

/// `MPI_Dist_graph_create`: any process gives any edges: from `sources[i]` to
/// the next `degrees[i]` of `destinations`. Neighbours come in the order of
/// the ranks that gave the edges.
///
/// # Errors
/// `Comm` for an intercommunicator; `Rank` or `Arg` when the edges make no
/// sense.
pub fn dist_graph_create(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    (sources, degrees): (&[i32], &[i32]),
    (destinations, weights): (&[i32], Option<&[i32]>),
    hints: Info,
) -> Result<Arc<Communicator>> {
    fits(parent, 0, Class::Arg, "a graph")?;
    let mut given = vec![u64::from(weights.is_some())];
    given.extend(edge_words(parent.size(), (sources, degrees), (destinations, weights))?);
    let gathered = complete(exchange, Allgather::new(parent.collective_line(exchange)?, words(given)))?;
    let empty = Edges { ranks: Vec::new(), weights: weights.map(|_| Vec::new()) };
    let mut graph = DistGraph { incoming: empty.clone(), outgoing: empty };
    for bytes in gathered {
        let numbers = read_words(&bytes)?;
        if numbers.first() != Some(&u64::from(weights.is_some())) {
            return Err(Error::because(Class::NotSame, Cause::WeightsDiffer));
        }
        for edge in numbers[1..].chunks_exact(3) {
            let (source, destination, weight) = (edge[0] as u32, edge[1] as u32, edge[2] as i32);
            if source == parent.rank {
                graph.outgoing.push(destination, weight);
            }
            if destination == parent.rank {
                graph.incoming.push(source, weight);
            }
        }
    }
    dist_graph_create_adjacent(exchange, parent, graph, hints)
}

/// Source, destination and weight of every edge.
fn edge_words(
    size: u32,
    (sources, degrees): (&[i32], &[i32]),
    (destinations, weights): (&[i32], Option<&[i32]>),
) -> Result<Vec<u64>> {
    if let Some(weights) = weights {
        check_weights(weights, destinations.len())?;
    }
    let mut numbers = Vec::with_capacity(destinations.len() * 3);
    let mut next = 0;
    for (&source, &degree) in sources.iter().zip(degrees) {
        let source = check_rank(source, size)?;
        let degree = usize::try_from(degree)
            .map_err(|_| Error::new(Class::Arg, format!("rank {source} is given the degree {degree}")))?;
        for place in next..next + degree {
            let destination = destinations.get(place).ok_or_else(|| {
                let count = destinations.len();
                Error::new(
                    Class::Arg,
                    format!("the degrees ask for more than the {count} destinations given"),
                )
            })?;
            let weight = weights.map_or(0, |weights| weights[place]);
            numbers.extend([source, check_rank(*destination, size)?, weight as u32].map(u64::from));
        }
        next += degree;
    }
    Ok(numbers)
}

fn fits(parent: &Communicator, size: u32, class: Class, what: &str) -> Result<()> {
    if parent.is_inter() {
        return Err(Error::new(Class::Comm, "an intercommunicator cannot have a topology"));
    }
    match parent.size() {
        there if there < size => {
            Err(Error::new(class, format!("{what} needs {size} processes; the communicator has {there}")))
        }
        _ => Ok(()),
    }
}

fn first_of(
    exchange: &dyn BootstrapChannel,
    parent: &Communicator,
    size: u32,
    topology: Topology,
) -> Result<Option<Communicator>> {
    let last = i32::try_from(size).unwrap_or(i32::MAX) - 1;
    let group = match size {
        0 => Arc::new(Group::empty()),
        _ => Arc::new(parent.group.range_incl(&[[0, last, 1]])?),
    };
    let made = create(exchange, parent, &group)?;
    Ok(made.map(|made| made.with_topology(topology)))
}
