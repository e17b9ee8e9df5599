//! A world: the servers of some nodes, their ranks' programs, and the messages between them.
//!
//! It can be cloned and hashed, so that all states can be visited. Messages of one node to another come in order.
//! In a world of [`Order::Direct`] only requests take time: all other messages arrive with the step that sends them,
//! and what a request carries besides itself does too. That leaves out nothing that matters, because a step that brings
//! no request commutes with all others; worlds of [`Order::All`] show that they end alike.

use crate::program::{self, Programs, Step};
use crate::random::Random;
use crate::server::{Body, End, Event, Fault, Header, Outside, Sender, Server, Settings, HEADER_BYTES};
use crate::ways::Ways;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// Which messages take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All.
    All,
    /// Requests.
    Direct,
}

/// What is wrong with a world on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Buffers are a node's, so many, and not a link's; for each class, or for all.
    pub pooled: Option<(u8, bool)>,
    /// An answer needs a buffer of a request at the origin.
    pub answers_need_buffers: bool,
    /// A request for a lock that is held stays in its buffer.
    pub locks_wait_in_buffers: bool,
    /// Credits are given back twice.
    pub credits_twice: bool,
}

/// What a world is made of.
#[derive(Debug)]
pub struct Plan {
    /// Nodes.
    pub nodes: u32,
    /// Their ways.
    pub ways: Ways,
    /// Credits and the like.
    pub settings: Settings,
    /// What ranks do.
    pub programs: Programs,
    /// Which messages take time.
    pub order: Order,
    /// What is wrong.
    pub wrong: Wrong,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its server.
    pub server: Server<Ways>,
    /// Of each rank: its next step, and whether it waits for the one before.
    pub ranks: Vec<(usize, bool)>,
    /// Tickets of what was done here.
    pub executed: BTreeSet<u64>,
    /// By origin: the number of the last request.
    pub last: BTreeMap<u32, u64>,
    /// Who holds its lock, by tickets: alone, shared.
    pub holders: (BTreeSet<u32>, BTreeSet<u32>),
}

/// Messages of one node to another.
pub type Channel = VecDeque<Rc<[u8]>>;

/// A world in some state.
#[derive(Clone)]
pub struct World {
    /// What it is made of.
    pub plan: Rc<Plan>,
    /// Its nodes.
    pub nodes: Vec<Rc<Node>>,
    /// What is between them.
    pub channels: BTreeMap<(u32, u32), Channel>,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// A rank of a node does its next step.
    Rank(u32, usize),
    /// The first message between two nodes arrives.
    Message(u32, u32),
}

/// What went wrong.
pub type Violation = String;

/// What a step does outside of its server.
struct Effects<'a> {
    here: u32,
    sent: Vec<(u32, Vec<u8>)>,
    ended: Vec<(u64, End, Vec<u8>)>,
    executed: &'a mut BTreeSet<u64>,
    last: &'a mut BTreeMap<u32, u64>,
    has_room: &'a dyn Fn(u32) -> bool,
    violation: Option<Violation>,
}

impl Outside for Effects<'_> {
    fn send(&mut self, to: u32, header: &Header, body: Body<'_>) {
        let body = match body {
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::Own(ticket) | Body::Data(ticket) => program::body(ticket).to_vec(),
        };
        let mut message = Header { bytes: body.len() as u32, ..*header }.write().to_vec();
        message.extend(body);
        assert_ne!(to, self.here, "a server sends to itself");
        self.sent.push((to, message));
    }

    fn execute(
        &mut self,
        request: &Header,
        body: &[u8],
        fetched: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), u64> {
        let wanted = program::body(request.ticket);
        let has_come = body == wanted && (fetched == wanted || !request.has(crate::server::FETCH));
        self.check(has_come, || format!("request {} came with other data", request.ticket));
        let is_new = self.executed.insert(request.ticket);
        self.check(is_new, || format!("request {} was done twice", request.ticket));
        let last = self.last.insert(request.origin, request.sequence).unwrap_or(0);
        let in_order = last < request.sequence;
        self.check(in_order, || format!("request {} of {} was overtaken", request.ticket, request.origin));
        answer.extend_from_slice(&wanted);
        Ok(())
    }

    fn has_room(&self, to: u32) -> bool {
        (self.has_room)(to)
    }

    fn complete(&mut self, ticket: u64, end: End, data: &[u8]) {
        self.ended.push((ticket, end, data.to_vec()));
    }
}

