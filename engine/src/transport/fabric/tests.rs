//! The suite over libfabric's own provider for IP and over the mock, and what the suite does not ask.

use super::*;
use crate::progress::Sleeper;
use crate::transport::conformance::{conformance, wait_for, Place};
use crate::transport::{wire, Packet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

/// Ranks are threads with a fabric each, over a provider.
struct Over(fn() -> Option<&'static Domain>);

/// The provider for IP, if the machine has libfabric.
fn ip() -> Option<&'static Domain> {
    static DOMAIN: OnceLock<Option<&'static Domain>> = OnceLock::new();
    *DOMAIN.get_or_init(|| {
        // It does not see what a library does that was not built for it.
        if std::env::var_os("TSAN_OPTIONS").is_some() {
            println!("skipped under ThreadSanitizer, so only the wire is tested");
            return None;
        }
        let opened = Libfabric::load().and_then(|library| {
            let addresses = [IpAddr::from(Ipv4Addr::LOCALHOST)];
            Domain::open(library, Offer::choose(library, Wanted::Best, &addresses, 0)?)
        });
        opened.inspect_err(|why| println!("skipped, so only the wire is tested: {}", why.message())).ok()
    })
}

fn mock(library: &'static Libfabric) -> Option<&'static Domain> {
    let offer = Offer::choose(library, Wanted::Fast, &[], 3).unwrap();
    Some(Domain::open(library, offer).unwrap())
}

fn strict() -> Option<&'static Domain> {
    mock(mock_provider::strict())
}

fn scalable() -> Option<&'static Domain> {
    mock(mock_provider::scalable())
}

/// The fabrics of a job, of which those that it is said of have one.
fn job(has_fabric: &[bool], domain: fn() -> Option<&'static Domain>) -> Vec<Fabric> {
    let wires = wire::tests::job(has_fabric.len() as u32);
    let with_rank = wires.into_iter().zip(has_fabric).zip(0..);
    let fabric = |((wire, &has_fabric), rank): ((wire::Wire, &bool), u32)| {
        let domain = has_fabric.then(domain).flatten();
        Fabric::new(JobRank(rank), Box::new(wire), domain).unwrap()
    };
    with_rank.map(fabric).collect()
}

/// All talk with all, until those that have a fabric have changed over to it.
fn acquainted(mut ranks: Vec<Fabric>) -> Vec<Fabric> {
    let count = ranks.len();
    for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))).filter(|(a, b)| a != b)
    {
        let has_both = ranks[from].port.is_some() && ranks[to].port.is_some();
        wait_for("the way", || {
            wait_for("room", || push(&mut ranks[from], to as u32, 0).then_some(()));
            let arrival = wait_for("a packet", || ranks[to].peek());
            ranks[to].advance(&arrival);
            assert!(ranks[from].peek().is_none());
            (!has_both || way(&ranks[from], to as u32) == Way::Fabric).then_some(())
        });
    }
    ranks
}

impl Place for Over {
    type Transport = Fabric;

    fn job(&self, ranks: u32) -> Vec<Fabric> {
        acquainted(job(&vec![true; ranks as usize], self.0))
    }

    fn beside(&self, transport: &Fabric) -> Fabric {
        transport.lane(1).unwrap()
    }
}

mod over_ip {
    use super::*;
    conformance!(Over(ip));
}

mod over_a_strict_provider {
    use super::*;
    conformance!(Over(strict));
}

mod over_a_provider_that_wants_nothing {
    use super::*;
    conformance!(Over(scalable));
}

#[test]
fn packets_on_their_way_are_counted_by_one_end() {
    for domain in [ip, strict, scalable] {
        let (one, other) = Over(domain).pair();
        crate::transport::network::counting_tests::packets_on_their_way_are_counted_by_one_end(one, other);
    }
}

fn push(from: &mut Fabric, peer: u32, number: u64) -> bool {
    from.push(JobRank(peer), &Packet::new(3, [number, 0]).letter()).unwrap()
}

fn way(from: &Fabric, peer: u32) -> Way {
    let port = from.port.as_ref().unwrap();
    port.partners.iter().find(|partner| partner.rank == JobRank(peer)).unwrap().way
}

