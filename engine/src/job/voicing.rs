//! What a rank says to its launcher where ranks of several nodes agree or revoke a communicator, or do not hear each other any
//! more: lines by which it is told, as of PMI-1. Nothing is answered: what comes of it comes to all, by the node segment.

use super::agreements::{Ballot, Voice};
use super::PmiLine;
use std::fmt::Write;
use std::ops::Range;

/// A member of a communicator says what it has to say for an agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// What is agreed on.
    pub ballot: Ballot,
    /// What it says.
    pub voice: Voice,
    /// On which of two sides it is, 0 or 1: the side of the lowest member is 0.
    pub side: usize,
    /// Contexts that nothing else has, if a communicator is made of that.
    pub contexts: [u64; 2],
    /// All members, of both sides: ranks of the job, ascending.
    pub parts: Vec<Range<u32>>,
}

/// What a rank says to its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// For an agreement.
    Contribution(Contribution),
    /// The communicator of this context is revoked.
    Revocation(u64),
    /// A rank of another node does not answer.
    Path {
        /// The rank.
        peer: u32,
        /// For how many milliseconds by now; 0: it answers again.
        silent: u32,
    },
}

impl Contribution {
    /// Of members whose ranks ascend.
    pub fn parts_of(members: impl IntoIterator<Item = u32>) -> Vec<Range<u32>> {
        let mut parts: Vec<Range<u32>> = Vec::new();
        for member in members {
            match parts.last_mut().filter(|part| part.end == member) {
                Some(part) => part.end += 1,
                None => parts.push(member..member + 1),
            }
        }
        parts
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().cloned().flatten()
    }
}

const AGREE: &str = "serried_agree";
const REVOKE: &str = "serried_revoke";
const PATH: &str = "serried_path";

impl Said {
    /// As a line.
    pub fn line(&self) -> String {
        let Contribution { ballot, voice, side, contexts: [first, second], parts } = match self {
            Said::Revocation(context) => return format!("cmd={REVOKE} context={context}"),
            Said::Path { peer, silent } => return format!("cmd={PATH} peer={peer} silent={silent}"),
            Said::Contribution(said) => said,
        };
        let mut line = format!(
            "cmd={AGREE} context={} number={} flag={} acknowledged={} side={side} first={first} second={second} members=",
            ballot.context, ballot.number, voice.flag, voice.acknowledged
        );
        for part in parts {
            let _ = write!(line, "{}-{},", part.start, part.end);
        }
        line
    }

    /// What a line says; `None` if it is another one, or makes no sense.
    pub fn read(line: &str) -> Option<Said> {
        let line = PmiLine::new(line);
        let long = |key| line.value(key)?.parse::<u64>().ok();
        let word = |key| line.value(key)?.parse::<u32>().ok();
        match line.command() {
            PATH => Some(Said::Path { peer: word("peer")?, silent: word("silent")? }),
            REVOKE => Some(Said::Revocation(long("context")?)),
            AGREE => {
                let part = |text: &str| {
                    let (start, end) = text.split_once('-')?;
                    let part = start.parse().ok()?..end.parse().ok()?;
                    (part.start < part.end).then_some(part)
                };
                let parts = line.value("members")?.split_terminator(',').map(part).collect::<Option<_>>()?;
                Some(Said::Contribution(Contribution {
                    ballot: Ballot { context: long("context")?, number: word("number")? },
                    voice: Voice { flag: word("flag")?, acknowledged: word("acknowledged")? },
                    side: word("side").filter(|&side| side < 2)? as usize,
                    contexts: [long("first")?, long("second")?],
                    parts,
                }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_was_said() {
        let said = Said::Contribution(Contribution {
            ballot: Ballot { context: u64::MAX - 1, number: 9 },
            voice: Voice { flag: u32::MAX, acknowledged: 3 },
            side: 1,
            contexts: [2, 1 << 61],
            parts: Contribution::parts_of([0, 1, 2, 5, 7, 8]),
        });
        let Said::Contribution(inner) = &said else { unreachable!("it was made so") };
        assert_eq!(inner.parts, [0..3, 5..6, 7..9]);
        assert_eq!(inner.members().collect::<Vec<_>>(), [0, 1, 2, 5, 7, 8]);
        for one in [said, Said::Revocation(1 << 62), Said::Path { peer: 7, silent: 3000 }] {
            assert_eq!(Said::read(&one.line()), Some(one));
        }
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        let whole =
            "cmd=serried_agree context=2 number=1 flag=1 acknowledged=0 side=0 first=0 second=0 members=0-2,";
        assert!(Said::read(whole).is_some());
        for (from, to) in
            [("side=0", "side=2"), ("0-2", "2-2"), ("flag=1", "flag=-1"), ("agree", "x"), ("members", "m")]
        {
            assert_eq!(Said::read(&whole.replace(from, to)), None, "{to}");
        }
    }
}
