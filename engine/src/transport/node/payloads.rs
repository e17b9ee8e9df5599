//! Long payloads between the ranks of a node: in cells of the sender, which the receiver reads.

use super::cells::{self, Cell};
use super::long_block::{InHand, Long, LONG, PIECED};
use super::{area, NodeTransport};
use crate::transport::{Arrival, Load, Packet, Packets, Payloads, RemoteMemory, Retained, Source};
use crate::{LocalRank, Result};
use std::mem::size_of;

impl Cell {
    fn token(self) -> u64 {
        (self.owner as u64) << 32 | self.index as u64
    }

    fn of_token(token: u64) -> Cell {
        Cell { owner: (token >> 32) as u32, index: token as u32 }
    }
}

/// Its ranks read the memory of each other.
impl RemoteMemory for NodeTransport {}

impl Payloads for NodeTransport {
    fn longest_payload(&self) -> usize {
        cells::LARGEST
    }

    unsafe fn load(&mut self, LocalRank(peer): LocalRank, load: Load<'_>) -> Result<Option<Packet>> {
        let Load { kind, header, bytes, is_awaited, source } = load;
        let room = if is_awaited { cells::LARGEST } else { bytes };
        assert!(bytes <= room, "no payload of {bytes} bytes fits a cell");
        let Some(cell) = self.take_cell(peer, room)? else { return Ok(None) };
        let target = self.cell_address(cell);
        match source {
            // SAFETY: by the caller; the cell is as long and nobody else uses it.
            Source::Block(block) => unsafe { self.peer(peer)?.copies.copy(block, target, bytes) },
            Source::Packed(pack) => pack(target),
        }
        Ok(Some(Packet::with(LONG, header, &Long::of_cell(self.me, cell, bytes, kind))))
    }

    unsafe fn push_block(
        &mut self,
        LocalRank(peer): LocalRank,
        what: (u8, [u64; 2]),
        head: &[u8],
        block: (*const u8, usize),
    ) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.push_pieces(peer, what, head, block) }
    }

    #[inline]
    fn part(
        &mut self,
        retained: Option<&Retained>,
        (payload, bytes): (*const u8, usize),
        at: usize,
    ) -> Result<(*const u8, usize)> {
        let block = match retained {
            Some(retained) if retained.token & PIECED != 0 => self.kept[slot(retained.token)],
            Some(_) => None,
            None => self.in_hand,
        };
        match block {
            Some(block) if block.is_in_pieces() && retained.is_none() => self.piece_in_hand(&block, at),
            Some(block) if block.is_in_pieces() => self.piece_of(&block, at),
            _ => Ok((payload.wrapping_add(at), bytes - at)),
        }
    }

    fn unload(&mut self, packet: &Packet) {
        if packet.kind == LONG {
            self.put_away(&packet.read::<Long>().in_hand());
        }
    }

    fn want_load(&mut self) -> bool {
        self.own.control().returned.0.want()
    }

    #[inline]
    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let block = self.in_hand.take().expect("the packet that was looked at last has a long payload");
        let token = if block.is_in_pieces() { self.keep_block(block) } else { block.first().token() };
        Retained { payload: arrival.payload, bytes: u64::from(arrival.bytes), token }
    }

    #[inline]
    fn release(&mut self, retained: Retained) {
        if retained.token & PIECED == 0 {
            return self.give_back(Cell::of_token(retained.token));
        }
        if let Some(block) = self.kept[slot(retained.token)].take() {
            self.let_go(&block);
        }
    }
}

/// The place in [`NodeTransport::kept`].
fn slot(token: u64) -> usize {
    (token & !PIECED) as usize
}

impl NodeTransport {
    /// Keeps a block in pieces; returns by what it is known.
    fn keep_block(&mut self, block: InHand) -> u64 {
        let slot = self.kept.iter().position(Option::is_none).unwrap_or(self.kept.len());
        if slot == self.kept.len() {
            self.kept.push(None);
        }
        self.kept[slot] = Some(block);
        PIECED | slot as u64
    }

    /// Finds the packet for which one in a ring stands.
    #[inline]
    pub(super) fn arrived_long(&mut self, arrival: &Arrival) {
        let long: Long = arrival.read();
        let block = long.in_hand();
        let payload = self.cell_address(block.first()).cast_const();
        let header = arrival.header;
        self.in_hand = Some(block);
        self.long = Some(Arrival { kind: long.kind, is_long: true, bytes: long.bytes, header, payload });
    }

    /// Such a packet has been read, and its payload unless it is retained.
    #[inline(never)]
    pub(super) fn advance_long(&mut self, arrival: &Arrival) {
        self.long = None;
        if let Some(block) = self.in_hand.take() {
            self.let_go(&block);
        }
        let bytes = size_of::<Long>() as u32;
        self.advance(&Arrival { kind: LONG, is_long: false, bytes, ..*arrival });
    }

    /// Takes a cell of one's own of at least `bytes` bytes; `None` when all are out.
    fn take_cell(&mut self, peer: u32, bytes: usize) -> Result<Option<Cell>> {
        // Lines that a near peer has read are overwritten quickly.
        let again = !self.peer(peer)?.copies.is_past_caches();
        let (me, reserve) = (self.me, self.reserves_cells());
        let index = self.pool.take(bytes, again, reserve)?;
        Ok(index.map(|index| Cell { owner: me, index }))
    }

    /// Reserves memory for cells of one's own: how many bytes, and where in the area of the lane.
    pub(super) fn reserves_cells(&self) -> impl FnOnce(usize, usize) -> Result<()> + use<> {
        let (node, me, first) = (self.node, self.me, area::offset(self.lane));
        move |offset, bytes| node.reserve_transport(me, first + offset, bytes)
    }

    /// Address of a cell in this process.
    #[inline]
    pub(super) fn cell_address(&self, cell: Cell) -> *mut u8 {
        cells::address(&self.area_of(cell.owner), cell.index)
    }

    /// Gives a cell back to its owner.
    #[inline]
    pub(super) fn give_back(&self, cell: Cell) {
        let area = self.area_of(cell.owner);
        let doorbell = area.doorbell();
        if area.control().returned.0.give(cell.index, self.registered && doorbell.has_promised()) {
            doorbell.ring();
        }
    }
}
