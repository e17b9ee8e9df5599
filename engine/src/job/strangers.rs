//! Processes that were started apart: those of other universes (`universe`).
//!
//! A process and such a one share no memory and no launcher. What one has to know of another stands on a [`Contact`],
//! which comes along with the group that it is in: its name, where it listens, and the secret of its universe, by which
//! whoever connects to it proves that somebody has let it in. A port has a secret of its own, which its name tells: it
//! is good for connecting to the process that has opened it, as long as the port is open.
//!
//! Each process numbers the strangers that it hears of as they come ([`JobRank::STRANGER`]); no other process knows
//! these numbers, so a name goes wherever one is told.

use super::folder_door::FolderDoor;
use super::listen::{self, Listeners};
use super::node_card::{JobKey, NodeCard, NodeDirectory};
use super::pass_descriptor;
use super::ProcessName;
use crate::lock_order::{self, Level, Ordered};
use crate::{Class, Error, JobRank, LocalRank, Result};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::Mutex;

/// What has to be known of a process to connect to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Its name.
    pub name: ProcessName,
    /// With this whoever connects proves itself.
    pub key: JobKey,
    /// Where it listens.
    pub card: NodeCard,
}

const HEAD_BYTES: usize = 8 + 32;

impl Contact {
    /// As it travels.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.name.0.to_le_bytes()[..], &self.key.0, &self.card.to_bytes()].concat()
    }

    /// As it arrived.
    ///
    /// # Errors
    /// `Other` for what is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Contact> {
        let (head, card) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(|| {
            Error::new(Class::Other, "what a process that was started apart says of itself makes no sense")
        })?;
        let (name, key) = head.split_at(8);
        Ok(Contact {
            name: ProcessName(u64::from_le_bytes(name.try_into().expect("8 bytes"))),
            key: JobKey(key.try_into().expect("32 bytes")),
            card: NodeCard::from_bytes(card)?,
        })
    }
}

/// The strangers that this process knows, and what they know of it.
pub struct Strangers {
    own: ProcessName,
    key: JobKey,
    listeners: Listeners,
    /// Where those find it that share its network namespace.
    nearby: Option<UnixListener>,
    door: Option<FolderDoor>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    ranks: HashMap<ProcessName, u32>,
    strangers: Vec<(ProcessName, Option<Contact>)>,
    /// The open ports of this process by their serial numbers, and their secrets.
    ports: Vec<(u64, JobKey)>,
}

impl Strangers {
    /// Those of a process of this name, whose universe has this secret. It listens from now on, where others reach
    /// this machine, at a local socket, and in the folder of names.
    ///
    /// # Errors
    /// `Other` when the system refuses.
    pub fn listen(own: ProcessName, key: JobKey) -> Result<Strangers> {
        let (listeners, door) = (listen::listen_if_only_here()?, FolderDoor::of_environment(own));
        let nearby = pass_descriptor::listen(&local_name(own)).ok();
        let nearby = nearby.filter(|listener| listener.set_nonblocking(true).is_ok());
        Ok(Strangers { own, key, listeners, nearby, door, known: Mutex::default() })
    }

    fn known(&self) -> Ordered<'_, Known> {
        lock_order::lock(&self.known, Level::STRANGERS)
    }

    /// Nobody shall come any more.
    pub fn close(&self) {
        self.door.iter().for_each(FolderDoor::close);
    }

    /// The name of this process.
    pub fn own(&self) -> ProcessName {
        self.own
    }

    /// This process as a rank of [`NodeDirectory`].
    pub fn own_rank(&self) -> JobRank {
        JobRank(JobRank::APART + self.own.number())
    }

    /// What others have to know of this process.
    pub fn own_contact(&self) -> Contact {
        let Listeners { port, addresses, .. } = &self.listeners;
        let card = NodeCard { node: 0, ranks: 1, port: *port, addresses: addresses.clone() };
        Contact { name: self.own, key: self.key, card }
    }

    /// The stranger of this name, whether it was heard of before or not.
    pub fn stranger(&self, name: ProcessName) -> JobRank {
        let known = &mut *self.known();
        let rank = *known.ranks.entry(name).or_insert_with(|| {
            known.strangers.push((name, None));
            JobRank::STRANGER + known.strangers.len() as u32 - 1
        });
        JobRank(rank)
    }

    /// The name of a stranger that has been heard of.
    pub fn name_of(&self, stranger: JobRank) -> ProcessName {
        let known = self.known();
        let place = stranger.0.wrapping_sub(JobRank::STRANGER) as usize;
        known.strangers.get(place).map_or(self.own, |&(name, _)| name)
    }

    /// Notes what has to be known of a stranger; from now on that holds.
    pub fn keep(&self, contact: Contact) -> JobRank {
        let rank = self.stranger(contact.name);
        self.known().strangers[(rank.0 - JobRank::STRANGER) as usize].1 = Some(contact);
        rank
    }

    fn contact_of(&self, stranger: JobRank) -> Option<Contact> {
        let place = stranger.0.checked_sub(JobRank::STRANGER)? as usize;
        self.known().strangers.get(place)?.1.clone()
    }

    /// A port of this process is open, under a serial number: its secret, with 128 bits.
    ///
    /// # Errors
    /// `Other` when the system has no random bytes.
    pub fn open_port(&self, serial: u64) -> Result<JobKey> {
        let mut secret = JobKey::random()
            .map_err(|cause| Error::new(Class::Other, format!("the system has no random bytes: {cause}")))?;
        secret.0[16..].fill(0);
        self.known().ports.push((serial, secret));
        Ok(secret)
    }

    /// Whether a port of this process is open.
    pub fn has_port(&self, serial: u64) -> bool {
        self.known().ports.iter().any(|&(open, _)| open == serial)
    }

    /// A port is closed: its secret is worth nothing any more.
    pub fn close_port(&self, serial: u64) {
        self.known().ports.retain(|&(open, _)| open != serial);
    }
}

