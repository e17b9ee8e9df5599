//! Many nodes in one process, for long runs: whatever can happen next happens by chance, and is checked at once.
//!
//! Messages between two nodes keep their order, those between others come as they come. Nodes pause, ranks and nodes
//! die, the news of it comes to each node when it comes. After each step the credits of all links that it touched are
//! counted.

use crate::lanes::Lanes;
use crate::ledger::Ledger;
use crate::program;
use crate::random::Random;
use crate::server::{Asked, Body, End, Event, Header, Kind, Outside, Sender, Server, Settings, Topology};
use crate::server::{ANSWER, FETCH, SHARED, TELL};
use crate::ways::Ways;
use crate::world::Violation;
use std::collections::BTreeSet;

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Run {
    /// Ways between the nodes.
    pub ways: Ways,
    /// Credits and the like.
    pub settings: Settings,
    /// Ranks of each node.
    pub ranks: u32,
    /// Of 1000 steps, so many are deaths of ranks, and of nodes.
    pub deaths: (u64, u64),
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that servers have got.
    pub steps: u64,
    /// Requests that were asked for, and that have ended.
    pub asked: u64,
    /// How many of them as they should.
    pub done: u64,
    /// Messages between nodes, and how many of them were requests.
    pub messages: u64,
    /// See above.
    pub requests: u64,
    /// The most messages that were under way at once.
    pub most_messages: u64,
    /// Locks that went on from one that died.
    pub inherited: u64,
}

/// The nodes and all between them.
pub struct Fabric {
    run: Run,
    random: Random,
    servers: Vec<Server<Ways>>,
    lanes: Lanes,
    /// Ranks that are gone.
    dead_ranks: BTreeSet<u32>,
    /// Nodes that are gone, in order; how many of them each node knows.
    news: Vec<u32>,
    heard: Vec<usize>,
    paused: BTreeSet<u32>,
    ledger: Ledger,
    counts: Counts,
    /// Data that nodes fetch by themselves: who fetches, whose request, its ticket.
    fetches: Vec<(u32, u32, u64)>,
    /// The node to which something came last.
    last: u32,
}

/// What a step does outside of its server.
struct Effects<'a> {
    here: u32,
    ledger: &'a mut Ledger,
    sent: Vec<(u32, Vec<u8>)>,
    has_room: bool,
    /// Data are fetched by other means than messages; what is.
    fetches_itself: bool,
    fetches: Vec<(u32, u64)>,
    violation: Option<Violation>,
}

impl Effects<'_> {
    fn note(&mut self, result: Result<(), Violation>) {
        if let Err(violation) = result {
            self.violation.get_or_insert(violation);
        }
    }
}

impl Outside for Effects<'_> {
    fn send(&mut self, to: u32, header: &Header, body: Body<'_>) {
        let body = match body {
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::Own(ticket) | Body::Data(ticket) => program::body(ticket).to_vec(),
        };
        let header = Header { bytes: body.len() as u32, ..*header };
        self.sent.push((to, [&header.write()[..], &body].concat()));
    }

    fn execute(
        &mut self,
        request: &Header,
        body: &[u8],
        fetched: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), u64> {
        let wanted = program::body(request.ticket);
        if body != wanted || request.has(FETCH) && fetched != wanted {
            self.note(Err(format!("request {} came with other data", request.ticket)));
        }
        answer.extend_from_slice(&wanted);
        let noted = self.ledger.execute((request.origin, request.origin_rank), self.here, request.ticket);
        self.note(noted);
        Ok(())
    }

    fn fetch(&mut self, request: &Header, body: &[u8]) -> bool {
        if body != program::body(request.ticket) {
            self.note(Err(format!("request {} has another description", request.ticket)));
        }
        self.fetches.extend(self.fetches_itself.then_some((request.origin, request.ticket)));
        self.fetches_itself
    }

    fn has_room(&self, _to: u32) -> bool {
        self.has_room
    }

    fn complete(&mut self, ticket: u64, end: End, data: &[u8]) {
        let noted = self.ledger.end(ticket, end, data);
        self.note(noted);
    }
}

impl Fabric {
    /// Nodes at rest.
    pub fn new(run: Run, seed: u64) -> Fabric {
        let nodes = run.ways.nodes();
        let server = |node| Server::new(node, run.ways.clone(), run.settings);
        Fabric {
            random: Random::new(seed),
            servers: (0..nodes).map(server).collect(),
            lanes: Lanes::default(),
            dead_ranks: BTreeSet::new(),
            news: Vec::new(),
            heard: vec![0; nodes as usize],
            paused: BTreeSet::new(),
            ledger: Ledger::new(run.ways.has_one_way()),
            counts: Counts::default(),
            fetches: Vec::new(),
            last: 0,
            run,
        }
    }

