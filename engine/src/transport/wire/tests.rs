//! The suite over the wire, and what the suite does not ask.

use super::porter::Outcome;
use super::*;
use crate::job::node_card::{Address, JobKey, NodeCard, NodeDirectory};
use crate::transport::conformance::{conformance, wait_for, Place};
use crate::transport::network::LAUNCHERS_TURN;
use crate::transport::Packet;
use crate::LocalRank;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Ranks are threads with a wire each.
struct Threads;

/// Ranks that each are a node of their own, at 127.0.0.1.
pub struct OfTests {
    own: u32,
    key: JobKey,
    listener: TcpListener,
    ports: Arc<Vec<u16>>,
}

impl OfTests {
    /// One that knows nobody else.
    pub fn new(own: u32, key: JobKey) -> OfTests {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        OfTests { own, key, listener, ports: Arc::default() }
    }

    /// Those of a job; peers of each connect to what `known` makes of its port.
    fn job(ranks: u32, known: fn(u16) -> u16) -> Vec<OfTests> {
        let key = JobKey::random().unwrap();
        let mut all: Vec<_> = (0..ranks).map(|rank| OfTests::new(rank, key)).collect();
        let ports = all.iter().map(|one| known(one.listener.local_addr().unwrap().port()));
        let ports = Arc::new(ports.collect());
        all.iter_mut().for_each(|one| one.ports = Arc::clone(&ports));
        all
    }
}

impl NodeDirectory for OfTests {
    fn own_node(&self) -> u32 {
        self.own
    }
    fn nodes(&self) -> u32 {
        self.ports.len() as u32
    }
    fn place_of(&self, rank: JobRank) -> (u32, LocalRank) {
        (rank.0, LocalRank(0))
    }
    fn card(&self, node: u32) -> Result<NodeCard> {
        let addresses = vec![Address { ip: Ipv4Addr::LOCALHOST.into(), prefix: 8 }];
        Ok(NodeCard { node, ranks: 1, port: self.ports[node as usize], addresses })
    }
    fn key(&self) -> JobKey {
        self.key
    }
    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.listener.as_fd()]
    }
}

/// The wires of a job.
pub fn job(ranks: u32) -> Vec<Wire> {
    job_by(ranks, |port| port)
}

/// The same, where peers connect to what `known` makes of a port.
pub fn job_by(ranks: u32, known: fn(u16) -> u16) -> Vec<Wire> {
    job_of(ranks, known, false)
}

/// The same, with sealed connections or plain ones.
pub fn job_of(ranks: u32, known: fn(u16) -> u16, is_sealed: bool) -> Vec<Wire> {
    job_where(ranks, known, &|_| is_sealed)
}

/// The same, where some ranks have sealed connections.
fn job_where(ranks: u32, known: fn(u16) -> u16, is_sealed: &dyn Fn(u32) -> bool) -> Vec<Wire> {
    let wire = |directory| {
        let directory: &'static OfTests = Box::leak(Box::new(directory));
        let is_sealed = is_sealed(directory.own);
        let me = Identity { rank: JobRank(directory.own), ranks, directory, is_sealed };
        Wire::new(me, Box::leak(Box::default())).unwrap()
    };
    OfTests::job(ranks, known).into_iter().map(wire).collect()
}

impl Place for Threads {
    type Transport = Wire;

    /// All are connected with all: before, there is no room.
    fn job(&self, ranks: u32) -> Vec<Wire> {
        all_connected(job(ranks))
    }

    fn beside(&self, transport: &Wire) -> Wire {
        transport.lane(1).unwrap()
    }
}

/// Wires that have connections with each other.
pub fn all_connected(mut wires: Vec<Wire>) -> Vec<Wire> {
    let ranks = wires.len() as u32;
    for (from, to) in (0..ranks).flat_map(|from| (0..from).map(move |to| (from, to))) {
        wait_for("a connection", || push(&mut wires[from as usize], to, 0).then_some(()));
        let arrival = wait_for("a packet", || wires[to as usize].peek());
        wires[to as usize].advance(&arrival);
    }
    wires
}

mod over_tcp {
    use super::*;
    conformance!(Threads);
}

/// The same with sealed connections.
struct Sealed;

impl Place for Sealed {
    type Transport = Wire;

    fn job(&self, ranks: u32) -> Vec<Wire> {
        all_connected(job_of(ranks, |port| port, true))
    }

    fn beside(&self, transport: &Wire) -> Wire {
        transport.lane(1).unwrap()
    }
}

mod sealed {
    use super::*;
    conformance!(Sealed);
}

#[test]
fn packets_on_their_way_are_counted_by_one_end() {
    let (one, other) = Threads.pair();
    crate::transport::network::counting_tests::packets_on_their_way_are_counted_by_one_end(one, other);
}

