//! Ranks, by what they are counted in. A rank of a job and a rank of a node are numbers that look alike and
//! mean different processes, so each has a type. A plain number is a rank of a communicator or group.

use std::fmt;

macro_rules! ranks {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// As the index of a table that has an entry for each.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<u32> for $name {
            #[inline]
            fn from(rank: u32) -> $name {
                $name(rank)
            }
        }

        impl From<$name> for u64 {
            #[inline]
            fn from(rank: $name) -> u64 {
                u64::from(rank.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ranks! {
    /// A rank of the job: the same in all processes, for as long as the job runs.
    JobRank,
    /// A rank among those of a node: the index of its page in the node segment.
    LocalRank,
}

impl JobRank {
    /// A process of another job is called by its number in the universe and this.
    pub const FOREIGN: u32 = 1 << 20;

    /// This process, for those that were started apart from it, by its number in the universe and this. What is at
    /// or above [`JobRank::STRANGER`] is such a process, by the order in which this one has heard of them.
    pub const APART: u32 = 2 * JobRank::FOREIGN;
    /// See [`JobRank::APART`].
    pub const STRANGER: u32 = 3 * JobRank::FOREIGN;

    /// Whether it is a process of another job (`job::universe`).
    #[inline(always)]
    pub const fn is_foreign(self) -> bool {
        self.0 >= JobRank::FOREIGN
    }

    /// Whether it is a process of a universe that was started apart from this one (`job::strangers`).
    #[inline]
    pub const fn is_stranger(self) -> bool {
        self.0 >= JobRank::APART
    }
}
