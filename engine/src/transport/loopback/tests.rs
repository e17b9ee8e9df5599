//! The suite over the loopback, in both of its wires, and what the suite does not ask.

use super::queues::Queues;
use super::sockets::{Name, Sockets};
use super::*;
use crate::transport::conformance::{conformance, Place};
use crate::transport::Packet;
use std::sync::Arc;

/// Ranks are threads with queues; with a seed, what comes is held back and mixed.
struct Threads(Option<u64>);

impl Place for Threads {
    type Transport = Loopback;

    fn job(&self, ranks: u32) -> Vec<Loopback> {
        let wires = Queues::job(ranks).into_iter().zip(0..);
        wires.map(|(wire, me)| Loopback::over(Box::new(wire), ranks, self.0.map(|seed| seed + me))).collect()
    }

    fn beside(&self, transport: &Loopback) -> Loopback {
        transport.lane(1).unwrap()
    }
}

/// The same over sockets, as between processes.
struct Processes(Option<u64>);

impl Place for Processes {
    type Transport = Loopback;

    fn job(&self, ranks: u32) -> Vec<Loopback> {
        let listening: Vec<_> = (0..ranks).map(|_| Sockets::listen().unwrap()).collect();
        let names: Arc<[Name]> = listening.iter().map(|one| one.name().clone()).collect();
        let over = |(listening, me)| {
            let doorbell: &'static Doorbell = Box::leak(Box::default());
            let sockets = Sockets::new(JobRank(me), listening, Arc::clone(&names), doorbell).unwrap();
            Loopback::over_sockets(sockets, ranks, self.0.map(|seed| seed + u64::from(me)))
        };
        listening.into_iter().zip(0..).map(over).collect()
    }

    fn beside(&self, transport: &Loopback) -> Loopback {
        transport.lane(1).unwrap()
    }
}

mod at_once {
    use super::*;
    conformance!(Threads(None));
}

mod late_and_mixed {
    use super::*;
    conformance!(Threads(Some(11)));
}

mod over_sockets {
    use super::*;
    conformance!(Processes(None));
}

mod over_sockets_late_and_mixed {
    use super::*;
    conformance!(Processes(Some(5)));
}

fn push(from: &mut Loopback, peer: u32, number: u64) -> bool {
    from.push(JobRank(peer), &Packet::new(3, [number, 0]).letter()).unwrap()
}

#[test]
fn a_peer_that_ends_without_leave_is_told_of_when_the_launcher_has_not_ended_the_job() {
    let (mut one, mut other) = Processes(None).pair();
    assert!(push(&mut one, 1, 1) && push(&mut other, 0, 2));
    assert!(one.peek().is_some() && one.lost().is_none());
    drop(other);
    let arrival = one.peek().unwrap();
    one.advance(&arrival);
    assert!(one.peek().is_none());
    let letter = Packet::new(3, [0; 2]);
    assert_eq!((one.lost(), one.push(JobRank(1), &letter.letter()).unwrap()), (None, false));
    std::thread::sleep(LAUNCHERS_TURN);
    assert_eq!(one.lost(), Some(JobRank(1)));
    let error = one.push(JobRank(1), &letter.letter()).unwrap_err();
    assert!(error.message().contains("rank 1 cannot be reached"), "{error:?}");
    assert!((0..9).all(|_| !one.ready.is_ready()), "what has come to its end does not wake for ever");
}

#[test]
fn a_peer_that_takes_leave_is_not_lost_and_what_it_said_before_comes() {
    let (mut one, mut other) = Processes(Some(3)).pair();
    for number in 0..10 {
        assert!(push(&mut other, 0, number));
    }
    assert!(push(&mut one, 1, 0));
    other.leave();
    drop(other);
    for number in 0..10 {
        let arrival = std::iter::repeat_with(|| one.peek()).take(1000).flatten().next().unwrap();
        assert_eq!(arrival.header[0], number);
        one.advance(&arrival);
    }
    (0..100).for_each(|_| assert!(one.peek().is_none()));
    assert_eq!(one.lost(), None);
    assert!(push(&mut one, 1, 1), "what is for it is lost on the way");
}

#[test]
fn who_says_what_no_rank_says_is_shut_out() {
    let listening = Sockets::listen().unwrap();
    let name = listening.name().clone();
    assert_eq!((Name::from_text(name.as_text()), Name::from_text("x")), (Some(name.clone()), None));
    let names: Arc<[Name]> = Arc::new([name.clone()]);
    let sockets = Sockets::new(JobRank(0), listening, names, Box::leak(Box::default())).unwrap();
    let mut one = Loopback::over_sockets(sockets, 1, None);
    let head = Head { kind: 3, sort: Sort::Packet, number: 0, header: [7, 0] }.write();
    for said in [&9u32.to_le_bytes()[..], &[1, 2], &head] {
        let stranger = socket::connect(&name.of_lane(0)).unwrap();
        socket::send(&stranger, &[said, &[]]).unwrap();
        socket::send(&stranger, &[&head, &[]]).unwrap();
        (0..5).for_each(|_| assert!(one.peek().is_none()));
        assert_eq!(socket::receive(&stranger, &mut [0; 8]), Some(0), "{said:?}");
    }
    assert!(push(&mut one, 0, 5), "to oneself");
    let arrival = (0..5).find_map(|_| one.peek()).unwrap();
    assert_eq!(arrival.header[0], 5);
}

#[test]
fn a_receiver_that_keeps_too_much_is_sent_short_packets() {
    let (mut one, mut other) = Processes(None).pair();
    assert!(push(&mut one, 1, 0));
    let arrival = other.peek().unwrap();
    other.advance(&arrival);
    for takes in [false, true] {
        other.take_long_letters(takes);
        assert!(one.peek().is_none());
        assert_eq!(one.takes_letter(JobRank(1), 100).unwrap(), takes);
    }
}
