//! A job and a protocol, to be measured: their names, laws and measured bytes.

use crate::counting;
use crate::peers::{Peers, Seen};
use crate::server::{law, Clusters, Grid, Settings};
use crate::subject::{Counted, Process, Subject};
use crate::ways::Ways;
use std::io;
use std::path::Path;

/// Bytes of a buffer, as in the study.
pub const BUFFER: u64 = 16 << 10;
/// Bytes of a buffer for requests whose data stay with the origin.
pub const SLOT: u64 = 256;
/// Ranks of each node, as in the study.
pub const RANKS: u32 = 12;

/// A job and a protocol.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Nodes.
    pub nodes: u32,
    /// `before`: a buffer for each process; `study`: clusters of that many; `grid` of so many dimensions; `hypercube`.
    pub scheme: String,
    /// Servers of a cluster, or dimensions.
    pub parameter: u32,
    /// Bytes of a buffer.
    pub buffer: u64,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Bytes of buffers by the law.
    pub law: u64,
    /// Those who can send to the server.
    pub senders: u64,
    /// The most bytes that the server held.
    pub most: u64,
    /// What it held after that, at rest.
    pub at_rest: u64,
    /// Traffic by chance.
    pub seen: Seen,
}

impl Setting {
    /// By its name.
    pub fn new(nodes: u32, scheme: &str, parameter: u32, buffer: u64) -> Setting {
        Setting { nodes, scheme: scheme.to_owned(), parameter, buffer }
    }

    /// As arguments of a program, and back.
    pub fn arguments(&self) -> Vec<String> {
        vec![self.nodes.to_string(), self.scheme.clone(), self.parameter.to_string(), self.buffer.to_string()]
    }

    /// See [`Setting::arguments`].
    pub fn of(arguments: &[String]) -> Option<Setting> {
        let [nodes, scheme, parameter, buffer] = arguments else { return None };
        Some(Setting::new(nodes.parse().ok()?, scheme, parameter.parse().ok()?, buffer.parse().ok()?))
    }

    /// Ways between its nodes.
    pub fn ways(&self) -> Ways {
        let nodes = self.nodes;
        match self.scheme.as_str() {
            "grid" => Ways::Grid(Grid::fitting(nodes, self.parameter)),
            "hypercube" => Ways::Grid(Grid::hypercube(nodes)),
            _ => Ways::Clusters(Clusters { nodes, of: self.parameter }),
        }
    }

    /// Bytes of buffers by the law.
    pub fn law(&self) -> u64 {
        match self.ways() {
            Ways::Clusters(clusters) => law::of_clusters(&clusters, RANKS, &Settings::default(), self.buffer),
            ways => law::of_grid(ways.grid().expect("it is one"), &Settings::default(), self.buffer),
        }
    }

    /// A node in the middle.
    pub fn here(&self) -> u32 {
        self.nodes / 3
    }

    fn peers(&self) -> Peers {
        Peers::new(self.here(), self.ways(), Settings::default(), RANKS, 1)
    }

    /// Fills all buffers of a server in this process, and then lets so many requests come by chance.
    pub fn measure(&self, requests: u64) -> Measured {
        let mut subject = Counted::new(self.here(), self.ways(), Settings::default());
        let mut peers = self.peers();
        peers.flood(&mut subject, self.buffer as usize, || {});
        let (at_rest, most) = counting::held();
        let seen = peers.traffic(&mut subject, (requests, 1000.min(self.buffer as usize), 1));
        let senders = peers.count() as u64;
        Measured { law: self.law(), senders, most: most as u64, at_rest: at_rest as u64, seen }
    }

    /// The growth of a server that is a process of its own, when all of its buffers are filled: of what is resident.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn growth(&self, program: &Path) -> io::Result<u64> {
        let arguments = [vec!["serve".to_owned()], self.arguments()].concat();
        let mut process = Process::start(program, &arguments)?;
        process.poll();
        let before = process.resident();
        let mut after = 0;
        let resident = process.resident_of();
        self.peers().flood(&mut process, self.buffer as usize, || after = resident());
        Ok(after - before)
    }
}
