//! The transport of the engine: names ranks as the job does, and hands what is for one of them to the
//! transport that goes there.
//!
//! Where all ranks are on the node, and in the order of the job, this costs a branch that is always
//! taken the same way.

use super::multicast::Multicast;
use super::network::{gone, Beside, Network};
use super::node::NodeTransport;
use super::{
    AccessDescriptor, Arrival, Arrivals, Letter, Load, Packet, Packets, Payloads, Reaches, RemoteMemory,
    Retained, Routes, Told,
};
use crate::progress::Doorbell;
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::os::fd::RawFd;
use std::sync::Arc;

/// The transports of a rank, or of one of its lanes, and the routes over them.
#[derive(Debug)]
pub struct Routed {
    routes: Arc<Routes>,
    /// Of the routes, here where it is at hand.
    is_plain: bool,
    pub(super) node: NodeTransport,
    far: Option<Box<Far>>,
}

/// The transport to ranks that the node does not reach, and whose turn it is.
#[derive(Debug)]
struct Far {
    network: Box<dyn Network>,
    /// Whether the network is looked at first, the next time.
    is_first: bool,
    /// Whether the packet that was looked at last, and not advanced over, came over the network.
    in_hand: Option<bool>,
    /// The last payload for which there was no memory was for the network.
    is_full: bool,
    /// It goes to processes of other jobs, and to none of this one.
    is_beyond: bool,
}

impl Far {
    fn new(network: Box<dyn Network>, is_beyond: bool) -> Box<Far> {
        Box::new(Far { network, is_first: false, in_hand: None, is_full: false, is_beyond })
    }
}

/// Of the token of a retained payload: it came over the network.
const OVER_NETWORK: u64 = 1 << 63;

impl Routed {
    /// Goes to the ranks of the node by `node`, and to those that are far by the network, if there is one.
    pub fn new(routes: Arc<Routes>, node: NodeTransport, network: Option<Box<dyn Network>>) -> Routed {
        Routed { is_plain: routes.are_plain(), routes, node, far: network.map(|one| Far::new(one, false)) }
    }

    /// Another lane of the same rank; see [`NodeTransport::beside`].
    ///
    /// # Errors
    /// `NoMem` when its mailbox cannot be reserved, and what the network says.
    pub fn beside(&self, lane: usize) -> Result<Routed> {
        self.apart(lane).map(|(routed, network)| Routed::new(routed.routes, routed.node, network))
    }

    /// The same without its network, and that, if one goes to other nodes of the job.
    ///
    /// # Errors
    /// As [`Routed::beside`].
    pub fn apart(&self, lane: usize) -> Result<(Routed, Option<Box<dyn Network>>)> {
        // To other jobs goes the first lane alone.
        let far = self.far.as_ref().filter(|far| !far.is_beyond);
        let network = far.map(|far| far.network.beside(lane)).transpose()?;
        Ok((Routed::new(Arc::clone(&self.routes), self.node.beside(lane)?, None), network))
    }

    /// The transport of the node, for those who share its memory.
    #[inline]
    pub fn node(&mut self) -> &mut NodeTransport {
        &mut self.node
    }

    /// Whether a rank is reached over a network alone.
    #[inline]
    pub fn is_far(&self, peer: JobRank) -> bool {
        self.far.is_some() && self.here(peer).is_none()
    }

    /// What the node calls a rank, if its route leads there.
    #[inline(always)]
    pub(super) fn here(&self, peer: JobRank) -> Option<LocalRank> {
        if self.is_plain {
            return (!peer.is_foreign()).then_some(LocalRank(peer.0));
        }
        self.routes.to(peer).on_node()
    }

    /// From now on it goes to processes of other jobs, ranks from `first` on, by one more network; fails with it.
    pub fn go_beyond(&mut self, network: Box<dyn Network>, first: JobRank) -> Result<()> {
        self.far = Some(match self.far.take() {
            None => Far::new(network, true),
            Some(far) => Far::new(Box::new(Beside::new(far.network, network, first)?), far.is_beyond),
        });
        Ok(())
    }

    /// Who has sent the packet that was looked at last, if its network knows that.
    pub fn sender(&self) -> Option<JobRank> {
        self.far.as_ref().filter(|far| far.in_hand == Some(true))?.network.sender()
    }

    /// No communicator has a process of another job any more: whether it can be reached is all the same.
    pub fn forget(&mut self, peer: JobRank) {
        self.far.iter_mut().for_each(|far| far.network.forget(peer));
    }

