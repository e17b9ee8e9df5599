//! Connections for other ranks of the node.
//!
//! All ranks of a node have the same listeners, so a porter may let somebody in who wants another rank. It hands the
//! connection, which is proven by then, to the porter of that rank: over a local socket whose name only this job
//! knows, with a proof beside it.

use super::handshake::{Identity, Wanted};
use super::proofs::{is_proof, proof, PROOF_BYTES};
use super::reception::Proven;
use super::records::{Keys, KEY_BYTES};
use crate::job::node_segment::ALL_LANES;
use crate::job::pass_descriptor::{receive_with, send_with};
use crate::JobRank;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Ranks, lane, keys (zero if the connection is not sealed), proof.
const SAID_BYTES: usize = 12 + 2 * KEY_BYTES;
const NOTE_BYTES: usize = SAID_BYTES + PROOF_BYTES;

/// Where a porter takes connections from others of its node.
#[derive(Debug)]
pub struct Hatch(UnixDatagram);

/// The name of a rank's socket.
fn address_of(me: &Identity, rank: JobRank) -> io::Result<SocketAddr> {
    let name = proof(&me.directory.key(), &[b"porter", &rank.0.to_le_bytes()]);
    let name: String = name[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    SocketAddr::from_abstract_name(format!("serried-porter-{name}"))
}

/// What goes with a connection.
fn note_of(me: &Identity, wanted: Wanted, keys: Option<&Keys>) -> [u8; NOTE_BYTES] {
    let mut note = [0; NOTE_BYTES];
    let words = [wanted.to.0, wanted.from.0, wanted.lane as u32];
    for (place, word) in note.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    if let Some(Keys { out, into }) = keys {
        note[12..12 + KEY_BYTES].copy_from_slice(out);
        note[12 + KEY_BYTES..SAID_BYTES].copy_from_slice(into);
    }
    let proven = proof(&me.directory.key(), &[b"handed", &note[..SAID_BYTES]]);
    note[SAID_BYTES..].copy_from_slice(&proven);
    note
}

/// What a note says; `None` if it is none.
fn read(me: &Identity, note: &[u8; NOTE_BYTES]) -> Option<(Wanted, Option<Keys>)> {
    let word = |at: usize| u32::from_le_bytes(note[at..at + 4].try_into().expect("four bytes"));
    let wanted = Wanted { to: JobRank(word(0)), from: JobRank(word(4)), lane: word(8) as usize };
    let key = |at: usize| note[at..at + KEY_BYTES].try_into().expect("a key");
    let is_sealed = note[12..SAID_BYTES].iter().any(|&byte| byte != 0);
    let keys = is_sealed.then(|| Keys { out: key(12), into: key(12 + KEY_BYTES) });
    let is_right = is_proof(&me.directory.key(), &[b"handed", &note[..SAID_BYTES]], &note[SAID_BYTES..]);
    (is_right && wanted.to == me.rank && wanted.lane < ALL_LANES).then_some((wanted, keys))
}

impl Hatch {
    /// That of this rank.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn open(me: &Identity) -> io::Result<Hatch> {
        let socket = UnixDatagram::bind_addr(&address_of(me, me.rank)?)?;
        socket.set_nonblocking(true)?;
        Ok(Hatch(socket))
    }

    /// Its descriptor.
    pub fn raw(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Hands a connection to the rank that it is for.
    ///
    /// # Errors
    /// If that takes none now.
    pub fn give(&self, me: &Identity, proven: &Proven) -> io::Result<()> {
        let Proven { wanted, socket, keys, .. } = proven;
        let other = UnixDatagram::unbound()?;
        other.set_nonblocking(true)?;
        other.connect_addr(&address_of(me, wanted.to)?)?;
        let note = note_of(me, *wanted, keys.as_ref());
        send_with(other.as_fd(), &note, Some(socket.as_fd()))
    }

    /// The next connection that somebody hands over; `None` if there is none.
    pub fn take(&self, me: &Identity) -> Option<Proven> {
        loop {
            let mut note = [0; NOTE_BYTES];
            let (_, descriptor) = receive_with(self.0.as_fd(), &mut note, libc::MSG_DONTWAIT).ok()?;
            if let (Some((wanted, keys)), Some(descriptor)) = (read(me, &note), descriptor) {
                let is_unlike = keys.is_some() != me.is_sealed;
                return Some(Proven { wanted, socket: TcpStream::from(descriptor), keys, is_unlike });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::OfTests;
    use super::*;
    use crate::job::node_card::JobKey;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_connection_is_handed_to_the_rank_that_it_is_for_and_to_nobody_else() {
        let key = JobKey::random().unwrap();
        let identity = |rank, key| {
            let directory = Box::leak(Box::new(OfTests::new(rank, key)));
            Identity { rank: JobRank(rank), ranks: 4, directory, is_sealed: true }
        };
        let (one, other) = (identity(1, key), identity(2, key));
        let (from, to) = (Hatch::open(&one).unwrap(), Hatch::open(&other).unwrap());
        assert!(to.take(&other).is_none());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut outside = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (inside, _) = listener.accept().unwrap();
        let wanted = Wanted { to: JobRank(2), from: JobRank(3), lane: 1 };
        let keys = Keys { out: [5; KEY_BYTES], into: [6; KEY_BYTES] };
        let proven = Proven { wanted, socket: inside, keys: Some(keys), is_unlike: false };
        from.give(&one, &proven).unwrap();
        drop(proven);
        let Proven { wanted: found, socket: mut connection, keys: handed, is_unlike } =
            to.take(&other).unwrap();
        assert_eq!((found, handed, is_unlike), (wanted, Some(keys), false));
        connection.write_all(b"here").unwrap();
        let mut said = [0; 4];
        outside.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"here");
        // One of another job who knows the name of the socket.
        let stranger = identity(2, JobKey::random().unwrap());
        let note = note_of(&stranger, wanted, None);
        let socket = UnixDatagram::unbound().unwrap();
        socket.connect_addr(&address_of(&other, JobRank(2)).unwrap()).unwrap();
        socket.send(&note).unwrap();
        socket.send(&note_of(&other, wanted, None)).unwrap();
        assert!(to.take(&other).is_none(), "no connection is with it");
        let nobody = Wanted { to: JobRank(0), ..wanted };
        let proven = Proven { wanted: nobody, socket: outside, keys: None, is_unlike: false };
        assert!(from.give(&one, &proven).is_err(), "nobody is there");
        // One that is not sealed, let in by a rank that does not seal.
        from.give(&one, &Proven { wanted, ..proven }).unwrap();
        assert!(to.take(&other).unwrap().is_unlike);
    }
}
