//! What the server of a node has in hand: wishes of its ranks, members that it serves, and what the protocol wants done
//! outside.

use super::ending::{self, Ending};
use super::mail::{Mail, Sort};
use super::moves::{lent_answer, Moves, Word};
use super::served_members::{read_body, Entering, Key, Member};
use super::waiting_locks::{Asker, WaitingLocks};
use super::wishes::{Slip, What, Wish, CUT, DONE, GONE, REFUSED};
use super::NodeServer;
use crate::engine::onesided::add_answer;
use crate::engine::Engine;
use crate::onesided::server::{Asked, Body, End, Header, Kind, Outside, ANSWER, FETCH};
use crate::onesided::{Ask, Lock, Locking};
use crate::transport::node::doorbell_of;
use crate::transport::{AccessDescriptor, Means, OfferedMemory};
use crate::{JobRank, LocalRank};
use std::collections::{HashMap, VecDeque};
use std::mem::offset_of;
use std::sync::atomic::{fence, Ordering};

/// A refusal; there is one.
pub const NO: u64 = 1;

/// A wish that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub from: LocalRank,
    /// Where it lies there.
    pub address: u64,
    pub slip: Slip,
    /// Of a lock or a block that is put: the word that it is granted has come, perhaps before the answer.
    pub is_granted: bool,
    /// The same: it is known that it has to be waited for.
    pub is_queued: bool,
    /// The other server has answered, and a block or a long answer is being fetched for it.
    pub is_moving: bool,
}

impl Taken {
    pub fn is(&self, what: What) -> bool {
        self.slip.what == what as u32
    }
}

/// What a server has in hand.
pub struct Desk {
    pub mail: Mail,
    pub(super) members: HashMap<Key, Member>,
    pub(super) wishes: HashMap<u64, Taken>,
    /// Bodies of what the server itself asks others for.
    own: HashMap<u64, Vec<u8>>,
    last: u64,
    pub(super) waiting: WaitingLocks,
    pub moves: Moves,
    /// What is to be asked for next.
    pub next: VecDeque<Asked>,
}

/// The same in hand.
pub struct At<'a> {
    pub desk: &'a mut Desk,
    pub engine: &'a Engine,
    pub server: &'a NodeServer,
}

impl Desk {
    /// Nothing in hand.
    pub fn new(mail: Mail) -> Desk {
        Desk {
            mail,
            members: HashMap::new(),
            wishes: HashMap::new(),
            own: HashMap::new(),
            last: 0,
            waiting: WaitingLocks::default(),
            moves: Moves::default(),
            next: VecDeque::new(),
        }
    }

    fn ticket(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A member of an exposure.
    pub fn member(&self, key: Key) -> Option<&Member> {
        self.members.get(&key)
    }

    /// The rank whose wish has a ticket, and what it is.
    pub fn wish(&self, ticket: u64) -> Option<(LocalRank, Slip)> {
        self.wishes.get(&ticket).map(|taken| (taken.from, taken.slip))
    }

    /// The wishes that a node's server has answered, and for which something is still being fetched.
    pub fn tickets_moving(&self, node: u32) -> Vec<u64> {
        let is_meant = |taken: &Taken| taken.is_moving && taken.slip.node == node;
        self.wishes.iter().filter(|(_, taken)| is_meant(taken)).map(|(&ticket, _)| ticket).collect()
    }
}

/// Memory of the node's ranks.
impl At<'_> {
    pub fn is_own(&self, rank: LocalRank) -> bool {
        rank == self.server.leader
    }

    fn job_rank(&self, rank: LocalRank) -> JobRank {
        JobRank(self.engine.job.local_ranks[rank.0 as usize])
    }

    /// Reads memory of a rank; `false`: it cannot be read.
    pub fn read(&self, rank: LocalRank, address: u64, to: &mut [u8]) -> bool {
        if self.is_own(rank) {
            // SAFETY: this process has put as many bytes there for the server, and waits for it.
            unsafe { std::ptr::copy(address as *const u8, to.as_mut_ptr(), to.len()) };
            return true;
        }
        let (peer, pieces) = (self.job_rank(rank), [(to.as_mut_ptr() as usize, to.len())]);
        let memory = AccessDescriptor::host(address, to.len() as u64);
        // SAFETY: `to` is that long; what cannot be read is an error.
        to.is_empty() || self.engine.server_reaches(|way| unsafe { way.read(peer, memory, &pieces) }).is_ok()
    }