    /// As [`Network::count_packets`].
    pub fn count_packets(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) {
        self.far.iter().for_each(|far| far.network.count_packets(show));
    }

    /// As [`Network::why_lost`].
    pub fn why_lost(&self, peer: JobRank) -> Error {
        self.far.as_ref().map_or_else(|| gone(peer), |far| far.network.why_lost(peer))
    }

    /// As [`Network::want_again`].
    pub fn want_again(&mut self, peer: JobRank) {
        self.far.iter_mut().for_each(|far| far.network.want_again(peer));
    }

    /// A rank has failed, and the job goes on without it. Whether all has come that it had sent; if not, ask again.
    pub fn outlive(&mut self, peer: JobRank) -> bool {
        self.here(peer).is_some() || self.far.as_mut().is_none_or(|far| far.network.outlive(peer))
    }

    /// Ranks of the node have failed: goes past what they have not finished in the mailbox of this one. Whether there was
    /// something.
    pub fn skip_unfinished(&mut self) -> bool {
        self.node.skip_unfinished()
    }

    /// Groups over the network to other nodes of the job.
    ///
    /// # Errors
    /// Why there are none.
    pub fn multicast(&self) -> Result<&dyn Multicast> {
        match self.far.as_ref().filter(|far| !far.is_beyond) {
            Some(far) => far.network.multicast(),
            None => Err(Error::new(Class::Other, "no network goes to other nodes")),
        }
    }

    /// By what a rank that the node does not reach is reached, for people.
    pub(super) fn network_to(&self, peer: JobRank) -> Option<String> {
        self.far.as_ref().map(|far| far.network.means_to(peer))
    }

    /// The network, for a rank that the node does not reach.
    #[cold]
    fn far(&mut self, peer: JobRank) -> Result<&mut Far> {
        self.far.as_deref_mut().ok_or_else(|| no_way(peer))
    }

    /// The next packet of node or network, which take turns.
    #[inline(never)]
    fn peek_at_both(&mut self) -> Option<Arrival> {
        let far = self.far.as_deref_mut()?;
        let first = far.in_hand.unwrap_or(far.is_first);
        let mut peek = |is_network| match is_network {
            true => far.network.peek(),
            false => self.node.peek(),
        };
        let found = peek(first);
        if found.is_some() || far.in_hand.is_some() {
            (far.in_hand, far.is_first) = (found.map(|_| first), !first);
            return found;
        }
        let found = peek(!first);
        far.in_hand = found.map(|_| !first);
        found
    }
}

impl Reaches for Routed {
    type Peer = JobRank;
}

impl Packets for Routed {
    #[inline(always)]
    fn push(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        match self.here(peer) {
            Some(local) => self.node.push(local, letter),
            None => self.far(peer)?.network.push(peer, letter),
        }
    }

    #[inline]
    fn takes_letter(&mut self, peer: JobRank, bytes: usize) -> Result<bool> {
        match self.here(peer) {
            Some(local) => self.node.takes_letter(local, bytes),
            None => self.far(peer)?.network.takes_letter(peer, bytes),
        }
    }

    fn take_long_letters(&mut self, take: bool) {
        self.node.take_long_letters(take);
        self.far.iter_mut().for_each(|far| far.network.take_long_letters(take));
    }

    #[inline(always)]
    fn peek(&mut self) -> Option<Arrival> {
        match self.far {
            None => self.node.peek(),
            Some(_) => self.peek_at_both(),
        }
    }

    #[inline(always)]
    fn advance(&mut self, arrival: &Arrival) {
        if let Some(far) = &mut self.far {
            if far.in_hand.take() == Some(true) {
                return far.network.advance(&{ *arrival });
            }
        }
        self.node.advance(arrival);
    }

    #[inline]
    fn arrivals(&self) -> Arrivals {
        let mut arrivals = self.node.arrivals();
        self.far.iter().for_each(|far| arrivals.ask(far.network.ready()));
        arrivals
    }

    fn want_room(&mut self, peer: JobRank) {
        match self.here(peer) {
            Some(local) => self.node.want_room(local),
            None => self.far.iter_mut().for_each(|far| far.network.want_room(peer)),
        }
    }

    fn doorbell(&self) -> &Doorbell {
        self.node.doorbell()
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.far.as_ref()?.network.descriptor()
    }

