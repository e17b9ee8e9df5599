//! What this rank waits for and what lies in its queues, in the words of
//! `observe::description`.

use super::reason::Reason;
use super::{other_threads, Engine};
use crate::collective::node::{Member, Until};
use crate::core::Core;
use crate::message::later::Stands;
use crate::message::partitioned::{Open, Partitioned};
use crate::message::work::{self, Recipe, Work};
use crate::message::Envelope;
use crate::observe::description::{self, Description, Key, Kind, Need, Thread};
use crate::observe::packet_counts::PacketCounts;
use crate::observe::page::NONE;
use crate::progress::lock::Guard;
use crate::request::lane_of;
use crate::world::calls::Begun;
use crate::world::{context, Communicator};
use crate::JobRank;
use std::cell::Cell;
use std::sync::{atomic::Ordering::Relaxed, Arc};

/// The key of what is polled (`Core::background`): what one of them needs of a rank,
/// any other there may be about to do.
const BACKGROUND: Key = (u64::MAX, 0);

/// Entries of a queue that are told.
const HEADS: usize = 32;
/// Requests that a wait for any of many tells.
const MANY: usize = 256;
/// Communicators that are told although no wait speaks of them.
const COMMUNICATORS: usize = 32;

thread_local! {
    /// The byte string that this thread asked for last in vain, and of whom.
    static WANTED: Cell<Option<(Envelope, u32)>> = const { Cell::new(None) };
}

/// This thread wants a byte string of a job rank.
pub(super) fn note_wanted(envelope: Envelope, JobRank(peer): JobRank) {
    WANTED.set(Some((envelope, peer)));
}

/// Takes what this thread has wanted last, and puts something else in its place.
pub(super) fn swap_wanted(wanted: Option<(Envelope, u32)>) -> Option<(Envelope, u32)> {
    WANTED.replace(wanted)
}

/// Tells all communicators that the program can name.
pub type Directory = fn(&mut dyn FnMut(&Arc<Communicator>));

/// Describes, with the locks of all lanes held.
pub(super) struct Describer<'a> {
    lanes: Vec<&'a Core>,
    engine: &'a Engine,
    known: Vec<Arc<Communicator>>,
    mentioned: Vec<u64>,
    unknown: bool,
}

impl<'a> Describer<'a> {
    pub fn new(lanes: &'a [Guard<'a, Core>], engine: &'a Engine) -> Describer<'a> {
        let lanes: Vec<&Core> = lanes.iter().map(|core| &**core).collect();
        let mut known = Vec::new();
        let mut add = |communicator: &Arc<Communicator>| {
            known.push(Arc::clone(communicator));
            known.extend(communicator.local().cloned());
        };
        if let Some(directory) = engine.directory.get() {
            directory(&mut add);
        }
        for (_, request) in lanes.iter().flat_map(|core| core.requests.each()) {
            match &request.work {
                Work::Collective(collective) => add(&collective.communicator),
                Work::Persistent(persistent) => {
                    if let Recipe::Collective { communicator, .. } = &persistent.recipe {
                        add(communicator);
                    }
                }
                _ => {}
            }
        }
        lanes.iter().flat_map(|core| &core.later).for_each(|started| add(&started.communicator));
        Describer { lanes, engine, known, mentioned: Vec::new(), unknown: false }
    }

    /// Ways to go on for a wait.
    pub fn ways(&mut self, reason: Reason) -> Vec<Vec<Need>> {
        let mut ways = self.ways_within(reason);
        ways.iter_mut().for_each(|needs| self.leave_others_out(needs));
        ways
    }

    /// Of processes of other jobs an observer of this one knows nothing: who waits for them may go on at any time.
    fn leave_others_out(&mut self, needs: &mut [Need]) {
        for need in needs {
            let all = need.peers.len();
            need.peers.retain(|&peer| !JobRank(peer).is_foreign());
            self.unknown |= need.peers.len() < all;
        }
    }

