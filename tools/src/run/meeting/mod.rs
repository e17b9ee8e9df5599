//! `serried run --meet FOLDER`: several launchers on one machine, which nobody could start one from another, start one job.
//! Containers that a daemon has started are so: each runs `serried run` with a folder that all of them have.
//!
//! ```text
//! container 1: guard ── leader ── agent ── ranks          the leader makes the node segment
//!                          │ a socket in the folder, over which the descriptor of the segment goes
//! container 2: guard ── member (an agent) ── ranks
//! ```
//!
//! Whoever comes first leads: he holds the lock of the meeting, and listens in the folder. The others prove who they are, say
//! what they want to run, and wait. When all are there, each gets its part of the plan and the segment, and becomes an agent.
//! So all ranks share memory, and the leader sees to the job as to one on several hosts.
//!
//! Parties prove themselves by their user, whom the system tells, and by a secret that lies in the folder, which only that
//! user can read. Nothing is left in the folder once all have met.

mod gathering;
mod place;
mod talk;

use super::across::choice::Across;
use super::across::crew::Met;
use super::agent::Shared;
use super::guard::Guard;
use super::meeting_options::Meeting;
use super::options::Options;
use super::plan::{Plan, Prepared};
use super::rank_start::because;
use place::Place;
use serried_engine::job::NodeMap;
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use talk::{NotJoined, Party};

/// How long to wait until a leader that has gone, or is about to listen, is looked for again.
const AGAIN: Duration = Duration::from_millis(30);

/// What has become of this party.
pub enum Role {
    /// It leads: the plan is that of the whole job, with these parties.
    Leads(Parties),
    /// It is a member: the link to the leader, and what all share.
    Belongs(UnixStream, Shared),
}

/// Looks whether the options of a meeting make sense together.
///
/// # Errors
/// A sentence for the user.
pub fn check(options: &mut Options) -> Result<(), String> {
    let Some(meeting) = &options.meet else { return Ok(()) };
    let Some(parties) = meeting.parties else {
        return Err(
            "--meet FOLDER wants --parties N too: how many `serried run` with this folder are one job".into(),
        );
    };
    if meeting.folder.as_os_str().is_empty() {
        return Err("--parties, --party, --job and --meet-timeout belong to --meet FOLDER".into());
    }
    if let Some(own) = meeting.own.filter(|&own| own >= parties) {
        return Err(format!("--party {own}: with --parties {parties} they are 0 to {}", parties - 1));
    }
    if meeting.name.contains(['/', '\0']) || meeting.name.is_empty() || meeting.name.len() > 64 {
        return Err(format!("--job {}: a name has 1 to 64 letters, and no /", meeting.name));
    }
    if options.hosts.is_some() {
        return Err("--meet and --hosts do not go together: parties that meet are on one machine, each where it was started. \
                    For containers on several machines run `serried run --hosts` in one of them, with sshd in the others"
            .into());
    }
    if options.restarts > 0 {
        return Err("--meet and --restarts do not go together: whoever has started the containers starts them again. All parties \
                    end with the status of the job, and meet again (docker run --restart=on-failure:3; a Job of Kubernetes)"
            .into());
    }
    options.local_only = true;
    Ok(())
}

/// The parties of a job that has met.
#[derive(Debug, Default)]
pub struct Parties {
    /// By their nodes; `None`: this one.
    pub met: Vec<Option<Met>>,
    /// What this one runs.
    pub own: Vec<Prepared>,
}

/// Meets the other parties.
///
/// # Errors
/// A sentence for the user.
pub fn meet(plan: &mut Plan, guard: &mut Guard) -> Result<Role, String> {
    let Some(meeting) = plan.options.meet.clone() else { return Ok(Role::Leads(Parties::default())) };
    let own = Party::of_plan(plan, &meeting);
    let until = Instant::now() + meeting.patience;
    loop {
        let place = Place::look(&meeting)?;
        if let Some(lead) = place.lead()? {
            let parties = gathering::gather(&meeting, own, lead, until, guard)?;
            return Ok(Role::Leads(plan_for(plan, parties)?));
        }
        let last = match place.join(&own, guard) {
            Ok((stream, shared)) => return Ok(Role::Belongs(stream, shared)),
            Err(NotJoined::ForGood(why)) => return Err(why),
            Err(NotJoined::Yet(why)) => why,
        };
        if Instant::now() >= until {
            let (folder, seconds) = (meeting.folder.display(), meeting.patience.as_secs_f64());
            return Err(format!(
                "somebody leads the job `{}` in {folder}, but could not be reached within {seconds} s: {last}",
                meeting.name
            ));
        }
        std::thread::sleep(AGAIN);
        if guard.wants_the_end() {
            return Err("ended before all parties had come".into());
        }
    }
}

