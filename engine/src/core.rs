//! The state behind the engine's lock, and its progress.
//!
//! Everything that a rank has under way is here: the transport, the queues of
//! matching, the requests. The rooms `message` and `request` add their parts as
//! `impl Core` blocks. Nothing here calls code of the program.

use crate::collective::UserCall;
use crate::job::Job;
use crate::message::groups::Groups;
use crate::message::later::{Settling, Started, Step};
use crate::message::unfetched::UnfetchedBuffers;
use crate::message::wire::Ticket;
use crate::message::work::{self, Passing, Work};
use crate::message::{wire, Aside, Envelope, Found, Matching, Posted, Samples};
use crate::observe::flow::Row;
use crate::observe::page::{Counters, Share};
use crate::observe::Page;
use crate::progress::sources::{Driven, Flags, Sources};
use crate::request::{lane_of, RequestId, Slab};
use crate::transport::{Arrival, Packet, Packets, RemoteMemory, Routed, SharedTasks};
use crate::world::BootstrapChannel;
use crate::{JobRank, Result};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

/// Packets handled before other work gets its turn.
const BURST: usize = 256;

/// The state of a rank, or of one of its lanes. Its transport is named and not a `dyn`, so that a small
/// message is a few inlined stores; only what the trait offers is used of it.
pub struct Core {
    pub(crate) transport: Box<Routed>,
    pub(crate) job: &'static Job,
    pub(crate) page: &'static Page,
    /// What it has done: those of the page, or its own (`count_apart`).
    pub(crate) counters: &'static Counters,
    /// What goes to whom.
    pub(crate) flows: Row,
    /// My job rank.
    pub(crate) rank: JobRank,
    /// What other jobs call this process, once it knows some.
    pub(crate) outward: JobRank,
    pub(crate) matching: Matching,
    pub(crate) requests: Slab,
    /// Packets that found a full mailbox, by peer, in order.
    pub(crate) outbox: HashMap<JobRank, VecDeque<Waiting>>,
    /// Sends that go in parts, by request.
    pub(crate) streams: VecDeque<u32>,
    /// Whose long messages need no sample now.
    pub(crate) samples: Samples,
    /// Peers that do not map device memory of this rank: it is copied to the host for them.
    pub(crate) filled_for: Vec<JobRank>,
    /// Receives for which senders pass descriptors of device memory.
    pub(crate) passing: Vec<Passing>,
    /// Buffers of collectives that could not be fetched from devices.
    pub(crate) unfetched: UnfetchedBuffers,
    /// Partitioned receives that wait for their sender's announcement.
    pub(crate) unmatched: Vec<u32>,
    /// Collective operations under way, by request.
    pub(crate) collectives: Vec<u32>,
    /// Collective operations at places, in the order in which they were started.
    pub(crate) later: Vec<Started>,
    /// Places that are being settled.
    pub(crate) settling: Vec<Settling>,
    /// Groups to which broadcasts go at once, by context.
    pub(crate) groups: Groups,
    /// Calls of the program's code that collectives wait for.
    pub(crate) calls: VecDeque<Calling>,
    /// What makes progress beside packets that arrive.
    pub(crate) sources: Sources<Core>,
    /// Which of it has something to do.
    pub(crate) flags: Flags,
    /// Work that goes on by polling.
    pub(crate) background: Vec<Background>,
    /// How many answers of servers had been taken when this was looked at last.
    pub(crate) answers_taken: u64,
    /// Counts completions: whoever waits compares it.
    pub(crate) epoch: u64,
    /// `epoch` when the collectives were looked at last.
    pub(crate) collectives_seen: u64,
    /// Numbers of sends whose withdrawal the receiver decides and has not answered.
    pub(crate) unanswered: HashSet<u32>,
    /// Messages copied aside because nothing else had room for them.
    pub(crate) aside: Aside,
    /// Bytes of messages that came in packets and were kept for later.
    pub(crate) kept: u64,
    /// Of those, and of messages that nobody has asked for, what is on the page.
    pub(crate) told: (Share, Share),
    /// Calls that have found what they wanted at once: see `engine::lanes`.
    pub(crate) turns: u32,
    /// Failures and revocations that those who wait have been told of.
    pub(crate) news: u32,
}