impl Effects<'_> {
    fn check(&mut self, is_right: bool, sentence: impl FnOnce() -> String) {
        if !is_right && self.violation.is_none() {
            self.violation = Some(sentence());
        }
    }
}

impl World {
    /// A world at its beginning.
    pub fn new(plan: Plan) -> World {
        let node = |here: u32| {
            let server = Server::new(here, plan.ways.clone(), plan.settings);
            let ranks = plan.programs[here as usize].iter().map(|_| (0, false)).collect();
            let holders = Default::default();
            Rc::new(Node { server, ranks, executed: BTreeSet::new(), last: BTreeMap::new(), holders })
        };
        let nodes = (0..plan.nodes).map(node).collect();
        World { plan: Rc::new(plan), nodes, channels: BTreeMap::new() }
    }

    /// The number of a rank in the job.
    pub fn rank(&self, node: u32, local: usize) -> u32 {
        node + self.plan.nodes * local as u32
    }

    /// The next step of a rank, if it can do it.
    pub fn next_step(&self, node: u32, local: usize) -> Option<(usize, Step)> {
        let (next, waits) = self.nodes[node as usize].ranks[local];
        let step = *self.plan.programs[node as usize][local].get(next)?;
        (!waits).then_some((next, step))
    }

    /// Goes on at random until nothing can happen.
    ///
    /// # Errors
    /// What is wrong on the way or at the end.
    pub fn walk(&mut self, random: &mut Random) -> Result<u64, Violation> {
        for steps in 0.. {
            let moves = self.moves();
            match moves.len() {
                0 => return self.check_end().map(|()| steps),
                some => self.go(moves[random.below(some as u64) as usize])?,
            }
        }
        unreachable!("a number has no end")
    }

