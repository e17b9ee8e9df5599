//! What ranks of one node have to know of another, to talk to it: its card.
//!
//! A node knows nodes and not ranks: there is one card for each node, whatever the number of its ranks. Who is on
//! which node says the map (`NodeMap`). The card of a node is fetched when the first of its peers wants to talk to
//! it, and kept in the node segment.
//!
//! ```text
//! 0     version
//! 1     number of addresses, at most 4
//! 2..4  port
//! 4..8  node
//! 8..12 ranks on it
//! 12..  for each address: 16 bytes (IPv4 as IPv6 writes it), 1 byte: length of the prefix of its network
//! ```

use crate::memory::system_calls;
use crate::{Class, Error, JobRank, LocalRank, Result};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{BorrowedFd, OwnedFd};

const VERSION: u8 = 1;
/// Addresses on a card, at most.
pub const ADDRESSES: usize = 4;
const HEAD_BYTES: usize = 12;
const ADDRESS_BYTES: usize = 17;
/// Bytes of a card, at most.
pub const CARD_BYTES: usize = HEAD_BYTES + ADDRESSES * ADDRESS_BYTES;

/// What a transport over a network asks of the job.
///
/// The sockets at which a node listens exist before any of its ranks is told to anybody: whoever connects early
/// waits, and is not refused. All ranks of the node have the same sockets, so whoever accepts a connection hands
/// it to the rank that it is for.
pub trait NodeDirectory: Send + Sync {
    /// The number of this node.
    fn own_node(&self) -> u32;

    /// How many nodes the job has.
    fn nodes(&self) -> u32;

    /// The node of a rank, and what that node calls it.
    fn place_of(&self, rank: JobRank) -> (u32, LocalRank);

    /// The card of a node: from the node segment, or, the first time, from the launcher. This may take a round trip
    /// to the launcher, and waits for no other rank.
    ///
    /// # Errors
    /// `Other` when the launcher breaks off or does not know it.
    fn card(&self, node: u32) -> Result<NodeCard>;

    /// A connection to a rank by a way that this machine alone has, and that no namespace of networks ends; it does not block.
    /// `None`: there is no such way to it.
    fn connect_here(&self, _: JobRank) -> Option<io::Result<OwnedFd>> {
        None
    }

    /// The secret of the job.
    fn key(&self) -> JobKey;

    /// The sockets at which this node listens, one for each address on its card, in that order; they do not block.
    fn listeners(&self) -> Vec<BorrowedFd<'_>>;

    /// What both ends of a connection call a rank.
    fn name_of(&self, rank: JobRank) -> u64 {
        rank.into()
    }

    /// The rank that both ends call so, if it can be one. Asked of those alone that have proven themselves.
    fn rank_of(&self, name: u64) -> Option<JobRank> {
        u32::try_from(name).ok().map(JobRank)
    }

    /// The secret that a connection to a rank is proven with.
    fn key_to(&self, _rank: JobRank) -> JobKey {
        self.key()
    }

    /// The secrets that a connection to this rank may be proven with.
    fn keys(&self) -> Vec<JobKey> {
        vec![self.key()]
    }

    /// Whether the job goes on without ranks that fail: its launcher says who has, and nobody else.
    fn goes_on(&self) -> bool {
        false
    }

    /// Whether the launcher has said that a rank has failed.
    fn has_failed(&self, _: JobRank) -> bool {
        false
    }

    /// A rank has not answered for so many milliseconds, or, with 0, it answers again. Whether the launcher takes that in hand: it
    /// names the hosts, and gives one of them up in the end.
    fn note_silence(&self, _: JobRank, _: u32) -> bool {
        false
    }
}

/// The card of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCard {
    /// Its number, from 0.
    pub node: u32,
    /// Ranks of the job on it.
    pub ranks: u32,
    /// The port at which it listens, the same at every address.
    pub port: u16,
    /// Where it can be reached, what seems best first. One that is not there for its peer does no harm: the first
    /// at which the node proves who it is is taken.
    pub addresses: Vec<Address>,
}

/// An address of a node, and the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Bits of it that all in the same network have in common.
    pub prefix: u8,
}

impl Address {
    /// Whether another address is in the same network as this one.
    pub fn is_near(&self, other: IpAddr) -> bool {
        let bits = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => (32, u128::from(u32::from(ip)) << 96),
            IpAddr::V6(ip) => (128, u128::from(ip)),
        };
        let ((length, mine), (others_length, theirs)) = (bits(self.ip), bits(other));
        let prefix = u32::from(self.prefix).min(length);
        length == others_length && (mine ^ theirs).checked_shr(128 - prefix).unwrap_or(0) == 0
    }
}