    fn ways_within(&mut self, reason: Reason) -> Vec<Vec<Need>> {
        match reason {
            Reason::Request(request) | Reason::Word(_, request) => vec![self.needs(request, None)],
            Reason::Id(id) => match self.lane(id.lane()).requests.check(id) {
                Ok(request) => vec![self.needs(request, None)],
                Err(_) => vec![Vec::new()],
            },
            Reason::Any(requests) => {
                self.unknown |= requests.len() > MANY;
                requests.iter().take(MANY).map(|&request| self.needs(request, None)).collect()
            }
            Reason::All(requests) => {
                self.unknown |= requests.len() > MANY;
                vec![requests.iter().take(MANY).flat_map(|&request| self.needs(request, None)).collect()]
            }
            Reason::Probe(wanted) => vec![vec![self.message(Kind::Probe, wanted, 0, None)]],
            Reason::Block(me, until) => vec![self.arrivals(me, until, None)],
            Reason::Lock(exposure, lock) => vec![vec![exposure.need_of_lock(lock)]],
            Reason::Group(exposure, members, word) => {
                let missing = exposure.missing_words(members, word);
                vec![missing.map(|wanted| self.message(Kind::Receive, wanted, 0, None)).collect()]
            }
            Reason::Farewell(farewell) => vec![farewell.needs()],
            Reason::Memory(rank) => vec![vec![self.change(rank)]],
            Reason::Server => vec![vec![self.other()]],
            Reason::BootstrapChannel => vec![vec![self.exchange()]],
            Reason::Flush => vec![self.left(|request| request.detached, true)],
            Reason::Settle(contexts) => {
                let inside = |request: &crate::request::Request| match &request.work {
                    Work::Send(send) => contexts.contains(&send.context),
                    Work::Receive(receive) => contexts.contains(&receive.wanted.context),
                    Work::Posted(context) => contexts.contains(context),
                    Work::Collective(collective) => contexts.contains(&collective.communicator.context()),
                    Work::Placed(context) => contexts.contains(context),
                    _ => false,
                };
                vec![self.left(inside, true)]
            }
        }
    }

    /// What has to happen until a request is complete.
    fn needs(&mut self, index: u32, collective: Option<Key>) -> Vec<Need> {
        let core = self.lane(lane_of(index));
        if core.settled(index) {
            return Vec::new();
        }
        match &core.requests[index].work {
            Work::Send(send) => vec![self.send(send, collective)],
            Work::Receive(receive) => {
                let mut wanted = receive.wanted;
                if receive.expected > 0 {
                    wanted.source = core.requests[index].status.source;
                }
                vec![self.message(Kind::Receive, wanted, receive.buffer.bytes(), collective)]
            }
            Work::Posted(context) => match core.matching.posted_for(*context, index) {
                Some(posted) => {
                    let wanted = Envelope { context: *context, source: posted.source, tag: posted.tag };
                    vec![self.message(Kind::Receive, wanted, posted.room, collective)]
                }
                None => vec![self.other()],
            },
            Work::Collective(collective) => self.steps(collective),
            Work::Placed(_) => self.at_place(index),
            Work::Both { receive, send } => {
                [*receive, *send].into_iter().flat_map(|request| self.needs(request, collective)).collect()
            }
            Work::WithHostCopies(with) => self.needs(with.request, collective),
            Work::Persistent(persistent) => match (&persistent.recipe, persistent.running) {
                (Recipe::Partitioned(partitioned), _) => self.partitioned(core, partitioned),
                (_, None) => vec![self.other()],
                (_, Some(running)) => self.needs(running, collective),
            },
            Work::Nothing => match core.packet_of(index) {
                Some(peer) => {
                    vec![Need { kind: Kind::Send, peers: vec![peer.0], collective, ..Need::default() }]
                }
                None => vec![self.other()],
            },
            Work::Generalized => vec![Need { kind: Kind::Program, ..Need::default() }],
            Work::Background => {
                let work = core.background.iter().find(|work| work.request == index);
                let wanted = work.and_then(|work| work.wanted);
                match wanted {
                    Some(wanted) => vec![self.byte_string(wanted, Some(BACKGROUND))],
                    None => vec![self.other()],
                }
            }
        }
    }

