//! Long blocks between memory of ranks of different nodes. They do not go through the buffers of the protocol, but as the
//! network moves long messages: straight from where they lie to where they belong.
//!
//! | | who asks | the server of its node | the server of the member's node |
//! |---|---|---|---|
//! | put | | lends the block, and says where it lies | fetches it to where it belongs, and tells that it is there |
//! | get | | fetches the block, and gives it back | lends it, and says where it lies |
//!
//! The server is a thread of one rank. It lends and fetches that rank's memory where it is. Blocks of other ranks of its node
//! lie aside meanwhile: a rank has at most a few MiB of them under way. A member's memory is reached by plain loads and
//! stores, or the block is cut: it goes in pieces then, through the protocol.

use super::desk::{At, NO};
use super::mail::Sort;
use super::moves::{descriptor_from_bytes, descriptor_to_bytes, Block, Fetch, Moves, Request, Then, Word};
use super::served_members::Key;
use super::waiting_locks::Asker;
use super::wishes::{Slip, What, CUT, DONE, GONE, REFUSED, ROOM_HEAD};
use crate::engine::onesided::Served;
use crate::onesided::Region;
use crate::transport::AccessDescriptor;
use crate::LocalRank;

/// For a rank of this node that asks.
impl At<'_> {
    /// A rank wants a block moved; `false`: it has to be cut.
    pub fn begin_move(&mut self, ticket: u64, from: LocalRank, slip: &Slip) -> bool {
        slip.node != self.server.node
            && (slip.what == What::Get as u32
                || self.lend_block((ticket, slip.node), from, (slip.block, slip.block_bytes)))
    }

    /// Lends memory of a rank, address and length, to the server of a node until a wish has ended; whether that can be.
    pub fn lend_block(
        &mut self,
        (ticket, node): (u64, u32),
        from: LocalRank,
        (address, bytes): (u64, u64),
    ) -> bool {
        let mut block = Block::Here(address);
        if !self.is_own(from) {
            let mut aside = vec![0; bytes as usize];
            if !self.read(from, address, &mut aside) {
                return false;
            }
            block = Block::Aside(aside);
        }
        let memory = self.desk.mail.lend(self.engine.leader_of(node), block.address(), bytes);
        let is_lent = memory.key != 0;
        if is_lent {
            self.desk.moves.put.insert(ticket, (memory, block));
        }
        is_lent
    }

    /// Where so many bytes are fetched to that belong to an address of a rank.
    pub fn room_for(&self, from: LocalRank, (address, bytes): (u64, u64)) -> Block {
        match self.is_own(from) {
            true => Block::Here(address),
            false => Block::aside(bytes),
        }
    }

    /// Adds what the other server has to know of a block, if the wish is to put one.
    pub fn add_descriptor(&self, ticket: u64, body: &mut Vec<u8>) {
        if let Some((memory, _)) = self.desk.moves.put.get(&ticket) {
            body.extend(descriptor_to_bytes(*memory));
        }
    }

    /// The other server has answered that it lends memory: fetches it for a rank that gets it.
    pub fn fetch_block(&mut self, ticket: u64, (from, slip): (LocalRank, Slip), answer: &[u8]) {
        let lent = descriptor_from_bytes(answer).filter(|memory| memory.key != 0);
        let Some(memory) = lent.filter(|memory| memory.bytes == slip.block_bytes) else {
            return self.finish(ticket, CUT, &[]);
        };
        let block = self.room_for(from, (slip.block, slip.block_bytes));
        if !self.begin_to_fetch(slip.node, memory, block, Then::End(ticket)) {
            self.finish(ticket, REFUSED, &[]);
            self.give_back(slip.node, memory.key);
        }
    }

    /// A wish has ended: a block is not lent any more.
    pub fn end_move(&mut self, ticket: u64, slip: &Slip) {
        if let Some((memory, _block)) = self.desk.moves.put.remove(&ticket) {
            self.desk.mail.take_back(self.engine.leader_of(slip.node), memory);
        }
    }
}

/// For ranks of other nodes.
impl At<'_> {
    /// Begins to fetch a block to the memory of a member; what is answered: 0, or that it has to be cut.
    ///
    /// # Errors
    /// A refusal.
    pub fn take_block(&mut self, asker: Asker, key: Key, there: (u64, u64), data: &[u8]) -> Result<u8, u64> {
        let memory = descriptor_from_bytes(data).filter(|memory| memory.bytes == there.1).ok_or(NO)?;
        let Some((region, here)) = self.plain_place(key, there)? else { return Ok(CUT) };
        match self.begin_to_fetch(
            asker.node,
            memory,
            Block::Here(here),
            Then::Tell(asker, key, Box::new(region)),
        ) {
            true => Ok(0),
            false => Err(NO),
        }
    }

    /// Lends memory of a member to the server of a node: the descriptor, which cannot be reached if it has to be cut.
    ///
    /// # Errors
    /// A refusal.
    pub fn lend_memory(&mut self, node: u32, key: Key, there: (u64, u64)) -> Result<Vec<u8>, u64> {
        let mut memory = AccessDescriptor::unreachable(there.1);
        if let Some((_, here)) = self.plain_place(key, there)? {
            memory = self.desk.mail.lend(self.engine.leader_of(node), here, there.1);
            if memory.key != 0 {
                self.desk.moves.got.insert((node, memory.key), (Some(key), memory, Block::Here(here)));
            }
        }
        Ok(descriptor_to_bytes(memory))
    }

    /// Memory that the server of a node lends is not needed any more. That is no request, which might wait for the room that it
    /// makes.
    pub fn give_back(&mut self, node: u32, key: u64) {
        let peer = self.engine.leader_of(node);
        self.desk.mail.send((node, peer), Sort::Returned, key.to_ne_bytes().to_vec());
    }

    /// It is not needed any more.
    pub fn is_returned(&mut self, node: u32, key: &[u8]) {
        let key = key.try_into().map_or(0, u64::from_ne_bytes);
        if let Some((_, memory, block)) = self.desk.moves.got.remove(&(node, key)) {
            self.desk.moves.kept.remove(block.kept());
            self.desk.mail.take_back(self.engine.leader_of(node), memory);
        }
    }

    /// Where memory of a member lies for plain loads and stores.
    fn plain_place(&self, key: Key, (address, bytes): (u64, u64)) -> Result<Option<(Region, u64)>, u64> {
        let member = self.desk.member(key).ok_or(NO)?;
        let region = member.region(self.engine, (address, bytes)).map_err(|_| NO)?;
        let offset = region.place_of(address, bytes).map_err(|_| NO)?;
        Ok(region.here(offset, bytes).map(|here| (region, here as u64)))
    }
}