    fn leave(&mut self) {
        self.far.iter_mut().for_each(|far| far.network.leave());
    }

    fn lost(&mut self) -> Option<JobRank> {
        self.far.as_mut()?.network.lost()
    }
}

impl Payloads for Routed {
    fn longest_payload(&self) -> usize {
        let network = self.far.as_ref().map_or(usize::MAX, |far| far.network.longest_payload());
        self.node.longest_payload().min(network)
    }

    #[inline]
    unsafe fn load(&mut self, peer: JobRank, load: Load<'_>) -> Result<Option<Packet>> {
        match self.here(peer) {
            // SAFETY: by the caller.
            Some(local) => unsafe { self.node.load(local, load) },
            None => {
                let far = self.far(peer)?;
                // SAFETY: by the caller.
                let loaded = unsafe { far.network.load(peer, load)? };
                far.is_full = loaded.is_none();
                Ok(loaded)
            }
        }
    }

    #[inline]
    unsafe fn push_block(
        &mut self,
        peer: JobRank,
        what: (u8, [u64; 2]),
        head: &[u8],
        block: (*const u8, usize),
    ) -> Result<bool> {
        match self.here(peer) {
            // SAFETY: by the caller.
            Some(local) => unsafe { self.node.push_block(local, what, head, block) },
            // SAFETY: by the caller.
            None => unsafe { self.far(peer)?.network.push_block(peer, what, head, block) },
        }
    }

    #[inline]
    fn part(
        &mut self,
        retained: Option<&Retained>,
        all: (*const u8, usize),
        at: usize,
    ) -> Result<(*const u8, usize)> {
        match (retained, &mut self.far) {
            (Some(retained), Some(far)) if retained.token & OVER_NETWORK != 0 => {
                far.network.part(Some(&as_the_network_knows(*retained)), all, at)
            }
            (None, Some(far)) if far.in_hand == Some(true) => far.network.part(None, all, at),
            _ => self.node.part(retained, all, at),
        }
    }

    /// Each transport leaves alone what is not its own.
    fn unload(&mut self, packet: &Packet) {
        self.node.unload(packet);
        self.far.iter_mut().for_each(|far| far.network.unload(packet));
    }

    /// If the network was full, it is what is waited for; memory of the node does not help.
    fn want_load(&mut self) -> bool {
        match &mut self.far {
            Some(far) if far.is_full => far.network.want_load(),
            _ => self.node.want_load(),
        }
    }

    #[inline]
    fn retain(&mut self, arrival: &Arrival) -> Retained {
        match &mut self.far {
            Some(far) if far.in_hand == Some(true) => {
                let retained = far.network.retain(arrival);
                Retained { token: retained.token | OVER_NETWORK, ..retained }
            }
            _ => self.node.retain(arrival),
        }
    }

    #[inline]
    fn release(&mut self, retained: Retained) {
        match &mut self.far {
            Some(far) if retained.token & OVER_NETWORK != 0 => {
                far.network.release(as_the_network_knows(retained));
            }
            _ => self.node.release(retained),
        }
    }
}

/// A payload that the network retains, without the mark by which it is known here.
fn as_the_network_knows(retained: Retained) -> Retained {
    Retained { token: retained.token & !OVER_NETWORK, ..retained }
}

/// Of ranks that the node does not reach.
impl RemoteMemory for Routed {
    fn register(&mut self, peer: JobRank, address: *const u8, bytes: u64) -> AccessDescriptor {
        match (self.here(peer), &mut self.far) {
            (None, Some(far)) => far.network.register(peer, address, bytes),
            _ => AccessDescriptor::unreachable(bytes),
        }
    }

    fn unregister(&mut self, peer: JobRank, memory: AccessDescriptor) {
        self.far.iter_mut().for_each(|far| far.network.unregister(peer, memory));
    }

    fn forget_fetches(&mut self, peer: JobRank, is_meant: &dyn Fn(&Told) -> bool) {
        self.far.iter_mut().for_each(|far| far.network.forget_fetches(peer, is_meant));
    }

    unsafe fn fetch(
        &mut self,
        peer: JobRank,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
        told: Told,
    ) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.far(peer)?.network.fetch(peer, memory, pieces, told) }
    }
}

#[cold]
pub(super) fn no_way(peer: JobRank) -> Error {
    Error::new(
        Class::Intern,
        format!("rank {peer} is on another node, and no transport of this rank goes there"),
    )
}
