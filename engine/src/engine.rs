//! The engine as the faces see it: one per process.
//!
//! Every blocking call of any face ends in [`Engine::wait_until`], the only
//! loop that waits, and it drives everything that is under way.

use self::lanes::Lanes;
use self::onesided::{Deferred, Farewells, ServantThread};
use self::reason::Reason;
use crate::collective::multicast;
use crate::collective::node::Pool;
use crate::core::{Calling, Core, Outside};
use crate::job::spare_blocks::SpareBlocks;
use crate::job::{Job, Nodes};
use crate::message::{self, work::Work};
use crate::observe::flow::{Row, Sent};
use crate::observe::{page::OBSERVED, Page, State};
use crate::progress::lock::Guard;
use crate::progress::poll_turn::PollTurn;
use crate::progress::wait::Pace;
use crate::progress::{knock, lock::EngineLock, Crowd, Doorbell, Sleeper};
use crate::request::{RequestId, Status};
use crate::settings::Settings;
use crate::transport::Packets;
use crate::world::{Communicator, Contexts};
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, Weak};
use std::time::Duration;

pub use describe::Directory;

/// For how long the rank that has made a mistake has the first word about it.
const FIRST_WORD: Duration = Duration::from_millis(300);

/// The engine of this process.
pub struct Engine {
    lanes: Lanes,
    job: &'static Job,
    page: &'static Page,
    flows: Row,
    doorbell: &'static Doorbell,
    sleeper: Sleeper,
    crowd: Crowd,
    poll_turn: PollTurn,
    /// Threads of this process that sleep in a wait.
    sleepers: AtomicU32,
    /// Blocks of shared memory for the communicators that this rank leads.
    blocks: Mutex<Pool>,
    /// Memory of shared windows where that has no place in a window of this process.
    spare_blocks: SpareBlocks,
    contexts: Contexts,
    /// Processes of other jobs.
    beyond: beyond::Beyond,
    /// What observers have asked, and how far the answer is.
    answers: Mutex<answer::Answer>,
    directory: OnceLock<Directory>,
    /// Communicators that no program can name.
    unnamed: Mutex<Vec<Weak<Communicator>>>,
    /// Ranks of other nodes have failed, and what they had sent may still come.
    is_hearing_out: AtomicBool,
    /// A rank has failed lately, and what others have begun goes on for a while.
    is_patient: AtomicBool,
    /// Agreements of ranks of several nodes of which threads that wait have been told.
    decisions: AtomicU32,
    /// Members compare their collective calls.
    checks: bool,
    /// The nodes that ranks pretend to be on.
    nodes: Nodes,
    /// When broadcasts go to all nodes at once.
    multicast: multicast::Wanted,
    /// Connections over TCP are sealed.
    seals: bool,
    /// The server of this node, in jobs on several nodes.
    server: OnceLock<server::NodeServer>,
    /// The thread that answers for this rank's memory where others do not reach it.
    servant: ServantThread,
    /// What servers have been asked for and may still be doing.
    deferred: Deferred,
    /// What is had in common with others, as long as it is not freed.
    farewells: Farewells,
    /// What peers have been told of device memory that messages are sent from: numbers, and where.
    lent: Mutex<Vec<(u64, u64)>>,
}

impl Engine {
    /// Finds the job and joins it. Once per process; what it makes lives until
    /// the process ends, because peers may still read it.
    ///
    /// # Errors
    /// As [`Job::start`], and `NoMem`.
    pub fn start() -> Result<Engine> {
        Engine::join(Box::leak(Box::new(Job::start()?)))
    }

