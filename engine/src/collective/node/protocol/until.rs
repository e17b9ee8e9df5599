//! What a member waits for at a control block.

/// Something to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All members have arrived at the epoch.
    All(u64),
    /// So many members, the first ones, have.
    First(u32, u64),
    /// This member has.
    Member(u32, u64),
    /// All parts of the work of the epoch are over, or there is a piece of one to be had.
    Work(u64),
    /// The part of this member is over.
    Part(u32, u64),
}

impl Until {
    /// The same in two words, of which the first is not 0.
    pub fn words(self) -> (u32, u64) {
        match self {
            Until::All(epoch) => (1, epoch),
            Until::Work(epoch) => (2, epoch),
            Until::Member(member, epoch) => (3 + 3 * member, epoch),
            Until::Part(member, epoch) => (4 + 3 * member, epoch),
            Until::First(members, epoch) => (5 + 3 * members, epoch),
        }
    }

    /// What [`Until::words`] has made words of, for a block of so many members.
    pub fn of_words((kind, epoch): (u32, u64), members: u32) -> Option<Until> {
        let number = || (kind - 3) / 3;
        let member = || number().min(members - 1);
        Some(match kind {
            0 => return None,
            1 => Until::All(epoch),
            2 => Until::Work(epoch),
            _ if kind % 3 == 0 => Until::Member(member(), epoch),
            _ if kind % 3 == 1 => Until::Part(member(), epoch),
            _ => Until::First(number().min(members), epoch),
        })
    }
}
