//! Agreement among ranks of a node of which any may fail at any time.
//!
//! Each rank has a table in the node segment, which outlives it. A member of a communicator writes what it says into its
//! table, and then waits until some member's table has the decision. The first member that has not failed decides, once
//! each of the others has spoken or failed.
//!
//! # Why all see one decision
//! A member decides only if all members before it have failed, and has looked for decisions in their tables after that:
//! what has failed writes no more. So at most one decision is ever written, and whoever looks later finds it.
//!
//! # Ownership
//! A rank writes its own table alone, and `number` and `is_decided` last. A place has room for two agreements that follow
//! each other. A member speaks for an agreement only when it has the decision of the one before. So when it has the decision
//! of n + 1, all that go on have spoken for n + 1, and have read the decision of n: it may speak for n + 2.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Communicators that a rank can agree in at a time.
const PLACES: usize = 39;
/// Bytes of a table, in whole pages.
pub const BYTES: usize = 4096;
const _: () = assert!(size_of::<Agreements>() <= BYTES);

/// The table of a rank. Zero: nothing was said.
#[repr(C)]
pub struct Agreements {
    places: [Place; PLACES],
    /// How often a communicator was given a place.
    given: AtomicU32,
}

#[repr(C)]
struct Place {
    context: AtomicU64,
    turns: [Turn; 2],
}

/// What a member says, and the decision if it is the one who decides.
#[repr(C)]
struct Turn {
    /// Which agreement of the communicator, from 1 on; 0: none.
    number: AtomicU32,
    flag: AtomicU32,
    acknowledged: AtomicU32,
    is_decided: AtomicU32,
    decision: [AtomicU32; 4],
    contexts: [AtomicU64; 2],
}

/// An agreement as a member sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ballot {
    /// The context of the communicator.
    pub context: u64,
    /// Which agreement of the communicator it is, from 1 on.
    pub number: u32,
}

/// What a member says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The decision has the bits that all members have.
    pub flag: u32,
    /// So many failures are known to its program.
    pub acknowledged: u32,
}

/// What is agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The bits that all of a side have that have spoken, for each side.
    pub flags: [u32; 2],
    /// So many failures are known to all programs that have spoken.
    pub acknowledged: u32,
    /// So many ranks had failed. All others have spoken.
    pub failures: u32,
    /// Contexts that nothing else has: the second is for what one of two sides has for itself.
    pub contexts: [u64; 2],
}

/// The members of a communicator, in an order that is the same for all of them.
pub trait Electorate {
    /// How many there are.
    fn size(&self) -> usize;
    /// The table of a member.
    fn table(&self, member: usize) -> &Agreements;
    /// On which of two sides a member is, 0 or 1: the first one, and all of an intracommunicator, are on side 0.
    fn side(&self, member: usize) -> usize;
    /// How many ranks have failed, of all.
    fn failures(&self) -> u32;
    /// Whether a member has.
    fn has_failed(&self, member: usize) -> bool;
    /// Contexts that nothing else has.
    fn propose(&self) -> [u64; 2];
}

impl Agreements {
    fn turn(&self, ballot: Ballot) -> Option<&Turn> {
        let place = self.places.iter().find(|place| place.context.load(Acquire) == ballot.context)?;
        let turn = &place.turns[ballot.number as usize % 2];
        (turn.number.load(Acquire) == ballot.number).then_some(turn)
    }

    /// Says something for an agreement, in its owner's table. A communicator that has no place gets the oldest one.
    pub fn speak(&self, ballot: Ballot, voice: Voice) {
        let known = self.places.iter().find(|place| place.context.load(Relaxed) == ballot.context);
        let place = known.unwrap_or_else(|| &self.places[self.given.fetch_add(1, Relaxed) as usize % PLACES]);
        if known.is_none() {
            place.turns.iter().for_each(|turn| turn.number.store(0, Relaxed));
            place.context.store(ballot.context, Release);
        }
        let turn = &place.turns[ballot.number as usize % 2];
        turn.is_decided.store(0, Relaxed);
        turn.flag.store(voice.flag, Relaxed);
        turn.acknowledged.store(voice.acknowledged, Relaxed);
        turn.number.store(ballot.number, Release);
    }

