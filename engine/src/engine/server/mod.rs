//! The server of a node: a thread of the node's first rank, which does what ranks of other nodes ask for with the memory
//! of this node's ranks, while these compute, and takes what they ask of other nodes there.
//!
//! Ranks hang what they ask for on a list of their own and ring; the server takes it from there, out of their memory,
//! and writes the answer into it. Between servers go the messages of the protocol (`onesided::server`), over a lane of
//! their own of the network. A server sleeps whenever it has nothing to do. A rank does the work of its server while it
//! spins in a wait, and the server's thread naps meanwhile, so that a message wakes nobody.
//!
//! # Rules
//! * The server waits for nobody: a lock that is taken is granted by a message that comes later.
//! * It touches nothing of the rank whose thread it is, but what is made for other ranks.
//! * Only jobs whose ranks are on several nodes have servers.

mod desk;
mod ending;
mod granting;
mod long_messages;
mod mail;
mod moves;
mod moving_blocks;
mod running;
mod served_members;
mod server_words;
mod waiting_locks;
mod wishes;

use self::running::Here;
use self::served_members::Entering;
pub(super) use self::served_members::{body_of, lock_in_body};
use self::server_words::ServerWords;
pub(super) use self::wishes::{UnderWay, What};
use super::reason::Reason;
use super::waiting::Beside;
use super::Engine;
use crate::job::Nodes;
use crate::onesided::server::{law, Grid, Settings};
use crate::onesided::{Exposure, Told, MOST_BYTES};
use crate::settings::Extents;
use crate::transport::network::without_signals;
use crate::transport::Routed;
use crate::world::Communicator;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rank knows of the server of its node.
pub(super) struct NodeServer {
    node: u32,
    /// The rank whose thread it is.
    leader: LocalRank,
    /// That rank's words, and those of this one.
    words: &'static ServerWords,
    own: &'static ServerWords,
    /// The server itself, in that rank.
    here: Option<Here>,
    /// Nodes stand in a grid, and what one wants of another may go in several steps.
    is_in_steps: bool,
    /// What this rank has entered: context and member.
    entered: Mutex<Vec<(u64, u32)>>,
}

/// Nodes of a job.
impl Engine {
    /// How many nodes there are.
    fn number_of_nodes(&self) -> u32 {
        match self.nodes {
            Nodes::One => 1,
            Nodes::Blocks(number) | Nodes::Cyclic(number) => number.min(self.job.size),
            Nodes::Real(map) => map.nodes(),
        }
    }

    /// The rank that has the server of a node.
    fn leader_of(&self, node: u32) -> JobRank {
        JobRank(match self.nodes {
            Nodes::Real(map) => map.first_of(node),
            nodes => (0..self.job.size).find(|&rank| nodes.node_of(rank, self.job.size) == node).unwrap_or(0),
        })
    }
}

/// News.
impl Engine {
    /// The server of this node looks at who has failed.
    pub(super) fn ring_server(&self) {
        if let Some(server) = self.server.get() {
            server.words.doorbell.ring();
        }
    }
}

/// Beginning and end.
impl Engine {
    /// Begins the server of this node in its first rank, if the job is on several nodes; other ranks learn where it is.
    /// Once, when the engine stands where it stays.
    ///
    /// # Errors
    /// `NoMem`, `Arg` for a grid without room for all nodes, and what the network says.
    pub fn begin_server(&'static self, extents: Option<Extents>) -> Result<()> {
        let (node, nodes) = (self.node_of(JobRank(self.job.rank)), self.number_of_nodes());
        let other = self.leader_of((node + 1) % nodes);
        let are_apart = nodes > 1 && self.lanes.at(0).lock().transport.is_far(other);
        if !are_apart || self.job.local_ranks.len() > server_words::MOST_RANKS {
            return Ok(());
        }
        let leader = self.job.local(self.leader_of(node)).unwrap_or_default();
        [leader.0, self.job.local_rank]
            .into_iter()
            .try_for_each(|rank| self.job.node.reserve_server(rank))?;
        let words = ServerWords::of(&self.job.node, leader);
        let own = ServerWords::of(&self.job.node, LocalRank(self.job.local_rank));
        let grid = grid_of(nodes, extents)?;
        let is_in_steps = grid.extents().len() > 1;
        let here = match leader.0 == self.job.local_rank {
            true => Here::open(self, (node, grid), words)?,
            false => None,
        };
        let (is_here, entered) = (here.is_some(), Mutex::default());
        let _ = self.server.set(NodeServer { node, leader, words, own, here, is_in_steps, entered });
        if is_here {
            self.page.show_server();
            if without_signals("server", move || self.run_server()).is_none() {
                return Err(Error::new(Class::NoMem, "the server of this node: no thread can be made"));
            }
        }
        Ok(())
    }

    /// The rank ends: it takes back what it has entered. The one that has the server waits until all ranks of the node
    /// have done so, for as long as that takes.
    pub(super) fn end_server(&self) -> Result<()> {
        let Some(server) = self.server.get() else { return Ok(()) };
        let entered = std::mem::take(&mut *server.entered.lock().unwrap_or_else(PoisonError::into_inner));
        entered.into_iter().try_for_each(|(context, member)| self.say_leaving(server, context, member))?;
        let Some(here) = &server.here else { return Ok(()) };
        let beside = Unneeded { server };
        let lane = self.lanes.at(0);
        self.wait_beside(lane, Reason::Server, &beside, |_| beside.holds().then_some(()))?;
        if server.is_in_steps && self.failures() == 0 {
            here.say_done(self, server);
            let beside = Ended { engine: self, server };
            self.wait_beside(lane, Reason::Server, &beside, |_| beside.holds().then_some(()))?;
            server.words.may_end.store(0, Ordering::SeqCst);
        }
        here.leave();
        Ok(())
    }
}

