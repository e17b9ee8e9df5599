//! What the launcher keeps of a job on several hosts: its agents, their clocks, what it owes them.

use super::across::agent_plan::AgentPlan;
use super::across::branches::{divide, FANOUT};
use super::across::choice::Across;
use super::across::crew::Crew;
use super::across::muster::Muster;
use super::across::orders::{Order, ALL};
use super::across::paths::Paths;
use super::across::remote_shell::RemoteShell;
use super::launch::Launched;
use super::meeting::Parties;
use super::options::OnFailure;
use super::plan::Plan;
use super::spawned_job::Spawned;
use serried_engine::job::{JobKey, NodeMap, NodeSegment};
use serried_engine::observe::mirror::{self, Changes};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};

/// Output that was taken is told to an agent when it is so much.
const CREDIT: u32 = 64 << 10;
/// How much standard input may be on its way to rank 0.
pub const INPUT: usize = 64 << 10;
/// How often to look whether somebody asks a mirror something.
const LOOK: Duration = Duration::from_millis(100);
/// Agents that do not end what is below them in this time are not waited for.
const FORCED: Duration = Duration::from_secs(8);

/// The agents of a job.
pub struct Agents {
    /// The links to them.
    pub crew: Crew,
    muster: Muster,
    /// Paths between hosts that ranks say have broken.
    pub paths: Paths,
    map: NodeMap,
    /// By node: how many nanoseconds the clock here is ahead of that of the host.
    ahead: Vec<Option<i64>>,
    /// By node: output that was taken and not told.
    owed: Vec<u32>,
    /// By rank: the last question that was passed on.
    asked: Vec<u64>,
    look_at: Instant,
    /// Standard input that rank 0 has not taken yet.
    pub input_under_way: usize,
    /// Whether there is more of it.
    pub input_ended: bool,
    /// Whether the ranks are being started.
    pub has_begun: bool,
    /// By node: nothing is left there.
    done: Vec<bool>,
    /// How many nodes execute all their programs.
    pub executing: u32,
    /// By node: jobs that its ranks have started, and that run.
    pub spawned: Vec<u32>,
    /// Since when everything is being killed.
    forced_since: Option<Instant>,
    /// The ranks of all nodes have one segment: nobody needs mirrors.
    shares: bool,
    /// The out-of-memory killer has struck on the host of the rank that ended last.
    pub out_of_memory: bool,
}

impl Agents {
    /// Starts the agents for a plan, or takes on the parties of a meeting, which share a segment and a line.
    ///
    /// # Errors
    /// A sentence.
    pub fn start(
        plan: &Plan,
        across: &Across,
        (parties, shared): (Parties, [BorrowedFd; 2]),
        mask: &libc::sigset_t,
    ) -> Result<Agents, String> {
        let options = &plan.options;
        let shell = RemoteShell::wanted(&options.shell)?;
        let nodes = across.map.nodes();
        let shares = plan.options.meet.is_some();
        let agent_plan = AgentPlan {
            nodes: 0..nodes,
            hosts: across.hosts.clone(),
            fanout: options.shell.fanout.unwrap_or(FANOUT),
            map: across.map.clone(),
            // Those who have started the job know it by the key that they have given to it.
            key: match &plan.spawned {
                Some(spawned) => spawned.key(),
                None => JobKey::random().map_err(|cause| format!("no key for the job: {cause}"))?,
            },
            birth: plan.spawned.as_ref().map_or_else(|| Ok(Vec::new()), Spawned::birth)?,
            programs: if shares { parties.own } else { plan.programs.clone() },
            bind: options.bind,
            order: options.map,
            report_bindings: options.report_bindings,
            together: options.error_file.is_some() && options.error_file == options.output_file,
            goes_on: options.on_failure == OnFailure::Continue,
            patience: options.host_timeout,
            shell,
            serried: own_path(options.shell.serried.clone())?,
        };
        let crew = match shares {
            true => Crew::meet(&agent_plan, parties.met, shared.map(|one| one.as_raw_fd()), mask)?,
            false => Crew::start(&agent_plan, divide(0..nodes, agent_plan.fanout), mask)?,
        };
        Ok(Agents {
            crew,
            shares,
            muster: Muster::new(0..nodes),
            paths: Paths::new(options.host_timeout),
            map: across.map.clone(),
            ahead: vec![None; nodes as usize],
            owed: vec![0; nodes as usize],
            asked: vec![0; plan.size as usize],
            look_at: Instant::now(),
            input_under_way: 0,
            input_ended: false,
            has_begun: false,
            done: vec![false; nodes as usize],
            executing: 0,
            spawned: vec![0; nodes as usize],
            forced_since: None,
            out_of_memory: false,
        })
    }

    /// Some agents are there: when all are, the ranks begin.
    pub fn are_ready(&mut self, cards: Vec<serried_engine::job::NodeCard>) {
        if let Some(cards) = self.muster.take(cards) {
            self.crew.send(ALL, &Order::Begin(cards));
            self.has_begun = true;
        }
    }

    /// Nothing is left on these hosts; when that is so on all, the agents go, and hear the status of the job.
    pub fn are_done(&mut self, nodes: std::ops::Range<u32>, status: i32) {
        let was_left = self.done.contains(&false);
        nodes.for_each(|node| self.done[node as usize] = true);
        if was_left && !self.done.contains(&false) {
            self.crew.send(ALL, &Order::Leave(status));
        }
    }

