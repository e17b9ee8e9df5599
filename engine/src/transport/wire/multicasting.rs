//! Groups over IP multicast: a socket for each group, of UDP, on the interface at which this node is reached.
//!
//! The address is one of 239.192.0.0/14, which stay within a site, and port and address follow from the job's key and
//! the group, so that no stranger knows them beforehand. Datagrams pass no router. A socket is among the descriptors of
//! its lane only while somebody waits for pieces: what strangers send at other times wakes nobody.

use super::sealing::{piece_of, Seal, HEAD};
use super::{udp, Sockets, Wire};
use crate::job::node_card::NodeDirectory;
use crate::transport::multicast::{Channel, Multicast, Piece};
use crate::{Class, Error, Result};
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, UdpSocket};
use std::ops::Range;
use std::os::fd::AsRawFd;

/// A wait set calls the sockets of groups so; links have small numbers.
pub const NAME: u64 = u64::MAX;

/// The first address of groups, and how many there are.
const ADDRESSES: (u32, u32) = (0xefc0_0000, 1 << 18);
/// The first port, and how many there are: below those that systems give to anybody.
const PORTS: (u16, u16) = (12_000, 20_000);
/// Bytes of the heads of IP and UDP.
const IP_HEADS: u32 = 28;
/// The most bytes of a piece: it goes in a packet of the engine when it has to be sent again.
const LONGEST: u32 = 3456;
/// Bytes of datagrams that come together, at most.
const TOGETHER: usize = 64 << 10;
/// Bytes that a socket keeps for a rank that does not look.
const KEPT: usize = 2 << 20;
/// Of what a system counts as kept, so much is of pieces: the rest goes for its own records.
const OF_THEM: u64 = 2;
/// Bytes a second of a link that does not tell: those of a gigabit.
const UNKNOWN_RATE: u64 = 125_000_000;

/// The way to a group.
#[derive(Debug)]
struct Group {
    socket: UdpSocket,
    timer: udp::Timer,
    target: SocketAddrV4,
    seal: Seal,
    lane: &'static Sockets,
    is_attended: bool,
    longest: u32,
    rate: u64,
    /// The system takes many pieces at once.
    sends_many: bool,
    receives: bool,
    /// What has come together: datagrams of one length, of which the last may be shorter. At rest there is no memory.
    datagrams: Vec<u8>,
    filled: usize,
    each: usize,
    /// The one that was looked at last.
    place: Range<usize>,
}

impl Multicast for Wire {
    fn join(&self, group: u64, receive: bool) -> Result<Box<dyn Channel>> {
        let directory = self.porter.me().directory;
        let own = own_address(directory)?;
        let target = target(directory, group);
        let refused = |what: &str, error: std::io::Error| {
            let message = format!("a multicast group at {target} on {own}: {what} failed: {error}");
            Error::new(Class::Other, message)
        };
        let socket = udp::open(target, receive).map_err(|error| refused("its socket", error))?;
        if receive {
            udp::keep(&socket, KEPT);
            socket.join_multicast_v4(target.ip(), &own).map_err(|error| refused("joining", error))?;
        }
        // Nodes that are only pretended have one address.
        let same_host = own.is_loopback();
        udp::send_from(&socket, own, same_host).map_err(|error| refused("its interface", error))?;
        let timer = udp::Timer::new().map_err(|error| refused("a timer", error))?;
        let unit = udp::path_unit(target, own).unwrap_or(1500);
        Ok(Box::new(Group {
            socket,
            timer,
            target,
            seal: Seal::new(directory.key(), group),
            lane: self.ready,
            is_attended: false,
            longest: unit.saturating_sub(IP_HEADS + HEAD as u32).clamp(64, LONGEST),
            rate: if same_host { u64::MAX } else { udp::link_rate(own).unwrap_or(UNKNOWN_RATE) },
            sends_many: true,
            receives: receive,
            datagrams: Vec::new(),
            filled: 0,
            each: 1,
            place: 0..0,
        }))
    }
}

/// The address at which this node is reached.
fn own_address(directory: &dyn NodeDirectory) -> Result<Ipv4Addr> {
    let card = directory.card(directory.own_node())?;
    let found = card.addresses.iter().find_map(|address| match address.ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    });
    let none = || Error::new(Class::Other, "this node has no address of IP version 4, which multicast needs");
    found.ok_or_else(none)
}

/// Where a group is.
fn target(directory: &dyn NodeDirectory, group: u64) -> SocketAddrV4 {
    let name = [&b"serried multicast group"[..], &group.to_le_bytes()].concat();
    let hash = directory.key().digest(&name);
    let [a, b, c, d, e, f, ..] = hash;
    let address = ADDRESSES.0 + u32::from_le_bytes([a, b, c, d]) % ADDRESSES.1;
    SocketAddrV4::new(address.into(), PORTS.0 + u16::from_le_bytes([e, f]) % PORTS.1)
}

