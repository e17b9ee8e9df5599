//! Broadcasts among ranks in one process, over a network that loses, doubles and mixes pieces by chance.

use super::*;
use crate::collective::tests::twin::Random;
use crate::collective::{Advance, Port, Ticket};
use crate::datatype::{Basic, Datatype};
use crate::transport::multicast::{Channel, Piece};
use crate::{Class, Error};
use std::collections::{HashMap, HashSet, VecDeque};

type Sealed = (u32, u32, Vec<u8>);

/// What a network does to pieces, by the hundred.
#[derive(Clone, Copy, Default)]
struct Harm {
    lost: u64,
    doubled: u64,
    mixed: u64,
}

/// The pieces that are at each rank's socket, which keeps so many.
struct Bus {
    at: Vec<VecDeque<Sealed>>,
    harm: Vec<Harm>,
    room: usize,
    random: Random,
    sent: u64,
}

struct AtBus {
    bus: Arc<Mutex<Bus>>,
    me: usize,
    piece: Sealed,
    longest: u32,
}

impl std::fmt::Debug for AtBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtBus")
    }
}

impl Channel for AtBus {
    fn longest(&self) -> u32 {
        self.longest
    }
    fn room(&self) -> u64 {
        u64::MAX
    }
    fn rate(&self) -> u64 {
        u64::MAX
    }
    fn send(&mut self, pieces: &[Piece<'_>]) -> usize {
        // Now and then there is room for some alone.
        let most = self.bus.lock().unwrap().random.below(3 * pieces.len() as u64) as usize;
        pieces[..most.min(pieces.len())].iter().map(|&piece| self.send_one(piece)).count()
    }
    fn receive(&mut self) -> Option<Piece<'_>> {
        self.piece = self.bus.lock().unwrap().at[self.me].pop_front()?;
        let (epoch, index, bytes) = &self.piece;
        Some(Piece { epoch: *epoch, index: *index, bytes })
    }
    fn attend(&mut self, _: bool) {}
    fn wake_after(&mut self, _: u64) {}
}

impl AtBus {
    fn send_one(&self, piece: Piece<'_>) {
        let bus = &mut *self.bus.lock().unwrap();
        bus.sent += piece.bytes.len() as u64;
        for to in (0..bus.at.len()).filter(|&to| to != self.me) {
            let Harm { lost, doubled, mixed } = bus.harm[to];
            let mut chance = |of| bus.random.below(100) < of;
            let (is_lost, is_doubled, is_mixed) = (chance(lost), chance(doubled), chance(mixed));
            if is_lost || bus.at[to].len() >= bus.room {
                continue;
            }
            let sealed = (piece.epoch, piece.index, piece.bytes.to_vec());
            let place = if is_mixed {
                bus.random.below(bus.at[to].len() as u64 + 1) as usize
            } else {
                bus.at[to].len()
            };
            bus.at[to].insert(place, sealed.clone());
            if is_doubled {
                bus.at[to].push_back(sealed);
            }
        }
    }
}

/// Messages under way, and what is said beside them.
#[derive(Default)]
struct Messages {
    sent: HashMap<(u32, u32), VecDeque<[u64; 2]>>,
    posted: HashMap<(u32, u32), VecDeque<(Ticket, *mut u8)>>,
    done: HashSet<Ticket>,
    tickets: Ticket,
    failed: Option<u32>,
    asked: u64,
}

struct Place<'a> {
    messages: &'a mut Messages,
    groups: &'a [Shared],
    random: &'a mut Random,
    me: u32,
}

impl Messages {
    fn meet(&mut self, line: (u32, u32)) {
        let (Some(sent), Some(posted)) = (self.sent.get_mut(&line), self.posted.get_mut(&line)) else {
            return;
        };
        while !sent.is_empty() && !posted.is_empty() {
            let (Some(words), Some((ticket, at))) = (sent.pop_front(), posted.pop_front()) else { return };
            // SAFETY: whoever has posted it keeps two words there until it is done.
            unsafe { at.cast::<[u64; 2]>().write_unaligned(words) };
            self.done.insert(ticket);
        }
    }
}

