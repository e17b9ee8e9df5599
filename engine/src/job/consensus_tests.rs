//! Members of several jobs agree, fail and hear of failures in every order that a seed gives. CONSENSUS_SEEDS=1000000 is the long
//! form, for a release build.

use super::{ring, Consensus, MemberSet, Message, Outcome, Saying, Vote};
use std::collections::{HashMap, HashSet, VecDeque};

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % below
    }
}

enum Said {
    Agrees(u32, Saying),
    HasFailed(usize),
}

enum Event {
    Begins(usize),
    /// The next message from one to another comes.
    Comes(usize, usize),
    /// The launcher of a member says that another one of its job has failed.
    LauncherSays(usize, usize),
    /// A member looks at the one that it watches.
    Looks(usize),
    Fails(usize),
}

struct Member {
    job: usize,
    consensus: Consensus,
    /// Of whom it has heard, and whether of each.
    known: Vec<usize>,
    knows: Vec<bool>,
    told: HashSet<(usize, usize)>,
    is_dead: bool,
    spoken: u32,
    outcomes: Vec<Outcome>,
}

struct World {
    seed: u64,
    random: Random,
    rounds: u32,
    members: Vec<Member>,
    ways: HashMap<(usize, usize), VecDeque<Said>>,
    events: Vec<Event>,
    proposed: u64,
    dead: usize,
}

fn vote(member: usize, number: u32, known: &[usize]) -> Vote {
    let mut acknowledged = MemberSet::default();
    known.iter().filter(|&&one| !(one + number as usize).is_multiple_of(3)).for_each(|&one| {
        acknowledged.insert(one);
    });
    Vote { flag: !(1 << ((member as u32 + number) % 32)), side: member % 2, acknowledged }
}

impl World {
    fn new(seed: u64, size: usize, rounds: u32) -> World {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let jobs = 1 + random.below(4);
        let member = |me| Member {
            job: 0,
            consensus: Consensus::new(me, size),
            known: Vec::new(),
            knows: vec![false; size],
            told: HashSet::new(),
            is_dead: false,
            spoken: 0,
            outcomes: Vec::new(),
        };
        let mut members: Vec<Member> = (0..size).map(member).collect();
        members.iter_mut().for_each(|member| member.job = random.below(jobs));
        let mut events: Vec<Event> = (0..size).map(Event::Begins).collect();
        let failing = random.below(size);
        let mut victims: Vec<usize> = (0..size).collect();
        for _ in 0..failing {
            events.push(Event::Fails(victims.swap_remove(random.below(victims.len()))));
        }
        World { seed, random, rounds, members, ways: HashMap::new(), events, proposed: 0, dead: 0 }
    }

    fn alive_for(&self, me: usize) -> Vec<usize> {
        (0..self.members.len()).filter(|member| !self.members[me].knows[*member]).collect()
    }

    fn send(&mut self, from: usize, to: usize, said: Said) {
        self.ways.entry((from, to)).or_default().push_back(said);
        self.events.push(Event::Comes(from, to));
    }

    fn send_all(&mut self, from: usize, messages: Vec<Message>) {
        for (to, number, saying) in messages {
            self.send(from, to, Said::Agrees(number, saying));
        }
        self.see_outcome(from);
    }

    /// A member may have a decision now.
    fn see_outcome(&mut self, me: usize) {
        let member = &self.members[me];
        let Some(outcome) = member.consensus.outcome() else { return };
        if member.outcomes.len() as u32 == member.spoken {
            return;
        }
        let (outcome, number) = (outcome.clone(), member.spoken);
        for (other, they) in self.members.iter().enumerate() {
            if let Some(theirs) = they.outcomes.get(number as usize - 1).filter(|_| !they.is_dead) {
                assert_eq!(*theirs, outcome, "seed {}: {me} and {other}", self.seed);
            }
            if outcome.failed.has(other) {
                assert!(they.is_dead, "seed {}: {other} has not failed", self.seed);
                continue;
            }
            let own = vote(other, number, &[]);
            assert!(they.spoken >= number, "seed {}: {other} has not spoken", self.seed);
            assert_eq!(outcome.flags[own.side] & !own.flag, 0, "seed {}: not {other}", self.seed);
        }
        self.members[me].outcomes.push(outcome);
        self.events.push(Event::Begins(me));
    }

    fn propose(&mut self) -> [u64; 2] {
        self.proposed += 2;
        [self.proposed - 1, self.proposed]
    }