    pub fn write(&self, rank: LocalRank, address: u64, from: &[u8]) {
        if self.is_own(rank) {
            // SAFETY: this process has room for as many bytes there, and waits for them.
            unsafe { std::ptr::copy(from.as_ptr(), address as *mut u8, from.len()) };
            return;
        }
        let memory = AccessDescriptor::host(address, from.len() as u64);
        // A rank that has died meanwhile needs no answer.
        // SAFETY: `from` is that long; what cannot be written is an error.
        let _ = self
            .engine
            .server_reaches(|way| unsafe { way.write(self.job_rank(rank), memory, from.as_ptr()) });
    }

    fn is_in_reach(&self, rank: LocalRank) -> bool {
        let means = || self.engine.server_reaches(|way| way.means(self.job_rank(rank)));
        self.is_own(rank) || matches!(means(), Means::Direct | Means::CrossMemory)
    }
}

/// Wishes.
impl At<'_> {
    /// Takes what ranks of this node ask for.
    pub fn take_wishes(&mut self) {
        let node = &self.engine.job.node;
        let asking = self.server.words.take_asking(node.local_ranks());
        for rank in asking {
            let words = super::ServerWords::of(node, rank);
            if !self.is_in_reach(rank) {
                words.take();
                words.refused.store(1, Ordering::SeqCst);
                doorbell_of(node, rank).ring();
                continue;
            }
            let (mut newest, mut wishes) = (words.take(), Vec::new());
            while newest != 0 {
                let mut bytes = [0u8; size_of::<Wish>()];
                if !self.read(rank, newest, &mut bytes) {
                    break;
                }
                // SAFETY: there are as many bytes, and any are integers.
                let wish: Wish = unsafe { bytes.as_ptr().cast::<Wish>().read_unaligned() };
                wishes.push((newest, wish.slip));
                newest = wish.older.into_inner();
            }
            wishes.into_iter().rev().for_each(|(address, slip)| self.take(rank, address, slip));
        }
    }

    fn take(&mut self, from: LocalRank, address: u64, slip: Slip) {
        let ticket = self.desk.ticket();
        let taken = Taken { from, address, slip, is_granted: false, is_queued: false, is_moving: false };
        self.desk.wishes.insert(ticket, taken);
        if taken.is(What::Enter) || taken.is(What::Leave) {
            let body = self.body_of_wish(&taken);
            let done = if taken.is(What::Enter) { self.enter(&body, from) } else { self.leave(&body) };
            return self.finish(ticket, if done { DONE } else { REFUSED }, &[]);
        }
        if (taken.is(What::Put) || taken.is(What::Get)) && !self.begin_move(ticket, from, &slip) {
            return self.finish(ticket, CUT, &[]);
        }
        if slip.node == self.server.node {
            let (body, mut answer) = (self.body_of_wish(&taken), Vec::new());
            let done = self.do_asked(self.server.node, ticket, &body, &mut answer);
            let end = done.map_or_else(End::Refused, |()| End::Done);
            return self.complete(ticket, end, &answer);
        }
        let rank = self.job_rank(from).0;
        let asked = Asked { target: slip.node, target_rank: slip.rank, rank, ticket, ..operation() };
        let flags = if self.lends_body(ticket, from, &slip) { ANSWER | FETCH } else { ANSWER };
        self.desk.next.push_back(Asked { flags, ..asked });
    }

    fn body_of_wish(&self, taken: &Taken) -> Vec<u8> {
        let mut body = vec![0; taken.slip.bytes as usize];
        if !self.read(taken.from, taken.slip.body, &mut body) {
            body.clear();
        }
        body
    }

    /// What is asked for by a ticket, by this server itself or a rank.
    fn body_of(&self, ticket: u64) -> Vec<u8> {
        let own = self.desk.own.get(&ticket).cloned();
        let wish = || self.desk.wishes.get(&ticket).map(|taken| self.body_of_wish(taken));
        own.or_else(wish).unwrap_or_default()
    }

    /// A wish has ended.
    pub fn finish(&mut self, ticket: u64, ended: u8, data: &[u8]) {
        let Some(taken) = self.desk.wishes.get(&ticket) else { return };
        let most = taken.slip.most as usize;
        let mut answer = (data.len() as u64).to_ne_bytes().to_vec();
        answer.extend_from_slice(&data[..data.len().min(most)]);
        self.finish_with(ticket, ended, &answer);
    }

    /// The same; this is what is missing in the room for the answer, whose length comes first.
    pub(super) fn finish_with(&mut self, ticket: u64, ended: u8, answer: &[u8]) {
        let Some(taken) = self.desk.wishes.remove(&ticket) else { return };
        self.end_move(ticket, &taken.slip);
        self.write(taken.from, taken.slip.room, answer);
        fence(Ordering::SeqCst); // answered: paired with the wait of the one who asks
        self.write(taken.from, taken.address + offset_of!(Wish, ended) as u64, &[ended]);
        fence(Ordering::SeqCst);
        doorbell_of(&self.engine.job.node, taken.from).ring();
    }
}