impl Channel for Group {
    fn longest(&self) -> u32 {
        self.longest
    }

    fn room(&self) -> u64 {
        udp::kept(&self.socket) / OF_THEM
    }

    fn rate(&self) -> u64 {
        self.rate
    }

    fn send(&mut self, pieces: &[Piece<'_>]) -> usize {
        let mut gone = 0;
        while gone < pieces.len() {
            let longest = HEAD + pieces[gone].bytes.len();
            let most = if self.sends_many { (udp::MOST_BYTES / longest).clamp(1, udp::MOST) } else { 1 };
            let these = &pieces[gone..pieces.len().min(gone + most)];
            let heads: Vec<[u8; HEAD]> = these.iter().map(|&piece| self.seal.head(piece)).collect();
            let parts = heads.iter().zip(these).flat_map(|(head, piece)| [&head[..], piece.bytes]);
            let parts: Vec<IoSlice<'_>> = parts.map(IoSlice::new).collect();
            let length = if these.len() > 1 { Some(longest as u16) } else { None };
            match udp::send(&self.socket, self.target, &parts, length) {
                udp::Sent::Gone => gone += these.len(),
                udp::Sent::NoRoom => break,
                // Not every system cuts up what is sent; then each goes by itself. One alone is lost.
                udp::Sent::Refused if these.len() > 1 => self.sends_many = false,
                udp::Sent::Refused => gone += 1,
            }
        }
        gone
    }

    fn receive(&mut self) -> Option<Piece<'_>> {
        loop {
            let begin = self.place.end;
            if begin >= self.filled {
                let (bytes, length) = udp::receive(&self.socket, &mut self.datagrams)?;
                (self.filled, self.each, self.place) = (bytes, length.max(1), 0..0);
            }
            let begin = self.place.end;
            self.place = begin..self.filled.min(begin + self.each);
            if self.seal.proves(&self.datagrams[self.place.clone()]) {
                return piece_of(&self.datagrams[self.place.clone()]);
            }
        }
    }

    fn attend(&mut self, is_wanted: bool) {
        if std::mem::replace(&mut self.is_attended, is_wanted) == is_wanted {
            return;
        }
        if is_wanted && self.receives {
            self.datagrams.resize(TOGETHER, 0);
        } else if self.place.end >= self.filled {
            self.datagrams = Vec::new();
        }
        let descriptors = [self.socket.as_raw_fd(), self.timer.raw()];
        for descriptor in descriptors {
            // Without it the rank looks when its sleep ends.
            let _ = match is_wanted {
                true => self.lane.set.add(descriptor, NAME),
                false => self.lane.set.remove(descriptor),
            };
        }
        if !is_wanted {
            self.timer.set(0);
        }
    }

    fn wake_after(&mut self, nanoseconds: u64) {
        self.timer.set(nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::node_card::{Address, JobKey, NodeCard};
    use crate::{JobRank, LocalRank};
    use std::os::fd::BorrowedFd;

    struct OneNode(&'static str);

    impl NodeDirectory for OneNode {
        fn own_node(&self) -> u32 {
            0
        }
        fn nodes(&self) -> u32 {
            1
        }
        fn place_of(&self, _: JobRank) -> (u32, LocalRank) {
            (0, LocalRank(0))
        }
        fn card(&self, node: u32) -> Result<NodeCard> {
            let addresses = vec![Address { ip: self.0.parse().unwrap(), prefix: 8 }];
            Ok(NodeCard { node, ranks: 1, port: 1, addresses })
        }
        fn key(&self) -> JobKey {
            JobKey([5; 32])
        }
        fn listeners(&self) -> Vec<BorrowedFd<'_>> {
            Vec::new()
        }
    }

    #[test]
    fn groups_are_within_the_site_and_at_ports_of_nobody() {
        for group in 0..2000 {
            let target = target(&OneNode("10.0.0.1"), group);
            let [first, second, ..] = target.ip().octets();
            assert!(first == 239 && (192..196).contains(&second), "{target}");
            assert!((12_000..32_000).contains(&target.port()), "{target}");
        }
        assert_ne!(target(&OneNode("10.0.0.1"), 2), target(&OneNode("10.0.0.1"), 4));
    }

    #[test]
    fn a_node_without_version_4_has_no_groups() {
        assert_eq!(own_address(&OneNode("10.0.0.7")).unwrap(), Ipv4Addr::new(10, 0, 0, 7));
        assert!(own_address(&OneNode("fd00::1")).unwrap_err().message().contains("version 4"));
    }
}