/// A packet in the outbox.
#[derive(Debug)]
pub struct Waiting {
    pub(crate) packet: Packet,
    /// The send that is complete when the packet has gone.
    pub(crate) completes: Option<u32>,
}

/// A call of the program's code for a collective.
pub struct Calling {
    /// The collective's request.
    pub(crate) request: u32,
    /// The call.
    pub(crate) call: UserCall,
}

// SAFETY: a call names buffers of an operation that waits for it; MPI lets any
// thread of the program complete an operation, so any may run the call.
unsafe impl Send for Calling {}

/// Work of a request that goes on by polling with no lock held: the making of
/// a communicator, access to a file.
pub struct Background {
    /// The request.
    pub(crate) request: u32,
    /// `epoch` before it was polled last.
    pub(crate) seen: Option<u64>,
    /// It answers other ranks, also while this one computes.
    pub(crate) is_servant: bool,
    /// It waits for what servers of nodes answer.
    pub(crate) awaits_answers: bool,
    /// The byte string that it asked for last in vain, and of whom.
    pub(crate) wanted: Option<(Envelope, u32)>,
    /// Goes on; when it is done, the bytes that its status tells.
    pub(crate) poll: Poll,
}

impl Background {
    /// Work of a request that has not been polled.
    pub(crate) fn new(request: u32, poll: Poll) -> Background {
        Background { request, seen: None, is_servant: false, awaits_answers: false, wanted: None, poll }
    }
}

/// A piece of [`Background`] work.
pub type Poll = Box<dyn FnMut(&dyn BootstrapChannel) -> Result<Option<u64>> + Send>;

/// What has to run with no lock held.
pub enum Outside {
    /// Code of the program.
    Call(Calling),
    /// Work that goes on by polling.
    Background(Background),
    /// A collective operation at a place.
    Later(Step),
    /// Places of which this rank has been told.
    Settle(Settling),
}

impl Core {
    /// A rank at rest.
    pub(crate) fn new(
        lane: usize,
        transport: Box<Routed>,
        job: &'static Job,
        flows: Row,
        memory: u64,
        sources: Sources<Core>,
    ) -> Core {
        let page = job.page();
        Core {
            transport,
            job,
            page,
            counters: &page.counters,
            flows,
            rank: JobRank(job.rank),
            outward: JobRank(job.rank),
            matching: Matching::default(),
            requests: Slab::new(lane),
            outbox: HashMap::new(),
            streams: VecDeque::new(),
            samples: Samples::default(),
            filled_for: Vec::new(),
            passing: Vec::new(),
            unfetched: UnfetchedBuffers::default(),
            unmatched: Vec::new(),
            collectives: Vec::new(),
            later: Vec::new(),
            settling: Vec::new(),
            groups: Groups::default(),
            calls: VecDeque::new(),
            sources,
            flags: Flags::default(),
            background: Vec::new(),
            answers_taken: 0,
            epoch: 0,
            collectives_seen: 0,
            unanswered: HashSet::new(),
            aside: Aside::new(memory),
            kept: 0,
            told: Default::default(),
            turns: 0,
            news: 0,
        }
    }

    /// Another lane of the same rank, at rest.
    pub(crate) fn beside(&self, lane: usize, sources: Sources<Core>) -> Result<Core> {
        let transport = Box::new(self.transport.beside(lane)?);
        let memory = self.page.memory.limit.load(Relaxed);
        Ok(Core::new(lane, transport, self.job, self.flows, memory, sources))
    }

    /// My name, for a peer. One that was started apart calls me otherwise, and knows who has sent a packet
    /// ([`Core::sender`]).
    #[inline]
    pub(crate) fn name_for(&self, peer: JobRank) -> JobRank {
        if peer.is_foreign() {
            self.outward
        } else {
            self.rank
        }
    }

    /// Who has sent the packet that is being read, and calls itself so.
    #[inline]
    pub(crate) fn sender(&self, named: JobRank) -> JobRank {
        match named.is_foreign() {
            true => self.transport.sender().unwrap_or(named),
            false => named,
        }
    }

    /// Counts in memory of its own from now on, where other lanes do not meet it.
    pub(crate) fn count_apart(&mut self) {
        (self.counters, self.flows) = (Box::leak(Box::default()), self.flows.apart());
    }