    /// So many steps, and then as many as it takes until nothing is left to do.
    ///
    /// # Errors
    /// What went wrong, and in which step.
    pub fn go(mut self, steps: u64) -> Result<Counts, Violation> {
        while self.counts.steps < steps {
            self.step_by_chance().map_err(|violation| format!("step {}: {violation}", self.counts.steps))?;
        }
        self.paused.clear();
        self.come_to_rest().map_err(|violation| format!("at the end: {violation}"))?;
        self.counts.inherited = self.ledger.inherited;
        (self.counts.asked, self.counts.done) = self.ledger.counts();
        Ok(self.counts)
    }

    fn node(&mut self) -> u32 {
        let nodes = self.servers.len() as u64;
        self.random.below(nodes) as u32
    }

    fn is_gone(&self, node: u32) -> bool {
        self.news.contains(&node)
    }

    fn step_by_chance(&mut self) -> Result<(), Violation> {
        let (ranks, nodes) = self.run.deaths;
        let chance = self.random.below(1000);
        if chance < ranks {
            return self.kill_a_rank();
        }
        if chance < ranks + nodes && self.news.len() < self.servers.len() / 4 {
            return self.kill_a_node();
        }
        let node = self.node();
        if !self.fetches.is_empty() && self.random.below(4) == 0 {
            return self.end_a_fetch();
        }
        match self.random.below(100) {
            0..=64 => match self.lanes.by_chance(&mut self.random) {
                Some((from, to)) if !self.paused.contains(&to) => self.deliver(from, to),
                Some((_, to)) => {
                    // So that nobody pauses for ever.
                    if self.random.below(20) == 0 {
                        self.paused.remove(&to);
                    }
                    Ok(())
                }
                None => self.ask(node),
            },
            65..=91 => self.ask(node),
            92 => self.event(self.last, Event::Polled),
            93 => self.event(self.last, Event::Room),
            94 => self.event(node, Event::Polled),
            95 => self.event(node, Event::Room),
            96..=98 => self.hear_news(node).map(|_| ()),
            _ => {
                self.paused.insert(node);
                Ok(())
            }
        }
    }

    /// A rank of a node asks for something, if none waits.
    fn ask(&mut self, node: u32) -> Result<(), Violation> {
        let local = self.random.below(u64::from(self.run.ranks)) as u32;
        let rank = node * self.run.ranks + local;
        if self.is_gone(node) || self.dead_ranks.contains(&rank) || self.ledger.is_waiting(rank) {
            return Ok(());
        }
        let is_hot = self.random.below(8) == 0;
        let target = if is_hot { 0 } else { self.node() };
        let target_rank = target * self.run.ranks + self.random.below(u64::from(self.run.ranks)) as u32;
        let tell = if self.random.below(4) == 0 { TELL } else { 0 };
        let (kind, flags) = match (self.ledger.held_by(rank), self.random.below(20)) {
            (Some((lock, is_shared)), 0..=9) => {
                let flags = if is_shared { SHARED } else { 0 };
                let (target, target_rank) = (lock / self.run.ranks, lock);
                return self.submit(
                    node,
                    Asked { kind: Kind::Unlock, flags, rank, target, target_rank, ..Asked::default() },
                );
            }
            (None, 0) => (Kind::Lock, if self.random.below(3) == 0 { 0 } else { SHARED }),
            (_, 0..=9) => (Kind::Operation, tell),
            (_, 10..=12) => (Kind::Operation, FETCH | tell),
            (_, 13..=16) => (Kind::Operation, ANSWER),
            _ => (Kind::Tell, 0),
        };
        if target == node && kind != Kind::Lock {
            return Ok(());
        }
        self.submit(node, Asked { kind, flags, rank, target, target_rank, ..Asked::default() })
    }

    fn submit(&mut self, node: u32, asked: Asked) -> Result<(), Violation> {
        let ticket = self.ledger.ask(node, &asked);
        self.event(node, Event::Asked(Asked { ticket, ..asked }))
    }

    /// Data have come that a node fetches by itself, or will not come so.
    fn end_a_fetch(&mut self) -> Result<(), Violation> {
        let place = self.random.below(self.fetches.len() as u64) as usize;
        let (here, origin, ticket) = self.fetches.swap_remove(place);
        let data = program::body(ticket);
        let has_come = self.random.below(4) > 0;
        self.event(here, Event::Fetched { origin, ticket, data: has_come.then_some(&data) })
    }

    fn deliver(&mut self, from: u32, to: u32) -> Result<(), Violation> {
        let message = self.lanes.take(from, to);
        if self.is_gone(to) {
            return Ok(());
        }
        self.last = to;
        self.event(to, Event::Arrived { from, message: &message })?;
        self.check(from, to)
    }

