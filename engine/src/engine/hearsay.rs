//! What processes of several jobs tell each other of failures, of revoked communicators, and of what they agree on.
//!
//! The launcher of a job tells its ranks alone who has failed. So each process watches the next one of another job, in each
//! communicator that has such, and tells its neighbours there what it learns (`job::consensus::ring`): all hear of it whoever
//! fails meanwhile. What is told comes as messages in a context of its own. A process looks for them where it looks for what
//! the launcher says: before it sleeps, and when a call has found nothing.

use super::reason::Reason;
use super::Engine;
use crate::job::consensus::{ring, Consensus, Message, Outcome, Saying};
use crate::lock_order::{self, Level, Ordered};
use crate::message::{wire, Envelope, ANY_SOURCE};
use crate::transport::Packet;
use crate::world::bootstrap_channel::{read_words, words};
use crate::world::{context, how_many_were_made, Communicator, Contexts, Group};
use crate::{JobRank, Result};
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

pub(super) mod wording;
use wording::Said;

/// Communicators whose agreements are remembered here, at least.
const REMEMBERED: usize = 64;
/// Sayings that may wait for a communicator that does not agree here yet.
const EARLY: usize = 4096;

/// The members of a communicator, of both groups if it has two, in an order that is the same for all of them.
pub(super) struct Roll {
    pub(super) ranks: Vec<JobRank>,
    /// On which side each of them is; the first one is on side 0.
    pub(super) sides: Vec<usize>,
    pub(super) me: usize,
    /// Some of them know others only by their full names.
    pub(super) has_strangers: bool,
}

impl Roll {
    pub(super) fn of(communicator: &Communicator, contexts: &Contexts) -> Roll {
        let has_strangers = communicator.groups().any(|group| group.has_strangers());
        let named = |side, group: &Group| -> Vec<_> {
            group.iter().map(|rank| (contexts.named(rank, has_strangers), rank, side)).collect()
        };
        let groups = communicator.groups().enumerate();
        let mut all: Vec<_> = groups.flat_map(|(side, group)| named(side, group)).collect();
        all.sort_unstable();
        let first = all.first().map_or(0, |&(_, _, side)| side);
        let (ranks, sides): (Vec<_>, Vec<_>) =
            all.into_iter().map(|(_, rank, side)| (rank, side ^ first)).unzip();
        let me = ranks.iter().position(|&rank| rank == contexts.job_rank()).unwrap_or(0);
        Roll { ranks, sides, me, has_strangers }
    }
}

/// A communicator in which this process agrees with others.
pub(super) struct Council {
    context: u64,
    ranks: Vec<JobRank>,
    me: usize,
    pub(super) consensus: Consensus,
}

/// Something that a neighbour is told once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Fact {
    Failure(JobRank),
    Revocation(u64),
}

/// What this process has heard, and has told.
#[derive(Default)]
pub(super) struct Hearsay {
    councils: Vec<Council>,
    early: Vec<(u64, Message)>,
    told: HashSet<(Fact, JobRank)>,
    watched: HashSet<JobRank>,
    seen: (u32, u32),
}

/// What is to be sent to whom.
pub(super) type Letters = Vec<(JobRank, Vec<u64>)>;

impl Council {
    fn letters(&self, messages: Vec<Message>) -> Letters {
        let letter = |(to, number, saying)| {
            (self.ranks[to], Said::Agrees(self.context, (self.me, number, saying)).words())
        };
        messages.into_iter().map(letter).collect()
    }
}

impl Hearsay {
    fn council(&mut self, context: u64) -> Option<&mut Council> {
        self.councils.iter_mut().find(|council| council.context == context)
    }

    /// A communicator in which this process agrees, and what follows of what is known so far.
    pub(super) fn convene(
        &mut self,
        context: u64,
        roll: &Roll,
        contexts: &Contexts,
        failed: &[JobRank],
    ) -> Letters {
        if self.council(context).is_some() {
            return Vec::new();
        }
        if self.councils.len() >= REMEMBERED {
            if let Some(oldest) = self.councils.iter().position(|council| !council.consensus.is_open()) {
                self.councils.remove(oldest);
            }
        }
        let consensus = Consensus::new(roll.me, roll.ranks.len());
        self.councils.push(Council { context, ranks: roll.ranks.clone(), me: roll.me, consensus });
        let mut letters = self.lose(contexts, failed);
        let (mine, others) = std::mem::take(&mut self.early).into_iter().partition(|&(of, _)| of == context);
        self.early = others;
        let mine: Vec<(u64, Message)> = mine;
        letters.extend(mine.into_iter().flat_map(|(of, message)| self.hear(of, message, contexts)));
        letters
    }

