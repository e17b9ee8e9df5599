//! Memory of the ranks of a node that is exposed for long: as far as it lies in their windows.

use super::area::Area;
use super::{doorbell_of, forks, NodeTransport};
use crate::job::node_segment::SERVER_LANE;
use crate::memory::window::{Children, Opened};
use crate::progress::changes::{Changes, Words};
use crate::progress::watchers::{Bell, Watchers};
use crate::transport::{AccessDescriptor, ExposedMemory, Means, MemoryKind};
use crate::LocalRank;

impl NodeTransport {
    /// All ranks are threads of this process: so only in tests.
    fn all_here(&self) -> bool {
        cfg!(test) && self.means_allowed == Means::Direct
    }
}

impl ExposedMemory for NodeTransport {
    fn expose(&mut self, address: *mut u8, bytes: u64, children: Children) -> Opened {
        if self.all_here() {
            return Opened::whole(address as u64, bytes);
        }
        let Some(direct) = &self.direct else { return Opened::default() };
        forks::without_copies(self.node, self.me, || direct.expose(address, bytes, children))
    }

    fn unexpose(&mut self, address: *mut u8, bytes: u64, opened: Opened) {
        if let Some(direct) = &self.direct {
            forks::without_copies(self.node, self.me, || direct.unexpose(address, bytes, opened));
        }
    }

    fn exposed(&mut self, LocalRank(peer): LocalRank, memory: AccessDescriptor) -> Option<*mut u8> {
        if self.is_apart(peer) || memory.kind != MemoryKind::HOST {
            return None;
        }
        if self.all_here() || peer == self.me {
            return Some(memory.address as *mut u8);
        }
        self.direct.as_ref()?.exposed(self.node, peer, memory.address, memory.bytes)
    }

    fn changes(&self, LocalRank(peer): LocalRank) -> Option<Changes> {
        // SAFETY: they lie in the node segment, which lives for ever; zero is their beginning.
        let words = |words: *const Words| -> &'static Words { unsafe { &*words } };
        let of_server =
            |&rank: &u32| Area::of(self.node, rank, SERVER_LANE).changes_of_lane() as *const Words;
        if self.is_apart(peer) {
            return None;
        }
        let every = || {
            let ranks =
                (0..self.node.local_ranks()).map(|rank| words(self.area_of(rank).changes() as *const Words));
            let servers = self.servers.iter().map(|rank| words(of_server(rank)));
            ranks.chain(servers).collect::<Vec<_>>().leak() as &'static [_]
        };
        let all = *self.changers.get_or_init(every);
        let own = if self.lane == SERVER_LANE { words(of_server(&self.me)) } else { all[self.me as usize] };
        let (target, spared) = (all[peer as usize], self.registered);
        Some(Changes { me: self.me, own, target, number: peer, all, spared })
    }

    fn bell(&self, LocalRank(peer): LocalRank) -> Option<Bell> {
        if self.is_apart(peer) {
            return None;
        }
        let watchers: *const Watchers = self.area_of(peer).watchers();
        // SAFETY: as in `changes`.
        let watchers = unsafe { &*watchers };
        Some(Bell { watchers, doorbell: doorbell_of(self.node, LocalRank(peer)), spared: self.registered })
    }
}
