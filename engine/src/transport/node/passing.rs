//! Passing descriptors of memory files between ranks that cannot read each
//! other's memory without.
//!
//! ```text
//! reader  listens, puts the name into its control words, sets `wanted` of the owner
//! owner   at its next large send: sees `wanted`, connects to all that listen,
//!         passes its memory file, counts `came` of the reader up
//! reader  at its next look: sees `came`, takes the descriptors, looks for the
//!         secret word of the peer in each, and so learns which one is its
//! ```
//!
//! Nobody waits for a peer: until a descriptor has come, messages go through cells. The
//! socket has no name in a file system; the launcher makes it, so that peers in other network
//! namespaces find it, too (`job::switchboard`). Both ends check that the other runs as
//! the same user; the name is found in the node segment, which only ranks have.

use super::area::{Area, Passing};
use super::reach;
use crate::job::pass_descriptor::{is_of_own_user, receive_descriptor, send_descriptor};
use crate::job::switchboard::{connect, listen, Line};
use crate::memory::memory_file;
use crate::memory::system_calls;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::Ordering;

/// One rank's ends of it.
#[derive(Debug, Default)]
pub struct Passer {
    /// Where peers bring their descriptors; made when the first one is wanted.
    listener: Option<UnixListener>,
    /// Listening was refused.
    deaf: bool,
    /// Descriptors that had come when we last looked.
    taken: u32,
    /// Connections on which no descriptor had come yet.
    silent: Vec<UnixStream>,
    /// Descriptors of peers that we have not wanted to read so far.
    unclaimed: Vec<OwnedFd>,
    /// Peers that have got ours.
    served: HashSet<u32>,
}

impl Passer {
    /// Asks `peer` for its memory file; `false`: it cannot be passed.
    pub fn want(&mut self, line: Option<&Line>, own: &Area, peer: &Area) -> bool {
        let mine: &Passing = &own.control().passing.0;
        if self.listener.is_none() {
            if self.deaf {
                return false;
            }
            let name = random_name();
            self.listener = listen(line, &text(name)).ok().map(|(socket, _)| socket);
            let quiet = self.listener.as_ref().is_some_and(|socket| socket.set_nonblocking(true).is_ok());
            if !quiet {
                self.deaf = true;
                return false;
            }
            mine.name[1].store((name >> 64) as u64, Ordering::Relaxed);
            mine.name[0].store(name as u64, Ordering::Release); // passing-name: paired with `name_of`
        }
        peer.control().passing.0.wanted.store(1, Ordering::SeqCst); // passing-wanted: paired with `serve`
        true
    }

    /// Gives our memory file to all peers that listen and have not got it.
    #[cold]
    pub fn serve(&mut self, line: Option<&Line>, own: &Area, peers: impl Iterator<Item = (u32, Area)>) {
        own.control().passing.0.wanted.swap(0, Ordering::SeqCst); // passing-wanted: paired with `want`
        let Ok(file) = memory_file::open() else { return };
        for (peer, area) in peers {
            let Some(name) = name_of(&area.control().passing.0) else { continue };
            if self.served.insert(peer) && give(line, &text(name), &file) {
                area.control().passing.0.came.fetch_add(1, Ordering::Release); // passing-came: paired with `take`
            }
        }
    }

    /// The memory file of the rank at `peer`, if it has come. Files may come of
    /// peers that were not asked by us yet: they have seen that we listen.
    pub fn take(&mut self, own: &Area, peer: &Area) -> Option<OwnedFd> {
        let listener = self.listener.as_ref()?;
        let came = own.control().passing.0.came.load(Ordering::Acquire); // passing-came: paired with `serve`
        if came != self.taken {
            self.taken = came;
            let streams = std::iter::from_fn(|| listener.accept().ok().map(|(stream, _)| stream));
            self.silent.extend(
                streams.filter(|stream| stream.set_nonblocking(true).is_ok() && is_of_own_user(stream)),
            );
            self.silent.retain(|stream| match receive_descriptor(stream) {
                Ok(file) => {
                    self.unclaimed.push(file);
                    false
                }
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            });
        }
        let found = self.unclaimed.iter().position(|file| reach::knows_secret(peer, file.as_fd()))?;
        Some(self.unclaimed.swap_remove(found))
    }
}

fn give(line: Option<&Line>, name: &str, file: &OwnedFd) -> bool {
    connect(line, name).is_ok_and(|stream| send_descriptor(&stream, file.as_fd()).is_ok())
}

/// Not 0. The name is no secret: who serves looks who listens there.
fn random_name() -> u128 {
    let mut bytes = [0u8; 16];
    system_calls::random(&mut bytes, libc::GRND_NONBLOCK);
    u128::from_ne_bytes(bytes) | 1
}

fn name_of(passing: &Passing) -> Option<u128> {
    let low = passing.name[0].load(Ordering::Acquire); // passing-name: paired with `want`
    let high = passing.name[1].load(Ordering::Relaxed);
    (low != 0).then_some((high as u128) << 64 | low as u128)
}

fn text(name: u128) -> String {
    format!("serried-memory-{name:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    #[test]
    fn a_descriptor_that_comes_after_its_connection_was_seen_is_not_lost() {
        let node: &NodeSegment = Box::leak(Box::new(NodeSegment::create(2).unwrap()));
        let [own, peer] = [0, 1].map(|rank| Area::of(node, rank, 0));
        reach::publish_proof(&peer);
        let mut passer = Passer::default();
        assert!(passer.want(None, &own, &peer));
        let passing = &own.control().passing.0;

        // It has connected, and the reader looks because something else has come.
        let stream = connect(None, &text(name_of(passing).unwrap())).unwrap();
        passing.came.fetch_add(1, Ordering::Release);
        assert!(passer.take(&own, &peer).is_none());

        send_descriptor(&stream, memory_file::open().unwrap().as_fd()).unwrap();
        passing.came.fetch_add(1, Ordering::Release);
        assert!(passer.take(&own, &peer).is_some());
    }
}
