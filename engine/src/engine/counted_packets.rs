//! How many packets there have been over networks, for observers of several ranks.

use super::Engine;
use crate::core::Core;
use crate::observe::packet_counts::PacketCounts;
use crate::JobRank;

impl Engine {
    /// Those to and from other ranks of the job, of these lanes and of the server of the node if it is in this process, and
    /// whether that is all: a server at work is not waited for.
    pub(super) fn packet_counts(&self, lanes: &[&Core]) -> (PacketCounts, bool) {
        let mut packets = PacketCounts::default();
        let mut add = |peer: JobRank, counts| {
            if !peer.is_foreign() {
                packets.add(peer.0, counts);
            }
        };
        lanes.iter().for_each(|core| core.transport.count_packets(&mut add));
        let is_all = self.count_packets_of_server(&mut add);
        (packets, is_all)
    }
}
