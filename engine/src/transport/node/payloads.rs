//! Long payloads between the ranks of a node: in a cell of the sender, which the receiver reads.

use super::cells::{self, Cell};
use super::{area, NodeTransport};
use crate::transport::{Arrival, Load, Packet, Packets, Payloads, Plain, RemoteMemory, Retained, Source};
use crate::{LocalRank, Result};

/// Kind of the packet that stands for a payload in a cell.
pub const LONG: u8 = 0xfd;

/// Payload of [`LONG`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Long {
    cell: Cell,
    bytes: u32,
    /// Of the packet that the receiver shall see.
    kind: u32,
}

// SAFETY: integers without padding.
unsafe impl Plain for Long {}

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
            Source::Block(block) => unsafe { self.peer(peer)?.distance.copy(block, target, bytes) },
            Source::Packed(pack) => pack(target),
        }
        let long = Long { cell, bytes: bytes as u32, kind: kind as u32 };
        Ok(Some(Packet::with(LONG, header, &long)))
    }

    fn unload(&mut self, packet: &Packet) {
        if packet.kind == LONG {
            self.give_back(packet.read::<Long>().cell);
        }
    }

    fn want_load(&mut self) -> bool {
        self.own.control().returned.0.want()
    }

    #[inline]
    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let cell = self.in_hand.take().expect("the packet that was looked at last has a long payload");
        Retained { payload: arrival.payload, bytes: u64::from(arrival.bytes), token: cell.token() }
    }

    #[inline]
    fn release(&mut self, retained: Retained) {
        self.give_back(Cell::of_token(retained.token));
    }
}

impl NodeTransport {
    /// Finds the packet for which one in a ring stands.
    #[inline]
    pub(super) fn arrived_long(&mut self, arrival: &Arrival) {
        let Long { cell, bytes, kind } = arrival.read();
        self.in_hand = Some(cell);
        let payload = self.cell_address(cell).cast_const();
        let header = arrival.header;
        self.long = Some(Arrival { kind: kind as u8, is_long: true, bytes, header, payload });
    }

    /// Such a packet has been read, and its payload unless it is retained.
    #[inline(never)]
    pub(super) fn advance_long(&mut self, arrival: &Arrival) {
        self.long = None;
        if let Some(cell) = self.in_hand.take() {
            self.give_back(cell);
        }
        let bytes = std::mem::size_of::<Long>() as u32;
        self.advance(&Arrival { kind: LONG, is_long: false, bytes, ..*arrival });
    }

    /// Takes a cell of one's own of at least `bytes` bytes; `None` when all are out.
    fn take_cell(&mut self, peer: u32, bytes: usize) -> Result<Option<Cell>> {
        let again = self.peer(peer)?.distance.is_near();
        let (node, me, first) = (self.node, self.me, area::offset(self.lane));
        let reserve = |offset, bytes| node.reserve_transport(me, first + offset, bytes);
        let index = self.pool.take(bytes, again, reserve)?;
        Ok(index.map(|index| Cell { owner: me, index }))
    }

    /// Address of a cell in this process.
    #[inline]
    fn cell_address(&self, cell: Cell) -> *mut u8 {
        cells::address(&self.area_of(cell.owner), cell.index)
    }

    /// Gives a cell back to its owner.
    #[inline]
    fn give_back(&self, cell: Cell) {
        let area = self.area_of(cell.owner);
        let doorbell = area.doorbell();
        if area.control().returned.0.give(cell.index, self.registered && doorbell.has_promised()) {
            doorbell.ring();
        }
    }
}