    /// What the round of a partitioned operation needs.
    fn partitioned(&mut self, core: &Core, partitioned: &Partitioned) -> Vec<Need> {
        match partitioned.open(&core.requests) {
            Open::Announcement(request) => {
                let mut needs = self.needs(request, None);
                needs.iter_mut().for_each(|need| need.kind = Kind::Partitioned);
                needs
            }
            Open::Parts(wanted, number) => vec![self.message(Kind::Partitions, wanted, number, None)],
            Open::Sends { of, unready, under_way } => {
                self.mentioned.push(of.context);
                let mut needs: Vec<Need> =
                    under_way.into_iter().flat_map(|request| self.needs(request, None)).collect();
                for need in &mut needs {
                    (need.message.context, need.message.tag) = (of.context, of.tag);
                }
                if unready > 0 {
                    let Envelope { context, tag, .. } = of;
                    let message = description::Envelope { context, source: NONE, tag, bytes: unready };
                    needs.push(Need { kind: Kind::Ready, message, ..Need::default() });
                }
                needs
            }
        }
    }

    /// Needs of the messages of a collective that are on their way.
    fn steps(&mut self, collective: &work::Collective) -> Vec<Need> {
        let key = (collective.communicator.context() + 1, collective.turn.tag);
        let messages = collective.schedule.on_the_way().filter_map(|ticket| ticket.checked_sub(1));
        let needs: Vec<Need> = messages.flat_map(|request| self.needs(request as u32, Some(key))).collect();
        self.mentioned.push(key.0);
        if collective.calling || needs.is_empty() {
            return vec![self.other()];
        }
        needs
    }

    /// Needs of a collective that has a place, or waits for one.
    fn at_place(&mut self, request: u32) -> Vec<Need> {
        let core = self.lane(lane_of(request));
        let Some((started, stands)) = core.stands(request) else { return vec![self.other()] };
        let key = (started.communicator.context() + 1, started.turn.tag);
        let needs = match stands {
            Stands::At(me, until) => self.arrivals(me, until, Some(key)),
            Stands::Unsettled => match core.settling_of(started) {
                Some(telling) => self.needs(telling, None),
                None => Vec::new(),
            },
            Stands::Away => Vec::new(),
        };
        match needs.is_empty() {
            true => vec![self.other()],
            false => needs,
        }
    }

    fn message(&mut self, kind: Kind, wanted: Envelope, bytes: u64, collective: Option<Key>) -> Need {
        self.mentioned.push(wanted.context);
        let Envelope { context, source, tag } = wanted;
        let peers = match self.find(context) {
            Some(communicator) => {
                let peers = communicator.peers();
                match u32::try_from(source) {
                    Ok(source) if source < peers.size() => vec![peers.job_rank(source).0],
                    _ => peers.iter().map(|peer| peer.0).collect(),
                }
            }
            None => self.everybody(),
        };
        Need { kind, peers, message: description::Envelope { context, source, tag, bytes }, collective }
    }

    fn send(&mut self, send: &work::Send, collective: Option<Key>) -> Need {
        self.mentioned.push(send.context);
        let rank_of = |communicator: &Arc<Communicator>| communicator.peers().rank_of(send.peer);
        let source = self.find(send.context).and_then(rank_of).map_or(NONE, |rank| rank as i32);
        let bytes = send.buffer.bytes();
        let message = description::Envelope { context: send.context, source, tag: send.tag, bytes };
        let mut peers = vec![send.peer.0];
        if send.wanted > 0 {
            // It goes through cells, which the receivers of other streams may hold.
            let core = self.lane(context::lane(send.context));
            let streams = core.streams.iter().map(|&request| &core.requests[request].work);
            peers.extend(streams.filter_map(|work| match work {
                Work::Send(other) if other.peer != send.peer => Some(other.peer.0),
                _ => None,
            }));
            peers.sort_unstable();
            peers.dedup();
        }
        Need { kind: Kind::Send, peers, message, collective }
    }

    /// Members that are waited for at a block.
    fn arrivals(&mut self, me: &Member, until: Until, collective: Option<Key>) -> Vec<Need> {
        let context = me.context;
        self.mentioned.push(context);
        let need = |member: u32| {
            let peer = self.engine.job.local_ranks[me.peer(member).index()];
            let message = description::Envelope { context, source: member as i32, tag: NONE, bytes: 0 };
            Need { kind: Kind::Arrival, peers: vec![peer], message, collective }
        };
        me.control_block().missing(until).map(need).collect()
    }