    /// All that can happen next.
    pub fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for node in 0..self.plan.nodes {
            let ranks = 0..self.plan.programs[node as usize].len();
            moves.extend(
                ranks
                    .filter(|&local| self.next_step(node, local).is_some())
                    .map(|local| Move::Rank(node, local)),
            );
        }
        let heads = self.channels.iter().filter(|(&(_, to), channel)| self.is_let_in(to, &channel[0]));
        moves.extend(heads.map(|(&(from, to), _)| Move::Message(from, to)));
        moves
    }

    /// The message with which a channel begins.
    pub fn head(&self, from: u32, to: u32) -> Option<Header> {
        let message = self.channels.get(&(from, to))?.front()?;
        Header::read(message).ok().map(|(header, _)| header)
    }

    /// Lets something happen.
    ///
    /// # Errors
    /// What is wrong about it.
    pub fn go(&mut self, next: Move) -> Result<(), Violation> {
        match next {
            Move::Rank(node, local) => self.go_rank(node, local)?,
            Move::Message(from, to) => {
                let channel = self.channels.get_mut(&(from, to)).expect("the move is possible");
                let message = channel.pop_front().expect("as above");
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                self.arrive(from, to, &message)?;
            }
        }
        if self.plan.wrong.answers_need_buffers {
            for node in 0..self.plan.nodes {
                self.step(node, Event::Room)?;
            }
        }
        self.check_credits()
    }

    fn go_rank(&mut self, node: u32, local: usize) -> Result<(), Violation> {
        let (number, step) = self.next_step(node, local).expect("the move is possible");
        let rank = self.rank(node, local);
        let ticket = program::ticket(rank, number);
        let state = &mut Rc::make_mut(&mut self.nodes[node as usize]).ranks[local];
        *state = (number + 1, step.is_waited_for());
        if let Step::Unlock { of, shared } = step {
            let holders = &mut Rc::make_mut(&mut self.nodes[of as usize]).holders;
            let was_held = if shared { holders.1.remove(&rank) } else { holders.0.remove(&rank) };
            assert!(was_held, "a program gives back a lock that it does not hold");
        }
        self.step(node, Event::Asked(step.asked(rank, ticket)))
    }

    fn arrive(&mut self, from: u32, to: u32, message: &[u8]) -> Result<(), Violation> {
        let mut message = message.to_vec();
        if self.plan.wrong.credits_twice {
            message[2] *= 2;
        }
        self.step(to, Event::Arrived { from, message: &message })
    }

    /// A server's step, and what follows from it at once.
    fn step(&mut self, here: u32, event: Event<'_>) -> Result<(), Violation> {
        let full: Vec<u32> = match self.plan.wrong.answers_need_buffers {
            true => (0..self.plan.nodes).filter(|&node| !self.has_free_buffer(node)).collect(),
            false => Vec::new(),
        };
        let has_room = |to: u32| !full.contains(&to);
        let node = Rc::make_mut(&mut self.nodes[here as usize]);
        let mut effects = Effects {
            here,
            sent: Vec::new(),
            ended: Vec::new(),
            executed: &mut node.executed,
            last: &mut node.last,
            has_room: &has_room,
            violation: None,
        };
        let mut went = node.server.step(event, &mut effects);
        if went.is_ok() {
            went = node.server.step(Event::Polled, &mut effects);
        }
        let Effects { sent, ended, violation, .. } = effects;
        if let Err(Fault(sentence)) = went {
            return Err(format!("node {here}: {sentence}"));
        }
        violation.map_or(Ok(()), Err)?;
        for (ticket, end, data) in ended {
            self.end(here, ticket, end, &data)?;
        }
        for (to, message) in sent {
            self.send(here, to, message)?;
        }
        Ok(())
    }

    fn send(&mut self, from: u32, to: u32, mut message: Vec<u8>) -> Result<(), Violation> {
        let (mut header, _) = Header::read(&message).map_err(|fault| fault.0.to_owned())?;
        if self.plan.order == Order::Direct {
            if !header.kind.is_request() {
                return self.arrive(from, to, &message);
            }
            if header.credits > 0 || header.done > 0 {
                let (credits, done) = (header.credits, header.done);
                let beside = Header { credits, done, ..Header::default() };
                self.arrive(from, to, &beside.write())?;
                (header.credits, header.done) = (0, 0);
                message[..HEADER_BYTES].copy_from_slice(&header.write());
            }
        }
        self.channels.entry((from, to)).or_default().push_back(message.into());
        Ok(())
    }

    /// A rank learns that its request has ended.
    fn end(&mut self, here: u32, ticket: u64, end: End, data: &[u8]) -> Result<(), Violation> {
        let (rank, number) = program::of_ticket(ticket);
        let local = (rank / self.plan.nodes) as usize;
        let steps = &self.plan.programs[here as usize][local];
        let step = steps[number];
        if end != End::Done {
            return Err(format!("request {ticket} ended by {end:?}"));
        }
        match step {
            Step::Get { .. } | Step::StartGet { .. } if data != program::body(ticket) => {
                return Err(format!("request {ticket} brought other data"));
            }
            Step::Fence { of } => {
                let before = steps[..number]
                    .iter()
                    .enumerate()
                    .filter(|(_, step)| step.target() == of && matches!(step, Step::Put { .. }));
                let executed = &self.nodes[of as usize].executed;
                for (before, _) in before {
                    if !executed.contains(&program::ticket(rank, before)) {
                        return Err(format!("rank {rank}'s fence ended before its put {before}"));
                    }
                }
            }
            Step::Lock { of, shared } => {
                let holders = &mut Rc::make_mut(&mut self.nodes[of as usize]).holders;
                if !holders.0.is_empty() || !shared && !holders.1.is_empty() {
                    return Err(format!("rank {rank} got the lock of {of}, which {holders:?} hold"));
                }
                if shared {
                    holders.1.insert(rank)
                } else {
                    holders.0.insert(rank)
                };
            }
            _ => {}
        }
        if step.is_waited_for() {
            Rc::make_mut(&mut self.nodes[here as usize]).ranks[local].1 = false;
        }
        Ok(())
    }

    /// Whether the world has ended as it should: all programs are at their ends, and no server has anything left.
    ///
    /// # Errors
    /// What is left.
    pub fn check_end(&self) -> Result<(), Violation> {
        for (here, node) in self.nodes.iter().enumerate() {
            for (local, &(next, waits)) in node.ranks.iter().enumerate() {
                if waits || next < self.plan.programs[here][local].len() {
                    return Err(format!("rank {local} of node {here} waits for ever in its step {next}"));
                }
            }
        }
        match self.nodes.iter().position(|node| !node.server.is_idle()) {
            Some(here) if !self.may_hold_back(here) => {
                Err(format!("the server of node {here} has something left"))
            }
            _ => Ok(()),
        }
    }

    /// A server may still not know that its last requests are done: the target tells with the next message.
    fn may_hold_back(&self, here: usize) -> bool {
        let untold: usize = self.nodes.iter().map(|node| node.server.untold()).sum();
        untold > 0 && self.nodes[here].server.is_idle_but_for_counts()
    }

    /// Each link's credits are where they can be: at the sender, in a message, in a buffer, owed, or on the way back.
    fn check_credits(&self) -> Result<(), Violation> {
        let mut abroad: BTreeMap<(u32, u32), (u8, u8)> = BTreeMap::new();
        for (&(from, to), channel) in &self.channels {
            for (header, _) in channel.iter().filter_map(|message| Header::read(message).ok()) {
                let is_by_node = !matches!(&self.plan.ways, Ways::Clusters(_)) || header.class > 0;
                abroad.entry((from, to)).or_default().0 += u8::from(header.kind.is_request() && is_by_node);
                abroad.entry((to, from)).or_default().1 += header.credits;
            }
        }
        for node in &self.nodes {
            for link in node.server.links() {
                let (to, Sender::Node(from)) = link else { continue };
                let (requests, credits) = abroad.get(&(from, to)).copied().unwrap_or_default();
                let (in_use, owed) = self.nodes[to as usize].server.buffers_of(link.1);
                let used = node.server.link(link).0;
                if used != requests + credits + in_use + owed {
                    return Err(format!(
                        "link {from}-{to}: {used} credits are out, but {requests} requests and {credits} credits are on \
                         their way, {in_use} buffers in use, {owed} owed"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// What is wrong on purpose.
impl World {
    /// Whether a message gets in where it arrives.
    fn is_let_in(&self, to: u32, message: &[u8]) -> bool {
        let Ok((header, _)) = Header::read(message) else { return true };
        if !header.kind.is_request() {
            return true;
        }
        let waits_for_lock = self.plan.wrong.locks_wait_in_buffers
            && header.target == to
            && header.kind == crate::server::Kind::Lock
            && self.nodes[to as usize].server.locks().in_use() > 0;
        if waits_for_lock {
            return false;
        }
        let Some((buffers, by_class)) = self.plan.wrong.pooled else { return true };
        let class = by_class.then_some(header.class);
        self.in_use(to, class) < buffers
    }

    /// Buffers of a node in use, of a class or of all.
    fn in_use(&self, node: u32, class: Option<u8>) -> u8 {
        let server = &self.nodes[node as usize].server;
        let Some(grid) = self.plan.ways.grid() else { return 0 };
        let neighbours = grid.neighbours(node);
        let of_class = neighbours.iter().filter(|hop| class.is_none_or(|class| hop.class == class));
        of_class.map(|hop| server.buffers_of(Sender::Node(hop.node)).0).sum()
    }

    fn has_free_buffer(&self, node: u32) -> bool {
        self.in_use(node, Some(0)) < self.plan.settings.credits
    }
}