impl Port for Place<'_> {
    fn send(&mut self, peer: u32, _: i32, data: &Data) -> Result<Ticket> {
        // SAFETY: two words, as all messages of a relay.
        let words = unsafe { data.address.cast::<[u64; 2]>().read_unaligned() };
        self.messages.sent.entry((self.me, peer)).or_default().push_back(words);
        Ok(0)
    }
    fn receive(&mut self, peer: u32, _: i32, data: &Data) -> Result<Ticket> {
        self.messages.tickets += 1;
        let ticket = self.messages.tickets;
        self.messages.posted.entry((peer, self.me)).or_default().push_back((ticket, data.address));
        Ok(ticket)
    }
    fn done(&mut self, ticket: Ticket) -> Result<bool> {
        if self.messages.failed.is_some() && ticket != 0 {
            let posted = self.messages.posted.values_mut();
            posted.for_each(|posted| posted.retain(|&(one, _)| one != ticket));
            return Err(Error::new(Class::ProcFailed, "for a test"));
        }
        // Messages take a while.
        if ticket != 0 && self.random.below(3) == 0 {
            let lines: Vec<_> = self.messages.posted.keys().copied().collect();
            lines.into_iter().for_each(|line| self.messages.meet(line));
        }
        Ok(ticket == 0 || self.messages.done.remove(&ticket))
    }
    fn say(&mut self, peer: u32, epoch: u32, said: &Said) -> Result<bool> {
        if self.random.below(4) == 0 {
            return Ok(false);
        }
        self.messages.asked += u64::from(matches!(said, Said::Ask(..)));
        self.groups[peer as usize].lock().unwrap().hear(Heard { epoch, said: said.clone() });
        Ok(true)
    }
}

struct World {
    bus: Arc<Mutex<Bus>>,
    groups: Vec<Shared>,
    messages: Messages,
    random: Random,
    epoch: u32,
}

impl World {
    fn new(ranks: usize, harm: Vec<Harm>, (piece, room): (u32, u64), seed: u64) -> World {
        let at = vec![VecDeque::new(); ranks];
        let bus = Bus { at, harm, room: 64, random: Random::new(seed), sent: 0 };
        let bus = Arc::new(Mutex::new(bus));
        let channel = |me| AtBus { bus: bus.clone(), me, piece: Sealed::default(), longest: piece };
        let group = |me| Arc::new(Mutex::new(Group::new(Box::new(channel(me)), piece, room, u64::MAX)));
        let groups = (0..ranks).map(group).collect();
        World { bus, groups, messages: Messages::default(), random: Random::new(seed ^ 99), epoch: 0 }
    }

    /// A broadcast of so many bytes, at each rank into so many; what is there then, and how it ended.
    fn broadcast(
        &mut self,
        root: u32,
        bytes: usize,
        rooms: &[usize],
        late: Option<usize>,
    ) -> Vec<(Vec<u8>, Result<()>)> {
        self.epoch += 1;
        let size = self.groups.len() as u32;
        let ranks: Vec<u32> = (0..size).collect();
        let content: Vec<u8> = (0..bytes).map(|at| (at as u32 * 7 + self.epoch) as u8).collect();
        let mut buffers: Vec<Vec<u8>> = rooms.iter().map(|&room| vec![0xee; room]).collect();
        buffers[root as usize] = content;
        let mut schedules: Vec<Option<Schedule>> = (0..size).map(|_| None).collect();
        let mut ends: Vec<Option<Result<()>>> = (0..size).map(|_| None).collect();
        let mut turns = 0;
        while ends.iter().any(Option::is_none) {
            turns += 1;
            assert!(turns < 400_000, "a broadcast does not end");
            let me = self.random.below(u64::from(size)) as usize;
            if ends[me].is_some() || late == Some(me) && turns < 4000 {
                continue;
            }
            let schedule = schedules[me].get_or_insert_with(|| {
                let buffer = &mut buffers[me];
                let datatype = Datatype::shared(Basic::Packed).into();
                let data = Data { address: buffer.as_mut_ptr(), count: buffer.len() as u64, datatype };
                let tree = Tree::new(&ranks, me as u32, root);
                super::broadcast(self.groups[me].clone(), self.epoch, tree, &data).unwrap()
            });
            let World { messages, groups, random, .. } = self;
            let mut place = Place { messages, groups, random, me: me as u32 };
            match schedule.advance(&mut place, 1) {
                Ok(Advance::Pending | Advance::Call(_)) => {}
                Ok(Advance::Done) => ends[me] = Some(Ok(())),
                Err(error) => ends[me] = Some(Err(error)),
            }
        }
        assert!(self.messages.failed.is_some() || self.messages.sent.values().all(VecDeque::is_empty));
        assert!(self.messages.posted.values().all(VecDeque::is_empty), "nobody waits any more");
        buffers.into_iter().zip(ends.into_iter().flatten()).collect()
    }

