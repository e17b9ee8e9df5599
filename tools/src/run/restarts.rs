//! `--restarts N`: a job that fails is started again, N times at most, on the hosts that are left.
//!
//! A failure is the end of a rank that ends the job, or the loss of a host. A job that the user ends is not started
//! again, nor one of which no rank could be started, nor one whose ranks wait for each other for ever.
//!
//! No two attempts are there at once. The ranks of a host that was cut off are ended by their agent, which waits for us twice
//! as long as we do for it; so the next attempt begins when that time is over.

use super::across::choice::choose;
use super::across::host_list::Host;
use super::ending::Reason;
use super::guard::Guard;
use super::options::Options;
use super::plan::{self, Plan};
use super::say;
use super::verdict::Cause;
use crate::system::signals::Signals;
use serried_engine::settings::RESTART;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// An agent that gives us up has so long to end its ranks.
const GOING: Duration = Duration::from_secs(2);

/// How an attempt has ended, and what is left of it.
pub struct Outcome {
    /// The exit status.
    pub status: i32,
    /// Why the job was ended.
    pub reason: Option<Reason>,
    /// Whether it has not ended well, and nobody has asked it to end.
    pub has_failed: bool,
    /// Whether its ranks were there.
    pub has_begun: bool,
    /// Nodes that were lost.
    pub lost: Vec<u32>,
    /// When the last of them was given up, of those that may still run.
    pub gave_up_at: Option<Instant>,
    /// The plan of it.
    pub plan: Plan,
    /// The signals of the launcher.
    pub signals: Signals,
    /// Its guard.
    pub guard: Guard,
}

/// Has the ranks of the first attempt know which one it is.
pub fn prepare(options: &mut Options) {
    if options.restarts > 0 {
        set_attempt(options, 0);
    }
}

fn set_attempt(options: &mut Options, attempt: u32) {
    options.environment.retain(|(name, _)| name != RESTART);
    options.environment.push((RESTART.into(), attempt.to_string().into()));
}

impl Outcome {
    /// What the next attempt needs, if there is one; says so, or why there is none.
    pub fn again(mut self, deadline: Option<Instant>) -> Option<(Plan, Signals, Guard)> {
        let (attempt, allowed) = (self.plan.attempt, self.plan.options.restarts);
        self.lost.sort_unstable();
        self.lost.dedup();
        let is_late = || deadline.is_some_and(|at| Instant::now() >= at);
        let asked = self.guard.wants_the_end() || is_late();
        if allowed == 0 || asked || !self.is_for_another_attempt() {
            return None;
        }
        let so_far = format!(
            "serried: attempt {} of {} has failed ({}, status {})",
            attempt + 1,
            allowed + 1,
            self.what(),
            self.status
        );
        if attempt == allowed {
            say(&format!("{so_far}; the job is not started again\n"));
            return None;
        }
        let names: Vec<String> = self.lost.iter().map(|&node| self.host(node)).collect();
        let alone_at = self.gave_up_at.map(|at| at + self.plan.options.host_timeout + GOING);
        let plan = match next_plan(self.plan, &self.lost) {
            Ok(plan) => plan,
            Err(why) => {
                say(&format!("{so_far}; it is not started again: {why}\n"));
                return None;
            }
        };
        say(&format!("{so_far}\n"));
        if let Some(until) = alone_at {
            let names = names.join(", ");
            say(&format!(
                "serried: the next one begins when the agent on {names} must have ended its ranks\n"
            ));
            if !wait(&mut self.guard, deadline.map_or(until, |at| at.min(until))) || is_late() {
                return None;
            }
        }
        let without = match &names[..] {
            [] => String::new(),
            names => format!(", without {}", names.join(", ")),
        };
        say(&format!("serried: attempt {} begins: {}{without}\n", attempt + 2, places(&plan)));
        Some((plan, self.signals, self.guard))
    }

    fn is_for_another_attempt(&self) -> bool {
        // A host that has gone may be missed only when the next attempt wants to start there.
        let misses_a_host = self.plan.attempt > 0 && !self.lost.is_empty();
        self.has_failed
            && match self.reason {
                Some(Reason::Failure(failure)) => failure.cause != Cause::Killed(libc::SIGINT),
                Some(Reason::HostLost) => self.has_begun || misses_a_host,
                Some(Reason::CannotStart) => !self.has_begun && misses_a_host,
                Some(Reason::Leftovers) | None => true,
                Some(
                    Reason::Timeout
                    | Reason::Signal(_)
                    | Reason::Deadlock
                    | Reason::OutputClosed
                    | Reason::ParentDied,
                ) => false,
            }
    }

    /// What has failed, for people.
    fn what(&self) -> String {
        let lost: Vec<String> = self.lost.iter().map(|&node| format!("{} lost", self.host(node))).collect();
        match self.reason {
            Some(Reason::Failure(failure)) => {
                [vec![format!("rank {}", failure.rank)], lost].concat().join(", ")
            }
            Some(Reason::HostLost | Reason::CannotStart) => lost.join(", "),
            _ => "ranks have ended badly".into(),
        }
    }