    /// Does something in a communicator in which this process agrees.
    pub(super) fn act(&mut self, context: u64, act: impl FnOnce(&mut Consensus) -> Vec<Message>) -> Letters {
        let Some(council) = self.council(context) else { return Vec::new() };
        let messages = act(&mut council.consensus);
        council.letters(messages)
    }

    /// What was decided last in a communicator.
    pub(super) fn outcome(&mut self, context: u64) -> Option<Outcome> {
        self.council(context)?.consensus.outcome().cloned()
    }

    fn hear(&mut self, context: u64, message: Message, contexts: &Contexts) -> Letters {
        match self.council(context) {
            Some(_) => self.act(context, |consensus| consensus.hear(message, || propose(contexts))),
            None => {
                self.early.truncate(EARLY);
                self.early.push((context, message));
                Vec::new()
            }
        }
    }

    /// These have failed, of all jobs.
    fn lose(&mut self, contexts: &Contexts, failed: &[JobRank]) -> Letters {
        let mut letters = Vec::new();
        for council in &mut self.councils {
            for member in failed {
                let Some(place) = council.ranks.iter().position(|rank| rank == member) else { continue };
                let messages = council.consensus.lose(place, || propose(contexts));
                letters.extend(council.letters(messages));
            }
        }
        letters
    }
}

/// Two contexts that nothing else has; 0 when none is left.
pub(super) fn propose(contexts: &Contexts) -> [u64; 2] {
    [(); 2].map(|()| contexts.propose().unwrap_or(0))
}

pub(super) type Shared = Arc<Mutex<Hearsay>>;

pub(super) fn locked(shared: &Shared) -> Ordered<'_, Hearsay> {
    lock_order::lock(shared, Level::HEARSAY)
}

fn envelope(source: i32) -> Envelope {
    Envelope { context: context::meeting("hearsay", std::iter::empty()), source, tag: 0 }
}

impl Engine {
    /// Hears what processes of other jobs have told, and tells them what is new here.
    #[inline]
    pub(super) fn hear_others(&self) -> Result<()> {
        match self.beyond.has_way.load(Relaxed) {
            true => self.hear_and_tell(),
            false => Ok(()),
        }
    }

    /// Hears what has come meanwhile, for a call that asks who has failed and does nothing else. Whoever asks again and again
    /// still has words of its own to bring on their way, such as the last ones of an agreement.
    ///
    /// # Errors
    /// A broken protocol.
    pub fn catch_up(&self) -> Result<()> {
        self.lanes.each().try_for_each(|lane| self.look(lane, |_| ()))?;
        match self.beyond.has_way.load(Relaxed) {
            true => self.look_for_failures(Reason::Flush),
            false => Ok(()),
        }
    }

    #[cold]
    fn hear_and_tell(&self) -> Result<()> {
        if self.job.node.goes_on_without_ranks() {
            // Whoever only polls has not looked.
            self.nobody_is_lost(self.lanes.at(0))?;
        }
        let mut has_heard = false;
        while let Some(bytes) = self.take_hearsay()? {
            if let Some(said) = read_words(&bytes).ok().and_then(|words| Said::read(&words)) {
                self.heard(said)?;
            }
            has_heard = true;
        }
        let now = (self.news(), how_many_were_made());
        if std::mem::replace(&mut locked(&self.beyond.hearsay).seen, now) != now {
            self.tell_neighbours()?;
        }
        if has_heard {
            // Whoever waits for an agreement looks again.
            self.lanes.each().for_each(|lane| {
                let mut core = lane.lock();
                core.epoch += 1;
                self.rouse(&core);
            });
        }
        Ok(())
    }

    fn take_hearsay(&self) -> Result<Option<Vec<u8>>> {
        let wanted = envelope(ANY_SOURCE);
        let message = self.lane(wanted.context).lock().take_message(wanted)?;
        message.map(|message| self.bytes_in(message)).transpose()
    }

    pub(super) fn send_letters(&self, letters: Letters) -> Result<()> {
        for (to, words_of_it) in letters {
            if self.failure_of(to).is_none() {
                self.send_bytes(to, envelope(0), &words(words_of_it))?;
            }
        }
        Ok(())
    }

