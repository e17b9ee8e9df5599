//! Long blocks of an operation on another node. Servers move them whole, straight between the memory of the origin and that of
//! the target (`engine::server::moving_blocks`), so the origin lends its block until it settles. What has to be cut for some reason
//! goes in pieces.

use super::block::{Block, Goes};
use super::lines::{Line, Message};
use super::request::{all_of, Request};
use crate::engine::server::body_of;
use crate::engine::Engine;
use crate::onesided::{Ask, Pieces, Region, MOST_BYTES};
use crate::Result;

/// The most bytes that go at once: so many lie aside in a server, if the origin is another process.
const MOST: u64 = 1 << 20;

impl Engine {
    /// Whether a block of so many bytes goes whole between here and a region: more than one message of the protocol takes.
    #[inline]
    pub(super) fn goes_whole(&self, region: &Region, bytes: u64) -> bool {
        bytes > MOST_BYTES && region.servant.takes_blocks && self.goes_by_messages(region)
    }

    /// Moves a block. Where answers may come late it is lent until the origin settles.
    ///
    /// # Safety
    /// It can be read here, or written if it goes here, and lies in the region.
    pub(super) unsafe fn move_block(&self, region: &Region, block: Block) -> Result<()> {
        block.parts(MOST).try_for_each(|part| self.ask_to_move(region.servant, part))?;
        self.have_answers_now(region)
    }

    /// Moves pieces of which each goes whole, and waits for all, unless answers may come late.
    ///
    /// # Safety
    /// As [`Engine::move_block`].
    pub(super) unsafe fn move_pieces(&self, region: &Region, pieces: &impl Pieces, goes: Goes) -> Result<()> {
        let (bytes, late) = (pieces.bytes(), region.answering_late());
        pieces.each(|local, there| {
            let block = Block { goes, there, here: local as u64, bytes };
            // SAFETY: by the caller.
            unsafe { self.move_block(&late, block) }
        })?;
        self.have_answers_now(region)
    }

    /// A block was not moved: it is asked for in pieces, by messages of the same number.
    pub(super) fn cut(&self, line: &mut Line, number: u64, block: Block) -> Result<usize> {
        let (servant, mut under_way) = (line.servant, 0);
        for Block { goes, there, here, bytes } in block.parts(MOST_BYTES) {
            let mut message = Message::new(servant, number);
            match goes {
                Goes::There => {
                    // SAFETY: whoever asked has lent these bytes until it settles.
                    let data = unsafe { std::slice::from_raw_parts(here as *const u8, bytes as usize) };
                    let request = Request { ask: Ask::Write(there), bytes: data.len(), add: &all_of(data) };
                    message.add(&request, std::iter::empty());
                }
                Goes::Here => {
                    let place = std::iter::once((here as usize, bytes as usize));
                    message.add(&Request::bare(Ask::Read(there, bytes)), place);
                }
            }
            message.lends = true;
            under_way += self.send_message(line, message)?;
        }
        Ok(under_way)
    }

    /// What servers are asked for to move a block.
    pub(super) fn begin_block(&self, line: &mut Line, mut message: Message, block: Block) -> Result<usize> {
        let ((what, ask), Block { here, bytes, .. }) = (block.ask(), block);
        let body = body_of(line.servant, ask, &[]);
        let sent = self.begin_to_move(line.servant, (what, body), (here, bytes))?;
        (message.block, message.lends, message.bytes) = (Some(block), true, bytes as usize);
        let under_way = message.bytes;
        line.sent.push_back((sent, message));
        Ok(under_way)
    }
}
