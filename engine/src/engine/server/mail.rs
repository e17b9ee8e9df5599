//! The messages between servers, over a lane of their own of the network: each whole, in order from one to another. One that is
//! longer than a payload of the network goes in several packets.

use super::ending::Word;
use crate::transport::network::Network;
use crate::transport::{AccessDescriptor, Letter, Load, Source, Told};
use crate::{JobRank, Result};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Kinds of the packets: a message, and that something was fetched, which has words only if it could not be.
const MESSAGE: u8 = 1;
const FETCHED: u8 = 2;

/// In the second word of a packet: more of the message follows.
const MORE: u64 = 1 << 8;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// One of the protocol.
    Protocol,
    /// A word about the end.
    End(Word),
    /// That memory which was lent is not needed any more: its key.
    Returned,
}

impl Sort {
    const ALL: [Sort; 4] = [Sort::Protocol, Sort::End(Word::Done), Sort::End(Word::Go), Sort::Returned];

    fn number(self) -> u64 {
        Sort::ALL.iter().position(|&sort| sort == self).unwrap_or(0) as u64
    }
}

/// What has come.
pub enum Came {
    /// A message of a node.
    Message(u32, Sort, Vec<u8>),
    /// What was fetched by this number, or it could not be.
    Fetched(u64, bool),
}

/// A message or a part of one, with the second word of its packet.
type Message = (u64, Vec<u8>);

/// The messages of a server.
pub struct Mail {
    network: Box<dyn Network>,
    node: u32,
    /// Messages for which there was no room, in order.
    waiting: BTreeMap<u32, (JobRank, VecDeque<Message>)>,
    /// What has come of messages of nodes that are not here whole.
    begun: BTreeMap<u32, Vec<u8>>,
    /// Nodes that cannot be reached any more, and those that were named.
    lost: Vec<u32>,
    named: BTreeSet<u32>,
}

impl Mail {
    /// Of the server of a node.
    pub fn new(network: Box<dyn Network>, node: u32) -> Mail {
        let (waiting, begun) = (BTreeMap::new(), BTreeMap::new());
        Mail { network, node, waiting, begun, lost: Vec::new(), named: BTreeSet::new() }
    }

    /// Sends a message to the server of a node, which is a thread of a rank.
    pub fn send(&mut self, to: (u32, JobRank), sort: Sort, message: Vec<u8>) {
        let longest = self.network.longest_payload();
        if message.len() <= longest {
            return self.send_part(to, (sort.number(), message));
        }
        let last = (message.len() - 1) / longest;
        for (number, part) in message.chunks(longest).enumerate() {
            let more = if number < last { MORE } else { 0 };
            self.send_part(to, (sort.number() | more, part.to_vec()));
        }
    }

    fn send_part(&mut self, to: (u32, JobRank), message: Message) {
        let waits = self.waiting.get(&to.0).is_some_and(|(_, queue)| !queue.is_empty());
        if waits || !self.push(to, &message) {
            let (_, queue) = self.waiting.entry(to.0).or_insert_with(|| (to.1, VecDeque::new()));
            queue.push_back(message);
        }
    }

    /// Whether it has gone; what is for a node that is gone counts so.
    fn push(&mut self, (node, peer): (u32, JobRank), message: &Message) -> bool {
        match self.try_to_push(peer, message) {
            Ok(has_gone) => has_gone,
            Err(_) => {
                self.lost.push(node);
                true
            }
        }
    }

    fn try_to_push(&mut self, peer: JobRank, (word, message): &Message) -> Result<bool> {
        let (header, bytes) = ([u64::from(self.node), *word], message.len());
        if self.network.takes_letter(peer, bytes)? {
            return self.network.push(peer, &Letter { kind: MESSAGE, header, payload: message });
        }
        let block = message.as_ptr();
        // SAFETY: the message is as long.
        if unsafe { self.network.push_block(peer, (MESSAGE, header), &[], (block, bytes))? } {
            return Ok(true);
        }
        let load = Load { kind: MESSAGE, header, bytes, is_awaited: false, source: Source::Block(block) };
        // SAFETY: the same.
        let Some(packet) = (unsafe { self.network.load(peer, load)? }) else { return Ok(false) };
        let has_gone = self.network.push(peer, &packet.letter())?;
        if !has_gone {
            self.network.unload(&packet);
        }
        Ok(has_gone)
    }

