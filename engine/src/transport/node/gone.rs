//! Memory that cannot be read because its owner has just died.
//!
//! A job one of whose ranks has died is ended by its launcher, which says which rank
//! it was and how it died. A survivor may run into the dead rank's memory before, by
//! some milliseconds: if it told that, and ended, people would read the consequence
//! in the place of the cause. So it waits to be ended.

use crate::job::process;
use crate::{Class, Error, Result};
use std::time::{Duration, Instant};

/// Where no launcher ends the rank, it tells by itself after so long.
const PATIENCE: Duration = Duration::from_secs(2);
/// Its memory goes before a process is known to be dead.
const DYING: Duration = Duration::from_millis(50);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What came of a copy from or to the memory of `peer`, which is this `process`: if that failed
/// because the process is gone, only after the launcher has had time to tell.
///
/// # Errors
/// Those of the copy; `Intern`, if the peer is gone.
pub fn or_gone<T>(copied: Result<T>, peer: u32, process: impl FnOnce() -> u32) -> Result<T> {
    copied.map_err(|error| wait_to_be_ended(error, peer, process()))
}

#[cold]
fn wait_to_be_ended(error: Error, peer: u32, pid: u32) -> Error {
    let failed = Instant::now();
    while !is_gone(pid) {
        if failed.elapsed() > DYING {
            return error;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    std::thread::sleep(PATIENCE);
    Error::new(
        Class::Intern,
        format!(
            "rank {peer} (process {pid}) has ended while data were copied from or to its memory: {error}"
        ),
    )
}

/// Whether a process has ended, even if nobody has asked yet how.
fn is_gone(pid: u32) -> bool {
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
        assert!(!is_gone(pid));
        child.kill().unwrap();
        let killed = Instant::now();
        while !is_gone(pid) {
            assert!(killed.elapsed() < Duration::from_secs(60));
            std::thread::sleep(LOOK_AGAIN);
        }
        child.wait().unwrap();
        assert!(is_gone(pid));
        let began = Instant::now();
        let told = or_gone::<()>(Err(Error::new(Class::Intern, "no such process")), 3, || pid).unwrap_err();
        assert!(told.to_string().contains("rank 3") && began.elapsed() >= PATIENCE);
    }

    #[test]
    fn an_error_of_a_living_peer_stays_as_it_is() {
        let failed = || Err(Error::new(Class::Intern, "bad address"));
        let told = or_gone::<()>(failed(), 3, std::process::id).unwrap_err();
        assert_eq!(told.to_string(), failed().unwrap_err().to_string());
        assert_eq!(or_gone(Ok(7), 3, || 1).unwrap(), 7);
    }
}
