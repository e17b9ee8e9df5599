//! What is said, as words that travel.

use crate::job::consensus::{MemberSet, Message, Outcome, Saying, Vote};
use crate::job::ProcessName;

/// What a process tells another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A process has failed.
    Failed(ProcessName),
    /// The communicator of this context is revoked.
    Revoked(u64),
    /// Of an agreement in the communicator of this context; the member is the one who speaks.
    Agrees(u64, Message),
}

const FAILED: u64 = 1;
const REVOKED: u64 = 2;
const VOICE: u64 = 3;
const DECISION: u64 = 4;

impl Said {
    /// As it travels.
    pub fn words(&self) -> Vec<u64> {
        match self {
            Said::Failed(name) => vec![FAILED, name.0],
            Said::Revoked(context) => vec![REVOKED, *context],
            Said::Agrees(context, (from, number, Saying::Voice(vote))) => {
                let head = [VOICE, *context, *from as u64, u64::from(*number)];
                let vote_words = [u64::from(vote.flag), vote.side as u64];
                [&head[..], &vote_words, vote.acknowledged.words()].concat()
            }
            Said::Agrees(context, (from, number, Saying::Decision(outcome))) => {
                let head = [DECISION, *context, *from as u64, u64::from(*number)];
                let [flag, other_flag] = outcome.flags.map(u64::from);
                let [first, second] = outcome.contexts;
                let failed = outcome.failed.words();
                let fixed = [flag, other_flag, first, second, failed.len() as u64];
                [&head[..], &fixed, failed, outcome.acknowledged.words()].concat()
            }
        }
    }

    /// As it arrived; `None` if it makes no sense.
    pub fn read(words: &[u64]) -> Option<Said> {
        let (kind, context, from, number, rest) = match *words {
            [FAILED, name] => return Some(Said::Failed(ProcessName(name))),
            [REVOKED, context] => return Some(Said::Revoked(context)),
            [kind, context, from, number, ref rest @ ..] => (kind, context, from, number, rest),
            _ => return None,
        };
        let saying = match (kind, rest) {
            (VOICE, &[flag, side @ 0..=1, ref acknowledged @ ..]) => {
                let acknowledged = MemberSet::from_words(acknowledged);
                Saying::Voice(Vote { flag: flag as u32, side: side as usize, acknowledged })
            }
            (DECISION, &[flag, other_flag, first, second, length, ref sets @ ..]) => {
                let (failed, acknowledged) = sets.split_at_checked(usize::try_from(length).ok()?)?;
                Saying::Decision(Outcome {
                    flags: [flag as u32, other_flag as u32],
                    contexts: [first, second],
                    failed: MemberSet::from_words(failed),
                    acknowledged: MemberSet::from_words(acknowledged),
                })
            }
            _ => return None,
        };
        Some(Said::Agrees(context, (usize::try_from(from).ok()?, u32::try_from(number).ok()?, saying)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_read_and_nothing_else() {
        let mut failed = MemberSet::default();
        failed.insert(70);
        let acknowledged = MemberSet::from_words(&[3]);
        let outcome = Outcome { flags: [u32::MAX, 5], contexts: [1 << 62, 4], failed, acknowledged };
        let vote = Vote { flag: 9, side: 1, acknowledged: MemberSet::default() };
        let all = [
            Said::Failed(ProcessName(77 << 20 | 3)),
            Said::Revoked(8),
            Said::Agrees(6, (2, 7, Saying::Voice(vote))),
            Said::Agrees(6, (0, 7, Saying::Decision(outcome))),
        ];
        for said in all {
            assert_eq!(Said::read(&said.words()), Some(said));
        }
        for nonsense in [&[][..], &[1], &[9, 1, 1, 1], &[3, 1, 1, 1, 5, 2], &[4, 1, 1, 1, 0, 0, 0, 0, 2, 1]] {
            assert_eq!(Said::read(nonsense), None, "{nonsense:?}");
        }
    }
}