    /// A change of memory, which any other rank may make, or the one that holds a lock or is before in its queue.
    fn change(&self, rank: Option<u32>) -> Need {
        let me = self.engine.rank();
        match rank {
            Some(rank) => Need { kind: Kind::Queue, peers: vec![rank], ..Need::default() },
            None => {
                let peers = (0..self.engine.size()).filter(|&peer| peer != me).collect();
                Need { kind: Kind::Memory, peers, ..Need::default() }
            }
        }
    }

    fn exchange(&mut self) -> Need {
        match WANTED.get() {
            Some(wanted) => self.byte_string(wanted, None),
            None => self.other(),
        }
    }

    fn byte_string(&mut self, (envelope, peer): (Envelope, u32), collective: Option<Key>) -> Need {
        self.mentioned.push(envelope.context);
        let Envelope { context, source, tag } = envelope;
        let message = description::Envelope { context, source, tag, bytes: 0 };
        Need { kind: Kind::Arrival, peers: vec![peer], message, collective }
    }

    /// What goes on by itself while a thread waits for something else.
    fn under_way(&mut self) -> Vec<(Key, Vec<Need>)> {
        let mut all = Vec::new();
        let requests = self.lanes.clone().into_iter().flat_map(|core| core.requests.each());
        for (index, request) in requests.filter(|(_, request)| !request.complete) {
            match &request.work {
                Work::Collective(collective) => {
                    let key = (collective.communicator.context() + 1, collective.turn.tag);
                    all.push((key, self.steps(collective)));
                }
                Work::Placed(_) => {
                    if let Some((started, _)) = self.lane(lane_of(index)).stands(index) {
                        let key = (started.communicator.context() + 1, started.turn.tag);
                        all.push((key, self.at_place(index)));
                    }
                }
                Work::Background => all.push((BACKGROUND, self.needs(index, None))),
                _ => {}
            }
        }
        all
    }

    /// Needs of requests that nobody asks for any more.
    fn left(&mut self, which: impl Fn(&crate::request::Request) -> bool, outbox: bool) -> Vec<Need> {
        let lanes = self.lanes.clone();
        let requests = lanes.iter().flat_map(|core| core.requests.each());
        let open = requests.filter(|(_, request)| !request.complete && which(request));
        let mut needs: Vec<Need> = open.flat_map(|(index, _)| self.needs(index, None)).collect();
        if outbox {
            let to =
                |&JobRank(peer): &JobRank| Need { kind: Kind::Send, peers: vec![peer], ..Need::default() };
            needs.extend(lanes.iter().flat_map(|core| core.outbox.keys()).map(to));
        }
        needs
    }

    /// Something that anybody may do.
    fn other(&mut self) -> Need {
        Need { kind: Kind::Other, peers: self.everybody(), ..Need::default() }
    }