    fn voice(&self, ballot: Ballot) -> Option<Voice> {
        let turn = self.turn(ballot)?;
        Some(Voice { flag: turn.flag.load(Relaxed), acknowledged: turn.acknowledged.load(Relaxed) })
    }

    /// The decision of an agreement, if it stands here.
    pub fn decision(&self, ballot: Ballot) -> Option<Decision> {
        let turn = self.turn(ballot).filter(|turn| turn.is_decided.load(Acquire) == 1)?;
        let words = turn.decision.each_ref().map(|word| word.load(Relaxed));
        let [flag, other_flag, acknowledged, failures] = words;
        let contexts = turn.contexts.each_ref().map(|context| context.load(Relaxed));
        Some(Decision { flags: [flag, other_flag], acknowledged, failures, contexts })
    }

    /// Writes down the decision of an agreement, if the owner of the table has spoken for it; whether it has. Where members
    /// are on several nodes, the agent of each does so for all ranks that it has, once.
    pub fn decide(&self, ballot: Ballot, decision: Decision) -> bool {
        let Some(turn) = self.turn(ballot) else { return false };
        let [flag, other_flag] = decision.flags;
        let words = [flag, other_flag, decision.acknowledged, decision.failures];
        turn.decision.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
        turn.contexts
            .iter()
            .zip(decision.contexts)
            .for_each(|(place, context)| place.store(context, Relaxed));
        turn.is_decided.store(1, Release);
        true
    }
}

