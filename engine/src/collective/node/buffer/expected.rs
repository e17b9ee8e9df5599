//! What a member expects of the others: blocks, and where they go.

use crate::collective::node::buffer::contiguous::Contiguous;
use crate::collective::node::buffer::destination::Destination;
use crate::collective::node::buffer::peer_memory::PeerMemory;
use crate::collective::node::protocol::party::Party;
use crate::collective::node::protocol::wait::Wait;
use crate::collective::Data;
use crate::Result;

/// The bits of a length; the member is above them.
const LENGTH_BITS: u32 = 48;

/// A block that a member expects, and where it goes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExpectedBlock {
    address: u64,
    /// As in [`Destination`].
    ends: u64,
    /// How long it is at most, and whose.
    what: u64,
    apart: [u16; 2],
    /// Which of the blocks from that member.
    pub nth: u32,
}

impl ExpectedBlock {
    /// How long it is at most.
    pub fn bytes(&self) -> u64 {
        self.what & ((1 << LENGTH_BITS) - 1)
    }

    /// Whose it is.
    pub fn source(&self) -> u32 {
        (self.what >> LENGTH_BITS) as u32
    }

    /// Where it goes.
    pub fn destination(&self) -> Destination {
        Destination::new(self.address, self.bytes(), self.ends, self.apart.map(u64::from))
    }
}

/// A block that this member expects: from whom, which of those, and where it goes.
pub(crate) type Incoming<'a> = (u32, u32, &'a Data);

/// What this member expects.
pub(crate) struct Expected {
    /// What is published of it.
    pub list: Vec<ExpectedBlock>,
    /// Where it goes.
    pub places: Vec<Contiguous>,
}

impl Expected {
    /// Lends the places of what comes.
    ///
    /// # Errors
    /// `NoMem` for copies of data with gaps.
    pub fn new<'a>(
        party: &Party<'_, impl Wait, impl PeerMemory>,
        incoming: impl Iterator<Item = Incoming<'a>> + Clone,
    ) -> Result<Self> {
        let blocks = incoming.clone().count();
        let mut expected = Expected { list: Vec::with_capacity(blocks), places: Vec::with_capacity(blocks) };
        for (source, nth, data) in incoming {
            let place = match data.bytes() <= party.narrow() {
                true => Contiguous::to_write(data)?,
                false => Contiguous::to_be_written(party, data)?,
            };
            let (address, what) = (place.address as u64, place.bytes | u64::from(source) << LENGTH_BITS);
            let (ends, apart) = place.destination().ends();
            let apart = apart.map(|bytes| bytes as u16);
            // Of a shorter block the ends come home as they were.
            // SAFETY: nobody else knows of the places yet.
            unsafe { place.destination().keep(0, place.bytes as usize) };
            expected.list.push(ExpectedBlock { address, ends, what, apart, nth });
            expected.places.push(place);
        }
        Ok(expected)
    }
}
