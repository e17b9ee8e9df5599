//! Packets that found no room, by peer and in order: they go as soon as there is some.

use super::{failed, progress_sources};
use crate::core::{Core, Waiting};
use crate::transport::{Offers, Packet, Packets, Payloads};
use crate::{JobRank, Result};
use std::collections::VecDeque;

impl Core {
    /// Whether packets for this peer wait already: no other may overtake them.
    #[inline]
    pub(crate) fn others_wait(&self, peer: JobRank) -> bool {
        !self.outbox.is_empty() && self.outbox.contains_key(&peer)
    }

    /// Sends a packet, now (`true`) or as soon as the peer has room, behind those
    /// that wait already.
    #[inline]
    pub(crate) fn post(&mut self, peer: JobRank, packet: &Packet) -> Result<bool> {
        if !self.others_wait(peer) && self.transport.push(peer, &packet.letter())? {
            return Ok(true);
        }
        self.transport.show_waiting(true);
        self.flags.raise(progress_sources::OUTBOX);
        self.outbox.entry(peer).or_default().push_back(Waiting { packet: *packet, completes: None });
        Ok(false)
    }

    /// The packet that waits last in the outbox of a peer, if it may be changed.
    #[inline]
    pub(crate) fn last_waiting(&mut self, peer: JobRank) -> Option<&mut Packet> {
        if self.outbox.is_empty() {
            return None;
        }
        let last = self.outbox.get_mut(&peer)?.back_mut()?;
        last.completes.is_none().then_some(&mut last.packet)
    }

    /// Sends what waits, as far as there is room.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let peers: Vec<JobRank> = self.outbox.keys().copied().collect();
        for peer in peers {
            let mut waiting = self.outbox.remove(&peer).unwrap_or_default();
            let mut before = waiting.len() + 1;
            while !self.flush_to(peer, &mut waiting)? && waiting.len() < before {
                before = waiting.len();
                // Then once more, for room may have come before we asked to be
                // woken; and if some did, the peer has answered our asking.
                self.transport.want_room(peer);
            }
            if !waiting.is_empty() {
                self.outbox.insert(peer, waiting);
            }
        }
        self.transport.show_waiting(!self.outbox.is_empty());
        Ok(())
    }

    /// Sends what fits; `true` when nothing is left.
    fn flush_to(&mut self, peer: JobRank, waiting: &mut VecDeque<Waiting>) -> Result<bool> {
        while let Some(next) = waiting.front() {
            if !self.transport.push(peer, &next.packet.letter())? {
                return Ok(false);
            }
            if let Some(request) = next.completes {
                self.complete(request);
            }
            waiting.pop_front();
        }
        Ok(true)
    }

    /// Makes `request` complete when the packet queued last for `peer` has gone.
    pub(crate) fn outbox_completes(&mut self, peer: JobRank, request: u32) {
        if let Some(last) = self.outbox.get_mut(&peer).and_then(VecDeque::back_mut) {
            last.completes = Some(request);
        }
    }

    /// Takes the packet of a send that has not gone yet out of the outbox; `false` if it is not there.
    pub(crate) fn unsend(&mut self, request: u32) -> bool {
        let is_it = |one: &Waiting| one.completes == Some(request) || one.packet.offers(request);
        let found = self
            .outbox
            .iter()
            .find_map(|(&peer, waiting)| waiting.iter().position(is_it).map(|place| (peer, place)));
        let Some((peer, place)) = found else { return false };
        if let Some(waiting) = self.outbox.get_mut(&peer) {
            if let Some(one) = waiting.remove(place) {
                self.transport.unload(&one.packet);
            }
            if waiting.is_empty() {
                self.outbox.remove(&peer);
            }
        }
        self.transport.show_waiting(!self.outbox.is_empty());
        true
    }

    /// Throws away what waits to go to a process that has failed; sends that are complete when it has gone end with that.
    pub(crate) fn unsend_all_to(&mut self, peer: JobRank) {
        for one in self.outbox.remove(&peer).into_iter().flatten() {
            self.transport.unload(&one.packet);
            if let Some(request) = one.completes {
                self.complete_with(request, failed::failed(peer));
            }
        }
        self.transport.show_waiting(!self.outbox.is_empty());
    }

    /// The peer of the packet in the outbox with which a request completes.
    pub(crate) fn packet_of(&self, request: u32) -> Option<JobRank> {
        let holds = |waiting: &VecDeque<Waiting>| waiting.iter().any(|one| one.completes == Some(request));
        self.outbox.iter().find(|(_, waiting)| holds(waiting)).map(|(&peer, _)| peer)
    }
}
