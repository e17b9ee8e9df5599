//! Context ids: what keeps the messages of two communicators apart.
//!
//! A context id has 64 bits and is never used again in a job:
//!
//! ```text
//! bit 63      lines used while a communicator is being made (see `making`)
//! bit 62      announcements of partitioned operations (see `announcing`); with bit 63: `joining`
//! bits 60–61  lane: communicators of different lanes share no state of a process
//! bits 39–59  the maker: its job rank, or, in a process that knows other jobs, what these call it
//! bits 1–38   counter of the maker
//! bit 0       0: point-to-point, 1: collectives
//! ```
//!
//! A rank that makes a communicator proposes an id of its own; the group takes the proposal of one
//! member. So agreeing costs one small broadcast, ids need not be given back, and two disjoint
//! groups never choose the same id. A rank that makes 100 000 communicators a second runs out after
//! 31 days, with an error.

use crate::job::node_segment::LANES;
use crate::job::{ProcessName, Strangers};
use crate::{Class, Error, JobRank, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

const COUNTER_BITS: u32 = 38;
const RANK_BITS: u32 = 21;
const LANE_AT: u32 = 60;
const MAKING: u64 = 1 << 63;
const ANNOUNCING: u64 = 1 << 62;

/// The context of `MPI_COMM_WORLD`.
pub const WORLD: u64 = 2;

/// The context of `MPI_COMM_SELF` of a job rank.
pub const fn of_self(job_rank: u32) -> u64 {
    id(job_rank, 2)
}

/// The context, beside those of a communicator, in which its members talk while
/// they make new ones with a tag of the user (MPI-5.0 §7.4.2: such tags do not
/// meet those of messages).
pub const fn making(context: u64) -> u64 {
    context | MAKING
}

/// The context, beside those of a communicator, in which the leaders of two groups meet with a
/// tag of the user (`MPI_Intercomm_create`): apart from [`making`], so that both may go on at once
/// with one tag.
pub const fn joining(context: u64) -> u64 {
    context | MAKING | ANNOUNCING
}

/// The context, beside those of a communicator, in which partitioned sends are
/// announced: they match partitioned receives only (MPI-5.0 §4.2).
pub const fn announcing(context: u64) -> u64 {
    context | ANNOUNCING
}

/// The context of the communicator that a context of messages belongs to.
pub const fn base(context: u64) -> u64 {
    context & !(MAKING | ANNOUNCING | 1)
}

/// The lane of a context.
#[inline]
pub const fn lane(context: u64) -> usize {
    (context >> LANE_AT) as usize % LANES
}

/// `proposed` for messages that belong to those of `context`: in its lane.
pub const fn beside(proposed: u64, context: u64) -> u64 {
    in_lane(proposed, lane(context))
}

const fn in_lane(context: u64, lane: usize) -> u64 {
    context & !((LANES as u64 - 1) << LANE_AT) | (lane as u64) << LANE_AT
}

/// The context in which processes without a common communicator meet, from the
/// string tag they agreed on and their names in order (MPI-5.0 §7.4.2,
/// `MPI_Comm_create_from_group`). Odd, so that it is none of [`making`].
pub fn meeting(string_tag: &str, members: impl Iterator<Item = ProcessName>) -> u64 {
    let bytes = string_tag.bytes().chain([0]).chain(members.flat_map(|name| name.0.to_le_bytes()));
    in_lane(hash(bytes), 0) | MAKING | 1
}

/// A number for a string of bytes (FNV-1a).
pub fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.fold(0xcbf2_9ce4_8422_2325, add)
}

const fn id(job_rank: u32, counter: u64) -> u64 {
    ((job_rank as u64) << COUNTER_BITS | counter) << 1
}

/// Where a process gets the ids that it proposes.
#[derive(Debug)]
pub struct Contexts {
    job_rank: u32,
    /// The number of rank 0 in the universe, and how many ranks of the job follow.
    numbers: Range<u32>,
    next: AtomicU64,
    /// All processes of the job have lanes.
    lanes: AtomicBool,
    /// Processes of other jobs may be in new communicators.
    meets_others: AtomicBool,
    /// Processes that were started apart, once they may be in new communicators too.
    strangers: OnceLock<&'static Strangers>,
}

impl Contexts {
    /// The ids of this job rank. Make it once per process and job.
    pub fn new(job_rank: u32) -> Contexts {
        Contexts::numbered(job_rank, 0..JobRank::FOREIGN)
    }

