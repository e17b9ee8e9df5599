//! A peer of the node: where its packets go.

use super::area::{self, express_offset, Area, FIRST_BYTES};
use super::borrowed_cells::Borrowed;
use super::express;
use super::mailbox::SenderView;
use super::overtaking::Nearness;
use super::reach::Remote;
use super::sizes;
use crate::job::NodeSegment;
use crate::memory::copy::Chooser;
use crate::observe::State;
use crate::transport::Letter;
use crate::Result;
use std::sync::atomic::{AtomicU64, Ordering};

/// This rank, a peer, and the lane in which they talk.
pub type Route = (u32, u32, usize);

/// What this rank remembers of a peer it has spoken to.
#[derive(Debug)]
pub struct Peer {
    /// Its area.
    pub area: Area,
    /// Its mailbox as this rank knows it.
    pub view: SenderView,
    /// Packets sent by the mailbox, counted until a box is asked for.
    sent: u32,
    /// The box at the peer that this rank has taken.
    pub express: Option<express::Sender>,
    /// Whether its memory is reached through the kernel.
    pub remote: Remote,
    /// How to copy what it will read: plainly if its core is near and finds that in a common cache, else past the caches.
    pub copies: Chooser,
    /// Cells of it for the next block to it.
    pub borrowed: Borrowed,
    /// Whether its blocks had better be read where they are.
    pub nearness: Nearness,
}

/// A peer to which this rank has not spoken yet.
///
/// # Errors
/// `NoMem` when its mailbox cannot be reserved.
#[cold]
pub fn first_contact(node: &'static NodeSegment, peer: u32, lane: usize) -> Result<Box<Peer>> {
    if node.page(peer).state() == State::Unused {
        // It has not attached yet and so has not reserved its mailbox.
        node.reserve_transport(peer, area::offset(lane), FIRST_BYTES)?;
    }
    let area = Area::of(node, peer, lane);
    let view = SenderView::default();
    Ok(Box::new(Peer {
        area,
        view,
        sent: 0,
        express: None,
        remote: Remote::Untried,
        copies: Chooser::default(),
        borrowed: Borrowed::default(),
        nearness: Nearness::default(),
    }))
}

impl Peer {
    /// Writes a packet where it goes: the word to store, and what publishes it.
    #[inline(always)]
    pub fn fill(
        &mut self,
        node: &NodeSegment,
        route: Route,
        letter: &Letter<'_>,
    ) -> Option<(*const AtomicU64, u64)> {
        if self.express.is_none() && self.sent <= express::HOT {
            self.count(node, route)?;
        }
        match &mut self.express {
            Some(sender) => sender.fill(&self.area, letter),
            // A copy for the call: so the letter itself stays in registers.
            None => self.view.fill(&self.area, &{ *letter }),
        }
    }

    /// Counts a packet, and asks for a box if it is one too many. `None` when
    /// there is no room to do so now.
    #[cold]
    fn count(&mut self, node: &NodeSegment, route: Route) -> Option<()> {
        if self.sent == express::HOT {
            return self.ask_for_express(node, route);
        }
        self.sent += 1;
        Some(())
    }

    /// Takes a box of the peer, if one is free, and says so in the mailbox.
    /// `None` when the mailbox has no room to say so now.
    #[cold]
    fn ask_for_express(&mut self, node: &NodeSegment, (me, peer, lane): Route) -> Option<()> {
        let Some(sender) = express::take(&self.area, me) else {
            self.sent += 1;
            return Some(());
        };
        let number = sender.number();
        let give_back = || self.area.control().boxes[number].0.owner.store(0, Ordering::Relaxed);
        let offset = area::offset(lane) + express_offset(number);
        if node.reserve_transport(peer, offset, sizes::BOX_BYTES).is_err() {
            give_back();
            self.sent += 1;
            return Some(());
        }
        let opening = Letter { kind: express::OPEN, header: [number as u64, 0], payload: &[] };
        let Some((line, word)) = self.view.fill(&self.area, &opening) else {
            give_back();
            return None;
        };
        // SAFETY: a word of the peer's mailbox, which lives for ever.
        unsafe { &*line }.store(word, Ordering::Release); // line: paired with `arrived`
        self.express = Some(sender);
        Some(())
    }
}