impl Parties {
    /// Passes on to all others what they share: the segment and a line.
    ///
    /// # Errors
    /// A sentence: one has gone.
    pub fn begin(&self, shared: [BorrowedFd; 2]) -> Result<(), String> {
        for met in self.met.iter().flatten() {
            let gone = |cause| format!("the party on {} has gone before the job began ({cause})", met.host);
            talk::accept(&met.stream, shared).map_err(gone)?;
        }
        Ok(())
    }
}

/// Makes the plan of one party that of the whole job.
fn plan_for(plan: &mut Plan, parties: Vec<Party>) -> Result<Parties, String> {
    let (mut nodes, mut own) = (Vec::new(), Vec::new());
    let mut programs: Vec<Prepared> = Vec::new();
    for (node, party) in (0..).zip(&parties) {
        let base = nodes.len() as u32;
        nodes.extend((0..party.ranks()).map(|_| node));
        if party.stream.is_none() {
            own = party.programs_from(base).collect();
        }
        for program in party.programs_from(base) {
            // The same command in several parties is one program of MPI.
            match programs
                .last_mut()
                .filter(|last| last.path == program.path && last.arguments == program.arguments)
            {
                Some(last) => last.ranks.end = program.ranks.end,
                None => programs.push(program),
            }
        }
    }
    let map = NodeMap::of_list(&nodes).ok_or("too many ranks")?;
    (plan.programs, plan.size, plan.places) = (programs, map.size(), None);
    plan.across = Some(Across { hosts: names_of(&parties), map });
    Ok(Parties { met: parties.into_iter().map(Party::into_met).collect(), own })
}

/// The names of the hosts of all parties; those that are alike are numbered.
fn names_of(parties: &[Party]) -> Vec<String> {
    let mut count: HashMap<&str, u32> = HashMap::new();
    parties.iter().for_each(|party| *count.entry(&party.host).or_default() += 1);
    let name = |(number, party): (usize, &Party)| match count[&*party.host] {
        1 => party.host.clone(),
        _ => format!("{}/{number}", party.host),
    };
    parties.iter().enumerate().map(name).collect()
}

/// Waits until one of these can be read, or the guard has something to say, but no longer than until then; returns which can.
fn wait(descriptors: &[&dyn AsFd], guard: &Guard, until: Instant) -> Vec<bool> {
    let entry = |fd: i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let own = descriptors.iter().map(|one| one.as_fd().as_raw_fd());
    let mut entries: Vec<libc::pollfd> = own.chain([guard.descriptor().as_raw_fd()]).map(entry).collect();
    let patience = until.saturating_duration_since(Instant::now()).as_millis().min(60_000) as i32 + 1;
    // SAFETY: `entries` is a valid array of its length.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, patience) };
    entries[..descriptors.len()].iter().map(|entry| entry.revents != 0).collect()
}

/// What the system says of something in the folder, for people.
fn of_folder(what: &str, meeting: &Meeting, cause: &std::io::Error) -> String {
    format!("--meet {}: {what}: {}", meeting.folder.display(), because(cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn party(host: &str, programs: &[(&str, u32)]) -> Party {
        let mut end = 0;
        let program = |&(name, ranks): &(&str, u32)| {
            end += ranks;
            let path = CString::new(name).unwrap();
            let (arguments, environment) = (vec![path.clone()], Vec::new());
            Prepared {
                path,
                arguments,
                environment,
                directory: None,
                ranks: end - ranks..end,
                open_mpi: false,
            }
        };
        Party { host: host.into(), programs: programs.iter().map(program).collect(), own: None, stream: None }
    }

    #[test]
    fn parties_become_one_job() {
        let options = super::super::options::parse(&["true".into()]).unwrap();
        let mut plan = super::super::plan::prepare(options, None).unwrap();
        let parties =
            vec![party("c1", &[("a", 2)]), party("c2", &[("a", 1), ("b", 2)]), party("c1", &[("b", 1)])];
        assert_eq!(plan_for(&mut plan, parties).unwrap().met.len(), 3);
        let told = |program: &Prepared| format!("{:?} {:?}", program.path, program.ranks);
        assert_eq!(plan.programs.iter().map(told).collect::<Vec<_>>(), ["\"a\" 0..3", "\"b\" 3..6"]);
        let across = plan.across.unwrap();
        assert_eq!(across.hosts, ["c1/0", "c2", "c1/2"]);
        let nodes: Vec<u32> = (0..6).map(|rank| across.map.place_of(rank).0).collect();
        assert_eq!((nodes, plan.size), (vec![0, 0, 1, 1, 1, 2], 6));
    }
}