    /// The nodes on which something is left, as far as we know.
    pub fn not_done(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.done).filter(|(_, is_done)| !**is_done).map(|(node, _)| node)
    }

    /// Whether the ranks of all nodes have one segment.
    pub fn shares(&self) -> bool {
        self.shares
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.map.nodes()
    }

    /// The node of a rank.
    pub fn node_of(&self, rank: u32) -> u32 {
        self.map.place_of(rank).0
    }

    /// The ranks of these nodes.
    pub fn ranks_of(&self, nodes: std::ops::Range<u32>) -> Vec<u32> {
        let mut ranks: Vec<u32> = nodes.flat_map(|node| self.map.ranks_of(node)).collect();
        ranks.sort_unstable();
        ranks
    }

    /// Writes to the mirror of a rank what has changed on its page. `then` is the clock of its host, `now` that here.
    pub fn mirror(&mut self, node: &NodeSegment, rank: u32, changes: &Changes, then: u64, now: u64) {
        let ahead = self.ahead(rank, then, now);
        mirror::apply(node.page(rank), changes, ahead);
    }

    /// How far the clock here is ahead of that of a rank's host: the least that was seen, for what comes late looks like
    /// a clock that is behind.
    fn ahead(&mut self, rank: u32, then: u64, now: u64) -> i64 {
        let seen = now.wrapping_sub(then) as i64;
        let known = &mut self.ahead[self.map.place_of(rank).0 as usize];
        let ahead = known.map_or(seen, |known| known.min(seen));
        *known = Some(ahead);
        ahead
    }

    /// Writes the answer of a rank to its mirror.
    pub fn answered(
        &mut self,
        node: &NodeSegment,
        rank: u32,
        number: u64,
        text: &str,
        (then, now): (u64, u64),
    ) {
        let ahead = self.ahead(rank, then, now);
        if node.reserve_report(rank, text.len() + 64).is_ok() {
            node.report(rank).write(number, &with_our_clock(text, ahead));
        }
        node.page(rank).inquiry.answered.store(number, Release);
    }

    /// Passes on what observers ask the mirrors of ranks.
    pub fn pass_questions_on(&mut self, node: &NodeSegment, now: Instant) {
        if now < self.look_at || self.shares {
            return;
        }
        self.look_at = now + LOOK;
        for rank in 0..self.map.size() {
            let asked = node.page(rank).inquiry.asked.load(Relaxed);
            if asked != self.asked[rank as usize] {
                self.asked[rank as usize] = asked;
                self.crew.send(self.map.place_of(rank).0, &Order::Ask { rank, number: asked });
            }
        }
    }

    /// When there is something to do next.
    pub fn deadline(&self) -> Option<Instant> {
        self.crew
            .deadline()
            .map(|beat| if self.has_begun && !self.shares { beat.min(self.look_at) } else { beat })
    }

    /// Output of a rank has been taken.
    pub fn took(&mut self, rank: u32, bytes: usize) {
        let node = self.map.place_of(rank).0;
        self.owed[node as usize] += bytes as u32;
    }

    /// Tells the agents that output was taken, where it is worth it.
    pub fn pay(&mut self) {
        for (node, owed) in self.owed.iter_mut().enumerate().filter(|(_, owed)| **owed >= CREDIT) {
            self.crew.send(node as u32, &Order::Credit(std::mem::take(owed)));
        }
    }

    /// Everything below all agents gets this signal; returns whether they have had time enough for it.
    pub fn sweep(&mut self, signal: i32, now: Instant) -> bool {
        self.crew.send(ALL, &Order::Sweep(signal));
        if signal == libc::SIGKILL {
            self.forced_since.get_or_insert(now);
        }
        self.forced_since.is_some_and(|since| now.duration_since(since) >= FORCED)
    }
}

/// The path of this command on all hosts.
/// Where `serried` is on other hosts: where it was said to be, or where it is here.
pub fn own_path(told: Option<PathBuf>) -> Result<PathBuf, String> {
    told.map_or_else(std::env::current_exe, Ok)
        .map_err(|cause| format!("this command does not know its own path: {cause}"))
}

/// A description in which times are those of the clock here: lines `thread NUMBER SINCE CALL`.
fn with_our_clock(text: &str, ahead: i64) -> String {
    let line = |line: &str| {
        let words = line.strip_prefix("thread ").and_then(|rest| {
            let (number, rest) = rest.split_once(' ')?;
            let (since, call) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((number, since.parse::<u64>().ok()?, call))
        });
        match words {
            Some((number, since, call)) if since != 0 => {
                format!("thread {number} {} {call}\n", since.saturating_add_signed(ahead).max(1))
            }
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Makes the launcher's side of a job on other hosts: mirrors of the ranks' pages, and where their output goes.
///
/// # Errors
/// A sentence.
pub fn launch(plan: &Plan) -> Result<Launched, String> {
    let mut launched = Launched::without_ranks(plan)?;
    for rank in 0..plan.size {
        launched.add_taps_of_elsewhere(plan, rank)?;
    }
    Ok(launched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_descriptions_are_those_of_our_clock() {
        let text = "thread 7 1000 MPI_Recv\nway 1\nthread 8 0 \nthread x\n";
        assert_eq!(with_our_clock(text, 500), "thread 7 1500 MPI_Recv\nway 1\nthread 8 0 \nthread x\n");
        assert_eq!(with_our_clock("thread 7 1000 MPI_Recv\n", -5000), "thread 7 1 MPI_Recv\n");
    }
}