    /// Adds what it has counted apart to the counters of the rank.
    pub(crate) fn publish(&self, all: Row) {
        if !std::ptr::eq(self.counters, &self.page.counters) {
            self.counters.move_to(&self.page.counters);
            self.flows.move_to(all);
        }
    }

    /// Whether this rank shares CPUs with others, more ranks than there are CPUs.
    #[inline]
    pub(crate) fn shares_cpus(&self) -> bool {
        self.page.affinity.shared().is_some()
    }

    /// Its number.
    #[inline]
    pub(crate) fn lane(&self) -> usize {
        self.requests.lane()
    }

    /// Whether a request is one of this lane.
    #[inline]
    pub(crate) fn has(&self, request: u32) -> bool {
        lane_of(request) == self.lane()
    }

    /// Does what can be done now, without waiting; if it is `for_one` request, no more than that and other receives
    /// need: further packets stay where they are, or their messages would have to be kept for receives that are yet to come.
    pub(crate) fn progress(&mut self, for_one: Option<u32>) -> Result<()> {
        for _ in 0..BURST {
            let Some(arrival) = self.transport.peek() else { break };
            // Its place is given back when it has been read, rightly or not.
            let handled = if self.deliver_letter(&arrival) { Ok(()) } else { self.read(&arrival) };
            self.transport.advance(&arrival);
            handled?;
            if for_one.is_some_and(|request| self.matching.none_waits_there() && self.settled(request)) {
                break;
            }
        }
        match self.flags.any() {
            true => Sources::go_on(self),
            false => Ok(()),
        }
    }

    /// Does what a packet says.
    fn read(&mut self, arrival: &Arrival) -> Result<()> {
        if let Some(found) = Found::of(arrival) {
            return self.arrived(Envelope::of(arrival.header), found);
        }
        match arrival.kind {
            wire::FINISH => {
                self.finished(arrival);
                Ok(())
            }
            wire::STREAM => {
                self.begin_stream(arrival.read());
                Ok(())
            }
            wire::FILL => self.fill(arrival),
            wire::FILLED => self.filled(arrival),
            wire::PASS => self.pass_pieces(arrival),
            wire::PASSED => self.pieces_passed(arrival),
            wire::UNFETCHED => self.hear_unfetched(arrival),
            wire::HEARD => {
                self.heard_unfetched(arrival);
                Ok(())
            }
            wire::CHUNK => {
                self.arrived_chunk(arrival);
                Ok(())
            }
            wire::FETCHED => self.fetched(arrival),
            wire::NUDGE => {
                self.epoch += 1;
                Ok(())
            }
            wire::ASK | wire::AGAIN | wire::PIECE => {
                self.groups.hear(arrival);
                Ok(())
            }
            wire::TOGETHER => self.help_copying(arrival.read()),
            wire::HELD => {
                self.held(arrival.read());
                Ok(())
            }
            wire::WITHDRAW => {
                let ticket: Ticket = arrival.read();
                self.peer_withdraws(Ticket { peer: self.sender(ticket.peer), ..ticket })
            }
            wire::WITHDRAWN => {
                let ticket: Ticket = arrival.read();
                self.peer_knows(Ticket { peer: self.sender(ticket.peer), ..ticket });
                Ok(())
            }
            other => Err(unknown_kind(other)),
        }
    }

    /// Once more what waits for room, after the rank has said that it sleeps: from
    /// then on who makes room rings, but who did so just before has rung in vain.
    /// `true` if there is something to look at now.
    pub(crate) fn try_before_sleep(&mut self) -> bool {
        if !self.flags.any() {
            return false;
        }
        let before = (self.epoch, self.flags);
        // An error comes again when it is driven next.
        let failed = Sources::go_on_before_sleep(self).is_err();
        failed || before != (self.epoch, self.flags)
    }

    /// Marks a request complete and gives back what its work has held; a
    /// detached one goes.
    #[inline]
    pub(crate) fn complete(&mut self, index: u32) {
        self.epoch += 1;
        let request = &mut self.requests[index];
        request.complete = true;
        match &request.work {
            Work::Send(work::Send { owned, memory, peer, .. }) => {
                if let Some(copy) = owned {
                    self.aside.let_go(&self.page.memory.aside, copy.len() as u64);
                }
                if memory.key != 0 {
                    self.transport.unregister(*peer, *memory);
                }
            }
            Work::Receive(work::Receive { task: Some(task), .. }) => self.transport.close_task(*task),
            _ => {}
        }
        request.work = Work::Nothing;
        if request.detached {
            self.requests.remove_detached(index);
        }
    }

