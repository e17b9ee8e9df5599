//! What hints say of collective writing. Programs may give hints that differ between ranks; those of the first rank count.

use super::striped::Stripes;

/// Whether collective writing assembles data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    /// Where it is quicker.
    Automatic,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How data of several ranks are brought together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub together: Together,
    /// Bytes of a window, a power of two.
    pub window: u64,
    /// How many nodes may write, at most.
    pub nodes: u32,
    /// The stripes along which writers share the file.
    pub stripes: Option<Stripes>,
}

/// Longer stripes and more servers are taken as these.
const LONGEST_UNIT: u64 = (1 << 40) - 1;
const MOST_SERVERS: u64 = (1 << 24) - 1;

impl Plan {
    /// Words in which ranks tell it.
    pub const WORDS: usize = 2;

    /// As words.
    pub fn words(&self) -> [u64; Plan::WORDS] {
        let stripes = self
            .stripes
            .map_or(0, |Stripes { unit, servers }| unit.min(LONGEST_UNIT) << 24 | servers.min(MOST_SERVERS));
        let window = u64::from(self.window.trailing_zeros());
        [self.together as u64 | window << 8 | u64::from(self.nodes) << 32, stripes]
    }

    /// Of words.
    pub fn of(words: &[u64]) -> Plan {
        let together = match words[0] & 0xff {
            0 => Together::Automatic,
            1 => Together::Always,
            _ => Together::Never,
        };
        let (unit, servers) = (words[1] >> 24, words[1] & MOST_SERVERS);
        Plan {
            together,
            window: 1 << (words[0] >> 8 & 0x3f),
            nodes: (words[0] >> 32) as u32,
            stripes: (unit > 0).then_some(Stripes { unit, servers: servers.max(1) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_in_words() {
        for together in [Together::Automatic, Together::Always, Together::Never] {
            for stripes in [None, Some(Stripes { unit: 4 << 20, servers: 72 })] {
                let plan = Plan { together, window: 1 << 20, nodes: u32::MAX, stripes };
                assert_eq!(Plan::of(&plan.words()), plan);
            }
        }
    }
}
