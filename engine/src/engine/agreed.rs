//! Arguments that the members of a communicator give alike to a call that makes
//! another one, for `SERRIED_CHECK`.
//!
//! The rooms that make communicators know nothing of it. They are handed an
//! [`BootstrapChannel`] that is the engine, and that adds the arguments to what is written
//! down when a collective begins.

use super::Engine;
use crate::job::hardware::Place;
use crate::world::{BootstrapChannel, Communicator, Contexts, Group, Line};
use crate::{JobRank, Result};
use std::sync::Arc;

/// An argument in words that other ranks compare with theirs.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// As MPI calls it.
    pub(super) name: &'static str,
    kind: Kind,
    words: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Number,
    Numbers,
    Flag,
    Flags,
    /// One of these.
    Choice(&'static [&'static str]),
    /// Job ranks. Only who is a member must have said the same.
    Group,
}

impl Agreed {
    /// A number.
    pub fn number(name: &'static str, value: i64) -> Agreed {
        Agreed { name, kind: Kind::Number, words: vec![value as u64] }
    }

    /// An array of numbers.
    pub fn numbers(name: &'static str, values: &[i32]) -> Agreed {
        Agreed {
            name,
            kind: Kind::Numbers,
            words: values.iter().map(|&value| i64::from(value) as u64).collect(),
        }
    }

    /// A truth value.
    pub fn flag(name: &'static str, value: bool) -> Agreed {
        Agreed { name, kind: Kind::Flag, words: vec![u64::from(value)] }
    }

    /// An array of truth values.
    pub fn flags(name: &'static str, values: &[bool]) -> Agreed {
        Agreed { name, kind: Kind::Flags, words: values.iter().map(|&value| u64::from(value)).collect() }
    }

    /// One of some names; the first agrees with all.
    pub fn choice(name: &'static str, names: &'static [&'static str], place: usize) -> Agreed {
        Agreed { name, kind: Kind::Choice(names), words: vec![place as u64] }
    }

    /// A group: its members must say the same, all others may say something else.
    pub fn group(name: &'static str, group: &Group) -> Agreed {
        Agreed { name, kind: Kind::Group, words: group.iter().map(u64::from).collect() }
    }

    /// Whether what job rank `other` says goes with what `me` says here.
    pub(super) fn goes_with(&self, me: u32, (other, theirs): (u32, &[u64])) -> bool {
        let among = |words: &[u64], rank| words.contains(&u64::from(rank));
        self.words == theirs
            || match self.kind {
                Kind::Choice(_) => self.words == [0] || theirs == [0],
                Kind::Group => !among(&self.words, other) && !among(theirs, me),
                _ => false,
            }
    }

    /// The value as a person reads it; ranks are those in the communicator.
    pub(super) fn in_words(&self, communicator: &Communicator) -> String {
        self.told(&self.words, communicator)
    }

    /// The same of what another rank says.
    pub(super) fn told(&self, words: &[u64], communicator: &Communicator) -> String {
        let flag = |word: u64| if word == 0 { "false" } else { "true" }.to_owned();
        let number = |word: u64| (word as i64).to_string();
        let rank = |word: u64| {
            let rank = communicator.group.rank_of(JobRank(word as u32));
            rank.map_or_else(|| format!("job rank {word}"), |rank| rank.to_string())
        };
        match (self.kind, words) {
            (Kind::Number, [word]) => number(*word),
            (Kind::Flag, [word]) => flag(*word),
            (Kind::Choice(names), [word]) => names.get(*word as usize).copied().unwrap_or("?").to_owned(),
            (Kind::Flags, _) => list(words, flag),
            (Kind::Group, _) => format!("of ranks {}", list(words, rank)),
            _ => list(words, number),
        }
    }
}

/// How many values of an array are told.
const TOLD: usize = 8;

fn list(words: &[u64], text: impl Fn(u64) -> String) -> String {
    let told: Vec<String> = words.iter().take(TOLD).map(|&word| text(word)).collect();
    match words.len() {
        0..=TOLD => format!("[{}]", told.join(", ")),
        all => format!("[{}, … {all} in all]", told.join(", ")),
    }
}

/// All arguments in one row of words: each behind its length.
pub(super) fn write(arguments: &[Agreed]) -> Vec<u64> {
    let words = |argument: &Agreed| [&[argument.words.len() as u64], &argument.words[..]].concat();
    arguments.iter().flat_map(words).collect()
}

/// The words of each of as many arguments.
pub(super) fn read(mut words: &[u64], arguments: usize) -> Option<Vec<&[u64]>> {
    let mut one = || {
        let (&length, rest) = words.split_first()?;
        let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        words = rest;
        Some(value)
    };
    (0..arguments).map(|_| one()).collect()
}

/// The engine, in a call with such arguments.
pub struct Agreeing<'a> {
    engine: &'a Engine,
    arguments: &'a dyn Fn() -> Vec<Agreed>,
}

