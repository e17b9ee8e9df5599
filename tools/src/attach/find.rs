//! Which job is meant: by a process id, or because there is only one.

use super::processes::{self, Held};
use super::Found;
use std::collections::{BTreeMap, HashMap};

/// Finds the job of a process (its launcher, one of its ranks, or what is above
/// or below them), or, without one, the only job that this user has.
///
/// # Errors
/// A sentence that says what there is instead, and what to do.
pub fn find(process: Option<i32>) -> Result<Found, String> {
    let parents = processes::parents();
    let Some(process) = process else {
        let mine = |&process: &i32| processes::owner(process) == Some(processes::me());
        let mut jobs = jobs(parents.keys().copied().filter(mine), &parents);
        return match jobs.len() {
            0 => {
                Err("no job of yours is running on this machine; start one with: serried run -n 4 ./program"
                    .into())
            }
            1 => Ok(jobs.remove(0)),
            _ => Err(format!(
                "several jobs of yours are running; name one by a process of it:\n{}",
                list(&jobs)
            )),
        };
    };
    if !parents.contains_key(&process) {
        return Err(format!("there is no process {process}; {}", those_there(&parents)));
    }
    if let Err(cause) = processes::segments(process) {
        return Err(processes::not_mine(process, &cause));
    }
    let mut meant = choose(process, jobs(parents.keys().copied(), &parents), &parents);
    match meant.len() {
        0 => Err(format!(
            "process {process} ({}) belongs to no job that uses Serried's MPI; {}",
            processes::command(process),
            those_there(&parents)
        )),
        1 => Ok(meant.remove(0)),
        _ => Err(format!(
            "there are several jobs below process {process}; name one by a process of it:\n{}",
            list(&meant)
        )),
    }
}

/// Of all jobs those that a process can stand for.
fn choose(process: i32, jobs: Vec<Found>, parents: &HashMap<i32, i32>) -> Vec<Found> {
    let one = |job: &Found| vec![job.clone()];
    if let Some(job) = jobs.iter().find(|job| job.members.contains(&process)) {
        return one(job);
    }
    // A rank of an inner job may also hold the segment of the outer one.
    let holding: Vec<&Found> =
        jobs.iter().filter(|job| job.holders.iter().any(|&(holder, _)| holder == process)).collect();
    let newest =
        |job: &&&Found| job.holders.iter().find(|&&(holder, _)| holder == process).map(|held| held.1);
    if let Some(job) = holding.iter().find(|job| job.rank_of(process).is_some()) {
        return one(job);
    }
    if let Some(job) = holding.iter().filter(|job| job.anchors.contains(&process)).max_by_key(newest) {
        return one(job);
    }
    if let Some(job) = holding.iter().max_by_key(newest) {
        return one(job);
    }
    let below = |job: &&Found| job.anchors.iter().any(|&anchor| is_below(anchor, process, parents));
    // The launcher of an inner job is below that of the outer one.
    let inner = |job: &Found| {
        job.anchors.iter().any(|&anchor| {
            jobs.iter().any(|other| {
                other.id != job.id
                    && other
                        .anchors
                        .iter()
                        .any(|&a| is_below(anchor, a, parents) && is_below(a, process, parents))
            })
        })
    };
    jobs.iter().filter(below).filter(|job| !inner(job)).cloned().collect()
}

/// The jobs among these processes.
fn jobs(among: impl Iterator<Item = i32>, parents: &HashMap<i32, i32>) -> Vec<Found> {
    let mut segments = BTreeMap::<(u64, bool), Vec<(i32, i32)>>::new();
    for process in among {
        for Held { inode, descriptor, is_part } in processes::segments(process).unwrap_or_default() {
            segments.entry((inode, is_part)).or_default().push((process, descriptor));
        }
    }
    let gather = |((id, is_part), holders)| Found { is_part, ..gather(id, holders, parents) };
    whole(segments.into_iter().map(gather).collect(), parents)
}

/// A part of a job whose launcher is here is no job of its own: the launcher has all of it.
fn whole(jobs: Vec<Found>, parents: &HashMap<i32, i32>) -> Vec<Found> {
    let (parts, mut jobs): (Vec<Found>, Vec<Found>) = jobs.into_iter().partition(|job| job.is_part);
    for part in parts {
        let is_above =
            |job: &&mut Found| job.anchors.iter().any(|&anchor| is_below(part.anchors[0], anchor, parents));
        match jobs.iter_mut().filter(|job| !job.is_part).find(is_above) {
            Some(job) => job.members.extend(part.holders.iter().map(|&(process, _)| process)),
            None => jobs.push(part),
        }
    }
    jobs
}

fn gather(id: u64, mut holders: Vec<(i32, i32)>, parents: &HashMap<i32, i32>) -> Found {
    holders.sort_unstable();
    holders.dedup_by_key(|holder| holder.0);
    let highest = |process: i32| !holders.iter().any(|&(other, _)| is_below(process, other, parents));
    let anchors: Vec<i32> = holders.iter().map(|&(process, _)| process).filter(|&p| highest(p)).collect();
    let command = processes::command(anchors[0]);
    Found { id, anchors, holders, is_part: false, members: Vec::new(), command }
}

