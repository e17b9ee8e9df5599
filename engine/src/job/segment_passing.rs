//! How ranks under a launcher that does not know us come by one node segment.
//!
//! Rank 0 makes it and listens on an abstract socket (no file); its name goes
//! through the launcher's key-value space; the others connect and receive the
//! descriptor. Both ends check that the other runs as the same user.

use super::pass_descriptor::{listen, peer_user, receive_descriptor, send_descriptor};
use super::{Bootstrap, NodeSegment};
use crate::{Class, Error, Result};
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

const KEY: &str = "serried-node";
/// Every rank is on its way when this clock starts.
const PATIENCE: Duration = Duration::from_secs(60);

/// The segment that all ranks of this one-node job share. Every rank calls it.
pub(super) fn share_node_segment(bootstrap: &mut dyn Bootstrap) -> Result<NodeSegment> {
    if bootstrap.rank() > 0 {
        bootstrap.fence()?;
        let name = bootstrap.get(KEY)?.ok_or_else(|| failed("rank 0 did not say where to find it", None))?;
        return NodeSegment::open(fetch(&name)?);
    }
    let node = NodeSegment::create(bootstrap.size())?;
    let name = random_name().map_err(|cause| failed("no random name", Some(cause)))?;
    let listener = listen(&name).map_err(|cause| failed("no socket to listen on", Some(cause)))?;
    bootstrap.put(KEY, &name)?;
    bootstrap.fence()?;
    serve(&listener, &node, bootstrap.size() - 1)?;
    Ok(node)
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: `bytes` is a valid buffer of that length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(io::Error::last_os_error());
    }
    Ok(format!("serried-{:032x}", u128::from_ne_bytes(bytes)))
}

fn serve(listener: &UnixListener, node: &NodeSegment, others: u32) -> Result<()> {
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
        // SAFETY: getting one's own user id cannot fail.
        if peer_user(&stream).ok() != Some(unsafe { libc::geteuid() }) {
            continue; // not one of ours: whoever it is gets nothing
        }
        send_descriptor(&stream, node.descriptor())
            .map_err(|cause| failed("it could not be passed on", Some(cause)))?;
        served += 1;
    }
    Ok(())
}

fn fetch(name: &str) -> Result<std::os::fd::OwnedFd> {
    let connect = || UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?);
    let stream = connect().map_err(|cause| {
        failed(
            "rank 0 cannot be reached (another network namespace, as in separate containers?)",
            Some(cause),
        )
    })?;
    stream.set_read_timeout(Some(PATIENCE)).ok();
    // SAFETY: getting one's own user id cannot fail.
    let me = unsafe { libc::geteuid() };
    match peer_user(&stream) {
        Ok(user) if user == me => {}
        Ok(user) => return Err(failed(&format!("rank 0 runs as user {user}, this rank as user {me}"), None)),
        Err(cause) => return Err(failed("rank 0 does not say who it is", Some(cause))),
    }
    receive_descriptor(&stream).map_err(|cause| failed("rank 0 did not pass it on", Some(cause)))
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