    /// Joins a job that has been found.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn join(job: &'static Job) -> Result<Engine> {
        let settings = Settings::read(|name| std::env::var(name).ok())?;
        Engine::join_with(job, settings)
    }

    /// Joins a job with these settings.
    ///
    /// # Errors
    /// `NoMem` when the mailbox cannot be reserved.
    pub fn join_with(job: &'static Job, settings: Settings) -> Result<Engine> {
        crate::reduce::exact::switch(settings.reproducible);
        // Who keeps no record of calls does not know where they end, and could not store what they wrote.
        if OBSERVED {
            crate::device::begin(settings.gpu);
        }
        if let Some(line) = job.node.line() {
            knock::make_by(Box::new(|name| line.datagrams(name)));
        }
        let nodes = network::nodes_of(&settings, job);
        let transport = network::transport(&settings, nodes, job)?;
        let doorbell: *const Doorbell = transport.doorbell();
        // SAFETY: the doorbell lies in the node segment, which lives for ever.
        let doorbell: &'static Doorbell = unsafe { &*doorbell };
        let crowd = Crowd::join(&job.node, job.local_rank, doorbell, settings.max_slowdown);
        let page = job.page();
        show_devices(page);
        page.memory.limit.store(settings.memory, Ordering::Relaxed);
        // Without memory for it peers are not told apart, and all else works.
        let _ = job.node.reserve_flows(job.local_rank);
        let flows = Row::new(job.node.flows(job.local_rank), &page.counters.unrowed, &job.local_ranks);
        let sources = message::progress_sources::all();
        let core = Core::new(0, Box::new(transport), job, flows, settings.memory, sources);
        let checks = settings.check && job.node.reserve_ledger(job.local_rank).is_ok();
        unseen::look_at_runtimes();
        page.set_state(State::Running);
        let engine = Engine {
            lanes: Lanes::new(core),
            job,
            page,
            flows,
            doorbell,
            sleeper: Sleeper::default(),
            crowd,
            poll_turn: PollTurn::default(),
            sleepers: AtomicU32::new(0),
            blocks: Mutex::new(collectives::blocks_of(job)),
            contexts: Contexts::numbered(job.rank, job.base()..job.base() + job.size),
            beyond: beyond::Beyond::default(),
            answers: Mutex::default(),
            directory: OnceLock::new(),
            unnamed: Mutex::default(),
            is_hearing_out: AtomicBool::new(false),
            is_patient: AtomicBool::new(false),
            decisions: AtomicU32::new(0),
            checks,
            nodes,
            multicast: settings.multicast,
            seals: settings.seals,
            server: OnceLock::new(),
            servant: ServantThread::default(),
            deferred: Deferred::default(),
            farewells: Farewells::default(),
            spare_blocks: SpareBlocks::default(),
            lent: Mutex::default(),
        };
        engine.attend(&engine.lanes.at(0).lock())?;
        engine.meet_parents()?;
        Ok(engine)
    }

    /// How often a receive looks for its message before it makes a request: as
    /// long as a wait would spin, but once with threads, which wait for the lock.
    #[inline]
    fn looks(&self) -> u32 {
        if self.is_threaded() {
            1
        } else {
            Pace::looks(&self.crowd)
        }
    }

    /// The job.
    pub fn job(&self) -> &'static Job {
        self.job
    }

    /// Rank in the job.
    pub fn rank(&self) -> u32 {
        self.job.rank
    }

    /// Ranks in the job.
    pub fn size(&self) -> u32 {
        self.job.size
    }

    /// This rank's page.
    pub fn page(&self) -> &'static Page {
        self.page
    }

    /// What this rank has sent.
    pub fn sent(&self) -> Sent {
        self.publish_counters();
        self.job.node.sent(self.job.local_rank)
    }

    /// Publishes the names that call numbers on the page stand for.
    ///
    /// # Errors
    /// `NoMem`.
    pub fn publish_names(&self, names: &[&str]) -> Result<()> {
        self.job.node.publish_names(names)
    }

    /// How to find the communicators that the program can name: for describing
    /// what this rank does.
    pub fn set_directory(&self, directory: Directory) {
        let _ = self.directory.set(directory);
    }

    /// Ends the job with `code`; `message` and its empty form are as for [`Job::abort`].
    pub fn abort(&self, code: i32, message: &str) -> ! {
        self.job.abort(code, message)
    }

    /// Ends the job because of `error`, as [`abort`](Self::abort) does. An error that this rank only hears of waits a
    /// moment: the rank that has made the mistake says what it is, and its end is the job's.
    pub fn fail(&self, error: &Error, code: i32, message: &str) -> ! {
        if error.is_an_echo() {
            std::thread::sleep(FIRST_WORD);
        }
        self.abort(code, message)
    }

    /// Ends the job with a status, in good order; see [`Job::end`].
    pub fn end_job(&self, status: i32) -> ! {
        self.job.end(status)
    }

    /// Completes everything that the program has left to the engine, and tells
    /// the launcher that this rank's end is no failure from now on. Waits for no
    /// other rank unless a message of ours still has to leave, or memory is still exposed to it.
    ///
    /// # Errors
    /// What progress reports; `Other` when the launcher has gone.
    pub fn finalize(&self) -> Result<()> {
        let settled = self.order_accesses();
        self.leave_the_rest()?;
        self.flush()?;
        self.end_servant_thread();
        self.end_server()?;
        self.publish_counters();
        self.leave_word();
        self.beyond.leave();
        self.lanes.each().for_each(|lane| lane.lock().transport.leave());
        self.crowd.leave();
        self.let_go(None);
        self.beyond.take_leave();
        self.job.finish()?;
        settled
    }

    /// Goes on after [`Engine::finalize`]: this rank takes part again.
    pub fn resume(&self) {
        self.page.set_state(State::Running);
        self.crowd.come_back();
        self.beyond.come_back();
    }

    /// Waits until every message that was left to the engine has been taken.
    ///
    /// # Errors
    /// What progress reports.
    pub fn flush(&self) -> Result<()> {
        self.lanes
            .each()
            .try_for_each(|lane| self.wait_until(lane, Reason::Flush, |core| core.quiet().then_some(())))
    }

    /// Waits until nothing is under way any more in these contexts: messages
    /// left to the engine have been taken, and what was started has ended.
    ///
    /// # Errors
    /// What progress reports.
    pub fn settle(&self, contexts: &[u64]) -> Result<()> {
        let reason = Reason::Settle(contexts);
        self.lanes.each().try_for_each(|lane| {
            self.wait_until(lane, reason, |core| (!core.is_busy_in(contexts)).then_some(()))
        })
    }

    /// Progress, and other threads told of it.
    #[inline]
    fn drive(&self, core: &mut Guard<'_, Core>) -> Result<()> {
        self.drive_for(None, core)
    }

    /// The same, if it is for one request no further than that needs.
    #[inline]
    fn drive_for(&self, request: Option<u32>, core: &mut Guard<'_, Core>) -> Result<()> {
        let before = core.epoch;
        core.progress(request)?;
        if !core.background.is_empty() {
            self.look_for_answers(core);
        }
        if core.epoch != before {
            self.rouse(core);
        }
        Ok(())
    }

    /// Wakes the other threads of this process that sleep in a wait.
    #[inline]
    fn rouse(&self, core: &Core) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            core.transport.ring_self();
        }
    }

    fn run_outside(&self, outside: Outside) {
        match outside {
            Outside::Call(calling) => self.run_call(calling),
            Outside::Background(work) => self.run_background(work),
            Outside::Later(step) => self.step_on(step),
            Outside::Settle(settling) => self.settle_places(settling),
        }
    }

    /// Runs the program's code that a collective waits for, with no lock held.
    fn run_call(&self, calling: Calling) {
        // SAFETY: the collective waits for this call, and so keeps its buffers.
        unsafe { calling.call.run() };
        let mut core = self.lane_at(calling.request).lock();
        core.called_back(calling.request);
        self.rouse(&core);
    }

    /// Progress of a lane without waiting, then `ready` once.
    pub(super) fn look<T>(&self, lane: &EngineLock<Core>, ready: impl FnOnce(&mut Core) -> T) -> Result<T> {
        self.looked(lane).map(|mut core| ready(&mut core))
    }

    /// Progress of a lane without waiting; then it is held.
    #[inline]
    pub(super) fn looked<'a>(&self, lane: &'a EngineLock<Core>) -> Result<Guard<'a, Core>> {
        loop {
            let mut core = lane.lock();
            if core.awaits_answers() {
                // As a wait does, a test does what has come for the server of this node.
                drop(core);
                self.look_for_server();
                core = lane.lock();
            }
            self.drive(&mut core)?;
            if let Some(outside) = core.next_outside() {
                drop(core);
                self.run_outside(outside);
            } else if self.lanes.are_several() && self.is_turn_of_others(&mut core) {
                let mine = core.lane();
                drop(core);
                self.serve_others(mine)?;
                return Ok(lane.lock());
            } else {
                return Ok(core);
            }
        }
    }
}

