//! The other nodes of a job, as a rank of one of them knows them.

use super::node_card::{JobKey, NodeCard, NodeDirectory};
use super::node_map::NodeMap;
use super::node_table::NodeTable;
use super::voicing::Said;
use super::Bootstrap;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// A launcher that several may ask.
pub(super) type SharedBootstrap = Arc<Mutex<Box<dyn Bootstrap>>>;

/// The other nodes, and what is needed to reach them.
pub struct JobNetwork {
    table: NodeTable,
    listeners: Vec<OwnedFd>,
    bootstrap: SharedBootstrap,
}

impl JobNetwork {
    /// What this node has been told; `bootstrap` knows the cards that are not in the table.
    pub(super) fn new(table: NodeTable, listeners: Vec<OwnedFd>, bootstrap: SharedBootstrap) -> JobNetwork {
        JobNetwork { table, listeners, bootstrap }
    }

    /// Which rank is on which node.
    pub fn map(&self) -> &NodeMap {
        self.table.map()
    }

    /// As so manieth of all a rank of the job has failed, if it has.
    pub fn failure_of(&self, rank: JobRank) -> Option<u32> {
        self.table.failure_of(rank.0)
    }
}

/// Under which key a launcher keeps the card of a node.
pub(super) fn card_key(node: u32) -> String {
    format!("serried-card-{node}")
}

impl NodeDirectory for JobNetwork {
    fn own_node(&self) -> u32 {
        self.table.own_node()
    }

    fn nodes(&self) -> u32 {
        self.map().nodes()
    }

    fn place_of(&self, rank: JobRank) -> (u32, LocalRank) {
        let (node, local) = self.map().place_of(rank.0);
        (node, LocalRank(local))
    }

    fn card(&self, node: u32) -> Result<NodeCard> {
        if let Some(card) = self.table.card(node)? {
            return Ok(card);
        }
        let leader = self.map().first_of(node);
        let told =
            self.bootstrap.lock().unwrap_or_else(PoisonError::into_inner).get(leader, &card_key(node))?;
        let card = NodeCard::from_text(&told.ok_or_else(|| unknown(node))?)?;
        if card.node != node {
            return Err(unknown(node));
        }
        self.table.keep(&card)?;
        Ok(card)
    }

    fn key(&self) -> JobKey {
        self.table.key()
    }

    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        self.listeners.iter().map(AsFd::as_fd).collect()
    }

    fn goes_on(&self) -> bool {
        self.table.goes_on_without_ranks()
    }

    fn has_failed(&self, rank: JobRank) -> bool {
        self.failure_of(rank).is_some()
    }

    fn note_silence(&self, rank: JobRank, milliseconds: u32) -> bool {
        let said = Said::Path { peer: rank.0, silent: milliseconds };
        self.bootstrap.lock().unwrap_or_else(PoisonError::into_inner).say(&said.line()).is_ok()
    }
}

impl std::fmt::Debug for JobNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobNetwork").field("own_node", &self.own_node()).finish_non_exhaustive()
    }
}

#[cold]
fn unknown(node: u32) -> Error {
    Error::new(Class::Other, format!("the launcher does not know the card of node {node}"))
}
