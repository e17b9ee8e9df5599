//! Agreement among processes that share neither memory nor a launcher, by messages (ULFM over several jobs).
//!
//! Each member says its voice to the first member that it does not know to have failed. That one decides once each other
//! member has spoken or failed, and tells all. Whoever hears that the first one has failed turns to the next: with the decision
//! if it has it, else with its voice. Who knows the decision answers each voice with it.
//!
//! # Why all that go on see one decision
//! Nobody is thought to have failed that has not. Nothing is taken from a member that is known to have failed. So whoever has
//! given its voice to a later member does not take an earlier one's decision any more; and whoever has taken that before gives
//! it to the later member in the place of a voice. A member decides alone only when all members that it does not know to
//! have failed have given it their voice, and none of those has, or will take, a decision of one before it.
//!
//! # How much is kept
//! A member begins an agreement of a communicator when it has the decision of the one before. So one decision and the
//! voices for what follows it are all that anybody may still ask for.

use std::collections::BTreeMap;

/// Members of a communicator, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberSet(Vec<u64>);

impl MemberSet {
    /// From the words of [`MemberSet::words`].
    pub fn from_words(words: &[u64]) -> MemberSet {
        let used = words.len() - words.iter().rev().take_while(|&&word| word == 0).count();
        MemberSet(words[..used].to_vec())
    }

    /// As many words as it takes.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Adds a member; whether it is new.
    pub fn insert(&mut self, member: usize) -> bool {
        if self.0.len() <= member / 64 {
            self.0.resize(member / 64 + 1, 0);
        }
        let bit = 1 << (member % 64);
        let before = self.0[member / 64];
        self.0[member / 64] = before | bit;
        before & bit == 0
    }

    /// Whether a member is in it.
    pub fn has(&self, member: usize) -> bool {
        self.0.get(member / 64).is_some_and(|word| word >> (member % 64) & 1 == 1)
    }

    /// Those that are in another one too.
    pub fn both(&self, other: &MemberSet) -> MemberSet {
        let words: Vec<u64> = self.0.iter().zip(&other.0).map(|(one, other)| one & other).collect();
        MemberSet::from_words(&words)
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..64 * self.0.len()).filter(|&member| self.has(member))
    }
}

/// What a member says for an agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The decision has the bits that all of a side have.
    pub flag: u32,
    /// On which of two sides it is, 0 or 1.
    pub side: usize,
    /// Failed members that its program knows of.
    pub acknowledged: MemberSet,
}

/// What is agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The bits that all of a side have that have spoken, for each side.
    pub flags: [u32; 2],
    /// Failed members that all programs know of that have spoken.
    pub acknowledged: MemberSet,
    /// All others have spoken.
    pub failed: MemberSet,
    /// Contexts that nothing else has.
    pub contexts: [u64; 2],
}

/// What one member tells another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying {
    /// What it has to say.
    Voice(Vote),
    /// What was decided.
    Decision(Outcome),
}

/// A saying on an agreement of the communicator, from 1 on, and for or from which member it is.
pub type Message = (usize, u32, Saying);

/// A member of a communicator that agrees with the others.
#[derive(Debug)]
pub struct Consensus {
    me: usize,
    size: usize,
    failed: MemberSet,
    /// The last agreement that was begun here, and what was said for it as long as it is open.
    number: u32,
    own: Option<Vote>,
    /// The last decision.
    decided: Option<(u32, Outcome)>,
    /// What others have said for agreements that are not decided.
    heard: BTreeMap<(u32, usize), Vote>,
}

impl Consensus {
    /// Member `me` of `size`.
    pub fn new(me: usize, size: usize) -> Consensus {
        let (failed, heard) = (MemberSet::default(), BTreeMap::new());
        Consensus { me, size, failed, number: 0, own: None, decided: None, heard }
    }

