//! The suite over connections that bring a few bytes at a time, as a busy network may: frames end anywhere. And somebody on
//! the way who changes what sealed connections carry.

use super::tests::{all_connected, job_by, job_of, push};
use super::Wire;
use crate::transport::conformance::{conformance, wait_for, Place};
use crate::transport::Packets;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Ranks are threads; between two of them is somebody who passes on what they say.
struct CutUp;

impl Place for CutUp {
    type Transport = Wire;

    fn job(&self, ranks: u32) -> Vec<Wire> {
        all_connected(job_by(ranks, port_before))
    }

    fn beside(&self, transport: &Wire) -> Wire {
        transport.lane(1).unwrap()
    }
}

/// A port at which all that comes is passed on to another one, until that is closed.
fn port_before(port: u16) -> u16 {
    port_with(port, |_| ())
}

/// The same with somebody who may change it.
fn port_with(port: u16, change: fn(&mut [u8])) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
            let client = client.unwrap();
            let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pass_on(client, forth, 1, change));
            std::thread::spawn(move || pass_on(server, back, 2, change));
        }
    });
    own
}

/// Passes on what comes, in pieces of random lengths, short ones mostly, and rests between some of them.
fn pass_on(mut from: TcpStream, mut to: TcpStream, seed: u64, change: fn(&mut [u8])) {
    to.set_nodelay(true).unwrap();
    let (mut random, mut buffer) = (seed, [0; 6000]);
    loop {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let most = match random >> 60 {
            0..4 => 1 + (random >> 40) as usize % 40,
            4..12 => 1 + (random >> 40) as usize % 1500,
            _ => buffer.len(),
        };
        let bytes = match from.read(&mut buffer[..most]) {
            Ok(0) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        change(&mut buffer[..bytes]);
        // What nobody takes any more is read all the same: else what goes the other way might be thrown away with it.
        let _ = to.write_all(&buffer[..bytes]);
        if random >> 56 & 15 == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    let _ = (from.shutdown(Shutdown::Read), to.shutdown(Shutdown::Write));
}

mod over_cut_up_tcp {
    use super::*;
    conformance!(CutUp);
}

/// Changes a bit of every some ten thousandth byte; handshakes mostly stay whole, so that there are connections at all.
fn change_some(bytes: &mut [u8]) {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let before = SEEN.fetch_add(bytes.len(), Ordering::Relaxed);
    let next = (before / 10_007 + 1) * 10_007;
    if let Some(byte) = bytes.get_mut(next - before - 1) {
        *byte ^= 1 << (next % 8);
    }
}

#[test]
fn what_somebody_has_changed_on_the_way_of_a_sealed_connection_comes_again_as_it_was() {
    let mut wires = job_of(2, |port| port_with(port, change_some), true);
    let mut other = wires.pop().unwrap();
    let one = &mut wires[0];
    for first in (0..4000).step_by(100) {
        for number in first..first + 100 {
            wait_for("room", || {
                let _ = other.peek();
                push(one, 1, number).then_some(())
            });
            let _ = one.peek();
        }
        for number in first..first + 100 {
            let arrival = wait_for("a packet", || {
                assert!(one.peek().is_none());
                other.peek()
            });
            assert_eq!(arrival.header[0], number);
            other.advance(&arrival);
        }
    }
}