/// A wait until nobody needs the server any more.
struct Unneeded<'a> {
    server: &'a NodeServer,
}

impl Beside for Unneeded<'_> {
    fn holds(&self) -> bool {
        self.server.words.members.load(Ordering::SeqCst) == 0
    }
}

/// A wait until no node needs it.
struct Ended<'a> {
    engine: &'a Engine,
    server: &'a NodeServer,
}

impl Beside for Ended<'_> {
    fn holds(&self) -> bool {
        // A server that is missing passes no word on.
        self.server.words.may_end.load(Ordering::SeqCst) != 0 || self.engine.failures() != 0
    }
}

/// The grid of these extents for so many nodes; else the one whose buffers keep to the budget.
fn grid_of(nodes: u32, extents: Option<Extents>) -> Result<Grid> {
    let Some(extents) = extents else {
        return Ok(law::grid_within(nodes, law::BUDGET, &Settings::default(), MOST_BYTES));
    };
    let used: Vec<u32> = extents.into_iter().take_while(|&extent| extent > 0).collect();
    let room = used.iter().fold(1u64, |room, &extent| room.saturating_mul(u64::from(extent)));
    match room >= u64::from(nodes) {
        true => Ok(Grid::new(nodes, &used)),
        false => {
            let sentence =
                format!("SERRIED_SERVERS: a grid of {used:?} has no room for the {nodes} nodes of this job");
            Err(Error::new(Class::Arg, sentence))
        }
    }
}

/// Exposures.
impl Engine {
    /// The servers of the members' nodes do from now on what members ask for that is out of reach; `false` if not all
    /// have one that can. Collective.
    ///
    /// # Errors
    /// Of the messages by which they agree.
    pub(super) fn enter_servers(&self, parent: &Arc<Communicator>, exposure: &Exposure) -> Result<bool> {
        let is_of_job = || exposure.group().iter().all(|rank| !rank.is_foreign());
        let server = self.server.get().filter(|_| exposure.is_spread && is_of_job());
        let is_entered = match server {
            Some(server) => self.say_entering(server, Entering::of(exposure, self.rank()))?,
            None => false,
        };
        let all = if exposure.is_spread { self.all_say(parent, is_entered) } else { Ok(false) };
        if let Some(server) = server.filter(|_| is_entered) {
            let (context, member) = (exposure.communicator().context(), exposure.rank());
            server.entered.lock().unwrap_or_else(PoisonError::into_inner).push((context, member));
            // Also when a member has failed meanwhile.
            if !matches!(all, Ok(true)) {
                self.leave_server_of(server, context, member)?;
            }
        }
        let all = all?;
        exposure.has_servers.store(all, Ordering::Relaxed);
        Ok(all)
    }

    /// An exposure is freed.
    ///
    /// # Errors
    /// What progress reports.
    pub(super) fn leave_server(&self, exposure: &Exposure) -> Result<()> {
        match self.server.get() {
            Some(server) if exposure.has_servers.load(Ordering::Relaxed) => {
                self.leave_server_of(server, exposure.communicator().context(), exposure.rank())
            }
            _ => Ok(()),
        }
    }

    /// Whether this node has a server.
    pub(super) fn has_server(&self) -> bool {
        self.server.get().is_some()
    }

    /// This node's server does from now on what ranks of other nodes ask for with bytes of this rank's blocks area, as
    /// the only member of a context; `false` if there is none. Not collective.
    ///
    /// # Errors
    /// What progress reports.
    pub(super) fn enter_alone(&self, context: u64, told: Told) -> Result<bool> {
        let Some(server) = self.server.get() else { return Ok(false) };
        let is_entered = self.say_entering(server, Entering::alone(context, self.rank(), told))?;
        if is_entered {
            server.entered.lock().unwrap_or_else(PoisonError::into_inner).push((context, 0));
        }
        Ok(is_entered)
    }

    /// It does so no more.
    ///
    /// # Errors
    /// What progress reports.
    pub(super) fn leave_alone(&self, context: u64) -> Result<()> {
        self.server.get().map_or(Ok(()), |server| self.leave_server_of(server, context, 0))
    }

    fn leave_server_of(&self, server: &NodeServer, context: u64, member: u32) -> Result<()> {
        let mut entered = server.entered.lock().unwrap_or_else(PoisonError::into_inner);
        entered.retain(|&one| one != (context, member));
        drop(entered);
        self.say_leaving(server, context, member)
    }

    /// The turns of a lock of this member have changed by itself: the server looks whether somebody is let in.
    pub(super) fn tell_server_of_turn(&self) {
        if let Some(server) = self.server.get() {
            if server.words.queued.load(Ordering::SeqCst) != 0 {
                server.words.turned.store(1, Ordering::SeqCst);
                server.words.doorbell.ring();
            }
        }
    }

    /// The way of the server to memory of this node's ranks.
    pub(super) fn server_reaches<T>(&self, work: impl FnOnce(&mut Routed) -> T) -> T {
        let here = self.server.get().and_then(|server| server.here.as_ref());
        work(&mut here.expect("only the server asks for this").reach.lock())
    }
}
