//! Started by `serried run`, which made the node segment and left its
//! descriptor to every rank: starting takes no round trip.
//!
//! The launcher also serves PMI-1; that connection is opened at first use.

use super::pmi1::Connection;
use super::{Bootstrap, NodeSegment, Started};
use crate::{Class, Error, Result};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

struct Own {
    rank: u32,
    size: u32,
    socket: Option<UnixStream>,
    connection: Option<Connection<UnixStream>>,
}

pub(super) fn start(segment: OwnedFd, pmi: OwnedFd, rank: u32, size: u32) -> Result<Started> {
    let node = NodeSegment::open(segment)?;
    if node.local_ranks() != size || rank >= size {
        return Err(Error::new(
            Class::Other,
            format!(
                "the launcher says rank {rank} of {size}, but its node segment is for {} ranks; \
                 are PMI_RANK or PMI_SIZE set by hand?",
                node.local_ranks()
            ),
        ));
    }
    let own = Own { rank, size, socket: Some(UnixStream::from(pmi)), connection: None };
    Ok(Started { local_rank: rank, local_ranks: (0..size).collect(), node, bootstrap: Box::new(own) })
}

impl Own {
    fn connection(&mut self) -> Result<&mut Connection<UnixStream>> {
        if let Some(socket) = self.socket.take() {
            self.connection = Some(Connection::open(socket)?);
        }
        self.connection
            .as_mut()
            .ok_or_else(|| Error::new(Class::Other, "the launcher has closed its connection"))
    }
}

impl Bootstrap for Own {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&mut self) -> Result<Vec<u32>> {
        Ok(vec![0; self.size as usize])
    }

    fn program(&mut self) -> Result<u32> {
        self.connection()?.program()
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        self.connection()?.put(key, value)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>> {
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

    fn finish(&mut self) -> Result<()> {
        // The page tells it; a connection that was used is closed in order.
        self.connection.as_mut().map_or(Ok(()), Connection::finalize)
    }
}