impl NodeCard {
    /// The card as bytes, at most [`CARD_BYTES`]; addresses beyond [`ADDRESSES`] are left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        let addresses = &self.addresses[..self.addresses.len().min(ADDRESSES)];
        let mut bytes = vec![VERSION, addresses.len() as u8];
        bytes.extend(self.port.to_le_bytes());
        bytes.extend(self.node.to_le_bytes());
        bytes.extend(self.ranks.to_le_bytes());
        for address in addresses {
            let ip = match address.ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            bytes.extend(ip.octets());
            bytes.push(address.prefix);
        }
        bytes
    }

    /// The card in these bytes.
    ///
    /// # Errors
    /// `Other` for what is none, or one of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<NodeCard> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(no_card)?;
        let (count, number) = (usize::from(head[1]), |at: usize| {
            u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"))
        });
        if head[0] != VERSION || count > ADDRESSES || rest.len() != count * ADDRESS_BYTES {
            return Err(no_card());
        }
        let address = |bytes: &[u8]| {
            let ip: [u8; 16] = bytes[..16].try_into().expect("16 bytes");
            Address { ip: Ipv6Addr::from(ip).to_canonical(), prefix: bytes[16] }
        };
        Ok(NodeCard {
            node: number(4),
            ranks: number(8),
            port: u16::from_le_bytes([head[2], head[3]]),
            addresses: rest.chunks(ADDRESS_BYTES).map(address).collect(),
        })
    }

    /// The card as a word without blanks, for launchers that pass on words only.
    pub fn to_text(&self) -> String {
        hexadecimal(&self.to_bytes())
    }

    /// The card in such a word.
    ///
    /// # Errors
    /// As [`NodeCard::from_bytes`].
    pub fn from_text(text: &str) -> Result<NodeCard> {
        NodeCard::from_bytes(&from_hexadecimal(text).ok_or_else(no_card)?)
    }
}

#[cold]
fn no_card() -> Error {
    Error::new(Class::Other, "the card of a node makes no sense: is another version of Serried in the job?")
}

/// The secret that all processes of a job have, and nobody else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JobKey(pub [u8; 32]);

impl JobKey {
    /// A secret that nobody has.
    ///
    /// # Errors
    /// What the system says.
    pub fn random() -> std::io::Result<JobKey> {
        let mut bytes = [0u8; 32];
        let got = system_calls::random(&mut bytes, 0);
        match got == bytes.len() as isize {
            true => Ok(JobKey(bytes)),
            false => Err(std::io::Error::last_os_error()),
        }
    }

    /// A digest of a word and the secret. It says nothing of the secret.
    pub fn digest(&self, word: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(word).chain_update(self.0).finalize().into()
    }

    /// The secret as a word, for launchers that pass on words only: as private as they are.
    pub fn to_text(&self) -> String {
        hexadecimal(&self.0)
    }

    /// The secret in such a word; `None` if that is none.
    pub fn from_text(text: &str) -> Option<JobKey> {
        from_hexadecimal(text)?.try_into().ok().map(JobKey)
    }
}

impl fmt::Debug for JobKey {
    /// Nobody shall read it in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey")
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|letter| Some(letter.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(addresses: &[(&str, u8)]) -> NodeCard {
        let addresses = addresses.iter().map(|&(ip, prefix)| Address { ip: ip.parse().unwrap(), prefix });
        NodeCard { node: 70_000, ranks: 128, port: 40_001, addresses: addresses.collect() }
    }

    #[test]
    fn a_card_is_short_and_comes_back_as_it_was() {
        const { assert!(CARD_BYTES <= 96) };
        for card in [card(&[]), card(&[("10.77.0.3", 16)]), card(&[("10.1.2.3", 8), ("fd00::1", 64)])] {
            assert_eq!(NodeCard::from_bytes(&card.to_bytes()).unwrap(), card);
            assert_eq!(NodeCard::from_text(&card.to_text()).unwrap(), card);
        }
        let many = card(&[("10.0.0.1", 8); 6]);
        assert_eq!(many.to_bytes().len(), CARD_BYTES);
        assert_eq!(NodeCard::from_bytes(&many.to_bytes()).unwrap().addresses.len(), ADDRESSES);
    }

    #[test]
    fn what_is_no_card_is_an_error_wherever_it_is_cut() {
        let whole = card(&[("10.1.2.3", 8), ("fd00::1", 64)]).to_bytes();
        for length in 0..whole.len() {
            assert!(NodeCard::from_bytes(&whole[..length]).is_err(), "{length}");
        }
        let other_version = [&[9], &whole[1..]].concat();
        assert!(NodeCard::from_bytes(&other_version).is_err());
        assert!(NodeCard::from_text("0g").is_err() && NodeCard::from_text("ä").is_err());
    }

    #[test]
    fn addresses_of_one_network_are_near() {
        let near = |own: &str, prefix, other: &str| {
            Address { ip: own.parse().unwrap(), prefix }.is_near(other.parse().unwrap())
        };
        assert!(near("10.77.0.3", 16, "10.77.9.1") && !near("10.77.0.3", 16, "10.78.0.3"));
        assert!(near("10.77.0.3", 0, "192.0.2.1") && near("10.77.0.3", 32, "10.77.0.3"));
        assert!(!near("10.77.0.3", 32, "10.77.0.2") && !near("10.77.0.3", 200, "10.77.0.2"));
        assert!(near("fd00::1", 64, "fd00::9") && !near("fd00::1", 64, "fd00:0:0:1::9"));
        assert!(!near("10.77.0.3", 0, "fd00::1"));
    }

    #[test]
    fn a_key_is_told_to_those_who_ask_for_it_only() {
        let (one, other) = (JobKey::random().unwrap(), JobKey::random().unwrap());
        assert!(one != other && JobKey::from_text(&one.to_text()) == Some(one));
        assert!(JobKey::from_text("00").is_none());
        assert_eq!(format!("{one:?}"), "JobKey");
    }
}
