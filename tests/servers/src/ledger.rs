//! What ranks have asked for in a long run, and whether it ends as it should.

use crate::program;
use crate::server::{Asked, End, Kind, ANSWER, SHARED};
use crate::world::Violation;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A request that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: u32,
    asked: Asked,
    /// The rank waits for it.
    waits: bool,
    /// Of a fence: the last put of the node to that target.
    before: Option<u64>,
}

/// The account of a run.
#[derive(Debug)]
pub struct Ledger {
    last_ticket: u64,
    open: HashMap<u64, Open>,
    executed: HashSet<u64>,
    /// By origin and target: the last put asked for, and the last request done.
    asked: HashMap<(u32, u32), u64>,
    done: HashMap<(u32, u32), u64>,
    /// Requests of one node to another are done in order; else those of one rank.
    by_node: bool,
    /// Ranks that wait.
    waiting: BTreeSet<u32>,
    /// By rank: what lock it holds, and whether shared. By lock: who holds it.
    held: BTreeMap<u32, (u32, bool)>,
    holders: BTreeMap<u32, BTreeSet<u32>>,
    dead: BTreeSet<u32>,
    nodes_gone: bool,
    ended: u64,
    well: u64,
    /// Locks that went on from one that died.
    pub inherited: u64,
}

impl Ledger {
    /// Nothing has been asked for.
    pub fn new(by_node: bool) -> Ledger {
        Ledger {
            last_ticket: 0,
            by_node,
            open: HashMap::new(),
            executed: HashSet::new(),
            asked: HashMap::new(),
            done: HashMap::new(),
            waiting: BTreeSet::new(),
            held: BTreeMap::new(),
            holders: BTreeMap::new(),
            dead: BTreeSet::new(),
            nodes_gone: false,
            ended: 0,
            well: 0,
            inherited: 0,
        }
    }

    /// A rank asks; the ticket.
    pub fn ask(&mut self, node: u32, asked: &Asked) -> u64 {
        self.last_ticket += 1;
        let (ticket, pair) = (self.last_ticket, self.pair(node, asked.rank, asked.target));
        let before = self.asked.get(&pair).copied().filter(|_| asked.kind == Kind::Tell);
        if asked.kind == Kind::Operation {
            self.asked.insert(pair, ticket);
        }
        let waits = !matches!(asked.kind, Kind::Operation | Kind::Unlock) || asked.flags & ANSWER != 0;
        if waits {
            self.waiting.insert(asked.rank);
        }
        if asked.kind == Kind::Unlock {
            self.held.remove(&asked.rank);
            self.holders.entry(asked.target_rank).or_default().remove(&asked.rank);
        }
        self.open.insert(ticket, Open { node, asked: *asked, waits, before });
        ticket
    }

    /// A request is done at its target.
    pub fn execute(&mut self, (origin, rank): (u32, u32), target: u32, ticket: u64) -> Result<(), Violation> {
        if !self.executed.insert(ticket) {
            return Err(format!("request {ticket} was done twice"));
        }
        // What has ended as gone may be done later.
        let may_be_late = self.nodes_gone && !self.open.contains_key(&ticket);
        let pair = self.pair(origin, rank, target);
        let last = self.done.entry(pair).or_default();
        if *last > ticket && !may_be_late {
            return Err(format!("request {ticket} of {origin} to {target} was overtaken by {last}"));
        }
        *last = ticket.max(*last);
        Ok(())
    }

