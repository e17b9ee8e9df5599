//! Memory that cannot be read because its owner has just died.
//!
//! A job one of whose ranks has died is ended by its launcher, which says which rank
//! it was and how it died. A survivor may run into the dead rank's memory before, by
//! some milliseconds: if it told that, and ended, people would read the consequence
//! in the place of the cause. So it waits to be ended; or, where the job goes on without the dead rank, until the
//! launcher has said so.

use crate::job::{process, NodeSegment};
use crate::{Class, Error, Result};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Where no launcher ends the rank, it tells by itself after so long.
const PATIENCE: Duration = Duration::from_secs(2);
/// Its memory goes before a process is known to be dead.
const DYING: Duration = Duration::from_millis(50);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What came of a copy from or to the memory of a local rank: if that failed because its process is gone, only after
/// the launcher has had time to tell.
///
/// # Errors
/// Those of the copy; if the peer is gone, `ProcFailed` where the job goes on without it, else `Intern`.
pub fn or_gone<T>(copied: Result<T>, node: &NodeSegment, peer: u32) -> Result<T> {
    copied.map_err(|error| wait_to_be_ended(error, node, peer))
}

#[cold]
fn wait_to_be_ended(error: Error, node: &NodeSegment, peer: u32) -> Error {
    let pid = node.page(peer).identity.pid.load(Relaxed);
    let failed = Instant::now();
    while !is_gone(node, peer) {
        if failed.elapsed() > DYING {
            return error;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    let gone = Instant::now();
    while gone.elapsed() < PATIENCE && node.failure_of(peer).is_none() {
        std::thread::sleep(LOOK_AGAIN);
    }
    Error::new(
        if node.failure_of(peer).is_some() { Class::ProcFailed } else { Class::Intern },
        format!(
            "rank {peer} (process {pid}) has ended while data were copied from or to its memory: {error}"
        ),
    )
}

/// Whether the process of a local rank is known to have ended, even if nobody has asked yet how. Where it is numbered in another
/// namespace than this process, its number means nothing here: then the launcher's word alone counts.
pub(super) fn is_gone(node: &NodeSegment, peer: u32) -> bool {
    let identity = &node.page(peer).identity;
    node.failure_of(peer).is_some()
        || is_numbered_here(identity.namespace.load(Relaxed)) && has_ended(identity.pid.load(Relaxed))
}

fn is_numbered_here(namespace: u64) -> bool {
    namespace != 0 && namespace == process::own_namespace()
}

fn has_ended(pid: u32) -> bool {
    matches!(process::state(pid), None | Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_has_ended_is_gone_before_and_after_it_was_asked_for() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id();
        let node = NodeSegment::create(4).unwrap();
        let identity = &node.page(3).identity;
        identity.pid.store(pid, Relaxed);
        identity.namespace.store(process::own_namespace(), Relaxed);
        assert!(!is_gone(&node, 3));
        child.kill().unwrap();
        let killed = Instant::now();
        while !is_gone(&node, 3) {
            assert!(killed.elapsed() < Duration::from_secs(60));
            std::thread::sleep(LOOK_AGAIN);
        }
        child.wait().unwrap();
        assert!(is_gone(&node, 3));
        let told = || or_gone::<()>(Err(Error::new(Class::Intern, "no such process")), &node, 3).unwrap_err();
        let began = Instant::now();
        assert!(told().to_string().contains("rank 3") && began.elapsed() >= PATIENCE);
        node.note_failure(3);
        let began = Instant::now();
        assert!(told().class() == Class::ProcFailed && began.elapsed() < PATIENCE);
    }

    #[test]
    fn a_number_of_another_namespace_says_nothing_here() {
        let node = NodeSegment::create(4).unwrap();
        let identity = &node.page(3).identity;
        // No process has it: numbers end at 2^22 (proc(5), `pid_max`).
        identity.pid.store(u32::MAX >> 1, Relaxed);
        for namespace in [0, process::own_namespace() + 1] {
            identity.namespace.store(namespace, Relaxed);
            assert!(!is_gone(&node, 3));
        }
        identity.namespace.store(process::own_namespace(), Relaxed);
        assert!(is_gone(&node, 3));
        identity.namespace.store(0, Relaxed);
        node.note_failure(3);
        assert!(is_gone(&node, 3));
    }

    #[test]
    fn an_error_of_a_living_peer_stays_as_it_is() {
        let failed = || Err(Error::new(Class::Intern, "bad address"));
        let node = NodeSegment::create(4).unwrap();
        node.page(3).identity.pid.store(std::process::id(), Relaxed);
        let told = or_gone::<()>(failed(), &node, 3).unwrap_err();
        assert_eq!(told.to_string(), failed().unwrap_err().to_string());
        assert_eq!(or_gone(Ok(7), &node, 3).unwrap(), 7);
    }
}