fn is_below(process: i32, above: i32, parents: &HashMap<i32, i32>) -> bool {
    let mut at = process;
    // Numbers may have been used again while we looked: a circle is possible.
    for _ in 0..parents.len() {
        match parents.get(&at) {
            Some(&parent) if parent == above => return true,
            Some(&parent) => at = parent,
            None => return false,
        }
    }
    false
}

fn those_there(parents: &HashMap<i32, i32>) -> String {
    let mine = |&process: &i32| processes::owner(process) == Some(processes::me());
    match jobs(parents.keys().copied().filter(mine), parents) {
        none if none.is_empty() => "no job of yours is running on this machine".to_owned(),
        jobs => format!("jobs of yours that are running:\n{}", list(&jobs)),
    }
}

/// Jobs that a list tells: it has to leave the rest of the screen to others.
const LISTED: usize = 10;

fn list(jobs: &[Found]) -> String {
    let line = |job: &Found| {
        let command: String = job.command.chars().take(100).collect();
        format!("  {:>8}  {command}", job.anchors[0])
    };
    let mut lines: Vec<String> = jobs.iter().take(LISTED).map(line).collect();
    if jobs.len() > LISTED {
        lines.push(format!("  and {} more", jobs.len() - LISTED));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::job::NodeSegment;
    use serried_engine::transport::node::doorbell_in;
    use std::sync::atomic::Ordering::Relaxed;

    /// The shell (1) has launcher 10 (guard 9) with ranks 11, 12; 12 is a shell around launcher 20 with rank 21.
    fn nested() -> (HashMap<i32, i32>, Vec<Found>) {
        let parents =
            HashMap::from([(1, 0), (9, 1), (10, 9), (11, 10), (12, 10), (19, 12), (20, 19), (21, 20)]);
        let outer = gather(5, vec![(10, 3), (11, 3), (12, 3), (20, 3)], &parents);
        let inner = gather(6, vec![(20, 4), (21, 4)], &parents);
        (parents, vec![outer, inner])
    }

    #[test]
    fn a_job_is_anchored_at_its_highest_process() {
        let (_, jobs) = nested();
        assert_eq!((&jobs[0].anchors, &jobs[1].anchors), (&vec![10], &vec![20]));
    }

    /// A launcher (10) with an agent (12, below its guard 11) and a rank 13 on this host; an agent (20) of another job.
    #[test]
    fn a_part_belongs_to_the_job_of_its_launcher_if_that_is_here() {
        let parents = HashMap::from([
            (1, 0),
            (9, 1),
            (10, 9),
            (11, 10),
            (12, 11),
            (13, 12),
            (19, 1),
            (20, 19),
            (21, 20),
        ]);
        let part = |id, holders| Found { is_part: true, ..gather(id, holders, &parents) };
        let found = vec![
            gather(5, vec![(10, 3)], &parents),
            part(6, vec![(12, 4), (13, 4)]),
            part(7, vec![(20, 4), (21, 4)]),
        ];
        let jobs = whole(found, &parents);
        assert_eq!(
            jobs.iter().map(|job| (job.id, &job.members[..])).collect::<Vec<_>>(),
            [(5, &[12, 13][..]), (7, &[])]
        );
        for (process, expected) in [(9, 5), (10, 5), (12, 5), (13, 5), (20, 7), (21, 7)] {
            assert_eq!(choose(process, jobs.clone(), &parents)[0].id, expected, "process {process}");
        }
    }

    #[test]
    fn a_list_of_many_jobs_leaves_room_on_the_screen() {
        let (_, two) = nested();
        let many: Vec<Found> = std::iter::repeat_n(two[0].clone(), 38).collect();
        assert_eq!((list(&two).lines().count(), list(&many).lines().count()), (2, LISTED + 1));
        assert!(list(&many).ends_with("\n  and 28 more"));
    }

    #[test]
    fn every_process_of_a_job_and_its_guard_stand_for_it() {
        let (parents, jobs) = nested();
        for (process, expected) in [(9, 5), (10, 5), (11, 5), (12, 5), (19, 6), (20, 6), (21, 6), (1, 5)] {
            let meant = choose(process, jobs.clone(), &parents);
            assert_eq!(meant.iter().map(|job| job.id).collect::<Vec<_>>(), [expected], "process {process}");
        }
    }

    #[test]
    fn a_process_that_has_a_segment_is_found_and_its_rank_told() {
        let node = NodeSegment::create(2).unwrap();
        let this = std::process::id() as i32;
        node.page(1).identity.pid.store(this as u32, Relaxed);
        node.page(1).identity.namespace.store(serried_engine::job::process::own_namespace(), Relaxed);
        assert!(find(Some(this)).is_ok());
        let found = crate::attach::of_this_process(&node);
        assert_eq!((found.rank_of(this), found.rank_of(this + 1)), (Some(1), None));
        let attached = found.open().unwrap();
        assert!(!attached.has_ended() && attached.ranks() == 2);
        let writable = attached.writable().unwrap();
        writable.view.page(0).counters.sleeps.store(3, Relaxed);
        doorbell_in(&writable.view, 0).unwrap().ring();
        assert_eq!(attached.snapshot()[0].totals.sleeps, 3);
    }

    #[test]
    fn who_is_in_no_job_is_told_so() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let refused = find(Some(child.id() as i32)).unwrap_err();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(refused.contains("belongs to no job"), "{refused}");
        assert!(find(Some(i32::MAX)).unwrap_err().starts_with("there is no process"));
    }
}