    /// The decision of the agreement that was begun last.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.decided.as_ref().filter(|(number, _)| *number == self.number).map(|(_, outcome)| outcome)
    }

    /// Whether an agreement is under way here.
    pub fn is_open(&self) -> bool {
        self.own.is_some()
    }

    fn first(&self) -> usize {
        (0..self.size).find(|&member| !self.failed.has(member)).unwrap_or(self.me)
    }

    /// Begins the next agreement. Contexts are proposed if this member decides it.
    pub fn speak(&mut self, vote: Vote, propose: impl FnOnce() -> [u64; 2]) -> Vec<Message> {
        self.number += 1;
        self.own = Some(vote.clone());
        match self.first() {
            first if first == self.me => self.decide(propose),
            first => vec![(first, self.number, Saying::Voice(vote))],
        }
    }

    /// Hears what a member says.
    pub fn hear(
        &mut self,
        (from, number, saying): Message,
        propose: impl FnOnce() -> [u64; 2],
    ) -> Vec<Message> {
        if self.failed.has(from) || from >= self.size {
            return Vec::new();
        }
        let last = self.decided.as_ref().map_or(0, |(last, _)| *last);
        match saying {
            Saying::Voice(_) if number == last => self.answer(from),
            Saying::Voice(vote) if number > last => {
                self.heard.insert((number, from), vote);
                self.decide(propose)
            }
            Saying::Decision(outcome) if number > last && number == self.number => self.take(outcome),
            _ => Vec::new(),
        }
    }

    /// A member has failed.
    pub fn lose(&mut self, member: usize, propose: impl FnOnce() -> [u64; 2]) -> Vec<Message> {
        let before = self.first();
        if member == self.me || !self.failed.insert(member) {
            return Vec::new();
        }
        let first = self.first();
        if first == self.me {
            return self.decide(propose);
        }
        match &self.own {
            _ if first == before => Vec::new(),
            Some(own) => {
                let voice = (first, self.number, Saying::Voice(own.clone()));
                self.answer(first).into_iter().chain([voice]).collect()
            }
            None => self.answer(first),
        }
    }

    /// The last decision, for a member that may not have it.
    fn answer(&self, to: usize) -> Vec<Message> {
        let told = |(number, outcome): &(u32, Outcome)| (to, *number, Saying::Decision(outcome.clone()));
        self.decided.iter().map(told).collect()
    }

    fn take(&mut self, outcome: Outcome) -> Vec<Message> {
        let number = self.number;
        self.own = None;
        self.decided = Some((number, outcome));
        let further = self.heard.split_off(&(number + 1, 0));
        let asked = std::mem::replace(&mut self.heard, further);
        let is_first = self.first() == self.me;
        // Others may have heard before this member that those before it have failed: they have turned to it.
        let wanted =
            |&member: &usize| member != self.me && (is_first || asked.contains_key(&(number, member)));
        let wanted = (0..self.size).filter(|member| wanted(member) && !self.failed.has(*member));
        wanted.flat_map(|member| self.answer(member)).collect()
    }

    /// Decides, if that is up to this member and all have spoken that have not failed.
    fn decide(&mut self, propose: impl FnOnce() -> [u64; 2]) -> Vec<Message> {
        let Some(own) = self.own.as_ref().filter(|_| self.first() == self.me) else { return Vec::new() };
        let (number, mut left) = (self.number, self.size);
        let mut outcome = Outcome {
            flags: [u32::MAX; 2],
            acknowledged: own.acknowledged.clone(),
            failed: self.failed.clone(),
            contexts: [0; 2],
        };
        for member in 0..self.size {
            let vote = if member == self.me { Some(own) } else { self.heard.get(&(number, member)) };
            left -= usize::from(vote.is_some() || self.failed.has(member));
            if let Some(vote) = vote {
                outcome.flags[vote.side] &= vote.flag;
                outcome.acknowledged = outcome.acknowledged.both(&vote.acknowledged);
            }
        }
        if left > 0 {
            return Vec::new();
        }
        outcome.contexts = propose();
        self.take(outcome)
    }
}

/// Whom a member watches and tells of failures. The members stand in a ring of those that it does not know to have failed.
pub mod ring {
    /// The next member that is another's: of another job, whose launcher tells this one nothing. If it fails, this member has
    /// to find that out.
    pub fn watched(me: usize, alive: &[usize], is_others: impl Fn(usize) -> bool) -> Option<usize> {
        let place = alive.iter().position(|&member| member == me)?;
        let mut further = alive[place + 1..].iter().chain(&alive[..place]).copied();
        further.find(|&member| is_others(member))
    }

    /// Those at distances of 1, 2, 4 and so on: each member that tells these what it hears makes sure that all hear it.
    pub fn neighbours(me: usize, alive: &[usize]) -> Vec<usize> {
        let Some(place) = alive.iter().position(|&member| member == me) else { return Vec::new() };
        let distances =
            (0..usize::BITS).map(|bit| 1_usize << bit).take_while(|&distance| distance < alive.len());
        distances.map(|distance| alive[(place + distance) % alive.len()]).collect()
    }
}

#[cfg(test)]
#[path = "consensus_tests.rs"]
mod tests;