    fn event(&mut self, here: u32, event: Event<'_>) -> Result<(), Violation> {
        if self.is_gone(here) {
            return Ok(());
        }
        self.counts.steps += 1;
        let has_room = self.random.below(10) > 0 || matches!(event, Event::Room);
        let ledger = &mut self.ledger;
        let fetches_itself = self.random.below(2) == 0;
        let (sent, fetches) = (Vec::new(), Vec::new());
        let mut effects = Effects { here, ledger, sent, has_room, fetches_itself, fetches, violation: None };
        let went = self.servers[here as usize].step(event, &mut effects);
        let Effects { sent, fetches, violation, .. } = effects;
        self.fetches.extend(fetches.into_iter().map(|(origin, ticket)| (here, origin, ticket)));
        went.map_err(|fault| format!("node {here}: {}", fault.0))?;
        violation.map_or(Ok(()), Err)?;
        for (to, message) in &sent {
            let (header, _) = Header::read(message).map_err(|fault| fault.0.to_owned())?;
            let is_by_node = header.kind.is_request() && !self.run.ways.is_by_process(header.class);
            self.counts.messages += 1;
            self.counts.requests += u64::from(header.kind.is_request());
            self.lanes.add((here, *to), message.clone(), (u32::from(is_by_node), u32::from(header.credits)));
        }
        self.counts.most_messages = self.counts.most_messages.max(self.lanes.count());
        sent.iter().try_for_each(|(to, _)| self.check(here, *to).and_then(|()| self.check(*to, here)))
    }

    /// Whether the credits of a link are all somewhere.
    fn check(&self, from: u32, to: u32) -> Result<(), Violation> {
        if self.is_gone(from) || self.is_gone(to) {
            return Ok(());
        }
        let used = u32::from(self.servers[from as usize].link((to, Sender::Node(from))).0);
        let (in_use, owed) = self.servers[to as usize].buffers_of(Sender::Node(from));
        let (requests, credits) = (self.lanes.carried(from, to).0, self.lanes.carried(to, from).1);
        if used != requests + credits + u32::from(in_use) + u32::from(owed) {
            return Err(format!(
                "link {from}-{to}: {used} credits are out; {requests} requests and {credits} credits are on their way, \
                 {in_use} buffers in use, {owed} owed"
            ));
        }
        Ok(())
    }

    fn kill_a_rank(&mut self) -> Result<(), Violation> {
        let node = self.node();
        let rank = node * self.run.ranks + self.random.below(u64::from(self.run.ranks)) as u32;
        if self.is_gone(node) || !self.dead_ranks.insert(rank) {
            return Ok(());
        }
        self.ledger.lose_rank(rank);
        self.event(node, Event::RankGone(rank))
    }

    fn kill_a_node(&mut self) -> Result<(), Violation> {
        let node = self.node();
        if !self.is_gone(node) {
            self.news.push(node);
            self.lanes.lose(node);
            (0..self.run.ranks).for_each(|local| self.ledger.lose_rank(node * self.run.ranks + local));
            self.ledger.lose_node();
        }
        Ok(())
    }

    /// A node gets the next news; whether there was any.
    fn hear_news(&mut self, node: u32) -> Result<bool, Violation> {
        let heard = self.heard[node as usize];
        let Some(&gone) = self.news.get(heard).filter(|_| !self.is_gone(node)) else { return Ok(false) };
        self.heard[node as usize] += 1;
        self.event(node, Event::NodeGone(gone))?;
        // Nothing comes from there any more, and nobody asks for it.
        self.fetches.retain(|&(here, origin, _)| here != node || origin != gone);
        Ok(true)
    }

    /// Delivers whatever there is, until nothing moves; then nobody may be left waiting.
    fn come_to_rest(&mut self) -> Result<(), Violation> {
        loop {
            let asked = self.ledger.counts();
            while let Some((from, to)) = self.lanes.by_chance(&mut self.random) {
                self.deliver(from, to)?;
            }
            while !self.fetches.is_empty() {
                self.end_a_fetch()?;
            }
            for node in 0..self.servers.len() as u32 {
                self.event(node, Event::Room)?;
                while self.hear_news(node)? {}
                self.release(node)?;
                self.event(node, Event::Polled)?;
            }
            if self.lanes.count() == 0 && self.ledger.counts() == asked {
                break;
            }
        }
        self.ledger.check_end()?;
        let alive = (0..self.servers.len() as u32).filter(|&node| !self.is_gone(node));
        for node in alive {
            let server = &self.servers[node as usize];
            if !server.is_idle_but_for_counts() && self.news.is_empty() {
                return Err(format!("the server of node {node} has something left"));
            }
        }
        Ok(())
    }

    /// Gives back whatever lock a rank of a node holds.
    fn release(&mut self, node: u32) -> Result<(), Violation> {
        for rank in node * self.run.ranks..(node + 1) * self.run.ranks {
            let Some((lock, is_shared)) = self.ledger.held_by(rank).filter(|_| !self.ledger.is_waiting(rank))
            else {
                continue;
            };
            let flags = if is_shared { SHARED } else { 0 };
            let (target, target_rank) = (lock / self.run.ranks, lock);
            self.submit(
                node,
                Asked { kind: Kind::Unlock, flags, rank, target, target_rank, ..Asked::default() },
            )?;
        }
        Ok(())
    }
}