    /// The same for a request that has failed.
    #[cold]
    pub(crate) fn complete_with(&mut self, index: u32, error: crate::Error) {
        self.requests[index].status.error = Some(error);
        self.complete(index);
    }

    /// A new request whose work goes on by polling; whether it waits for what servers answer.
    pub(crate) fn begin_background(&mut self, poll: Poll, awaits_answers: bool) -> Result<RequestId> {
        let request = self.requests.insert(Work::Background)?;
        self.background.push(Background { awaits_answers, ..Background::new(request, poll) });
        Ok(self.requests.id(request))
    }

    /// What has to run now with no lock held.
    #[inline]
    pub(crate) fn next_outside(&mut self) -> Option<Outside> {
        let has_nothing = self.calls.is_empty() && self.later.is_empty() && self.settling.is_empty();
        match has_nothing && self.background.is_empty() {
            true => None,
            false => self.find_outside(),
        }
    }

    fn find_outside(&mut self) -> Option<Outside> {
        if let Some(calling) = self.calls.pop_front() {
            return Some(Outside::Call(calling));
        }
        if !self.later.is_empty() || !self.settling.is_empty() {
            if let Some(later) = self.next_later() {
                return Some(later);
            }
        }
        self.next_background(|_| true).map(Outside::Background)
    }

    /// The next servant that has not looked since something came; whoever takes it runs it, and puts it back.
    pub(crate) fn next_servant(&mut self) -> Option<Background> {
        self.next_background(|work| work.is_servant)
    }

    /// Whether there is one.
    pub(crate) fn has_servant(&self) -> bool {
        self.background.iter().any(|work| work.is_servant && work.seen != Some(self.epoch))
    }

    /// Whether a request waits for what servers answer.
    #[inline]
    pub(crate) fn awaits_answers(&self) -> bool {
        self.background.iter().any(|work| work.awaits_answers)
    }

    fn next_background(&mut self, is_meant: impl Fn(&Background) -> bool) -> Option<Background> {
        let epoch = Some(self.epoch);
        let due = self.background.iter().position(|work| work.seen != epoch && is_meant(work))?;
        let mut work = self.background.swap_remove(due);
        work.seen = epoch;
        Some(work)
    }

    /// The first receives that wait for a message, and the room that they have.
    pub(crate) fn posted(&self, most: usize) -> Vec<(Envelope, u64)> {
        let told = |(context, posted): (u64, &Posted)| {
            let room = match &self.requests[posted.request].work {
                Work::Receive(receive) => receive.buffer.bytes(),
                _ => posted.room,
            };
            (Envelope { context, source: posted.source, tag: posted.tag }, room)
        };
        self.matching.posted(most).map(told).collect()
    }

    /// Whether packets have come that nobody has looked at.
    pub(crate) fn transport_has_something(&self) -> bool {
        self.transport.arrivals().any()
    }

    /// Whether something gets done here without another call of any rank: work that is due to be polled, and long messages
    /// that are on their way.
    pub(crate) fn goes_on_by_itself(&self) -> bool {
        let is_due = self.background.iter().any(|work| work.seen != Some(self.epoch));
        is_due || self.requests.each().any(|(_, request)| !request.complete && request.work.is_coming())
    }

    /// Whether something is under way in one of these contexts.
    pub(crate) fn is_busy_in(&self, contexts: &[u64]) -> bool {
        self.sources.are_in(self, contexts) || self.requests.any_in(contexts)
    }

    /// Nothing is under way any more that the program has left to us.
    pub(crate) fn quiet(&self) -> bool {
        self.sources.are_quiet(self) && !self.requests.any_detached()
    }
}

impl Driven for Core {
    #[inline]
    fn flags(&mut self) -> &mut Flags {
        &mut self.flags
    }

    #[inline]
    fn sources(&mut self) -> &mut Sources<Core> {
        &mut self.sources
    }
}

#[cold]
fn unknown_kind(kind: u8) -> crate::Error {
    let message = format!("a packet of unknown kind {kind} has arrived: two versions of Serried in one job?");
    crate::Error::new(crate::Class::Intern, message)
}
