//! All ranks of a communicator in one process, over a network of queues that
//! delivers in any order that MPI allows, chosen by a seed.

use crate::collective::schedule::copy;
use crate::collective::{Advance, Data, Members, Port, Schedule, Ticket};
use crate::datatype::{Basic, Datatype};
use crate::Result;
use std::collections::{HashMap, HashSet, VecDeque};

/// A small generator of numbers (xorshift): the same for the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// A message under way: copied when it was sent, or still with its sender.
enum Content {
    Copied(Vec<u8>),
    Lent(Data),
}

#[derive(Default)]
struct Lane {
    sent: VecDeque<(Ticket, Content)>,
    posted: VecDeque<(Ticket, Data)>,
}

struct Network {
    lanes: HashMap<(usize, usize, i32), Lane>,
    done: HashSet<Ticket>,
    tickets: Ticket,
    random: Random,
}

/// The network as rank `me` sees it; its peers begin at `peers`.
struct Place<'a> {
    network: &'a mut Network,
    me: usize,
    peers: usize,
}

impl Network {
    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.tickets
    }

    fn deliver(&mut self, from: usize, to: usize, tag: i32) {
        let lane = self.lanes.entry((from, to, tag)).or_default();
        while !lane.sent.is_empty() && !lane.posted.is_empty() {
            let (Some((sent, content)), Some((posted, target))) =
                (lane.sent.pop_front(), lane.posted.pop_front())
            else {
                return;
            };
            let bytes = match content {
                Content::Copied(bytes) => bytes,
                Content::Lent(data) => packed(&data),
            };
            assert_eq!(bytes.len() as u64, target.bytes(), "a message from {from} to {to}");
            // SAFETY: the test keeps its buffers until all schedules are done.
            unsafe { copy(&as_data(&bytes), &target) };
            self.done.extend([sent, posted]);
        }
    }
}

fn as_data(bytes: &[u8]) -> Data {
    let address = bytes.as_ptr().cast_mut();
    Data { address, count: bytes.len() as u64, datatype: Datatype::basic(Basic::Packed).into() }
}

/// The payload of some data.
pub fn packed(data: &Data) -> Vec<u8> {
    let mut bytes = vec![0; data.bytes() as usize];
    let address = bytes.as_mut_ptr();
    let target = Data { address, ..as_data(&bytes) };
    // SAFETY: the test keeps its buffers; the target has room.
    unsafe { copy(data, &target) };
    bytes
}

impl Port for Place<'_> {
    fn send(&mut self, peer: u32, tag: i32, data: &Data) -> Result<Ticket> {
        let ticket = self.network.ticket();
        let to = self.peers + peer as usize;
        let content = if self.network.random.below(2) == 0 {
            self.network.done.insert(ticket);
            Content::Copied(packed(data))
        } else {
            Content::Lent(data.clone())
        };
        self.network.lanes.entry((self.me, to, tag)).or_default().sent.push_back((ticket, content));
        Ok(ticket)
    }

    fn receive(&mut self, peer: u32, tag: i32, data: &Data) -> Result<Ticket> {
        let ticket = self.network.ticket();
        let from = self.peers + peer as usize;
        let lane = self.network.lanes.entry((from, self.me, tag)).or_default();
        lane.posted.push_back((ticket, data.clone()));
        Ok(ticket)
    }

    fn done(&mut self, ticket: Ticket) -> Result<bool> {
        let lanes: Vec<_> = self.network.lanes.keys().copied().collect();
        for (from, to, tag) in lanes {
            if from == self.me || to == self.me {
                self.network.deliver(from, to, tag);
            }
        }
        let done = self.network.random.below(3) > 0 && self.network.done.remove(&ticket);
        Ok(done)
    }
}

/// Runs the schedules of all ranks to their end, in an order by `seed`. For an
/// intercommunicator, first all ranks of one group, then all of the other.
pub fn run(members: &[Members], schedules: &mut [Schedule], seed: u64) {
    let mut network =
        Network { lanes: HashMap::new(), done: HashSet::new(), tickets: 0, random: Random::new(seed + 1) };
    let mut left: Vec<usize> = (0..members.len()).collect();
    let mut random = Random::new(seed);
    for _ in 0..200_000 {
        if left.is_empty() {
            let quiet = network.lanes.values().all(|lane| lane.sent.is_empty() && lane.posted.is_empty());
            assert!(quiet, "a message that nobody has received, or a receive of nothing");
            return;
        }
        let turn = random.below(left.len() as u64) as usize;
        let me = left[turn];
        let peers = match members[me].remote {
            Some(_) if me < members[0].size as usize => members[0].size as usize,
            _ => 0,
        };
        let mut place = Place { network: &mut network, me, peers };
        match schedules[me].advance(&mut place, 7) {
            Ok(Advance::Pending) => {}
            Ok(Advance::Done) => drop(left.swap_remove(turn)),
            Ok(Advance::Call(call)) => {
                assert!(matches!(schedules[me].advance(&mut place, 7), Ok(Advance::Pending)));
                // SAFETY: the schedule and the buffers of the test are there.
                unsafe { call.run() };
                schedules[me].called_back();
            }
            Err(failure) => panic!("rank {me}: {failure}"),
        }
    }
    panic!("ranks {left:?} do not come to an end");
}
