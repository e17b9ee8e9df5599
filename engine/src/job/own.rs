//! Started by `serried run`, which made the node segment and left its
//! descriptor to every rank: starting takes no round trip.
//!
//! The launcher also serves PMI-1; that connection is opened at first use.

use super::birth::Descent;
use super::detect::{Inherited, Others};
use super::pmi1::{self, Connection};
use super::switchboard::Line;
use super::{Bootstrap, NodeMap, NodeSegment, NodeTable, Started};
use crate::{Class, Error, Result};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

struct Own {
    rank: u32,
    map: NodeMap,
    socket: Option<UnixStream>,
    connection: Option<Connection<UnixStream>>,
}

pub(super) fn start(
    (segment, line): (OwnedFd, Option<OwnedFd>),
    others: Option<Others>,
    descent: Option<Inherited>,
    pmi: OwnedFd,
    rank: u32,
    size: u32,
) -> Result<Started> {
    let node = NodeSegment::open(segment)?.with_line(line.map(Line::new));
    let others = others.map(|others| Ok((NodeTable::open(others.table)?, others.listeners))).transpose()?;
    let (own_node, map) = match &others {
        Some((table, _)) => (table.own_node(), table.map().clone()),
        None => (0, NodeMap::one(size)),
    };
    let is_here = map.size() == size && rank < size && map.place_of(rank).0 == own_node;
    if node.local_ranks() != map.ranks_on(own_node) || !is_here {
        return Err(Error::new(
            Class::Other,
            format!(
                "the launcher says rank {rank} of {size}, but its node segment is for {} ranks; \
                 are PMI_RANK or PMI_SIZE set by hand?",
                node.local_ranks()
            ),
        ));
    }
    let (local_rank, local_ranks) = (map.place_of(rank).1, map.ranks_of(own_node));
    let own = Own { rank, map, socket: Some(UnixStream::from(pmi)), connection: None };
    let descent = descent.map(|Inherited { first, birth }| Descent::open(first, birth)).transpose()?;
    Ok(Started { local_rank, local_ranks, node, others, descent, bootstrap: Box::new(own) })
}

impl Own {
    fn connection(&mut self) -> Result<&mut Connection<UnixStream>> {
        if let Some(socket) = self.socket.take() {
            self.connection = Some(Connection::open(socket)?);
        }
        self.connection.as_mut().ok_or_else(gone)
    }
}

#[cold]
fn gone() -> Error {
    Error::new(Class::Other, "the launcher has closed its connection")
}

impl Bootstrap for Own {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.map.size()
    }

    fn nodes(&mut self) -> Result<NodeMap> {
        Ok(self.map.clone())
    }

    fn program(&mut self) -> Result<u32> {
        self.connection()?.program()
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        self.connection()?.put(key, value)
    }

    fn get(&mut self, _from: u32, key: &str) -> Result<Option<String>> {
        self.connection()?.get(key)
    }

    fn fence(&mut self) -> Result<()> {
        self.connection()?.barrier()
    }

    fn abort(&mut self, code: i32, message: &str) -> bool {
        // The page has told it already; this wakes the launcher up.
        if let Ok(connection) = self.connection() {
            connection.abort(code, message);
        }
        true
    }

    fn say(&mut self, line: &str) -> Result<()> {
        match (&mut self.socket, &mut self.connection) {
            // Nobody has to be greeted for that.
            (Some(socket), _) => pmi1::send(socket, line),
            (_, Some(connection)) => connection.say(line),
            (None, None) => Err(gone()),
        }
    }

    fn finish(&mut self) -> Result<()> {
        // The page tells it; a connection that was used is closed in order.
        self.connection.as_mut().map_or(Ok(()), Connection::finalize)
    }
}