    /// As [`Network::count_packets`].
    pub fn count_packets(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) {
        self.network.count_packets(show);
    }

    /// Sends what has waited, as far as there is room now.
    pub fn push_waiting(&mut self) {
        for (node, (peer, mut queue)) in std::mem::take(&mut self.waiting) {
            while queue.front().is_some_and(|message| self.push((node, peer), message)) {
                queue.pop_front();
            }
            if !queue.is_empty() {
                self.network.want_room(peer);
                self.network.want_load();
                self.waiting.insert(node, (peer, queue));
            }
        }
    }

    /// Whether something waits for room.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What has come next.
    pub fn next(&mut self) -> Option<Came> {
        loop {
            let arrival = self.network.peek()?;
            let [first, word] = arrival.header;
            if arrival.kind == FETCHED {
                self.network.advance(&arrival);
                return Some(Came::Fetched(first, arrival.bytes == 0));
            }
            let node = first as u32;
            let mut message = self.begun.remove(&node).unwrap_or_default();
            // SAFETY: it stays until it is advanced over, and has so many bytes.
            let part = unsafe { std::slice::from_raw_parts(arrival.payload(), arrival.bytes as usize) };
            message.extend_from_slice(part);
            self.network.advance(&arrival);
            if word & MORE == 0 {
                let sort = Sort::ALL.get(word as usize).copied().unwrap_or(Sort::Protocol);
                return Some(Came::Message(node, sort, message));
            }
            self.begun.insert(node, message);
        }
    }

    /// Lends memory to the server of another node, which is a thread of a rank; without a key it cannot fetch.
    pub fn lend(&mut self, to: JobRank, address: u64, bytes: u64) -> AccessDescriptor {
        self.network.register(to, address as *const u8, bytes)
    }

    /// It is not needed any more.
    pub fn take_back(&mut self, from: JobRank, memory: AccessDescriptor) {
        self.network.unregister(from, memory);
    }

    /// Begins to fetch memory that such a server lends, to a place; `false`: that cannot be.
    ///
    /// # Safety
    /// The place can be written, and nothing else uses it, until [`Came::Fetched`] or [`Mail::forget`].
    pub unsafe fn fetch(
        &mut self,
        from: JobRank,
        memory: AccessDescriptor,
        to: (usize, usize),
        number: u64,
    ) -> bool {
        let told = Told { kind: FETCHED, header: [number, 0] };
        // SAFETY: by the caller.
        unsafe { self.network.fetch(from, memory, &[to], told) }.is_ok()
    }

    /// What was fetched so is not wanted any more.
    pub fn forget(&mut self, from: JobRank, number: u64) {
        self.network.forget_fetches(from, &|told| told.kind == FETCHED && told.header[0] == number);
    }

    /// A node has no server any more: the rank that had it has failed.
    pub fn lose(&mut self, node: u32) {
        self.lost.push(node);
    }

    /// A node that cannot be reached any more; each is named once.
    pub fn next_lost(&mut self, node_of: impl Fn(JobRank) -> u32) -> Option<u32> {
        let found = std::mem::take(&mut self.lost).into_iter().chain(self.network.lost().map(node_of));
        self.lost = found.filter(|node| !self.named.contains(node)).collect();
        let lost = self.lost.pop()?;
        self.named.insert(lost);
        self.waiting.remove(&lost);
        self.begun.remove(&lost);
        Some(lost)
    }

    /// The rank takes leave of the others.
    pub fn leave(&mut self) {
        self.network.leave();
    }
}
