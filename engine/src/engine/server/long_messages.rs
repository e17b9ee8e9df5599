//! Requests and answers that are longer than a buffer of the protocol. Such a message stays where it is, and the server that needs
//! it fetches it by the network's own means.
//!
//! | | the server of the one who asks | the server of the member's node |
//! |---|---|---|
//! | request | lends it until the wish has ended, and sends a descriptor in its place | fetches it, and does it; what comes later from that node waits |
//! | answer | fetches it to where it belongs, and gives it back | keeps and lends it, and sends a descriptor in its place |
//!
//! Where a network lends nothing, the message itself goes: the protocol asks for a request that has come without a descriptor, and
//! the answer is sent as it is.

use super::desk::At;
use super::moves::{descriptor_from_bytes, descriptor_to_bytes, Block, Then};
use super::wishes::{Slip, REFUSED, ROOM_HEAD};
use crate::onesided::{BUFFER_BYTES, MOST_LONG};
use crate::transport::AccessDescriptor;
use crate::LocalRank;

/// No request is longer: the places of its pieces count as its data do.
const LONGEST: u64 = MOST_LONG + BUFFER_BYTES as u64;

/// For a rank of this node that asks.
impl At<'_> {
    /// Whether a wish is a long request for another node: it is lent, where that can be.
    pub fn lends_body(&mut self, ticket: u64, from: LocalRank, slip: &Slip) -> bool {
        let is_long = slip.bytes as usize > BUFFER_BYTES && slip.node != self.server.node;
        if is_long {
            self.lend_block((ticket, slip.node), from, (slip.body, u64::from(slip.bytes)));
        }
        is_long
    }

    /// The other server lends the answer.
    pub fn fetch_answer(&mut self, ticket: u64, memory: AccessDescriptor) {
        let Some((from, slip)) = self.desk.wish(ticket) else { return };
        let room = self.room_for(from, (slip.room + ROOM_HEAD, memory.bytes));
        if !self.begin_to_fetch(slip.node, memory, room, Then::End(ticket)) {
            self.finish(ticket, REFUSED, &[]);
            self.give_back(slip.node, memory.key);
        }
    }
}

/// For ranks of other nodes.
impl At<'_> {
    /// Begins to fetch the request of a node that has a ticket; `false`: it is not lent.
    pub fn fetch_body(&mut self, (node, ticket): (u32, u64), descriptor: &[u8]) -> bool {
        let lent = descriptor_from_bytes(descriptor);
        let Some(memory) = lent.filter(|memory| memory.key != 0 && memory.bytes <= LONGEST) else {
            return false;
        };
        self.begin_to_fetch(node, memory, Block::aside(memory.bytes), Then::Execute(ticket))
    }

    /// An answer for a node: if it is long, it is kept and lent, where that can be.
    pub fn lend_answer(&mut self, node: u32, answer: &mut Vec<u8>) {
        if answer.len() <= BUFFER_BYTES {
            return;
        }
        let peer = self.engine.leader_of(node);
        let memory = self.desk.mail.lend(peer, answer.as_ptr() as u64, answer.len() as u64);
        if memory.key != 0 {
            let kept = std::mem::replace(answer, descriptor_to_bytes(memory));
            self.desk.moves.kept.add(kept.len());
            self.desk.moves.got.insert((node, memory.key), (None, memory, Block::Aside(kept)));
        }
    }
}
