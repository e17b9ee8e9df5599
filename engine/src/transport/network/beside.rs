//! Two networks of a rank as one: each goes to some of its peers.
//!
//! Ranks of the job on other nodes, processes of its universe, and processes that were started apart are reached by
//! networks that know nothing of each other. The engine sees one.

use super::{Network, WaitSet};
use crate::progress::Doorbell;
use crate::transport::multicast::Multicast;
use crate::transport::{
    AccessDescriptor, Arrival, Arrivals, Letter, Load, Packet, Packets, Payloads, Reaches, Ready,
    RemoteMemory, Retained, Told,
};
use crate::{Error, JobRank, Result};
use std::os::fd::RawFd;

/// Of the token of a retained payload: it came over the further network. That has one of these bits, by whether it
/// goes to strangers, for a network that has one beside it may itself be such a pair.
const OVER_FURTHER: [u64; 2] = [1 << 61, 1 << 60];

/// A network, and a further one that goes to all ranks from some on.
#[derive(Debug)]
pub struct Beside {
    networks: [Box<dyn Network>; 2],
    /// The first rank to which the second one goes.
    first: JobRank,
    ready: &'static Both,
    /// Which one is looked at first, the next time.
    turn: usize,
    /// That of the packet that was looked at last, and not advanced over.
    in_hand: Option<usize>,
    /// That of the last payload for which there was no memory.
    full: usize,
}

/// What knows whether either has something, and a set of their descriptors.
#[derive(Debug)]
struct Both {
    each: [&'static dyn Ready; 2],
    set: WaitSet,
}

impl Ready for Both {
    fn is_ready(&self) -> bool {
        self.each.iter().any(|one| one.is_ready())
    }
}

impl Beside {
    /// The ranks from `first` on are reached by `further`, all others by `network`.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(network: Box<dyn Network>, further: Box<dyn Network>, first: JobRank) -> Result<Beside> {
        let set = WaitSet::new()?;
        for (name, one) in [&network, &further].into_iter().enumerate() {
            if let Some(descriptor) = one.descriptor() {
                set.add(descriptor, name as u64).map_err(|error| super::refused("epoll_ctl", &error))?;
            }
        }
        // What is asked without the lock lives as long as the process.
        let ready = Box::leak(Box::new(Both { each: [network.ready(), further.ready()], set }));
        Ok(Beside { networks: [network, further], first, ready, turn: 0, in_hand: None, full: 0 })
    }

    fn over_further(&self) -> u64 {
        OVER_FURTHER[usize::from(self.first.is_stranger())]
    }

    fn to(&mut self, peer: JobRank) -> &mut dyn Network {
        &mut *self.networks[usize::from(peer >= self.first)]
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Box<dyn Network>> {
        self.networks.iter_mut()
    }
}

impl Reaches for Beside {
    type Peer = JobRank;
}

impl Packets for Beside {
    fn push(&mut self, peer: JobRank, letter: &Letter<'_>) -> Result<bool> {
        self.to(peer).push(peer, letter)
    }

    fn takes_letter(&mut self, peer: JobRank, bytes: usize) -> Result<bool> {
        self.to(peer).takes_letter(peer, bytes)
    }

    fn take_long_letters(&mut self, take: bool) {
        self.each().for_each(|network| network.take_long_letters(take));
    }

    fn peek(&mut self) -> Option<Arrival> {
        if let Some(which) = self.in_hand {
            return self.networks[which].peek();
        }
        for which in [self.turn, 1 - self.turn] {
            if let Some(arrival) = self.networks[which].peek() {
                (self.in_hand, self.turn) = (Some(which), 1 - which);
                return Some(arrival);
            }
        }
        None
    }

    fn advance(&mut self, arrival: &Arrival) {
        if let Some(which) = self.in_hand.take() {
            self.networks[which].advance(arrival);
        }
    }

    fn arrivals(&self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        arrivals.ask(self.ready);
        arrivals
    }