    fn heard(&self, said: Said) -> Result<()> {
        match said {
            Said::Failed(name) => {
                // Of a rank of this job its launcher speaks.
                if let Some(process) = self.contexts.inward(name) {
                    self.note_outside_failure(process);
                }
                Ok(())
            }
            Said::Revoked(context) if self.job.node.is_revoked(context) => Ok(()),
            Said::Revoked(context) => {
                let known = self.with_others().into_iter().find(|one| one.context() == context);
                match known {
                    Some(communicator) => self.revoke_in_job(&communicator),
                    // It is about to be made.
                    None => self.job.node.note_revocation(context),
                }
            }
            Said::Agrees(context, message) => {
                if let Saying::Decision(outcome) = &message.2 {
                    self.note_failures_of(context, outcome);
                }
                let letters = locked(&self.beyond.hearsay).hear(context, message, &self.contexts);
                self.send_letters(letters)
            }
        }
    }

    /// Whoever has decided may have heard of more failures than this process.
    fn note_failures_of(&self, context: u64, outcome: &Outcome) {
        let failed: Vec<JobRank> = {
            let mut hearsay = locked(&self.beyond.hearsay);
            let Some(council) = hearsay.council(context) else { return };
            outcome.failed.iter().filter_map(|member| council.ranks.get(member).copied()).collect()
        };
        failed.into_iter().for_each(|process| {
            self.note_outside_failure(process);
        });
    }

    /// The communicators that have processes of other jobs.
    fn with_others(&self) -> Vec<Arc<Communicator>> {
        let mut all = Vec::new();
        self.each_communicator(&mut |communicator| {
            if self.has_others(communicator) {
                all.push(Arc::clone(communicator));
            }
        });
        all
    }

    /// Tells the neighbours in each communicator what they may not know, and watches the next one of another job.
    fn tell_neighbours(&self) -> Result<()> {
        let failed: Vec<JobRank> = self.failed().into_iter().map(|(_, process)| process).collect();
        let mut letters = locked(&self.beyond.hearsay).lose(&self.contexts, &failed);
        for communicator in self.with_others() {
            let roll = Roll::of(&communicator, &self.contexts);
            let alive: Vec<usize> =
                (0..roll.ranks.len()).filter(|&member| !failed.contains(&roll.ranks[member])).collect();
            if self.job.node.goes_on_without_ranks() {
                self.watch_next(&roll, &alive)?;
            }
            let mut facts: Vec<Fact> = failed
                .iter()
                .filter(|process| roll.ranks.contains(process))
                .map(|&one| Fact::Failure(one))
                .collect();
            if self.is_revoked(&communicator) {
                facts.push(Fact::Revocation(communicator.context()));
            }
            for neighbour in ring::neighbours(roll.me, &alive) {
                letters.extend(self.news_for(roll.ranks[neighbour], &facts, roll.has_strangers));
            }
        }
        self.send_letters(letters)
    }

    /// Makes sure that there is a connection, which shows when its other end has failed.
    fn watch_next(&self, roll: &Roll, alive: &[usize]) -> Result<()> {
        let next = ring::watched(roll.me, alive, |member| roll.ranks[member].is_foreign());
        let Some(next) = next.map(|member| roll.ranks[member]) else { return Ok(()) };
        if locked(&self.beyond.hearsay).watched.insert(next) {
            self.lanes.at(0).lock().post(next, &Packet::new(wire::NUDGE, [0; 2]))?;
        }
        Ok(())
    }

    fn news_for(&self, neighbour: JobRank, facts: &[Fact], has_strangers: bool) -> Letters {
        // What a job learns of its launcher, or by its node segment, it knows.
        let is_known = |fact: &Fact| match fact {
            Fact::Failure(process) => !process.is_foreign() && !neighbour.is_foreign(),
            Fact::Revocation(_) => !neighbour.is_foreign(),
        };
        let mut hearsay = locked(&self.beyond.hearsay);
        let new: Vec<&Fact> =
            facts.iter().filter(|fact| !is_known(fact) && hearsay.told.insert((**fact, neighbour))).collect();
        drop(hearsay);
        let said = |fact: &Fact| match *fact {
            Fact::Failure(process) => Said::Failed(self.contexts.named(process, has_strangers)),
            Fact::Revocation(context) => Said::Revoked(context),
        };
        new.into_iter().map(|fact| (neighbour, said(fact).words())).collect()
    }
}