    fn assert_right(&mut self, root: u32, bytes: usize, late: Option<usize>) {
        let rooms = vec![bytes; self.groups.len()];
        let all = self.broadcast(root, bytes, &rooms, late);
        let right = all[root as usize].0.clone();
        assert!(all.iter().all(|(buffer, end)| end.is_ok() && *buffer == right), "{bytes} bytes of {root}");
    }

    fn repaired(&self) -> u64 {
        self.groups.iter().map(|group| group.lock().unwrap().tally.repaired).sum()
    }
}

#[test]
fn without_harm_the_root_sends_once_and_nobody_asks() {
    for size in [2, 3, 8, 17] {
        let mut world = World::new(size, vec![Harm::default(); size], (100, 2000), 5);
        let mut bytes = 0;
        for (round, length) in [1, 100, 999, 5000, 20_000].into_iter().enumerate() {
            world.assert_right(round as u32 % size as u32, length, None);
            bytes += length as u64;
        }
        assert_eq!(world.bus.lock().unwrap().sent, bytes);
        assert_eq!((world.messages.asked, world.repaired()), (0, 0), "{size} ranks");
    }
}

#[test]
fn whatever_is_lost_doubled_and_mixed_all_have_all() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let size = 2 + random.below(12) as usize;
        let mut chance = |most: u64| random.below(most + 1);
        let (lost, doubled, mixed) = (chance(40), chance(20), chance(50));
        let one = random.below(size as u64) as usize;
        // At one or at all.
        let harm = |rank| match seed % 2 == 0 && rank != one {
            true => Harm::default(),
            false => Harm { lost, doubled, mixed },
        };
        let mut world =
            World::new(size, (0..size).map(harm).collect(), (64, 64 * (1 + random.below(40))), seed);
        for _ in 0..4 {
            let (root, bytes) = (random.below(size as u64) as u32, 1 + random.below(8000) as usize);
            let late = (random.below(2) == 0).then(|| random.below(size as u64) as usize);
            world.assert_right(root, bytes, late);
        }
    }
}

#[test]
fn where_nothing_comes_the_tree_brings_it_all() {
    let harm = Harm { lost: 100, ..Harm::default() };
    let mut world = World::new(6, vec![harm; 6], (100, 1000), 3);
    world.assert_right(2, 5000, None);
    assert_eq!(world.repaired(), 5 * 50);
}

#[test]
fn lengths_that_do_not_match_end_as_those_of_messages() {
    let mut world = World::new(4, vec![Harm::default(); 4], (100, 1000), 3);
    let all = world.broadcast(0, 3000, &[3000, 2000, 3000, 50], None);
    for (rank, room) in [(1, 2000), (3, 50)] {
        let (buffer, end) = &all[rank];
        let error = end.as_ref().unwrap_err();
        assert!(error.class() == Class::Truncate && error.message().contains("3000 bytes"), "{error:?}");
        assert_eq!(buffer[..], all[0].0[..room]);
    }
    assert!(all[2].1.is_ok() && all[2].0 == all[0].0);
    let all = world.broadcast(0, 1000, &[1000, 3000, 1000, 1000], None);
    assert!(all.iter().all(|(buffer, end)| end.is_ok() && buffer[..1000] == all[0].0[..]));
}

#[test]
fn a_failure_of_a_member_ends_it_for_all() {
    let mut world = World::new(5, vec![Harm { lost: 100, ..Harm::default() }; 5], (100, 1000), 3);
    world.messages.failed = Some(4);
    let all = world.broadcast(0, 5000, &[5000; 5], None);
    assert!(all.iter().all(|(_, end)| end.as_ref().is_err_and(|error| error.class() == Class::ProcFailed)));
    assert!(world.groups.iter().all(|group| !group.lock().unwrap().is_active()));
}
