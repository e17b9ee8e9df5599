//! The way to processes of other jobs. It is made when the first of them is about to be in a communicator of this
//! process: whoever reads the name of such a process has it made (`BootstrapChannel::reach_beyond`).
//!
//! There are two: to jobs of the universe, which share memory with this one, and to those that were started apart
//! (`BootstrapChannel::reach_strangers`). The ranks of a job on several nodes have the second one only.
//!
//! The first lane alone goes there; contexts that such processes share belong to it (`Contexts::meet_others`).

use super::hearsay::Shared;
use super::open_ports::Names;
use super::outside_failures::OutsideFailures;
use super::{Core, Engine};
use crate::job::node_card::NodeDirectory;
use crate::job::process_name::mark_of;
use crate::job::starter::{self, Child};
use crate::job::{ProcessName, Strangers, Universe};
use crate::lock_order::{self, Level, Ordered};
use crate::progress::lock::EngineLock;
use crate::transport::network::{self, random_bytes};
use crate::transport::wire::{Identity, Wire};
use crate::transport::Packets;
use crate::world::Communicator;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// What this process knows of others.
#[derive(Default)]
pub(super) struct Beyond {
    universe: OnceLock<&'static Universe>,
    /// The way to them is there.
    is_open: AtomicBool,
    /// That one, or the way to strangers.
    pub(super) has_way: AtomicBool,
    pub(super) failures: OutsideFailures,
    pub(super) hearsay: Shared,
    strangers: OnceLock<&'static Strangers>,
    /// Those whom this process meets at ports.
    at_ports: Mutex<Vec<JobRank>>,
    /// Held while one of these is being made.
    making: Mutex<()>,
    /// The jobs that this process has started and holds, by their rank 0.
    children: Mutex<Vec<(JobRank, Child)>>,
    /// The communicator with the parents, if this job has connected to them.
    parents: OnceLock<Communicator>,
    /// Counts ports that this process has opened, where the universe does not.
    ports: AtomicU64,
    pub(super) names: Names,
}