#[test]
fn strangers_are_shut_out_and_cost_nothing_but_a_place() {
    let (mut one, mut other) = Threads.pair();
    let port = one.porter.me().directory.card(0).unwrap().port;
    let connect = || std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    // Some say nothing, some say what is no hello.
    let silent: Vec<_> = (0..200).map(|_| connect()).collect();
    for said in [&[0u8; 300][..], b"GET / HTTP/1.1\r\n", &[0x16, 3, 1]] {
        std::io::Write::write_all(&mut connect(), said).unwrap();
    }
    wait_for("strangers to be shut out", || (one.porter.refused() >= 138).then_some(()));
    for number in 0..100 {
        assert!(push(&mut one, 1, number) && push(&mut other, 0, number));
        assert_eq!((next(&mut one), next(&mut other)), (number, number));
    }
    // Those that are left are shut out when their time is up.
    wait_for("the last to be shut out", || (one.porter.refused() >= 202).then_some(()));
    drop(silent);
}

/// Sends a packet with a number; whether there was room.
pub fn push(from: &mut Wire, peer: u32, number: u64) -> bool {
    from.push(JobRank(peer), &Packet::new(3, [number, 0]).letter()).unwrap()
}

/// The number of the next packet.
fn next(waits: &mut Wire) -> u64 {
    let arrival = wait_for("a packet", || waits.peek());
    waits.advance(&arrival);
    arrival.header[0]
}

/// A rank ends as if it were a process.
fn end(wire: Wire) {
    let listener = wire.porter.me().directory.listeners()[0].as_raw_fd();
    // SAFETY: the listener stays open as a descriptor, and is no listener any more.
    unsafe { libc::shutdown(listener, libc::SHUT_RDWR) };
}

#[test]
fn a_peer_that_ends_without_leave_is_told_of_when_the_launcher_has_not_ended_the_job() {
    let (mut one, mut other) = Threads.pair();
    assert!(push(&mut one, 1, 1) && push(&mut other, 0, 2));
    assert_eq!(next(&mut one), 2);
    assert!(one.lost().is_none());
    end(other);
    let began = std::time::Instant::now();
    let lost = wait_for("the loss", || {
        assert!(one.peek().is_none());
        one.lost()
    });
    assert_eq!(lost, JobRank(1));
    assert!(began.elapsed() >= LAUNCHERS_TURN);
}

#[test]
fn ranks_of_which_one_seals_are_both_told_at_once() {
    for caller in [0, 1] {
        let mut wires = job_where(2, |port| port, &|rank| rank == 0);
        assert!(wires[0].lost().is_none() && wires[1].lost().is_none());
        let peer = 1 - caller;
        let began = std::time::Instant::now();
        assert!(!push(&mut wires[caller], peer as u32, 1));
        for (me, other) in [(caller, peer), (peer, caller)] {
            let lost = wait_for("the loss", || {
                assert!(wires[me].peek().is_none());
                wires[me].lost()
            });
            assert_eq!(lost, JobRank(other as u32));
            let said = wires[me].why_lost(lost).to_string();
            let mine =
                if me == 0 { "this rank has the setting" } else { "this rank does not have the setting" };
            assert!(said.contains(mine) && said.contains("SERRIED_TRANSPORT=wire:sealed"), "{said}");
        }
        assert!(began.elapsed() < LAUNCHERS_TURN);
    }
}

#[test]
fn what_a_peer_had_sent_that_has_failed_is_read_and_then_nothing_goes_to_it() {
    let (mut one, mut other) = Threads.pair();
    (1..=200).for_each(|number| assert!(push(&mut other, 0, number)));
    // What only its own system has is lost if it ends with something unread.
    wait_for("all to be with the system of the peer", || {
        other.flush(0);
        (other.links[0].not_with_the_peer() == 0).then_some(())
    });
    end(other);
    assert!(!one.outlive(JobRank(1)), "nothing of it has been read");
    for number in 1..=200 {
        assert_eq!(next(&mut one), number);
    }
    wait_for("its end", || {
        assert!(one.peek().is_none());
        one.outlive(JobRank(1)).then_some(())
    });
    assert!(!push(&mut one, 1, 7) && one.lost().is_none());
    // Nobody waits for it at the end.
    let began = std::time::Instant::now();
    one.leave();
    assert!(began.elapsed() < LAUNCHERS_TURN);
}

#[test]
fn a_rank_that_leaves_keeps_what_it_has_not_read() {
    let (mut one, mut other) = Threads.pair();
    (1..=200).for_each(|number| assert!(push(&mut other, 0, number)));
    wait_for("the first of them", || one.peek());
    assert!(push(&mut one, 1, 7));
    one.leave();
    (1..=200).for_each(|number| assert_eq!(next(&mut one), number));
}