/// Looks whether an agreement in which `me` has spoken has come to an end, and ends it if that is up to `me`: then the
/// second is true, and the others have to be woken.
pub fn look(ballot: Ballot, me: usize, members: &impl Electorate) -> Option<(Decision, bool)> {
    // Before anything else is read: who counts here has failed before that.
    let failures = members.failures();
    let is_first = (0..me).all(|member| members.has_failed(member));
    let decided = (0..members.size()).find_map(|member| members.table(member).decision(ballot));
    if let Some(decision) = decided {
        return Some((decision, false));
    }
    let mut decision = Decision { flags: [u32::MAX; 2], acknowledged: u32::MAX, failures, contexts: [0; 2] };
    for member in 0..members.size() {
        match members.table(member).voice(ballot) {
            Some(voice) => {
                decision.flags[members.side(member)] &= voice.flag;
                decision.acknowledged = decision.acknowledged.min(voice.acknowledged);
            }
            None if is_first && members.has_failed(member) => {}
            None => return None,
        }
    }
    if !is_first {
        return None;
    }
    // Of those who have failed meanwhile without a voice, too.
    decision.failures = members.failures();
    decision.contexts = members.propose();
    members.table(me).decide(ballot, decision);
    Some((decision, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    struct World {
        tables: Box<[Agreements]>,
        failed: RefCell<Vec<usize>>,
        /// It fails when it is asked whether it has.
        fails: Cell<Option<usize>>,
        proposed: Cell<u64>,
    }

    impl Electorate for World {
        fn size(&self) -> usize {
            self.tables.len()
        }
        fn table(&self, member: usize) -> &Agreements {
            &self.tables[member]
        }
        fn side(&self, member: usize) -> usize {
            member % 2
        }
        fn failures(&self) -> u32 {
            self.failed.borrow().len() as u32
        }
        fn has_failed(&self, member: usize) -> bool {
            if self.fails.get() == Some(member) {
                self.fails.set(None);
                self.failed.borrow_mut().push(member);
            }
            self.failed.borrow().contains(&member)
        }
        fn propose(&self) -> [u64; 2] {
            self.proposed.set(self.proposed.get() + 2);
            [self.proposed.get() - 1, self.proposed.get()]
        }
    }

    fn world(size: usize) -> World {
        // SAFETY: zero is a right value of each word.
        let tables = unsafe { Box::<[Agreements]>::new_zeroed_slice(size).assume_init() };
        World { tables, failed: RefCell::default(), fails: Cell::new(None), proposed: Cell::new(0) }
    }

    /// A member: how many agreements it has begun and ended.
    #[derive(Clone, Copy, Default)]
    struct Member {
        spoken: u32,
        ended: u32,
    }

    /// Members of a world speak, look and fail in an order that the seed gives; how many agreements came to an end.
    fn run(seed: u64, size: usize, rounds: u32) -> u32 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 20) % below
        };
        let (world, context) = (world(size), 2 + 2 * (seed & 3));
        let mut members = vec![Member::default(); size];
        let mut decisions: Vec<Option<Decision>> = vec![None; rounds as usize + 1];
        let voice = |member: usize, number: u32| Voice {
            flag: !(1 << ((member as u32 + number) % 32)),
            acknowledged: number,
        };
        loop {
            let going: Vec<usize> = (0..size).filter(|&member| !world.has_failed(member)).collect();
            let Some(&member) = going.iter().find(|&&one| members[one].ended < rounds) else {
                break;
            };
            let member = if next(4) == 0 { member } else { going[next(going.len() as u64) as usize] };
            if going.len() > 1 && next(40) == 0 {
                world.failed.borrow_mut().push(member);
                continue;
            }
            let Member { spoken, ended } = members[member];
            if ended == rounds {
                continue;
            }
            if spoken == ended {
                let ballot = Ballot { context, number: spoken + 1 };
                world.tables[member].speak(ballot, voice(member, spoken + 1));
                members[member].spoken += 1;
                continue;
            }
            let ballot = Ballot { context, number: spoken };
            let Some((decision, _)) = look(ballot, member, &world) else { continue };
            assert_eq!(*decisions[spoken as usize].get_or_insert(decision), decision, "seed {seed}");
            assert_eq!(decision.acknowledged, spoken);
            let failed = &world.failed.borrow()[..decision.failures as usize];
            for other in (0..size).filter(|other| !failed.contains(other)) {
                let own = voice(other, spoken).flag;
                assert!(
                    members[other].spoken >= spoken && decision.flags[other % 2] & !own == 0,
                    "seed {seed}: not {other}"
                );
            }
            members[member].ended += 1;
        }
        members.iter().map(|member| member.ended).max().unwrap_or(0)
    }

    #[test]
    fn whoever_fails_whenever_those_that_go_on_agree() {
        for seed in 0..5_000 {
            assert_eq!(run(seed, 2 + (seed % 9) as usize, 6), 6);
        }
    }

    #[test]
    fn the_first_that_goes_on_decides_and_counts_whoever_fails_meanwhile() {
        let world = world(3);
        let ballot = Ballot { context: 2, number: 1 };
        let speak = |member: usize| {
            world.tables[member].speak(ballot, Voice { flag: 5, acknowledged: 0 });
        };
        speak(0);
        speak(1);
        assert_eq!(look(ballot, 0, &world), None, "one has not spoken");
        world.fails.set(Some(2));
        let (decision, is_mine) = look(ballot, 0, &world).unwrap();
        assert!(is_mine && decision.failures == 1, "{decision:?}");
        assert_eq!(look(ballot, 1, &world), Some((decision, false)));
        let ballot = Ballot { context: 4, number: 1 };
        (0..3).for_each(|member| world.tables[member].speak(ballot, Voice { flag: 5, acknowledged: 0 }));
        assert_eq!(look(ballot, 1, &world), None, "all have spoken, and the first decides");
        world.fails.set(Some(0));
        assert!(look(ballot, 1, &world).is_some_and(|(_, is_mine)| is_mine));
    }

    #[test]
    fn a_communicator_more_than_there_are_places_takes_the_oldest() {
        let world = world(1);
        for context in 1..=3 * PLACES as u64 {
            let ballot = Ballot { context, number: 1 };
            world.tables[0].speak(ballot, Voice { flag: context as u32, acknowledged: 0 });
            let (decision, _) = look(ballot, 0, &world).unwrap();
            assert_eq!(decision.flags, [context as u32, u32::MAX]);
        }
    }
}