#[test]
fn ranks_without_a_fabric_in_common_go_on_over_the_wire() {
    let mut ranks = acquainted(job(&[true, false, true], ip));
    for number in 0..100 {
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 1), (1, 2), (2, 0)] {
            wait_for("room", || push(&mut ranks[from], to as u32, number).then_some(()));
            let arrival = wait_for("a packet", || ranks[to].peek());
            assert_eq!(arrival.header[0], number);
            ranks[to].advance(&arrival);
        }
    }
    if ip().is_some() {
        assert_eq!((way(&ranks[0], 1), way(&ranks[2], 1)), (Way::Wire, Way::Wire));
        assert!((way(&ranks[0], 2), way(&ranks[2], 0)) == (Way::Fabric, Way::Fabric));
    }
}

#[test]
fn packets_before_and_after_a_change_over_keep_their_order_though_both_ends_sleep() {
    [ip, strict, scalable].into_iter().for_each(change_over_within_a_flood);
}

fn change_over_within_a_flood(domain: fn() -> Option<&'static Domain>) {
    const COUNT: u64 = 50_000;
    let mut ranks = job(&[true, true], domain).into_iter();
    let (mut one, mut other) = (ranks.next().unwrap(), ranks.next().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let sleeper = sleeper_of(&one);
            for number in 0..COUNT {
                while !push(&mut one, 1, number) {
                    one.want_room(JobRank(1));
                    if one.peek().is_none() && !push(&mut one, 1, number) {
                        sleep(&one, &sleeper);
                    } else {
                        break;
                    }
                }
            }
            one.leave();
            assert!(one.port.is_none() || way(&one, 1) == Way::Fabric);
        });
        let sleeper = sleeper_of(&other);
        for number in 0..COUNT {
            let arrival = loop {
                match other.peek() {
                    Some(arrival) => break arrival,
                    None => sleep(&other, &sleeper),
                }
            };
            assert_eq!(arrival.header[0], number);
            other.advance(&arrival);
        }
        other.leave();
    });
}

#[test]
fn what_comes_is_news_for_its_lane_alone_and_before_the_queue_is_read() {
    for domain in [ip, strict, scalable] {
        if domain().is_none() {
            continue;
        }
        let mut ranks = acquainted(job(&[true, true], domain));
        let mut beside = ranks[1].lane(1).unwrap();
        wait_for("rest", || {
            let [first, second] = [&mut ranks[1], &mut beside].map(|lane| {
                assert!(lane.peek().is_none());
                lane.arrivals().any()
            });
            (!first && !second).then_some(())
        });
        wait_for("room", || push(&mut ranks[0], 1, 7).then_some(()));
        let arrivals = ranks[1].arrivals();
        wait_for("news", || arrivals.any().then_some(()));
        assert!(!beside.arrivals().any(), "nothing has come for the lane beside it");
        assert_eq!(wait_for("a packet", || ranks[1].peek()).header[0], 7);
    }
}

#[test]
fn a_rank_that_leaves_does_not_wait_for_one_that_has_failed_and_was_not_heard_out() {
    let mut ranks = acquainted(job(&[true, true], ip));
    ranks[0].wire.outlive(JobRank(1));
    assert!(ranks[0].wire.knows_failed(JobRank(1)) && !ranks[1].wire.knows_failed(JobRank(0)));
    let began = Instant::now();
    ranks[0].leave();
    assert!(began.elapsed() < PATIENCE / 2);
}

#[test]
fn a_rank_that_leaves_does_not_wait_for_one_that_has_failed() {
    for domain in [ip, strict, scalable] {
        let mut ranks = acquainted(job(&[true, true], domain));
        wait_for("its last words", || ranks[0].outlive(JobRank(1)).then_some(()));
        let began = Instant::now();
        ranks[0].leave();
        assert!(began.elapsed() < PATIENCE / 10 && ranks[0].lost().is_none());
        assert!(push(&mut ranks[0], 1, 3), "it is lost on the way");
    }
}

fn sleeper_of(transport: &Fabric) -> Sleeper {
    let sleeper = Sleeper::default();
    sleeper.attend(transport.doorbell(), 0, transport.descriptor().unwrap()).unwrap();
    sleeper
}

/// Sleeps until something comes, which it does soon.
fn sleep(transport: &Fabric, sleeper: &Sleeper) {
    const LIMIT: Duration = Duration::from_secs(30);
    let began = Instant::now();
    let arrivals = transport.arrivals();
    sleeper.sleep_unless(transport.doorbell(), || arrivals.any(), LIMIT.as_nanos() as u64);
    assert!(began.elapsed() < LIMIT / 2, "something came and woke nobody");
}