impl Engine {
    /// This engine for a call whose members must agree on some arguments, which are
    /// asked for only if they are compared.
    pub fn agreeing<'a>(&'a self, arguments: &'a dyn Fn() -> Vec<Agreed>) -> Agreeing<'a> {
        Agreeing { engine: self, arguments }
    }
}

impl BootstrapChannel for Agreeing<'_> {
    fn contexts(&self) -> &Contexts {
        self.engine.contexts()
    }

    fn reach_beyond(&self) -> Result<()> {
        self.engine.go_beyond()
    }

    fn node(&self) -> u32 {
        self.engine.node()
    }

    fn place(&self) -> Place {
        self.engine.place()
    }

    fn begins(&self, communicator: &Communicator) -> Result<()> {
        self.engine.begins_with(communicator, self.arguments)
    }

    fn all_go_on(&self, group: &Arc<Group>) -> Result<()> {
        BootstrapChannel::all_go_on(self.engine, group)
    }

    fn others_take_part(&self) {
        self.engine.others_take_part();
    }

    fn nudge(&self, context: u64, ranks: &[JobRank]) -> Result<()> {
        self.engine.nudge_those_left(context, ranks)
    }

    fn post(&self, line: &Line, peer: u32, bytes: &[u8]) -> Result<()> {
        self.engine.post(line, peer, bytes)
    }

    fn take(&self, line: &Line, peer: u32) -> Result<Option<Vec<u8>>> {
        self.engine.take(line, peer)
    }

    fn wait_until(&self, done: &mut dyn FnMut() -> Result<bool>) -> Result<()> {
        BootstrapChannel::wait_until(self.engine, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_of_a_group_must_say_the_same() {
        let group = |ranks: &[u32]| Agreed::group("group", &Group::new(ranks.to_vec()));
        let goes = |mine: &[u32], theirs: &[u32]| group(mine).goes_with(0, (1, &group(theirs).words));
        assert!(goes(&[0, 1], &[0, 1]) && goes(&[0, 2], &[1, 3]) && goes(&[0], &[]));
        assert!(!goes(&[0, 1], &[1, 0]) && !goes(&[0, 1], &[1]) && !goes(&[0], &[0, 1]));
    }

    #[test]
    fn arguments_are_read_as_they_were_written_and_told_in_words() {
        const TYPES: &[&str] = &["MPI_UNDEFINED", "A", "B"];
        let given = [
            Agreed::number("leader", -3),
            Agreed::numbers("dims", &[2, -1]),
            Agreed::flags("periods", &[true, false]),
            Agreed::choice("split_type", TYPES, 2),
            Agreed::numbers("index", &[7; 20]),
        ];
        let world = Communicator::world(0, 4);
        let words = write(&given);
        let read = read(&words, given.len()).unwrap();
        let told = |place: usize| given[place].told(read[place], &world);
        assert_eq!([told(0), told(1), told(2)], ["-3", "[2, -1]", "[true, false]"]);
        assert_eq!([told(3), told(4)], ["B", "[7, 7, 7, 7, 7, 7, 7, 7, … 20 in all]"]);
        assert!(given[3].goes_with(0, (1, &[0])) && !given[3].goes_with(0, (1, &[1])));
        assert!(super::read(&words[1..], given.len()).is_none());
    }
}