/// Members.
impl At<'_> {
    fn enter(&mut self, body: &[u8], local: LocalRank) -> bool {
        // What a rank has said last may be found after the news that it has failed.
        let has_failed = self.engine.failure_of(self.job_rank(local)).is_some();
        let entering = Entering::from_bytes(body).filter(|_| !has_failed);
        let Some(entering) = entering else { return false };
        let Some(member) = Member::new(self.engine, entering, local) else { return false };
        self.desk.members.insert(entering.key(), member);
        self.count_members();
        true
    }

    fn leave(&mut self, body: &[u8]) -> bool {
        let Some(&[context, member]) = words_of(body).first_chunk() else { return false };
        let key = (context, member as u32);
        self.forget_blocks(key);
        let is_there = self.desk.members.remove(&key).is_some();
        self.count_members();
        is_there
    }

    /// Members of ranks that have failed are served no more, and a node whose first rank has failed has no server.
    pub fn forget_failed(&mut self) {
        let engine = self.engine;
        self.desk.members.retain(|_, member| engine.failure_of(member.rank()).is_none());
        self.count_members();
        for rank in engine.job.failed() {
            let node = engine.node_of(rank);
            if !engine.is_near(rank) && (0..rank.0).all(|other| engine.node_of(JobRank(other)) != node) {
                self.desk.mail.lose(node);
            }
        }
    }

    fn count_members(&self) {
        let number = self.desk.members.len() as u32;
        self.server.words.members.store(number, Ordering::SeqCst);
        if number == 0 {
            doorbell_of(&self.engine.job.node, self.server.leader).ring();
        }
    }
}

/// The end.
impl At<'_> {
    /// Says words about the end, or hears those that this server says to itself.
    pub fn say(&mut self, ending: &mut Ending, words: Vec<(u32, ending::Word)>) {
        for (to, word) in words {
            if to != self.server.node {
                let peer = self.engine.leader_of(to);
                self.desk.mail.send((to, peer), Sort::End(word), Vec::new());
                continue;
            }
            self.hear(ending, word);
        }
    }

    /// A word about the end has come.
    pub fn hear(&mut self, ending: &mut Ending, word: ending::Word) {
        let words = ending.hear(word);
        self.say(ending, words);
        if word == ending::Word::Go {
            self.server.words.may_end.store(1, Ordering::SeqCst);
            doorbell_of(&self.engine.job.node, self.server.leader).ring();
        }
    }
}

/// What is done here.
impl At<'_> {
    /// Does what a rank of some node has asked for.
    fn do_asked(&mut self, node: u32, ticket: u64, body: &[u8], answer: &mut Vec<u8>) -> Result<(), u64> {
        if let Some((word, number)) = word_of(body) {
            self.is_told(word, number);
            return Ok(());
        }
        let (key, me, ask, data) = read_body(body).map_err(|_| NO)?;
        let asker = Asker { node, ticket, member: me };
        match ask {
            Ask::Lock(kind, mutex) => {
                let is_held = self.lock((key, mutex, kind), asker)?;
                answer.push(u8::from(is_held));
            }
            Ask::TryLock(mutex) => {
                let member = self.desk.members.get(&key).ok_or(NO)?;
                let found = member.lock_of(self.engine, mutex).ok_or(NO)?;
                let turn = found.lock.try_to_ask();
                if let Some(turn) = turn {
                    found.lock.enter(Lock::Exclusive, turn, me);
                }
                answer.extend(u64::from(turn.is_some()).to_ne_bytes());
            }
            Ask::Unlock(kind, mutex) => self.unlock((key, mutex, kind))?,
            Ask::Several(locking) if locking != Locking::default() => {
                self.do_under_lock((key, locking), asker, data, answer)?;
            }
            Ask::Take(address, bytes) => {
                answer.push(self.take_block(asker, key, (address, bytes), data)?);
            }
            Ask::Lend(address, bytes) => answer.extend(self.lend_memory(node, key, (address, bytes))?),
            _ => {
                let member = self.desk.members.get(&key).ok_or(NO)?;
                add_answer(answer, self.engine.obey(member, ask, data).map_err(|_| NO)?);
            }
        }
        Ok(())
    }

    /// Says a word to the server of a node, which may be this one.
    pub fn tell(&mut self, node: u32, word: Word, number: u64) {
        if node == self.server.node {
            return self.is_told(word, number);
        }
        let own = self.desk.ticket();
        let body = [word as u64, number].iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.desk.own.insert(own, body);
        let rank = self.engine.rank();
        self.desk.next.push_back(Asked { target: node, rank, ticket: own, ..operation() });
    }

    /// The server of a node says so.
    fn is_told(&mut self, word: Word, number: u64) {
        match word {
            Word::Granted => self.granted(number),
            Word::Failed => self.finish(number, REFUSED, &[]),
        }
    }
}