impl Beyond {
    pub(super) fn next_port(&self) -> u64 {
        self.ports.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Beyond {
    /// This process leaves in good order.
    pub(super) fn leave(&self) {
        self.universe.get().iter().for_each(|universe| universe.leave());
    }

    /// It takes part again.
    pub(super) fn come_back(&self) {
        self.universe.get().iter().for_each(|universe| universe.come_back());
    }

    /// Nobody shall find this process any more.
    pub(super) fn take_leave(&self) {
        self.names.end();
        self.strangers.get().iter().for_each(|strangers| strangers.close());
    }
}

impl Engine {
    /// The universe of this job; the first call joins it. `None` where the ranks of the job are on several nodes,
    /// which have no memory for it.
    ///
    /// # Errors
    /// What the system refuses.
    pub(super) fn universe(&self) -> Result<Option<&'static Universe>> {
        if self.job.network().is_some() {
            return Ok(None);
        }
        if let Some(&universe) = self.beyond.universe.get() {
            return Ok(Some(universe));
        }
        let _making = lock_order::lock(&self.beyond.making, Level::BEYOND);
        if let Some(&universe) = self.beyond.universe.get() {
            return Ok(Some(universe));
        }
        let universe: &'static Universe = Box::leak(Box::new(self.job.join_universe()?));
        let _ = self.beyond.universe.set(universe);
        Ok(Some(universe))
    }

    /// As [`BootstrapChannel::reach_beyond`](crate::world::BootstrapChannel::reach_beyond): the first call makes the way.
    pub(super) fn go_beyond(&self) -> Result<()> {
        let several =
            || Error::not_there_yet("a universe of jobs, where the ranks of one are on several nodes,");
        let universe = self.universe()?.ok_or_else(several)?;
        let _making = lock_order::lock(&self.beyond.making, Level::BEYOND);
        if self.beyond.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Names of processes of other jobs begin at FOREIGN and end at twice that.
        let me = self.identity(universe.own(), 2 * JobRank::FOREIGN, universe);
        self.open_way(me, JobRank(JobRank::FOREIGN), universe.own())?;
        self.beyond.is_open.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Processes that were started apart, and the way to them: the first call makes it.
    ///
    /// # Errors
    /// What the system refuses.
    pub(super) fn strangers(&self) -> Result<&'static Strangers> {
        if let Some(&strangers) = self.beyond.strangers.get() {
            return Ok(strangers);
        }
        let (number, key) = match (self.job.network(), self.universe()?) {
            (Some(network), _) => (self.job.rank, network.key()),
            (None, universe) => {
                // A group of strangers may have processes of this universe.
                self.go_beyond()?;
                let universe = universe.expect("a job on one node has one");
                (universe.own().0, universe.key())
            }
        };
        let _making = lock_order::lock(&self.beyond.making, Level::BEYOND);
        if let Some(&strangers) = self.beyond.strangers.get() {
            return Ok(strangers);
        }
        let strangers = Strangers::listen(ProcessName::new(mark_of(&key), number), key)?;
        let strangers: &'static Strangers = Box::leak(Box::new(strangers));
        let me = self.identity(strangers.own_rank(), u32::MAX, strangers);
        self.contexts.meet_strangers(strangers);
        self.open_way(me, JobRank(JobRank::APART), JobRank(JobRank::FOREIGN | strangers.own().number()))?;
        let _ = self.beyond.strangers.set(strangers);
        Ok(strangers)
    }

    fn identity(&self, rank: JobRank, ranks: u32, directory: &'static dyn NodeDirectory) -> Identity {
        Identity { rank, ranks, directory, is_sealed: self.seals }
    }

    /// Opens a network to ranks from `first` on, to which this process is `outward`.
    fn open_way(&self, me: Identity, first: JobRank, outward: JobRank) -> Result<()> {
        let mut wire = Wire::new(me, self.doorbell)?;
        wire.let_map(&self.job.node, LocalRank(self.job.local_rank));
        if self.job.node.goes_on_without_ranks() {
            wire.lose_at_once();
        }
        let mut core = self.lanes.at(0).lock();
        core.transport.go_beyond(Box::new(wire), first)?;
        core.outward = outward;
        self.attend(&core)?;
        self.contexts.meet_others(u64::from_ne_bytes(random_bytes()));
        drop(core);
        self.beyond.has_way.store(true, Ordering::Relaxed);
        // Threads that sleep already have to wait for the network too.
        self.doorbell.ring();
        Ok(())
    }

    /// This process meets another one at a port, or does not any more: if that one is gone meanwhile, the wait for it
    /// ends, although no communicator has it.
    pub(super) fn meets_at_port(&self, other: JobRank, does: bool) {
        let mut all = lock_order::lock(&self.beyond.at_ports, Level::CHILDREN);
        match does {
            true => all.push(other),
            false => {
                all.iter().position(|&one| one == other).map(|place| all.swap_remove(place));
            }
        }
    }

    fn is_at_port(&self, other: JobRank) -> bool {
        lock_order::lock(&self.beyond.at_ports, Level::CHILDREN).contains(&other)
    }

    /// How many processes make sense here: as many as the hosts of the job have room for; on one host as many as there are CPUs
    /// that may be used, or as there are ranks of this job and of the one that has started it.
    pub fn universe_size(&self) -> u32 {
        let cpus = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        let parents = match (self.parents().get(), self.job.birth()) {
            (Some(met), _) => met.peers().size(),
            (None, Some(birth)) => birth.parents.len() as u32,
            (None, None) => 0,
        };
        (self.job.size + parents).max(starter::slots().unwrap_or_else(cpus))
    }

    /// Where the jobs are that this process has started and that still run.
    pub(super) fn taken_places(&self) -> String {
        let children = self.children();
        let running = children.iter().filter(|(_, child)| !child.has_ended());
        running
            .map(|(_, child)| child.places())
            .filter(|places| !places.is_empty())
            .collect::<Vec<_>>()
            .join(",")
    }

    /// A job that this process has started ends if this process dies, until it is let go of.
    pub(super) fn keep_child(&self, first: JobRank, child: Child) {
        self.children().push((first, child));
    }

    /// Jobs that this process has started go on without it: that with this process, or all.
    pub fn let_go(&self, of: Option<JobRank>) {
        let mut children = self.children();
        let all = std::mem::take(&mut *children);
        for (first, child) in all {
            match of.is_none_or(|of| of == first) {
                true => child.let_go(),
                false => children.push((first, child)),
            }
        }
    }

    /// The communicator with the parents, if this job has connected to them.
    pub(super) fn parents(&self) -> &OnceLock<Communicator> {
        &self.beyond.parents
    }

    fn children(&self) -> Ordered<'_, Vec<(JobRank, Child)>> {
        lock_order::lock(&self.beyond.children, Level::CHILDREN)
    }

