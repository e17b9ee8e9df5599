//! What every transport promises, as tests that run over each of them.
//!
//! A transport says how a job is made of its ranks ([`Place`]) and has the tests made by
//! `conformance!`. The tests wait for what may come late, and leave out what a transport may refuse:
//! reading memory of a peer, sharing tasks, withdrawing an offer without asking the peer.

mod memory;
mod order;
mod payloads;
mod withdrawal;

pub use memory::{
    memory_is_fetched_or_not_offered, memory_of_a_peer_is_read_and_written_or_refused,
    parts_of_a_task_are_done_once,
};
pub use order::{
    a_sender_that_waits_for_room_is_woken, a_waiting_receiver_is_woken, lanes_do_not_meet,
    packets_keep_the_order_of_each_sender, payloads_of_every_length_arrive_whole,
};
pub use payloads::{
    blocks_arrive_while_they_are_copied, long_payloads_arrive_and_can_be_retained,
    what_is_not_sent_is_given_back,
};
pub use withdrawal::{an_offer_is_taken_or_withdrawn, withdrawn_offers_are_forgotten};

use super::{
    Arrival, Load, OfferedMemory, Offers, Packet, Packets, Payloads, Reaches, RemoteMemory, SharedTasks,
    Source,
};
use std::time::{Duration, Instant};

/// All that a transport offers.
pub trait Transport:
    Reaches<Peer: From<u32>> + Packets + Payloads + RemoteMemory + Offers + OfferedMemory + SharedTasks + Send
{
}

impl<T> Transport for T where
    T: Reaches<Peer: From<u32>>
        + Packets
        + Payloads
        + RemoteMemory
        + Offers
        + OfferedMemory
        + SharedTasks
        + Send
{
}

/// Where jobs run over a transport.
pub trait Place {
    /// The transport of a rank.
    type Transport: Transport;

    /// The first lane of each rank of a new job.
    fn job(&self, ranks: u32) -> Vec<Self::Transport>;

    /// Another lane of a rank.
    fn beside(&self, transport: &Self::Transport) -> Self::Transport;

    /// A job of two ranks.
    fn pair(&self) -> (Self::Transport, Self::Transport) {
        let mut ranks = self.job(2).into_iter();
        (ranks.next().expect("rank 0"), ranks.next().expect("rank 1"))
    }
}

/// Makes the tests of the suite for a [`Place`].
macro_rules! conformance {
    ($place:expr) => {
        $crate::transport::conformance::conformance! { $place =>
            packets_keep_the_order_of_each_sender payloads_of_every_length_arrive_whole
            a_waiting_receiver_is_woken a_sender_that_waits_for_room_is_woken lanes_do_not_meet
            long_payloads_arrive_and_can_be_retained what_is_not_sent_is_given_back
            blocks_arrive_while_they_are_copied
            an_offer_is_taken_or_withdrawn withdrawn_offers_are_forgotten
            memory_of_a_peer_is_read_and_written_or_refused memory_is_fetched_or_not_offered
            parts_of_a_task_are_done_once
        }
    };
    ($place:expr => $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $crate::transport::conformance::$test(&$place);
        })*
    };
}
pub(crate) use conformance;

/// So long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `look` finds something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// The next packet.
fn next(transport: &mut impl Packets) -> Arrival {
    wait_for("a packet", || transport.peek())
}

/// Pushes a packet as soon as there is room.
fn push<T: Transport>(transport: &mut T, peer: u32, packet: &Packet) {
    wait_for("room", || transport.push(peer.into(), &packet.letter()).unwrap().then_some(()));
}

/// The payload of a packet that has not been advanced over.
fn payload(arrival: &Arrival) -> Vec<u8> {
    let mut bytes = vec![0; arrival.bytes as usize];
    // SAFETY: it is that long.
    unsafe { arrival.copy_to(bytes.as_mut_ptr(), bytes.len()) };
    bytes
}

/// `bytes` bytes that differ from place to place and from one `seed` to another.
fn pattern(bytes: usize, seed: u64) -> Vec<u8> {
    (0..bytes as u64).map(|place| (place * 31 + seed * 7 + place / 251) as u8).collect()
}

/// Loads a pattern for `peer`: from a block or packed, as `seed` is even or odd. The header has both.
fn load<T: Transport>(from: &mut T, peer: u32, bytes: usize, seed: u64, is_awaited: bool) -> Option<Packet> {
    let data = pattern(bytes, seed);
    // SAFETY: the transport has room for as many bytes.
    let mut pack = |target| unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), target, bytes) };
    let source = match seed % 2 {
        0 => Source::Block(data.as_ptr()),
        _ => Source::Packed(&mut pack),
    };
    let load = Load { kind: 5, header: [bytes as u64, seed], bytes, is_awaited, source };
    // SAFETY: the block is that long, and no more is packed.
    unsafe { from.load(peer.into(), load).unwrap() }
}

#[path = "../../../../docs/guides/toy_transport.rs"]
mod toy_transport;

/// Of the guide for new transports.
mod toy {
    use super::{toy_transport::Toy, Place};

    struct Queues;

    impl Place for Queues {
        type Transport = Toy;

        fn job(&self, ranks: u32) -> Vec<Toy> {
            Toy::job(ranks)
        }

        fn beside(&self, transport: &Toy) -> Toy {
            transport.beside()
        }
    }

    conformance!(Queues);
}
