//! Both ends of a network count the same packets ([`Network::count_packets`]), for the tests of each network.

use super::Network;
use crate::transport::conformance::wait_for;
use crate::transport::Packet;
use crate::JobRank;

/// How many packets there have been for a peer, and from it.
fn counts(of: &impl Network, peer: u32) -> [u64; 2] {
    let mut counts = [0; 2];
    of.count_packets(&mut |rank, more| {
        if rank == JobRank(peer) {
            counts = [counts[0] + more[0], counts[1] + more[1]];
        }
    });
    counts
}

fn take(network: &mut impl Network) {
    if let Some(came) = network.peek() {
        network.advance(&came);
    }
}

/// Takes all that comes until both ends have counted alike.
fn settle(one: &mut impl Network, other: &mut impl Network) {
    wait_for("all packets", || {
        take(one);
        take(other);
        let [gone, come] = counts(one, 1);
        (counts(other, 0) == [come, gone]).then_some(())
    });
}

/// Ranks 0 and 1 of a job, which have met: packets are on their way as long as one end alone has counted them.
pub fn packets_on_their_way_are_counted_by_one_end(mut one: impl Network, mut other: impl Network) {
    settle(&mut one, &mut other);
    let ([gone, _], [_, come]) = (counts(&one, 1), counts(&other, 0));
    assert_eq!(gone, come);
    for number in 1..=3 {
        wait_for("room", || {
            one.push(JobRank(1), &Packet::new(3, [number; 2]).letter()).unwrap().then_some(())
        });
        assert_eq!((counts(&one, 1)[0], counts(&other, 0)[1]), (gone + number, come));
    }
    settle(&mut one, &mut other);
    assert!(counts(&other, 0)[1] >= come + 3);
}