    fn learn(&mut self, me: usize, failed: usize) {
        if me == failed || std::mem::replace(&mut self.members[me].knows[failed], true) {
            return;
        }
        self.members[me].known.push(failed);
        let contexts = self.propose();
        let messages = self.members[me].consensus.lose(failed, || contexts);
        self.send_all(me, messages);
        let alive = self.alive_for(me);
        let known = self.members[me].known.clone();
        for to in ring::neighbours(me, &alive) {
            for &one in &known {
                if self.members[me].told.insert((one, to)) {
                    self.send(me, to, Said::HasFailed(one));
                }
            }
        }
        self.events.push(Event::Looks(me));
    }

    fn fail(&mut self, victim: usize) {
        self.members[victim].is_dead = true;
        self.dead += 1;
        for other in 0..self.members.len() {
            // The last messages were not sent.
            if let Some(way) = self.ways.get_mut(&(victim, other)) {
                way.truncate(self.random.below(way.len() + 1));
            }
        }
        for other in (0..self.members.len()).filter(|&other| other != victim) {
            if self.members[other].job == self.members[victim].job {
                self.events.push(Event::LauncherSays(other, victim));
            }
            self.events.push(Event::Looks(other));
        }
    }

    fn happens(&mut self, event: Event) {
        let of = match event {
            Event::Begins(me) | Event::Comes(_, me) | Event::LauncherSays(me, _) | Event::Looks(me) => me,
            Event::Fails(victim) if self.members[victim].is_dead => return,
            Event::Fails(victim) if self.random.below(20) > 0 && self.events.len() > 1 => {
                return self.events.push(Event::Fails(victim));
            }
            Event::Fails(victim) => return self.fail(victim),
        };
        if self.members[of].is_dead {
            return;
        }
        match event {
            Event::Begins(me) => {
                if self.members[me].spoken < self.rounds {
                    let contexts = self.propose();
                    let member = &mut self.members[me];
                    member.spoken += 1;
                    let said = vote(me, member.spoken, &member.known);
                    let messages = member.consensus.speak(said, || contexts);
                    self.send_all(me, messages);
                }
            }
            Event::Comes(from, me) => match self.ways.get_mut(&(from, me)).and_then(VecDeque::pop_front) {
                None => {}
                Some(Said::HasFailed(failed)) => self.learn(me, failed),
                Some(Said::Agrees(number, saying)) => {
                    let contexts = self.propose();
                    let messages = self.members[me].consensus.hear((from, number, saying), || contexts);
                    self.send_all(me, messages);
                }
            },
            Event::LauncherSays(me, failed) => self.learn(me, failed),
            Event::Looks(me) => {
                let (alive, job) = (self.alive_for(me), self.members[me].job);
                let watched = ring::watched(me, &alive, |other| self.members[other].job != job);
                if let Some(watched) = watched.filter(|&watched| self.members[watched].is_dead) {
                    self.learn(me, watched);
                }
            }
            Event::Fails(_) => {}
        }
    }

    fn run(mut self) {
        while !self.events.is_empty() {
            let next = self.random.below(self.events.len());
            let event = self.events.swap_remove(next);
            self.happens(event);
        }
        for (me, member) in self.members.iter().enumerate().filter(|(_, member)| !member.is_dead) {
            assert_eq!(member.outcomes.len() as u32, self.rounds, "seed {}: {me} waits", self.seed);
            assert_eq!(member.known.len(), self.dead, "seed {}: {me} has not heard of all", self.seed);
        }
    }
}

#[test]
fn whoever_fails_whenever_all_that_go_on_hear_of_it_and_agree() {
    let seeds = std::env::var("CONSENSUS_SEEDS").map_or(1_000, |text| text.parse().expect("a number"));
    for seed in 0..seeds {
        // Many take long.
        let most = if seed % 16 == 0 { 63 } else { 11 };
        World::new(seed, 2 + (seed / 16 % most) as usize, 3).run();
    }
}

#[test]
fn sets_of_members_keep_whom_they_were_given() {
    let mut set = MemberSet::default();
    assert!(set.insert(3) && set.insert(70) && !set.insert(3));
    assert!(set.has(3) && set.has(70) && !set.has(4) && !set.has(700));
    let mut other = MemberSet::default();
    other.insert(3);
    assert_eq!(set.iter().collect::<Vec<_>>(), [3, 70]);
    assert_eq!(set.both(&other), other);
    assert_eq!(MemberSet::from_words(&[8, 0, 0]), other);
}

#[test]
fn a_member_alone_decides_at_once() {
    let mut alone = Consensus::new(0, 1);
    let said = Vote { flag: 5, side: 0, acknowledged: MemberSet::default() };
    assert!(alone.speak(said, || [7, 9]).is_empty());
    assert_eq!(
        alone.outcome().map(|outcome| (outcome.flags, outcome.contexts)),
        Some(([5, u32::MAX], [7, 9]))
    );
    assert!(!alone.is_open());
}