#[test]
fn a_rank_that_leaves_does_not_wait_for_one_that_has_failed_whatever_stands_unread() {
    let (mut one, mut other) = Threads.pair();
    (1..=200).for_each(|number| assert!(push(&mut other, 0, number) && push(&mut one, 1, number)));
    wait_for("the first of them", || one.peek());
    end(other);
    assert!(!one.outlive(JobRank(1)), "nothing of it has been read");
    let began = std::time::Instant::now();
    one.leave();
    assert!(began.elapsed() < LAUNCHERS_TURN);
}

#[test]
fn what_is_for_a_peer_that_was_never_reached_and_is_forgotten_is_lost() {
    // Nobody listens at port 1.
    let mut one = job_by(2, |_| 1).remove(0);
    assert!(!push(&mut one, 1, 7));
    one.forget(JobRank(1));
    assert!(push(&mut one, 1, 7));
    one.want_again(JobRank(1));
    assert!(!push(&mut one, 1, 7));
}

/// Two ranks of which each has made a connection before it knew of the other's, and what each hears of then: if
/// `own_first`, of its own one first.
fn made_at_once(own_first: [bool; 2]) -> [(Wire, std::vec::IntoIter<Outcome>); 2] {
    let mut wires = job(2).into_iter();
    let wires = [0, 1].map(|_| wires.next().unwrap());
    wires[0].porter.connect(JobRank(1), 0, std::time::Instant::now());
    wires[1].porter.connect(JobRank(0), 0, std::time::Instant::now());
    let mut own_first = own_first.into_iter();
    wires.map(|wire| {
        let mut outcomes = Vec::new();
        wait_for("two connections", || {
            outcomes.extend(wire.porter.take(0));
            (outcomes.len() == 2).then_some(())
        });
        let own_first = own_first.next().unwrap();
        outcomes.sort_by_key(
            |outcome| matches!(outcome, Outcome::Connected(_, _, is_mine) if *is_mine != own_first),
        );
        (wire, outcomes.into_iter())
    })
}

/// Rank `from` sends, leaves and ends when it knows of one of two connections only, or of both; the other hears of
/// them before that or after it.
fn one_leaves(from: usize, own_first: [bool; 2], knows_both: bool, hears_late: bool) {
    let [one, other] = made_at_once(own_first);
    let ((mut sender, mut unknown), (mut receiver, outcomes)) =
        if from == 0 { (one, other) } else { (other, one) };
    let known = if knows_both { 2 } else { 1 };
    unknown.by_ref().take(known).for_each(|outcome| sender.hear_of(outcome));
    let mut outcomes = Some(outcomes);
    let mut hear =
        |receiver: &mut Wire| outcomes.take().into_iter().flatten().for_each(|one| receiver.hear_of(one));
    if !hears_late {
        hear(&mut receiver);
    }
    assert!(push(&mut sender, 1 - from as u32, 7));
    let leaves = std::thread::spawn(move || {
        sender.leave();
        drop(unknown);
        end(sender);
    });
    if hears_late {
        std::thread::sleep(std::time::Duration::from_millis(5));
        hear(&mut receiver);
    }
    assert_eq!(next(&mut receiver), 7);
    leaves.join().unwrap();
    wait_for("the leave", || {
        assert!(receiver.peek().is_none());
        receiver.links[0].credits.leaves().then_some(())
    });
}

/// Both send when they know of both, and stay.
fn both_talk(own_first: [bool; 2]) {
    let mut ranks = made_at_once(own_first).map(|(mut wire, outcomes)| {
        outcomes.for_each(|outcome| wire.hear_of(outcome));
        wire
    });
    for number in 0..10 {
        assert!(push(&mut ranks[0], 1, number) && push(&mut ranks[1], 0, number));
        let mut came = [None; 2];
        wait_for("both packets", || {
            for (wire, came) in ranks.iter_mut().zip(&mut came) {
                if let Some(arrival) = wire.peek() {
                    wire.advance(&arrival);
                    *came = Some(arrival.header[0]);
                }
            }
            (came == [Some(number); 2]).then_some(())
        });
    }
}

#[test]
fn of_two_connections_made_at_once_none_loses_anything() {
    for case in 0..16 {
        let bit = |number: usize| case >> number & 1 == 1;
        one_leaves(0, [bit(0), bit(1)], bit(2), bit(3));
        one_leaves(1, [bit(0), bit(1)], bit(2), bit(3));
    }
}

#[test]
fn of_two_connections_made_at_once_both_ranks_use_one() {
    for case in 0..4 {
        both_talk([case & 1 == 1, case & 2 == 2]);
    }
}
