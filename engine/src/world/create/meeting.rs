//! Two groups meet: their leaders exchange a note, and tell their groups.

use crate::world::bootstrap_channel::{garbled, join, split, words, Broadcast};
use crate::world::{context, BootstrapChannel, Communicator, Line, Pending};
use crate::{Class, Error, Result};
use std::sync::Arc;

use super::one_word;

/// What both sides know after the meeting.
pub struct Met {
    /// The context proposed by the leader of my group.
    mine: u64,
    /// The context proposed by the leader of the other group.
    theirs: u64,
    /// The note of the leader of my group.
    pub my_note: Vec<u8>,
    /// The note of the other leader.
    pub their_note: Vec<u8>,
}

impl Met {
    /// The context that both groups share from now on.
    pub fn context(&self) -> u64 {
        self.mine.min(self.theirs)
    }

    /// A context for my group alone, in the lane of the shared one: what goes on in both
    /// at once is a request of one lane, and moves on when something comes in that lane.
    pub fn local_context(&self) -> u64 {
        context::beside(self.mine + 2, self.context())
    }

    /// Whether my group goes first where nothing else decides.
    pub fn first(&self) -> bool {
        self.mine < self.theirs
    }
}

/// A meeting under way.
pub struct Meeting {
    /// The way to the other leader, until its note is there; leaders only.
    bridge: Option<(Line, u32)>,
    /// What I told the other leader; leaders only.
    told: Vec<u8>,
    broadcast: Broadcast,
}

impl Meeting {
    /// Starts a meeting: `bridge` is the way to the other leader at the leader of the local group, who alone passes one;
    /// `note` is what it says.
    pub fn start(
        exchange: &dyn BootstrapChannel,
        local: Line,
        leader: u32,
        bridge: Option<(Line, u32)>,
        note: Vec<u8>,
    ) -> Result<Meeting> {
        let mut told = Vec::new();
        if let Some((line, peer)) = &bridge {
            told = join(&[words([exchange.contexts().propose()?]), note]);
            exchange.post(line, *peer, &told)?;
        }
        Ok(Meeting { bridge, told, broadcast: Broadcast::new(local, leader, Vec::new()) })
    }

    /// Starts a meeting over an intercommunicator: the first ranks lead.
    pub fn of_intercommunicator(
        exchange: &dyn BootstrapChannel,
        parent: &Communicator,
        local: &Arc<Communicator>,
        note: Vec<u8>,
    ) -> Result<Meeting> {
        let line = parent.collective_line(exchange)?;
        let bridge = (parent.rank == 0).then_some((line, 0));
        Meeting::start(exchange, local.collective_line(exchange)?, 0, bridge, note)
    }

    /// Tells the local group that its leader could not go on, and whether because a process has failed, so that nobody
    /// waits for it.
    pub fn call_off(exchange: &dyn BootstrapChannel, local: Line, leader: u32, error: &Error) -> Result<()> {
        let note = words((error.class() == Class::ProcFailed).then_some(0));
        Broadcast::new(local, leader, note).poll(exchange).map(drop)
    }
}

impl Pending<Met> for Meeting {
    fn poll(&mut self, exchange: &dyn BootstrapChannel) -> Result<Option<Met>> {
        if let Some((line, peer)) = &self.bridge {
            let Some(theirs) = exchange.take(line, *peer)? else { return Ok(None) };
            self.broadcast.set_bytes(join(&[std::mem::take(&mut self.told), theirs]));
            self.bridge = None;
        }
        let Some(both) = self.broadcast.poll(exchange)? else { return Ok(None) };
        // Notes of two leaders are longer than what `call_off` says.
        if both.len() <= size_of::<u64>() {
            return Err(called_off(!both.is_empty()));
        }
        let [mine, theirs] = two(&both)?;
        let ([mine, my_note], [theirs, their_note]) = (two(&mine)?, two(&theirs)?);
        Ok(Some(Met { mine: one_word(&mine)?, theirs: one_word(&theirs)?, my_note, their_note }))
    }
}

#[cold]
fn called_off(has_one_failed: bool) -> Error {
    let class = if has_one_failed { Class::ProcFailed } else { Class::Comm };
    Error::new(
        class,
        "the leader of the local group could not reach the other group: see the error of its call",
    )
}

fn two(joined: &[u8]) -> Result<[Vec<u8>; 2]> {
    split(joined)?.try_into().map_err(|_| garbled())
}
