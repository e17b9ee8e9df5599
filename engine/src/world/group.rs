//! An ordered set of processes (MPI-5.0 §7.3).

/// Members by job rank: `members[r]` is the job rank of rank `r` of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    members: Vec<u32>,
}

impl Group {
    /// A group of these job ranks, in this order (no rank twice).
    pub fn new(members: Vec<u32>) -> Group {
        Group { members }
    }

    /// How many members.
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// The job rank of a member.
    pub fn job_rank(&self, rank: u32) -> u32 {
        self.members[rank as usize]
    }

    /// The rank in this group of a job rank.
    pub fn rank_of(&self, job_rank: u32) -> Option<u32> {
        self.members.iter().position(|&member| member == job_rank).map(|rank| rank as u32)
    }
}
