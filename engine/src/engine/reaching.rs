//! Whether this node can connect to the others of its job: tried, for people.

use super::Engine;
use crate::job::node_card::{NodeCard, NodeDirectory};
use crate::Result;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An address that has not answered after so long does not answer.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// A node that this one cannot connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// Its number.
    pub node: u32,
    /// Its addresses, and why each could not be connected to.
    pub why: String,
}

impl Engine {
    /// Connects to all other nodes of the job at once, and lets go of them again. Nothing is sent, and no other rank has to do
    /// anything for it. Only the first rank of a node does so; others find nothing. It takes [`PATIENCE`] for each address of a node at most.
    ///
    /// # Errors
    /// What the launcher says when it is asked where they are.
    pub fn try_nodes(&self) -> Result<Vec<Unreached>> {
        let Some(network) = self.job.network().filter(|_| self.job.local_rank == 0) else {
            return Ok(Vec::new());
        };
        let others = (0..network.nodes()).filter(|&node| node != network.own_node());
        let cards: Vec<NodeCard> = others.map(|node| network.card(node)).collect::<Result<_>>()?;
        let unreached = std::thread::scope(|scope| {
            let tries: Vec<_> = cards.iter().map(|card| scope.spawn(|| unreached(card))).collect();
            tries.into_iter().filter_map(|tried| tried.join().ok().flatten()).collect()
        });
        Ok(unreached)
    }
}

fn unreached(card: &NodeCard) -> Option<Unreached> {
    let mut why = Vec::new();
    for address in &card.addresses {
        match TcpStream::connect_timeout(&SocketAddr::new(address.ip, card.port), PATIENCE) {
            Ok(_) => return None,
            Err(error) => why.push(format!("{} (port {}): {error}", address.ip, card.port)),
        }
    }
    Some(Unreached { node: card.node, why: why.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::node_card::Address;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_node_is_reached_by_one_of_its_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = |last| Address { ip: Ipv4Addr::new(127, 0, 0, last).into(), prefix: 8 };
        let card = |addresses| NodeCard { node: 3, ranks: 1, port, addresses };
        assert_eq!(unreached(&card(vec![address(2), address(1)])), None);
        let found = unreached(&card(vec![address(2)])).unwrap();
        assert!(found.node == 3 && found.why.starts_with(&format!("127.0.0.2 (port {port}): ")), "{found:?}");
    }
}
