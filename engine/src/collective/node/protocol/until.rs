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
    /// This member, the root, has taken what others have lent it in this epoch, which no other one ends.
    Taken(u32, u64),
}

impl Until {
    /// The same in two words, of which the first is not 0.
    pub fn words(self) -> (u32, u64) {
        match self {
            Until::All(epoch) => (1, epoch),
            Until::Work(epoch) => (2, epoch),
            Until::Member(member, epoch) => (3 + 4 * member, epoch),
            Until::Part(member, epoch) => (4 + 4 * member, epoch),
            Until::First(members, epoch) => (5 + 4 * members, epoch),
            Until::Taken(member, epoch) => (6 + 4 * member, epoch),
        }
    }

    /// What [`Until::words`] has made words of, for a block of so many members.
    pub fn of_words((kind, epoch): (u32, u64), members: u32) -> Option<Until> {
        let number = || (kind - 3) / 4;
        let member = || number().min(members - 1);
        Some(match kind {
            0 => return None,
            1 => Until::All(epoch),
            2 => Until::Work(epoch),
            _ => match (kind - 3) % 4 {
                0 => Until::Member(member(), epoch),
                1 => Until::Part(member(), epoch),
                2 => Until::First(number().min(members), epoch),
                _ => Until::Taken(member(), epoch),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_waited_for() {
        for member in 0..3 {
            let kinds = [Until::Member, Until::Part, Until::First, Until::Taken];
            let of_members = kinds.map(|kind| kind(member, 7));
            for until in [Until::All(7), Until::Work(7)].into_iter().chain(of_members) {
                assert_eq!(Until::of_words(until.words(), 3), Some(until));
            }
        }
        assert_eq!(Until::of_words((0, 7), 3), None);
    }
}