    fn host(&self, node: u32) -> String {
        let name = self.plan.across.as_ref().and_then(|across| across.hosts.get(node as usize));
        name.cloned().unwrap_or_else(|| format!("node {node}"))
    }
}

/// Waits until then, unless the user wants the end; whether he does not.
fn wait(guard: &mut Guard, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if guard.wants_the_end() {
            return false;
        }
        if left.is_zero() {
            return true;
        }
        let mut entry = libc::pollfd { fd: guard.descriptor().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `entry` is one valid entry.
        unsafe { libc::poll(&mut entry, 1, left.as_millis() as i32 + 1) };
    }
}

/// The plan of the next attempt, without the hosts of these nodes.
///
/// # Errors
/// A sentence for the user.
fn next_plan(plan: Plan, lost: &[u32]) -> Result<Plan, String> {
    let (mut options, size, attempt) = (plan.options, plan.size, plan.attempt + 1);
    if let Some(hosts) = &options.hosts {
        options.hosts = Some(left_of(hosts, lost, (size, options.per_host))?);
    }
    set_attempt(&mut options, attempt);
    // The hosts that a batch system has given are among the options already.
    let across = choose(&mut options, &|_| None)?;
    Ok(Plan { attempt, ..plan::prepare(options, across)? })
}

/// The hosts without those that are lost. Where all ranks had a slot, they have to have one again.
///
/// # Errors
/// A sentence for the user.
fn left_of(hosts: &[Host], lost: &[u32], (size, per_host): (u32, Option<u32>)) -> Result<Vec<Host>, String> {
    let slots = |host: &Host| u64::from(per_host.or(host.slots).unwrap_or(1));
    let room = |hosts: &[Host]| hosts.iter().map(slots).sum::<u64>();
    let is_left = |(node, _): &(u32, &Host)| !lost.contains(node);
    let left: Vec<Host> = (0..).zip(hosts).filter(is_left).map(|(_, host)| host.clone()).collect();
    if left.is_empty() {
        return Err("no host is left".into());
    }
    if room(&left) >= u64::from(size) || room(hosts) < u64::from(size) {
        return Ok(left);
    }
    let names: Vec<&str> = left.iter().map(|host| host.name.as_str()).collect();
    Err(format!(
        "it has {size} ranks, and too few slots are left ({} on {}); name more hosts than it needs in --hosts, so that \
         some are spare",
        room(&left),
        names.join(", ")
    ))
}

/// Where the ranks of a plan run, for people.
fn places(plan: &Plan) -> String {
    let ranks = |count: usize| format!("{count} rank{}", if count == 1 { "" } else { "s" });
    let size = ranks(plan.size as usize);
    let Some(across) = &plan.across else { return format!("{size} on {}", plan.host) };
    let of_node = |(node, host): (u32, &String)| format!("{} on {host}", across.map.ranks_of(node).len());
    let hosts: Vec<String> = (0..).zip(&across.hosts).map(of_node).collect();
    format!("{size}, {}", hosts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::across::host_list::read_list;
    use super::*;

    fn left(list: &str, lost: &[u32], size: u32) -> Result<String, String> {
        let hosts = read_list("--hosts", list).unwrap();
        let names = |hosts: Vec<Host>| hosts.into_iter().map(|host| host.name).collect::<Vec<_>>().join(" ");
        left_of(&hosts, lost, (size, None)).map(names)
    }

    #[test]
    fn spare_hosts_take_the_place_of_those_that_are_lost() {
        assert_eq!(left("a:2,b:2,c:2", &[1], 4).unwrap(), "a c");
        assert_eq!(left("a,b,c", &[0], 2).unwrap(), "b c");
        assert_eq!(left("a,b,c", &[], 2).unwrap(), "a b c");
    }

    #[test]
    fn ranks_that_had_a_slot_each_are_not_put_together() {
        assert!(left("a:2,b:2,c:1", &[1], 4).unwrap_err().contains("too few slots are left (3 on a, c)"));
        assert!(left("a,b", &[1], 2).is_err());
        assert!(left("a", &[0], 1).unwrap_err().contains("no host is left"));
    }

    #[test]
    fn a_job_with_more_ranks_than_slots_may_have_so_again() {
        assert_eq!(left("a,b", &[1], 4).unwrap(), "a");
        assert_eq!(left("a:2,b:2", &[0], 5).unwrap(), "b");
    }

    #[test]
    fn the_ranks_see_the_number_of_one_attempt_only() {
        let mut options = Options { restarts: 2, ..Options::default() };
        prepare(&mut options);
        set_attempt(&mut options, 1);
        assert_eq!(options.environment, [(RESTART.into(), "1".into())]);
        let mut options = Options::default();
        prepare(&mut options);
        assert_eq!(options.environment, []);
    }
}
