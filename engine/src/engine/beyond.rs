//! The way to processes of other jobs. It is made when the first of them is about to be in a communicator of this
//! process: whoever reads the name of such a process has it made (`BootstrapChannel::reach_beyond`).
//!
//! The first lane alone goes there; contexts that such processes share belong to it (`Contexts::meet_others`).

use super::{Core, Engine};
use crate::job::starter::Child;
use crate::job::Universe;
use crate::lock_order::{self, Level, Ordered};
use crate::progress::lock::EngineLock;
use crate::transport::network;
use crate::transport::wire::{Identity, Wire};
use crate::transport::Packets;
use crate::world::{BootstrapChannel, Communicator};
use crate::{Class, Error, JobRank, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

/// What this process knows of others.
#[derive(Default)]
pub(super) struct Beyond {
    universe: OnceLock<&'static Universe>,
    /// The way to them is there.
    is_open: AtomicBool,
    /// Held while either of these is being made.
    making: Mutex<()>,
    /// The jobs that this process has started and holds, by the number of their rank 0.
    children: Mutex<Vec<(u32, Child)>>,
}

impl Engine {
    /// The universe of this job; the first call joins it.
    ///
    /// # Errors
    /// `UnsupportedOperation` where the ranks of the job are on several nodes; what the system refuses.
    pub fn universe(&self) -> Result<&'static Universe> {
        if let Some(&universe) = self.beyond.universe.get() {
            return Ok(universe);
        }
        let _making = lock_order::lock(&self.beyond.making, Level::BEYOND);
        if let Some(&universe) = self.beyond.universe.get() {
            return Ok(universe);
        }
        if self.nodes.are_several() {
            return Err(Error::not_there_yet(
                "starting processes, or connecting with them, where the ranks of the job are on several nodes,",
            ));
        }
        let universe: &'static Universe = Box::leak(Box::new(self.job.join_universe()?));
        let _ = self.beyond.universe.set(universe);
        Ok(universe)
    }

    /// As [`BootstrapChannel::reach_beyond`]: the first call makes the way.
    pub(super) fn go_beyond(&self) -> Result<()> {
        let universe = self.universe()?;
        let _making = lock_order::lock(&self.beyond.making, Level::BEYOND);
        if self.beyond.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Names of processes of other jobs begin at FOREIGN and end at twice that.
        let me = Identity { rank: universe.own(), ranks: 2 * JobRank::FOREIGN, directory: universe };
        let wire = Wire::new(me, self.doorbell)?;
        let mut core = self.lanes.at(0).lock();
        core.transport.go_beyond(Box::new(wire))?;
        core.outward = universe.own();
        self.attend(&core)?;
        self.contexts.meet_others();
        self.beyond.is_open.store(true, Ordering::Relaxed);
        drop(core);
        // Threads that sleep already have to wait for the network too.
        self.doorbell.ring();
        Ok(())
    }

    /// How many processes make sense here: as many as there are CPUs that may be used, or as there are ranks.
    pub fn universe_size(&self) -> u32 {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.job.size.max(cpus as u32)
    }

    /// A job that this process has started ends if this process dies, until it is let go of.
    pub(super) fn keep_child(&self, base: u32, child: Child) {
        self.children().push((base, child));
    }

    /// Jobs that this process has started go on without it: that with this process, or all.
    pub fn let_go(&self, of: Option<JobRank>) {
        let mut children = self.children();
        let all = std::mem::take(&mut *children);
        for (base, child) in all {
            match of.is_none_or(|of| of.0 == JobRank::FOREIGN | base) {
                true => child.let_go(),
                false => children.push((base, child)),
            }
        }
    }

    fn children(&self) -> Ordered<'_, Vec<(u32, Child)>> {
        lock_order::lock(&self.beyond.children, Level::CHILDREN)
    }

    /// A number that this job alone has of those that share a node: its ranks share memory, and with those of no
    /// other job.
    pub(super) fn memory_number(&self) -> u32 {
        match self.job.birth() {
            Some(birth) => birth.base,
            None => self.node_of(JobRank(self.job.rank)),
        }
    }

    /// Looks for peers that are gone, before this rank waits on in a lane. A process of another job is missed only
    /// if some communicator has it.
    ///
    /// # Errors
    /// `Other`, naming one.
    pub(super) fn nobody_is_lost(&self, lane: &EngineLock<Core>) -> Result<()> {
        // A child that never talked with this process has no connection by which that would show.
        let failed =
            |(base, child): &(u32, Child)| child.has_failed().then_some(JobRank(JobRank::FOREIGN | base));
        let failed = self.children().iter().find_map(failed);
        if let Some(child) = failed.filter(|&child| self.is_member(child)) {
            return Err(network::gone(child));
        }
        let lost = lane.lock().transport.lost();
        match lost {
            None => Ok(()),
            Some(peer) if peer.is_foreign() && !self.is_member(peer) => {
                lane.lock().transport.forget(peer);
                Ok(())
            }
            Some(peer) => Err(network::gone(peer)),
        }
    }

    /// Whether processes of other jobs are in a communicator: the same at all members, as each of them has to know others.
    pub(super) fn has_others(&self, communicator: &Communicator) -> bool {
        self.beyond.is_open.load(Ordering::Relaxed)
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

/// What all jobs of the universe call a process that this job calls `rank`.
pub(super) fn outward(exchange: &dyn BootstrapChannel, rank: JobRank) -> JobRank {
    exchange.contexts().outward(rank)
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