    /// A number that this job alone has of those that share a node: its ranks share memory, and with those of no
    /// other job.
    pub(super) fn memory_number(&self) -> u32 {
        match self.job.birth() {
            Some(birth) if self.job.network().is_none() => birth.base,
            _ => self.node_of(JobRank(self.job.rank)),
        }
    }

    /// Looks for peers that are gone, before this rank waits on in a lane. A process of another job is missed only
    /// if some communicator has it.
    ///
    /// # Errors
    /// `Other`, naming one.
    pub(super) fn nobody_is_lost(&self, lane: &EngineLock<Core>) -> Result<()> {
        // A child that never talked with this process has no connection by which that would show.
        let ended = |(first, child): &(JobRank, Child)| {
            child.has_ended_for().map(|since| (*first, since, child.has_failed()))
        };
        let ended: Vec<_> = self.children().iter().filter_map(ended).collect();
        for (first, since, has_failed) in ended {
            if self.is_at_port(first) {
                // It may have connected and left again, and that is still to be read.
                if since >= network::LAUNCHERS_TURN {
                    return Err(never_connected());
                }
                continue;
            }
            // Where this job goes on without it, the connections to its processes say who has failed.
            if has_failed && !self.job.node.goes_on_without_ranks() && self.is_member(first) {
                return Err(network::gone(first));
            }
        }
        let lost = lane.lock().transport.lost();
        match lost {
            None => Ok(()),
            // It may have done so before this process has connected to it, and could not say so.
            Some(peer) if self.has_left(peer) => {
                lane.lock().transport.forget(peer);
                Ok(())
            }
            Some(peer) if self.goes_on_without(peer) => {
                // Nothing waits for what it does not say any more, once that has been looked for.
                self.note_outside_failure(peer);
                self.lanes.at(0).lock().transport.outlive(peer);
                Ok(())
            }
            Some(peer) if peer.is_foreign() && !self.is_member(peer) && !self.is_at_port(peer) => {
                lane.lock().transport.forget(peer);
                Ok(())
            }
            Some(peer) => Err(lane.lock().transport.why_lost(peer)),
        }
    }

    /// Whether a process of another job of the universe has left in good order.
    fn has_left(&self, peer: JobRank) -> bool {
        let universe = self.beyond.universe.get();
        peer.is_foreign() && !peer.is_stranger() && universe.is_some_and(|universe| universe.has_left(peer))
    }

    /// Whether this job goes on without a process of another one that cannot be reached.
    fn goes_on_without(&self, peer: JobRank) -> bool {
        let is_wanted = peer.is_foreign() && self.job.node.goes_on_without_ranks();
        is_wanted && !self.is_at_port(peer) && self.is_member(peer)
    }

    /// Whether processes of other jobs are in a communicator: the same at all members, as each of them has to know others.
    pub(super) fn has_others(&self, communicator: &Communicator) -> bool {
        (self.beyond.is_open.load(Ordering::Relaxed) || self.beyond.strangers.get().is_some())
            && communicator.groups().any(|group| group.iter().any(JobRank::is_foreign))
    }

    /// Whether some communicator that the program can name has a process.
    fn is_member(&self, peer: JobRank) -> bool {
        let Some(directory) = self.directory.get() else { return true };
        let mut found = false;
        directory(&mut |communicator| {
            found |= communicator.groups().any(|group| group.rank_of(peer).is_some());
        });
        found
    }
}

#[cold]
fn never_connected() -> Error {
    let text = "the processes have ended, or been ended, before all of them had called MPI_Init";
    Error::new(Class::Spawn, text)
}

/// The root of a call over a group.
///
/// # Errors
/// `Root` when it is no rank of it.
pub(super) fn root_of(local: &Communicator, root: i32) -> Result<u32> {
    match u32::try_from(root) {
        Ok(root) if root < local.size() => Ok(root),
        _ => Err(Error::new(
            Class::Root,
            format!("argument root is {root}; the communicator has ranks 0 to {}", local.size() - 1),
        )),
    }
}