    fn want_room(&mut self, peer: JobRank) {
        self.to(peer).want_room(peer);
    }

    fn doorbell(&self) -> &Doorbell {
        self.networks[0].doorbell()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.ready.set.raw())
    }

    fn leave(&mut self) {
        self.each().for_each(|network| network.leave());
    }

    fn lost(&mut self) -> Option<JobRank> {
        self.each().find_map(|network| network.lost())
    }
}

impl Payloads for Beside {
    fn longest_payload(&self) -> usize {
        let [network, further] = &self.networks;
        network.longest_payload().min(further.longest_payload())
    }

    unsafe fn load(&mut self, peer: JobRank, load: Load<'_>) -> Result<Option<Packet>> {
        // SAFETY: by the caller.
        let loaded = unsafe { self.to(peer).load(peer, load)? };
        if loaded.is_none() {
            self.full = usize::from(peer >= self.first);
        }
        Ok(loaded)
    }

    unsafe fn push_block(
        &mut self,
        peer: JobRank,
        what: (u8, [u64; 2]),
        head: &[u8],
        block: (*const u8, usize),
    ) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.to(peer).push_block(peer, what, head, block) }
    }

    /// Each leaves alone what is not its own.
    fn unload(&mut self, packet: &Packet) {
        self.each().for_each(|network| network.unload(packet));
    }

    fn want_load(&mut self) -> bool {
        self.networks[self.full].want_load()
    }

    fn retain(&mut self, arrival: &Arrival) -> Retained {
        let which = self.in_hand.unwrap_or(0);
        let retained = self.networks[which].retain(arrival);
        let token = retained.token | if which == 1 { self.over_further() } else { 0 };
        Retained { token, ..retained }
    }

    fn release(&mut self, retained: Retained) {
        let bit = self.over_further();
        let which = usize::from(retained.token & bit != 0);
        self.networks[which].release(Retained { token: retained.token & !bit, ..retained });
    }
}

impl RemoteMemory for Beside {
    fn register(&mut self, peer: JobRank, address: *const u8, bytes: u64) -> AccessDescriptor {
        self.to(peer).register(peer, address, bytes)
    }

    fn unregister(&mut self, peer: JobRank, memory: AccessDescriptor) {
        self.to(peer).unregister(peer, memory);
    }

    unsafe fn fetch(
        &mut self,
        peer: JobRank,
        memory: AccessDescriptor,
        pieces: &[(usize, usize)],
        told: Told,
    ) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.to(peer).fetch(peer, memory, pieces, told) }
    }
}

impl Network for Beside {
    fn ready(&self) -> &'static dyn Ready {
        self.ready
    }

    /// Another lane goes where the first network goes: to other ranks of the job.
    fn beside(&self, lane: usize) -> Result<Box<dyn Network>> {
        self.networks[0].beside(lane)
    }

    fn means_to(&self, peer: JobRank) -> String {
        self.networks[usize::from(peer >= self.first)].means_to(peer)
    }

    fn sender(&self) -> Option<JobRank> {
        self.networks[self.in_hand?].sender()
    }

    fn count_packets(&self, show: &mut dyn FnMut(JobRank, [u64; 2])) {
        self.networks.iter().for_each(|network| network.count_packets(show));
    }

    fn why_lost(&self, peer: JobRank) -> Error {
        self.networks[usize::from(peer >= self.first)].why_lost(peer)
    }

    fn ring_at(&mut self, doorbell: &'static Doorbell) {
        self.each().for_each(|network| network.ring_at(doorbell));
    }

    /// Other ranks of the job are reached by the first network.
    fn multicast(&self) -> Result<&dyn Multicast> {
        self.networks[0].multicast()
    }

    fn forget(&mut self, peer: JobRank) {
        self.to(peer).forget(peer);
    }

    fn want_again(&mut self, peer: JobRank) {
        self.to(peer).want_again(peer);
    }

    fn outlive(&mut self, peer: JobRank) -> bool {
        self.to(peer).outlive(peer)
    }
}
