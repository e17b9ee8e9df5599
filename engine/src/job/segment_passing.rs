//! How ranks under a launcher that does not know us come by one node segment, and by what they have to know of
//! other nodes.
//!
//! The first rank of a node makes the segment and listens on an abstract socket (no file); its name goes
//! through the launcher's key-value space; the others connect and receive the
//! descriptor. Both ends check that the other runs as the same user.
//!
//! Where there are several nodes, the first rank of each also opens the sockets at which the node listens, and
//! publishes its card; rank 0 publishes the key of the job. All that takes one fence. Nobody looks at the card of
//! another node before it wants to talk to it.

use super::job_network::card_key;
use super::listen::listen as listen_for_nodes;
use super::pass_descriptor::{is_of_own_user, listen, peer_user, receive_descriptor, send_descriptor};
use super::{Bootstrap, JobKey, NodeCard, NodeMap, NodeSegment, NodeTable, Started};
use crate::memory::system_calls;
use crate::{Class, Error, Result};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

const KEY_OF_JOB: &str = "serried-key";
/// Every rank is on its way when this clock starts.
const PATIENCE: Duration = Duration::from_secs(60);

/// The table of nodes, and the sockets at which this one listens.
type Others = (NodeTable, Vec<OwnedFd>);

/// Finds the ranks of this node, gets the segment that they share, and what they know of other nodes. Every rank of the
/// job calls it.
pub(super) fn join(mut bootstrap: Box<dyn Bootstrap>) -> Result<Started> {
    let map = bootstrap.nodes()?;
    let (own_node, local_rank) = map.place_of(bootstrap.rank());
    let (node, others) = match (bootstrap.size(), local_rank) {
        (1, _) => (NodeSegment::create(1)?, None),
        (_, 0) => make(&mut *bootstrap, &map, own_node)?,
        _ => receive(&mut *bootstrap, &map, own_node)?,
    };
    Ok(Started { local_rank, local_ranks: map.ranks_of(own_node), node, others, descent: None, bootstrap })
}

/// What the first rank of a node does.
fn make(
    bootstrap: &mut dyn Bootstrap,
    map: &NodeMap,
    own_node: u32,
) -> Result<(NodeSegment, Option<Others>)> {
    let (ranks, is_alone) = (map.ranks_on(own_node), map.nodes() == 1);
    let node = NodeSegment::create(ranks)?;
    let name = random_name().map_err(|cause| failed("no random name", Some(cause)))?;
    let listener = listen(&name).map_err(|cause| failed("no socket to listen on", Some(cause)))?;
    if ranks > 1 {
        bootstrap.put(&segment_key(own_node), &name)?;
    }
    if is_alone {
        bootstrap.fence()?;
        serve(&listener, &[node.descriptor()], ranks - 1)?;
        return Ok((node, None));
    }
    let listeners = listen_for_nodes(None)?;
    let card = NodeCard { node: own_node, ranks, port: listeners.port, addresses: listeners.addresses };
    bootstrap.put(&card_key(own_node), &card.to_text())?;
    if bootstrap.rank() == 0 {
        let key = JobKey::random().map_err(|cause| failed("no key for the job", Some(cause)))?;
        bootstrap.put(KEY_OF_JOB, &key.to_text())?;
    }
    bootstrap.fence()?;
    let key = bootstrap.get(0, KEY_OF_JOB)?.as_deref().and_then(JobKey::from_text);
    let key = key.ok_or_else(|| failed("rank 0 did not publish the key of the job", None))?;
    let table = NodeTable::create(own_node, map, &key)?;
    table.keep(&card)?;
    let mut passed = vec![node.descriptor(), table.descriptor()];
    passed.extend(listeners.sockets.iter().map(AsFd::as_fd));
    serve(&listener, &passed, ranks - 1)?;
    Ok((node, Some((table, listeners.sockets))))
}

/// What the others do.
fn receive(
    bootstrap: &mut dyn Bootstrap,
    map: &NodeMap,
    own_node: u32,
) -> Result<(NodeSegment, Option<Others>)> {
    bootstrap.fence()?;
    let name = bootstrap.get(map.first_of(own_node), &segment_key(own_node))?;
    let mut passed =
        fetch(&name.ok_or_else(|| failed("the first rank did not say where to find it", None))?)?.into_iter();
    let incomplete = || failed("the first rank did not pass all of it on", None);
    let node = NodeSegment::open(passed.next().ok_or_else(incomplete)?)?;
    if map.nodes() == 1 {
        return Ok((node, None));
    }
    let table = NodeTable::open(passed.next().ok_or_else(incomplete)?)?;
    let listeners: Vec<OwnedFd> = passed.collect();
    let expected = table.card(own_node)?.map_or(0, |card| card.addresses.len());
    match listeners.len() == expected {
        true => Ok((node, Some((table, listeners)))),
        false => Err(incomplete()),
    }
}

/// Under which key the first rank of a node says where it passes on the segment.
fn segment_key(node: u32) -> String {
    format!("serried-node-{node}")
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    let got = system_calls::random(&mut bytes, 0);
    if got != bytes.len() as isize {
        return Err(io::Error::last_os_error());
    }
    Ok(format!("serried-{:032x}", u128::from_ne_bytes(bytes)))
}

fn serve(listener: &UnixListener, descriptors: &[BorrowedFd], others: u32) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut served = 0;
    while served < others {
        if !readable(listener, deadline) {
            let seconds = PATIENCE.as_secs();
            return Err(failed(
                &format!("only {served} of {others} other ranks came for it in {seconds} s"),
                None,
            ));
        }
        let Ok((stream, _)) = listener.accept() else { continue };
        if !is_of_own_user(&stream) {
            continue; // not one of ours: whoever it is gets nothing
        }
        descriptors
            .iter()
            .try_for_each(|&descriptor| send_descriptor(&stream, descriptor))
            .map_err(|cause| failed("it could not be passed on", Some(cause)))?;
        served += 1;
    }
    Ok(())
}

/// All that the first rank passes on.
fn fetch(name: &str) -> Result<Vec<OwnedFd>> {
    let connect = || UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?);
    let stream = connect().map_err(|cause| {
        failed(
            "its first rank cannot be reached (another network namespace, as in separate containers?)",
            Some(cause),
        )
    })?;
    stream.set_read_timeout(Some(PATIENCE)).ok();
    // SAFETY: getting one's own user id cannot fail.
    let me = unsafe { libc::geteuid() };
    match peer_user(&stream) {
        Ok(user) if user == me => {}
        Ok(user) => {
            return Err(failed(&format!("its first rank runs as user {user}, this rank as user {me}"), None))
        }
        Err(cause) => return Err(failed("its first rank does not say who it is", Some(cause))),
    }
    let mut passed = Vec::new();
    loop {
        match receive_descriptor(&stream) {
            Ok(descriptor) => passed.push(descriptor),
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof && !passed.is_empty() => {
                return Ok(passed)
            }
            Err(cause) => return Err(failed("its first rank did not pass it on", Some(cause))),
        }
    }
}

fn readable(listener: &UnixListener, deadline: Instant) -> bool {
    let mut entry = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).as_millis() as i32;
        // SAFETY: `entry` is one valid pollfd.
        let ready = unsafe { libc::poll(&mut entry, 1, left) };
        if ready >= 0 {
            return ready > 0;
        }
    }
}

fn failed(what: &str, cause: Option<io::Error>) -> Error {
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    Error::new(
        Class::Other,
        format!("the ranks of this node could not share their memory segment: {what}{cause}"),
    )
}
