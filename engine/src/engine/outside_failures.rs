//! Which processes have failed, as this one sees them: those of its job, of whom the launcher says so, and those of other jobs
//! that it has heard of (`hearsay`).
//!
//! A failure has a mark. Marks grow in the order in which this process has learned of failures, so that whoever acknowledges
//! the first so many acknowledges the same ones later:
//!
//! ```text
//! bits 32–63  in the job: as so manieth a rank has failed; elsewhere: so many ranks of the job had failed by then
//! bits 0–31   elsewhere: as so manieth that this process has heard of; in the job 0
//! ```

use super::Engine;
use crate::job::Job;
use crate::lock_order::{self, Level};
use crate::world::{Communicator, Group};
use crate::JobRank;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

const OF_JOB_AT: u32 = 32;

/// The mark of the rank that has failed as so manieth of the job.
pub(super) fn mark_of_job(number: u32) -> u64 {
    u64::from(number) << OF_JOB_AT
}

/// So many failures of the job are at or before a mark.
pub(super) fn of_job(mark: u64) -> u32 {
    (mark >> OF_JOB_AT) as u32
}

/// The members of a group that have failed and are of this job, each with its number, in the order in which they have.
pub(super) fn failures_of(job: &Job, group: &Group) -> Vec<(u32, JobRank)> {
    let failed = (1..).zip(job.failed());
    failed.filter(|&(_, rank)| group.rank_of(rank).is_some()).collect()
}

/// Processes of other jobs that have failed.
#[derive(Default)]
pub(super) struct OutsideFailures {
    all: Mutex<Vec<(u64, JobRank)>>,
    count: AtomicU32,
}

impl OutsideFailures {
    #[inline]
    fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire) // count: paired with `note_outside_failure`
    }

    fn all(&self) -> Vec<(u64, JobRank)> {
        match self.count() {
            0 => Vec::new(),
            _ => lock_order::lock(&self.all, Level::HEARSAY).clone(),
        }
    }
}

impl Engine {
    /// A process of another job has failed; whether that is new.
    pub(super) fn note_outside_failure(&self, process: JobRank) -> bool {
        let mut all = lock_order::lock(&self.beyond.failures.all, Level::HEARSAY);
        if !process.is_foreign() || all.iter().any(|&(_, known)| known == process) {
            return false;
        }
        let count = all.len() as u32 + 1;
        all.push((mark_of_job(self.job.node.failures()) | u64::from(count), process));
        self.beyond.failures.count.store(count, Ordering::Release); // count: paired with `count`
        true
    }

    /// Changes when a process has failed or a communicator was revoked; 0: never so far.
    #[inline]
    pub(super) fn news(&self) -> u32 {
        self.job.node.news().wrapping_add(self.beyond.failures.count())
    }

    /// How many processes have failed so far.
    #[inline]
    pub fn failures(&self) -> u32 {
        self.job.node.failures() + self.beyond.failures.count()
    }

    /// The mark at which, or before which, all failures are that this process knows of.
    pub fn all_failures(&self) -> u64 {
        mark_of_job(self.job.node.failures()) | u64::from(self.beyond.failures.count())
    }

    /// The mark of the failure of a process, if it has failed.
    pub(super) fn failure_of(&self, process: JobRank) -> Option<u64> {
        match process.is_foreign() {
            true => {
                self.beyond.failures.all().into_iter().find(|&(_, one)| one == process).map(|(mark, _)| mark)
            }
            false => self.job.failure_of(process).map(mark_of_job),
        }
    }

    /// All that have failed.
    pub(super) fn failed(&self) -> Vec<(u64, JobRank)> {
        let of_job = self.job.failed().into_iter().zip(1..);
        let mut all: Vec<_> = of_job.map(|(rank, number)| (mark_of_job(number), rank)).collect();
        all.extend(self.beyond.failures.all());
        all.sort_unstable();
        all
    }

    /// The members of a group that have failed, each with its mark, in the order of these.
    pub(super) fn failures_in(&self, group: &Group) -> Vec<(u64, JobRank)> {
        let mut failed = self.failed();
        failed.retain(|&(_, process)| group.rank_of(process).is_some());
        failed
    }

    /// The members of the local group of a communicator that have failed up to a mark, in the order in which this process
    /// has learned of that.
    pub fn failed_of(&self, communicator: &Communicator, last: u64) -> Group {
        let failed = self.failures_in(&communicator.group).into_iter().filter(|&(mark, _)| mark <= last);
        Group::new(failed.map(|(_, process)| process).collect::<Vec<_>>())
    }

    /// The mark of the last of the first `count` members of a group that have failed, if any has.
    pub fn mark_of_failed(&self, group: &Group, count: usize) -> Option<u64> {
        self.failures_in(group).into_iter().take(count).next_back().map(|(mark, _)| mark)
    }
}