/// Fetching.
impl At<'_> {
    pub fn begin_to_fetch(&mut self, node: u32, memory: AccessDescriptor, block: Block, then: Then) -> bool {
        let Moves { last, fetches, .. } = &mut self.desk.moves;
        *last += 1;
        let number = *last;
        let fetch = Fetch { node, block, memory, then };
        let fetch = fetches.entry(number).insert_entry(fetch).into_mut();
        let to = (fetch.block.address() as usize, memory.bytes as usize);
        // SAFETY: it is memory of a member, or that of a rank that waits for it, or lies aside until it has come. What is
        // fetched is forgotten before any of these goes.
        let is_begun = unsafe { self.desk.mail.fetch(self.engine.leader_of(node), memory, to, number) };
        if !is_begun {
            self.desk.moves.fetches.remove(&number);
        }
        is_begun
    }

    /// Something has come, or will not. If it is a long request: of which node, its ticket, and what it is.
    pub fn fetched(&mut self, number: u64, has_come: bool) -> Option<Request> {
        let Fetch { node, mut block, memory, then } = self.desk.moves.fetches.remove(&number)?;
        if has_come {
            // SAFETY: all of it has come to where the block lies.
            unsafe { block.is_filled(memory.bytes) };
        }
        match then {
            Then::Execute(ticket) => {
                let Block::Aside(data) = block else { return None };
                return Some((node, ticket, has_come.then_some(data)));
            }
            Then::Tell(Asker { node, ticket, .. }, _, region) => {
                region.changed();
                self.tell(node, if has_come { Word::Granted } else { Word::Failed }, ticket);
            }
            Then::End(ticket) => {
                self.end_of_fetch(ticket, (&block, memory.bytes), has_come);
                self.give_back(node, memory.key);
            }
        }
        None
    }

    /// What was fetched for a wish, a block or an answer, has come, or will not.
    fn end_of_fetch(&mut self, ticket: u64, (block, bytes): (&Block, u64), has_come: bool) {
        let Some((from, slip)) = self.desk.wish(ticket).filter(|_| has_come) else {
            return self.finish(ticket, REFUSED, &[]);
        };
        let is_answer = slip.what != What::Get as u32;
        if let Block::Aside(data) = block {
            self.write(from, if is_answer { slip.room + ROOM_HEAD } else { slip.block }, data);
        }
        match is_answer {
            true => self.finish_with(ticket, DONE, &bytes.to_ne_bytes()),
            false => self.finish(ticket, DONE, &[]),
        }
    }

    /// A node is gone: so are blocks from there, and nobody there needs any.
    pub fn lose_blocks(&mut self, node: u32) {
        self.forget_fetches(|fetch| fetch.node == node);
        self.desk.tickets_moving(node).into_iter().for_each(|ticket| self.finish(ticket, GONE, &[]));
        self.take_all_back(|of, _| of == node);
    }

    /// A member leaves: what still comes to its memory, or from there, is for ranks that have failed.
    pub fn forget_blocks(&mut self, key: Key) {
        self.forget_fetches(|fetch| matches!(fetch.then, Then::Tell(_, of, _) if of == key));
        self.take_all_back(|_, of| of == Some(key));
    }

    fn forget_fetches(&mut self, is_meant: impl Fn(&Fetch) -> bool) {
        let (engine, mail) = (self.engine, &mut self.desk.mail);
        self.desk.moves.fetches.retain(|&number, fetch| {
            let stays = !is_meant(fetch);
            if !stays {
                mail.forget(engine.leader_of(fetch.node), number);
            }
            stays
        });
    }

    fn take_all_back(&mut self, is_meant: impl Fn(u32, Option<Key>) -> bool) {
        let (engine, mail) = (self.engine, &mut self.desk.mail);
        let Moves { got, kept, .. } = &mut self.desk.moves;
        got.retain(|&(node, _), (of, memory, block)| {
            let stays = !is_meant(node, *of);
            if !stays {
                kept.remove(block.kept());
                mail.take_back(engine.leader_of(node), *memory);
            }
            stays
        });
    }
}