    /// The same, where the ranks of the job have these numbers in the universe (`job::universe`).
    pub fn numbered(job_rank: u32, numbers: Range<u32>) -> Contexts {
        let (lanes, meets_others) = (AtomicBool::new(false), AtomicBool::new(false));
        let strangers = OnceLock::new();
        Contexts { job_rank, numbers, next: AtomicU64::new(3), lanes, meets_others, strangers }
        // 1 and 2: WORLD and of_self
    }

    /// From now on processes of other jobs may be in new communicators: no id is like one of theirs, and all
    /// belong to the first lane, which alone goes to them. Processes that were started apart may have this one's
    /// number, so the counter goes on from a number that is `random`.
    pub fn meet_others(&self, random: u64) {
        if !self.meets_others.swap(true, Relaxed) {
            self.next.store(random >> (64 - COUNTER_BITS + 1) | 1, Relaxed);
        }
    }

    /// From now on processes that were started apart may be in new communicators too.
    pub fn meet_strangers(&self, strangers: &'static Strangers) {
        let _ = self.strangers.set(strangers);
    }

    /// Those that this process knows, if it may meet any.
    pub fn strangers(&self) -> Option<&'static Strangers> {
        self.strangers.get().copied()
    }

    /// What processes of the universe call a process that this job calls `rank`; all call a stranger by its name.
    pub fn outward(&self, rank: JobRank) -> ProcessName {
        match self.strangers() {
            Some(strangers) if rank.is_stranger() => strangers.name_of(rank),
            _ if rank.is_foreign() => ProcessName::new(0, rank.0),
            _ => ProcessName::new(0, self.numbers.start + rank.0),
        }
    }

    /// What those call it that were started apart from it too; without strangers, as [`Contexts::outward`].
    pub fn full_name(&self, rank: JobRank) -> ProcessName {
        let name = self.outward(rank);
        match self.strangers() {
            Some(strangers) if name.mark() == 0 => ProcessName::new(strangers.own().mark(), name.number()),
            _ => name,
        }
    }

    /// The full name, or the other one.
    pub fn named(&self, rank: JobRank, is_full: bool) -> ProcessName {
        match is_full {
            true => self.full_name(rank),
            false => self.outward(rank),
        }
    }

    /// What this job calls a process of this name; `None` for a stranger, as long as this process can meet none.
    pub fn inward(&self, name: ProcessName) -> Option<JobRank> {
        let number = name.number();
        let at_home = name.mark() == 0 || self.strangers().is_some_and(|s| s.own().mark() == name.mark());
        match at_home {
            true if self.numbers.contains(&number) => Some(JobRank(number - self.numbers.start)),
            true => Some(JobRank(JobRank::FOREIGN | number)),
            false => Some(self.strangers()?.stranger(name)),
        }
    }

    /// The job rank whose ids these are.
    pub fn job_rank(&self) -> JobRank {
        JobRank(self.job_rank)
    }

    /// All processes of the job have lanes: from now on new contexts are spread over them.
    pub fn spread(&self) {
        self.lanes.store(true, Relaxed);
    }

    /// Whether new contexts are spread over the lanes.
    pub fn are_spread(&self) -> bool {
        self.lanes.load(Relaxed) && !self.meets_others.load(Relaxed)
    }

    /// A new context for messages that belong to those of `context`: in its lane.
    ///
    /// # Errors
    /// As [`Contexts::propose`].
    pub fn propose_beside(&self, context: u64) -> Result<u64> {
        Ok(beside(self.propose()?, context))
    }

    /// Two new contexts, the returned one and the returned one + 2: an
    /// intercommunicator needs one more for its local group.
    ///
    /// # Errors
    /// `Intern` when the ids of this process are used up.
    pub fn propose(&self) -> Result<u64> {
        let counter = self.next.fetch_add(2, Relaxed);
        if counter + 2 > 1 << COUNTER_BITS || self.job_rank >= 1 << RANK_BITS {
            return Err(Error::new(
                Class::Intern,
                format!(
                    "no communicator ids are left: this process (job rank {}) has made {counter}",
                    self.job_rank
                ),
            ));
        }
        if self.meets_others.load(Relaxed) {
            let maker = JobRank::FOREIGN | self.outward(self.job_rank()).number();
            return Ok(in_lane(id(maker, counter), 0));
        }
        // The first lane is that of the communicators which everybody has.
        let lane = if self.are_spread() { 1 + counter as usize / 2 % (LANES - 1) } else { 0 };
        Ok(in_lane(id(self.job_rank, counter), lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::process_name::mark_of;
    use crate::job::JobKey;

    #[test]
    fn ids_of_different_ranks_and_proposals_differ() {
        let mut seen = std::collections::HashSet::from([WORLD]);
        for rank in [0, 1, 77] {
            assert!(seen.insert(of_self(rank)));
            let contexts = Contexts::new(rank);
            for _ in 0..10 {
                let context = contexts.propose().unwrap();
                assert!(context & 1 == 0 && seen.insert(context) && seen.insert(context + 2));
            }
        }
    }

    #[test]
    fn the_last_id_is_followed_by_an_error() {
        let contexts = Contexts::new(1);
        contexts.next.store((1 << COUNTER_BITS) - 2, Relaxed);
        assert!(contexts.propose().is_ok());
        assert_eq!(contexts.propose().unwrap_err().class(), Class::Intern);
    }

    #[test]
    fn contexts_are_spread_over_all_lanes_but_the_first_once_all_have_lanes() {
        let contexts = Contexts::new(7);
        assert_eq!(lane(contexts.propose().unwrap()), 0);
        contexts.spread();
        let made: Vec<u64> = (0..LANES).map(|_| contexts.propose().unwrap()).collect();
        let lanes: Vec<usize> = made.iter().map(|&context| lane(context)).collect();
        assert_eq!(lanes, [3, 1, 2, 3]);
        assert!(made.iter().all(|&context| lane(announcing(making(context + 3))) == lane(context)));
        assert_eq!(lane(contexts.propose_beside(made[1]).unwrap()), lane(made[1]));
        assert_eq!([WORLD, of_self(9), meeting("a", [ProcessName::new(0, 3)].into_iter())].map(lane), [0; 3]);
    }

    #[test]
    fn processes_of_a_universe_are_called_alike_by_all_jobs() {
        let (first, second) = (Contexts::numbered(1, 0..3), Contexts::numbered(0, 3..5));
        let outside = |number: u32| JobRank(JobRank::FOREIGN | number);
        let name = |number| ProcessName::new(0, number);
        assert_eq!((0..3).map(|rank| first.outward(JobRank(rank))).collect::<Vec<_>>(), [0, 1, 2].map(name));
        assert_eq!([3, 4].map(|number| second.inward(name(number))), [JobRank(0), JobRank(1)].map(Some));
        assert_eq!((second.inward(name(2)), first.inward(name(3))), (Some(outside(2)), Some(outside(3))));
        assert_eq!(second.outward(outside(2)), name(2));
    }

    #[test]
    fn processes_that_were_started_apart_have_names_with_marks() {
        let strangers = |key: u8, number| {
            let key = JobKey([key; 32]);
            &*Box::leak(Box::new(Strangers::listen(ProcessName::new(mark_of(&key), number), key).unwrap()))
        };
        let (mine, theirs) = (strangers(1, 1), strangers(2, 1));
        let me = Contexts::numbered(1, 0..3);
        assert_eq!(me.inward(theirs.own()), None);
        me.meet_strangers(mine);
        let stranger = me.inward(theirs.own()).unwrap();
        assert!(stranger.is_stranger());
        assert_eq!([me.outward(stranger), me.full_name(stranger)], [theirs.own(); 2]);
        assert_eq!((me.full_name(JobRank(1)), me.outward(JobRank(1))), (mine.own(), ProcessName::new(0, 1)));
        assert_eq!(me.inward(mine.own()), Some(JobRank(1)));
        let sister = ProcessName::new(mine.own().mark(), 9);
        assert_eq!(me.inward(sister), Some(JobRank(JobRank::FOREIGN | 9)));
    }

    #[test]
    fn ids_of_jobs_that_meet_differ_and_have_the_first_lane() {
        let (first, second) = (Contexts::numbered(0, 0..3), Contexts::numbered(0, 3..5));
        first.spread();
        let mut seen = std::collections::HashSet::from([first.propose().unwrap(), WORLD, of_self(0)]);
        for contexts in [&first, &second] {
            contexts.meet_others(u64::MAX / 3);
            for _ in 0..10 {
                let context = contexts.propose().unwrap();
                assert!(lane(context) == 0 && seen.insert(context) && seen.insert(context + 2));
                assert_eq!(base(making(context + 1)), context);
            }
        }
    }

    #[test]
    fn a_meeting_depends_on_tag_and_members() {
        let at =
            |tag, members: &[u32]| meeting(tag, members.iter().map(|&number| ProcessName::new(0, number)));
        assert_eq!(at("a", &[1, 2]), at("a", &[1, 2]));
        assert_ne!(at("a", &[1, 2]), at("b", &[1, 2]));
        assert_ne!(at("a", &[1, 2]), at("a", &[2, 1]));
    }
}
