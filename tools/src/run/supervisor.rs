//! The state of the launcher while its job runs. What it does is in `supervise`, `ranks`, `streams` and `conversation`.

use super::agents::Agents;
use super::council::Council;
use super::ending::Ending;
use super::energy::Energy;
use super::guard::Guard;
use super::launch::Launched;
use super::memory_events;
use super::plan::Plan;
use super::pmi_server::PmiServer;
use super::rank::Rank;
use super::watch::Watch;
use crate::system::monotonic_now;
use crate::system::signals::Signals;
use std::collections::HashSet;
use std::time::Instant;

/// The launcher of one job.
pub struct Supervisor {
    pub(super) plan: Plan,
    pub(super) job: Launched,
    pub(super) ranks: Vec<Rank>,
    pub(super) pmi: PmiServer,
    /// What ranks of several hosts agree on, and the contexts of communicators that they have revoked.
    pub(super) council: Council,
    pub(super) revoked: HashSet<u64>,
    pub(super) signals: Signals,
    pub(super) guard: Guard,
    pub(super) ending: Option<Ending>,
    /// The status of the first rank that ended badly.
    pub(super) first_bad: Option<i32>,
    pub(super) started: Instant,
    /// What the processors use meanwhile, if that is asked for.
    pub(super) energy: Option<Energy>,
    pub(super) memory_kills: u64,
    /// Since when a rank that never called MPI_Init is missed.
    pub(super) missed_since: Option<Instant>,
    pub(super) typed: Vec<u8>,
    pub(super) no_children_since: Option<Instant>,
    pub(super) watch: Option<Watch>,
    /// Those who have the ranks, if they are on other hosts.
    pub(super) agents: Option<Agents>,
    /// What was said of what went wrong.
    pub(super) told: String,
    /// Whether output is lost.
    pub(super) lost: bool,
    /// Nodes that were given up, or have lost their agent.
    pub(super) lost_nodes: Vec<u32>,
    /// When a node was given up that may still run.
    pub(super) gave_up_at: Option<Instant>,
    /// Whether the user wants the end.
    pub(super) asked_to_end: bool,
}

impl Supervisor {
    /// Takes over a job that has just been started.
    pub fn new(
        plan: Plan,
        mut job: Launched,
        agents: Option<Agents>,
        signals: Signals,
        guard: Guard,
        started: Instant,
    ) -> Supervisor {
        let program_of =
            |rank| plan.programs.iter().position(|program| program.ranks.contains(&rank)).unwrap_or(0) as u32;
        let energy = plan.options.statistics.then(Energy::start);
        let map = plan.across.as_ref().map(|across| across.map.to_text());
        let pmi = PmiServer::new(&job_name(), (0..plan.size).map(program_of).collect(), map);
        let started_ranks = job.ranks.drain(..).map(|started| Rank::new(started.process, started.socket));
        let mut ranks: Vec<Rank> = started_ranks.collect();
        let others = if agents.is_some() { Rank::elsewhere } else { Rank::never_started };
        ranks.resize_with(plan.size as usize, others);
        let watch = Watch::new(&job.node, plan.options.on_deadlock, started);
        Supervisor {
            plan,
            job,
            ranks,
            pmi,
            council: Council::default(),
            revoked: HashSet::new(),
            signals,
            guard,
            ending: None,
            first_bad: None,
            started,
            energy,
            memory_kills: memory_events::kills().unwrap_or(0),
            missed_since: None,
            typed: Vec::new(),
            no_children_since: None,
            watch,
            agents,
            told: String::new(),
            lost: false,
            lost_nodes: Vec::new(),
            gave_up_at: None,
            asked_to_end: false,
        }
    }
}

/// A name that no other job has: who we are, and when.
fn job_name() -> String {
    format!("{}_{:x}", std::process::id(), monotonic_now())
}