/// The name of the local socket of a process.
fn local_name(of: ProcessName) -> String {
    format!("serried-apart-{:016x}", of.0)
}

/// This process is node 0, and each stranger a node.
impl NodeDirectory for Strangers {
    fn own_node(&self) -> u32 {
        0
    }

    fn nodes(&self) -> u32 {
        1 + self.known().strangers.len() as u32
    }

    fn place_of(&self, rank: JobRank) -> (u32, LocalRank) {
        (rank.0.checked_sub(JobRank::STRANGER).map_or(0, |place| place + 1), LocalRank(0))
    }

    fn card(&self, node: u32) -> Result<NodeCard> {
        let contact =
            node.checked_sub(1).and_then(|place| self.contact_of(JobRank(JobRank::STRANGER + place)));
        let unknown =
            || Error::new(Class::Other, "where a process that was started apart listens is not known so far");
        contact.map(|contact| contact.card).ok_or_else(unknown)
    }

    fn connect_here(&self, rank: JobRank) -> Option<io::Result<OwnedFd>> {
        let name = Strangers::name_of(self, rank);
        match pass_descriptor::connect(&local_name(name)) {
            Ok(stream) if pass_descriptor::is_of_own_user(&stream) => Some(Ok(stream.into())),
            _ => self.door.as_ref()?.connect(name),
        }
    }

    fn key(&self) -> JobKey {
        self.key
    }

    fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        self.listeners
            .sockets
            .iter()
            .map(AsFd::as_fd)
            .chain(self.nearby.iter().map(AsFd::as_fd))
            .chain(self.door.iter().map(FolderDoor::listener))
            .collect()
    }

    fn name_of(&self, rank: JobRank) -> u64 {
        Strangers::name_of(self, rank).0
    }

    fn rank_of(&self, name: u64) -> Option<JobRank> {
        match ProcessName(name) {
            own if own == self.own => Some(self.own_rank()),
            // Another one of this universe goes another way.
            name if name.mark() == self.own.mark() || name.mark() == 0 => None,
            name => Some(self.stranger(name)),
        }
    }

    fn key_to(&self, rank: JobRank) -> JobKey {
        self.contact_of(rank).map_or(self.key, |contact| contact.key)
    }

    fn keys(&self) -> Vec<JobKey> {
        std::iter::once(self.key).chain(self.known().ports.iter().map(|&(_, secret)| secret)).collect()
    }
}

impl std::fmt::Debug for Strangers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Strangers").field("own", &self.own).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::process_name::mark_of;
    use super::*;

    fn process(key: u8, number: u32) -> Strangers {
        let key = JobKey([key; 32]);
        Strangers::listen(ProcessName::new(mark_of(&key), number), key).unwrap()
    }

    #[test]
    fn a_contact_comes_back_as_it_was_and_nothing_else_is_one() {
        let contact = process(1, 5).own_contact();
        let bytes = contact.to_bytes();
        assert_eq!(Contact::from_bytes(&bytes).unwrap(), contact);
        assert!((0..bytes.len()).all(|length| Contact::from_bytes(&bytes[..length]).is_err()));
    }

    #[test]
    fn strangers_are_numbered_as_they_come_and_keep_their_numbers() {
        let (me, one, other) = (process(1, 0), process(2, 0), process(2, 7));
        let first = me.stranger(one.own());
        assert!(me.card(1).is_err(), "nobody has said where it listens");
        assert_eq!([me.keep(other.own_contact()), me.keep(one.own_contact())], [JobRank(first.0 + 1), first]);
        assert_eq!((me.name_of(first), me.key_to(first)), (one.own(), one.key()));
        assert_eq!(me.card(me.place_of(first).0).unwrap(), one.own_contact().card);
        assert!(first.is_stranger() && me.own_rank().is_stranger() && me.place_of(me.own_rank()).0 == 0);
    }

    #[test]
    fn names_of_this_universe_are_no_strangers() {
        let (me, fellow, other) = (process(1, 3), process(1, 4), process(2, 4));
        assert_eq!(me.rank_of(me.own().0), Some(me.own_rank()));
        assert_eq!([me.rank_of(fellow.own().0), me.rank_of(4)], [None; 2]);
        assert!(me.rank_of(other.own().0).is_some_and(JobRank::is_stranger));
    }

    #[test]
    fn the_secret_of_a_port_is_good_until_it_is_closed() {
        let me = process(1, 3);
        let (one, two) = (me.open_port(1).unwrap(), me.open_port(2).unwrap());
        assert!(me.keys() == [me.key(), one, two] && me.has_port(1));
        me.close_port(1);
        assert!(me.keys() == [me.key(), two] && !me.has_port(1));
    }
}