/// Shows whether memory of devices may come, and counts what devices do.
fn show_devices(page: &'static Page) {
    if crate::device::is_on() {
        page.show_devices();
    }
    let counters = &page.counters;
    crate::device::counted::count_in(
        &counters.bytes_device,
        &counters.bytes_device_mapped,
        &counters.bytes_device_combined,
    );
}

#[inline]
fn completed(core: &mut Core, status: Status) -> Result<RequestId> {
    let index = core.requests.insert(Work::Nothing)?;
    let request = &mut core.requests[index];
    request.status = status;
    request.complete = true;
    core.epoch += 1;
    Ok(core.requests.id(index))
}

fn into_result(status: Status) -> Result<Status> {
    match status.error {
        Some(error) => Err(error),
        None => Ok(status),
    }
}

pub mod agreed;
mod agreement;
mod agreement_apart;
mod answer;
mod background;
mod beyond;
mod bootstrap_messages;
mod check;
mod collectives;
mod conclusion;
mod counted_packets;
mod describe;
mod device_collectives;
mod device_members;
mod device_moves;
pub mod device_pairs;
mod device_reductions;
pub mod failed_fetches;
mod failures;
mod files;
mod hearsay;
mod lanes;
mod meeting_jobs;
mod member_memory;
mod messages;
mod network;
mod nodes_at_once;
mod nonblocking;
pub mod onesided;
mod open_ports;
mod other_threads;
mod outside_failures;
pub mod pairs;
pub mod participants;
mod partitioned;
mod phases;
mod pretended;
mod python;
pub mod reaching;
mod reason;
mod requests;
mod server;
pub mod several;
mod shared_words;
mod spawning;
mod stack;
pub mod symmetric;
#[cfg(test)]
mod tests;
mod unseen;
mod waiting;