    fn lane(&self, number: usize) -> &'a Core {
        self.lanes.get(number).unwrap_or(&self.lanes[0])
    }

    fn everybody(&self) -> Vec<u32> {
        (0..self.engine.job.size).collect()
    }

    fn find(&self, context: u64) -> Option<&Arc<Communicator>> {
        let base = context::base(context);
        self.known.iter().find(|communicator| communicator.context() == base)
    }

    /// The whole description; `threads` are those that wait.
    pub fn describe(&mut self, threads: Vec<Thread>) -> Description {
        let (lanes, page) = (self.lanes.clone(), self.engine.page);
        lanes.iter().for_each(|core| core.publish(self.engine.flows));
        let waiting: Vec<u32> = threads.iter().map(|thread| thread.number).collect();
        let free = other_threads::that_may_act(&waiting);
        let queue = |messages: Vec<(Envelope, u64)>| -> Vec<description::Envelope> {
            let told = |(Envelope { context, source, tag }, bytes)| description::Envelope {
                context,
                source,
                tag,
                bytes,
            };
            messages.into_iter().map(told).collect()
        };
        let posted = queue(lanes.iter().flat_map(|core| core.posted(HEADS)).collect());
        let unexpected = queue(lanes.iter().flat_map(|core| core.matching.heads(HEADS)).collect());
        self.mentioned.extend(unexpected.iter().chain(&posted).map(|message| message.context));
        let mut collectives = self.under_way();
        collectives.iter_mut().for_each(|(_, needs)| self.leave_others_out(needs));
        let goes_on = lanes.iter().any(|core| core.goes_on_by_itself());
        let packets = self.packets();
        let counters = &page.counters;
        Description {
            stamp: [
                page.moves(),
                lanes.iter().map(|core| core.epoch).sum(),
                self.engine.job.node.sent(self.engine.job.local_rank).messages,
                counters.messages_received.load(Relaxed),
            ],
            threads,
            free,
            unknown: self.unknown || goes_on,
            begun: self.begun(),
            communicators: self.communicators(),
            collectives,
            posted,
            unexpected,
            packets,
            ..Description::default()
        }
    }

    /// What a rank leaves for observers when it finalizes: how far it has come on each communicator.
    pub fn last_words(&mut self) -> Description {
        let (communicators, packets) = (self.communicators(), self.packets());
        Description { finalized: true, communicators, packets, ..Description::default() }
    }

    fn packets(&mut self) -> PacketCounts {
        let (packets, is_all) = self.engine.packet_counts(&self.lanes);
        self.unknown |= !is_all;
        packets
    }

    /// The collectives that have a key, as the program knows them.
    fn begun(&mut self) -> Vec<description::Begun> {
        let mut all = Vec::new();
        for (index, request) in self.lanes.clone().into_iter().flat_map(|core| core.requests.each()) {
            let core = self.lane(lane_of(index));
            let (communicator, turn, starts, is_under_way) = match &request.work {
                Work::Collective(one) if one.persistent.is_none() => (&one.communicator, one.turn, 0, true),
                Work::Placed(_) => match core.stands(index) {
                    Some((one, _)) if one.persistent.is_none() => (&one.communicator, one.turn, 0, true),
                    _ => continue,
                },
                Work::Persistent(persistent) => match &persistent.recipe {
                    Recipe::Collective { communicator, turn, starts, .. } => {
                        (communicator, *turn, *starts, !core.settled(index))
                    }
                    _ => continue,
                },
                _ => continue,
            };
            let key = (communicator.context() + 1, turn.tag);
            let call = self.engine.job.node.name(turn.call.name).unwrap_or_default();
            self.mentioned.push(key.0);
            all.push(description::Begun { key, number: turn.call.number, starts, is_under_way, call });
        }
        all
    }

    fn communicators(&self) -> Vec<description::Communicator> {
        let mut bases: Vec<u64> = self.mentioned.iter().map(|&context| context::base(context)).collect();
        // Those in use first: one that is not told may have been freed, and nobody can tell.
        let mut all: Vec<&Arc<Communicator>> = self.known.iter().collect();
        all.sort_by_key(|communicator| communicator.calls.count() == 0);
        bases.extend(all.iter().take(COMMUNICATORS).map(|communicator| communicator.context()));
        bases.sort_unstable();
        bases.dedup();
        let within = |group: &crate::world::Group| !group.iter().any(JobRank::is_foreign);
        let found = bases.into_iter().filter_map(|base| self.find(base));
        found
            .filter(|one| within(&one.group) && within(one.peers()))
            .map(|communicator| self.communicator(communicator))
            .collect()
    }

    fn communicator(&self, communicator: &Communicator) -> description::Communicator {
        let ranks = |group: &crate::world::Group| group.iter().map(|rank| rank.0).collect();
        let operation = |begun: Begun| description::Operation {
            root: begun.root,
            bytes: begun.bytes,
            call: self.engine.job.node.name(begun.name).unwrap_or_default(),
        };
        description::Communicator {
            context: communicator.context(),
            rank: communicator.rank,
            members: ranks(&communicator.group),
            remote: communicator.remote.as_ref().map(|group| ranks(group)).unwrap_or_default(),
            count: communicator.calls.count(),
            last: communicator.calls.last().map(|begun| begun.map(operation)),
            name: communicator.name(),
        }
    }
}
