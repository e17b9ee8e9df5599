//! What collective operations have to know of a communicator: who takes part, and whose neighbour each is.

use crate::collective::{Members, Neighbourhood};
use crate::world::topology::Topology;
use crate::world::Communicator;
use crate::Result;

impl From<&Communicator> for Members {
    fn from(communicator: &Communicator) -> Members {
        let remote = communicator.remote.as_ref().map(|group| group.size());
        Members { rank: communicator.rank, size: communicator.group.size(), remote }
    }
}

/// The edges of this rank in a communicator's topology.
///
/// # Errors
/// `Topology` when it has none.
pub fn neighbourhood(communicator: &Communicator) -> Result<Neighbourhood> {
    let cartesian = matches!(communicator.topology(), Some(Topology::Cart(_)));
    let edges = communicator.neighbours()?;
    Ok(Neighbourhood { sources: edges.sources, destinations: edges.destinations, cartesian })
}
