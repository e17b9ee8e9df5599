//! Collectives of ranks on several nodes, phase by phase (`collective/hierarchy`).

use super::Engine;
use crate::collective::hierarchy::{Hierarchy, Phase, Work};
use crate::collective::node::Member;
use crate::collective::{Members, Operation, Schedule};
use crate::observe::page::add_together;
use crate::world::Communicator;
use crate::{Error, JobRank, Result};
use std::sync::Arc;

impl Engine {
    /// The node of a rank of the job; a process of another job is on a node that has no rank.
    pub(super) fn node_of(&self, job_rank: JobRank) -> u32 {
        match job_rank.is_foreign() {
            true => u32::MAX,
            false => self.nodes.node_of(job_rank.0, self.job.size),
        }
    }

    /// Whether a process is a rank of the job on my node.
    pub(super) fn is_near(&self, job_rank: JobRank) -> bool {
        !job_rank.is_foreign()
            && (!self.nodes.are_several() || self.node_of(job_rank) == self.node_of(JobRank(self.job.rank)))
    }

    /// The ranks of the job that are on my node, I among them.
    pub fn near_ranks(&self) -> Vec<u32> {
        (0..self.size()).filter(|&rank| self.is_near(JobRank(rank))).collect()
    }

    fn hierarchy_of<'a>(&self, communicator: &'a Communicator) -> Option<&'a Hierarchy> {
        communicator.hierarchy(|| {
            // No member knows the nodes of another job.
            if self.has_others(communicator) {
                return None;
            }
            let node_of = |rank| self.node_of(communicator.group.job_rank(rank));
            Hierarchy::new(Members::from(communicator), node_of)
        })
    }

    /// An operation as messages.
    ///
    /// # Errors
    /// What is wrong with the operation.
    pub(super) fn written(
        &self,
        communicator: &Communicator,
        operation: Operation,
        members: Members,
    ) -> Result<Schedule> {
        if self.nodes.are_several() {
            if let Some(hierarchy) = self.hierarchy_of(communicator) {
                if let Some(schedule) = hierarchy.schedule(&operation)? {
                    return Ok(schedule);
                }
            }
        }
        operation.schedule(members)
    }

    /// Runs an operation of a communicator that may be over several nodes to its end.
    ///
    /// # Errors
    /// The failure of the operation.
    #[cold]
    pub(super) fn run_over_nodes(
        &self,
        communicator: &Arc<Communicator>,
        operation: &Operation,
        members: Members,
    ) -> Result<()> {
        let round = self.round_of(communicator, operation, members)?;
        let Some(hierarchy) = self.hierarchy_of(communicator) else {
            let Some(round) = round else { return self.run_as_one(communicator, operation, members) };
            let all: Vec<u32> = (0..members.size).collect();
            let tag = communicator.next_collective_tag();
            return self.run_round(communicator, &round, (&all, members), operation, tag);
        };
        let me = match communicator.member() {
            Some(me) => me,
            None => self.find_member(communicator, hierarchy.node())?,
        };
        let phases = match round {
            Some(_) => hierarchy.phases_by_speakers(operation)?,
            None => hierarchy.phases(operation)?,
        };
        let Some(phases) = phases else {
            let schedule = operation.clone().schedule(members)?;
            return self.run_schedule(communicator, schedule, communicator.next_collective_tag());
        };
        // All phases of all ranks have this tag: each pair does its own in one order.
        let tag = communicator.next_collective_tag();
        add_together(&self.page.counters.collectives, 1);
        let (mut done, mut under_way): (Result<()>, _) = (Ok(()), None);
        for phase in phases {
            if !phase.beside {
                done = done.and(self.end_schedule(under_way.take()));
            }
            // After a failure too, or others would wait for ever; but who hears of it by itself must not be told that all is
            // well so far.
            if done.as_ref().is_err_and(Error::is_known_to_all) {
                // It may use memory of the phases that are left.
                done = done.and(self.end_schedule(under_way.take()));
                break;
            }
            let outcome = match (&round, &phase.work) {
                (Some(round), Work::Together(operation)) if !phase.within => {
                    let among = (&phase.ranks[..], phase.members);
                    self.run_round(communicator, round, among, operation, tag)
                }
                _ => self.begin_phase(communicator, me, phase, tag).and_then(|begun| match under_way {
                    // It has run beside the one that is under way.
                    Some(_) => self.end_schedule(begun),
                    None => {
                        under_way = begun;
                        Ok(())
                    }
                }),
            };
            done = done.and(outcome);
        }
        done.and(self.end_schedule(under_way))
    }

    /// Runs a phase on my node, or begins with the messages of one.
    fn begin_phase(
        &self,
        communicator: &Arc<Communicator>,
        me: Option<&Member>,
        phase: Phase,
        tag: i32,
    ) -> Result<Option<u32>> {
        if let (Work::Together(operation), Some(me)) = (&phase.work, me.filter(|_| phase.within)) {
            if let Some(done) = self.run_at(me, operation, 0) {
                return done.map(|()| None);
            }
        }
        self.begin_schedule(communicator, phase.schedule()?, tag)
    }
}