/// Blocks.
impl At<'_> {
    /// The server of another node has answered a wish for a block.
    fn is_answered(&mut self, ticket: u64, answer: &[u8]) {
        let Some(&taken) = self.desk.wishes.get(&ticket) else { return };
        match answer {
            _ if taken.is(What::Get) => self.fetch_block(ticket, (taken.from, taken.slip), answer),
            [CUT] => self.finish(ticket, CUT, &[]),
            _ if taken.is_granted => self.finish(ticket, DONE, &[]),
            _ => {}
        }
    }
}

impl Outside for At<'_> {
    fn send(&mut self, to: u32, header: &Header, body: Body<'_>) {
        let mut found;
        let body = match body {
            Body::Bytes(bytes) => bytes,
            Body::Own(ticket) => {
                found = if header.has(FETCH) { Vec::new() } else { self.body_of(ticket) };
                self.add_descriptor(ticket, &mut found);
                &found
            }
            Body::Data(ticket) => {
                found = self.body_of(ticket);
                &found
            }
        };
        let mut message = Header { bytes: body.len() as u32, ..*header }.write().to_vec();
        message.extend_from_slice(body);
        self.desk.mail.send((to, self.engine.leader_of(to)), Sort::Protocol, message);
    }

    fn execute(
        &mut self,
        request: &Header,
        body: &[u8],
        fetched: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), u64> {
        let body = if request.has(FETCH) { fetched } else { body };
        self.do_asked(request.origin, request.ticket, body, answer)?;
        self.lend_answer(request.origin, answer);
        Ok(())
    }

    fn has_room(&self, _: u32) -> bool {
        self.desk.moves.kept.has_room()
    }

    fn fetch(&mut self, request: &Header, body: &[u8]) -> bool {
        self.fetch_body((request.origin, request.ticket), body)
    }

    fn complete(&mut self, ticket: u64, end: End, data: &[u8]) {
        if self.desk.own.remove(&ticket).is_some() {
            return;
        }
        let Some(taken) = self.desk.wishes.get_mut(&ticket) else { return };
        let ended = match end {
            End::Done | End::Inherited => DONE,
            End::Refused(_) => REFUSED,
            End::Gone => GONE,
        };
        if ended == DONE && (taken.is(What::Put) || taken.is(What::Get)) {
            (taken.is_queued, taken.is_moving) = (true, true);
            return self.is_answered(ticket, data);
        }
        if let Some(memory) = lent_answer(&taken.slip, data).filter(|_| ended == DONE) {
            taken.is_moving = true;
            return self.fetch_answer(ticket, memory);
        }
        if ended == DONE && (taken.is(What::Lock) || taken.is(What::Locked)) {
            return self.lock_is_answered(ticket, data);
        }
        self.finish(ticket, ended, data);
    }
}

/// A word that servers say to each other, and its number.
fn word_of(body: &[u8]) -> Option<(Word, u64)> {
    let &[first, number] = words_of(body).first_chunk()?;
    Some((Word::of(first)?, number))
}

fn operation() -> Asked {
    Asked { kind: Kind::Operation, ..Asked::default() }
}

/// The words of a body.
fn words_of(body: &[u8]) -> Vec<u64> {
    body.chunks_exact(8).take(2).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes"))).collect()
}