    /// A request has ended at its origin.
    pub fn end(&mut self, ticket: u64, end: End, data: &[u8]) -> Result<(), Violation> {
        let Some(Open { node, asked, waits, before }) = self.open.remove(&ticket) else {
            // Of a rank that is gone: nobody waits for it.
            return if ticket <= self.last_ticket && !self.dead.is_empty() {
                Ok(())
            } else {
                Err(format!("request {ticket} ended twice"))
            };
        };
        if waits {
            self.waiting.remove(&asked.rank);
        }
        self.ended += 1;
        self.well += u64::from(matches!(end, End::Done | End::Inherited));
        let pair = self.pair(node, asked.rank, asked.target);
        match end {
            End::Gone if self.nodes_gone => Ok(()),
            End::Refused(_) if !self.dead.is_empty() && matches!(asked.kind, Kind::Lock | Kind::Unlock) => {
                Ok(())
            }
            End::Gone | End::Refused(_) => Err(format!("request {ticket} ended by {end:?}: {asked:?}")),
            _ if asked.kind == Kind::Lock => self.hold(&asked, end),
            _ if asked.kind == Kind::Operation && !self.executed.contains(&ticket) => {
                Err(format!("request {ticket} ended and was not done"))
            }
            _ if asked.flags & ANSWER != 0 && data != program::body(ticket) => {
                Err(format!("request {ticket} brought other data"))
            }
            _ if before.is_some_and(|before| !self.is_over(pair, before)) => {
                Err(format!("fence {ticket} of {pair:?} ended before {before:?} was done"))
            }
            _ => Ok(()),
        }
    }

    fn pair(&self, node: u32, rank: u32, target: u32) -> (u32, u32) {
        (if self.by_node { node } else { rank }, target)
    }

    /// Whether a put is done, or will be seen by nobody.
    fn is_over(&self, pair: (u32, u32), ticket: u64) -> bool {
        self.executed.contains(&ticket)
            || self.done.get(&pair).is_some_and(|&done| done > ticket)
            || !self.open.contains_key(&ticket)
    }

    /// A rank has got a lock.
    fn hold(&mut self, asked: &Asked, end: End) -> Result<(), Violation> {
        let (lock, is_shared) = (asked.target_rank, asked.flags & SHARED != 0);
        self.inherited += u64::from(end == End::Inherited);
        let held = &self.held;
        let holders = self.holders.entry(lock).or_default();
        let is_free = holders.is_empty() || is_shared && holders.iter().all(|holder| held[holder].1);
        if !is_free {
            return Err(format!("rank {} got the lock of {lock}, which {holders:?} hold", asked.rank));
        }
        if end == End::Inherited && self.dead.is_empty() {
            return Err(format!("rank {} inherits the lock of {lock}, but nobody died", asked.rank));
        }
        holders.insert(asked.rank);
        self.held.insert(asked.rank, (lock, is_shared));
        Ok(())
    }

    /// A rank is gone, and with it whatever it waited for and held.
    pub fn lose_rank(&mut self, rank: u32) {
        self.dead.insert(rank);
        self.waiting.remove(&rank);
        self.open.retain(|_, open| open.asked.rank != rank);
        if let Some((lock, _)) = self.held.remove(&rank) {
            self.holders.entry(lock).or_default().remove(&rank);
        }
    }

    /// A node is gone.
    pub fn lose_node(&mut self) {
        self.nodes_gone = true;
    }

    /// Whether a rank waits for something.
    pub fn is_waiting(&self, rank: u32) -> bool {
        self.waiting.contains(&rank)
    }

    /// The lock that a rank holds, and whether it shares it.
    pub fn held_by(&self, rank: u32) -> Option<(u32, bool)> {
        self.held.get(&rank).copied()
    }

    /// Requests that have ended, and how many of them as they should.
    pub fn counts(&self) -> (u64, u64) {
        (self.ended, self.well)
    }

    /// Nothing may be open that somebody waits for.
    ///
    /// # Errors
    /// What is.
    pub fn check_end(&self) -> Result<(), Violation> {
        // A put may be done whose origin has not been told; nobody waits for that.
        let is_left = |ticket: &u64, open: &Open| {
            open.asked.kind != Kind::Unlock && !self.executed.contains(ticket)
                || self.waiting.contains(&open.asked.rank)
        };
        match self.open.iter().find(|(ticket, open)| is_left(ticket, open)) {
            Some((ticket, open)) => Err(format!("request {ticket} has not ended: {open:?}")),
            None => Ok(()),
        }
    }
}
