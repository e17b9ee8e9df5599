//! What transports to ranks of other nodes have in common.
//!
//! The engine knows one such transport, [`Network`], whichever it is. Their peers share no memory with this
//! rank, so they cannot see that it sleeps; what they wait for shows at descriptors, which stand in a
//! [`WaitSet`].

mod beside;
#[cfg(test)]
pub mod counting_tests;
mod credits;
pub mod framing;
pub mod kept_payload;
mod loads;
mod patience;
mod wait_set;

pub use beside::Beside;
pub use credits::{Claim, Credits, Word, LEAVE};
pub use loads::Loads;
pub use patience::{Patience, Questions};
pub use wait_set::{Readiness, WaitSet, AT_A_TIME};

use super::multicast::Multicast;
use super::{Packets, Payloads, Reaches, Ready, RemoteMemory};
use crate::memory::system_calls;
use crate::progress::Doorbell;
use crate::{Class, Error, JobRank, Result};
use std::thread::JoinHandle;
use std::time::Duration;

/// So long a rank that is gone is not told of: a launcher ends the job meanwhile, and says why.
pub const LAUNCHERS_TURN: Duration = Duration::from_millis(500);

/// The transport of a lane to ranks of other nodes.
pub trait Network:
    Reaches<Peer = JobRank> + Packets + Payloads + RemoteMemory + Send + std::fmt::Debug
{
    /// What knows whether there is something to read.
    fn ready(&self) -> &'static dyn Ready;

    /// Another lane of the same rank: it talks with the same lane of the others.
    ///
    /// # Errors
    /// What the system refuses.
    fn beside(&self, lane: usize) -> Result<Box<dyn Network>>;

    /// By what a peer is reached, for people.
    fn means_to(&self, peer: JobRank) -> String;

    /// Who has sent the packet that was looked at last, and not advanced over. A stranger cannot say in a packet what
    /// its receiver calls it.
    fn sender(&self) -> Option<JobRank> {
        None
    }

    /// Shows how many packets there have been for each peer, sent or not, and how many have come from it, where both ends count
    /// the same ones.
    fn count_packets(&self, _: &mut dyn FnMut(JobRank, [u64; 2])) {}

    /// Why a peer is lost ([`Packets::lost`]), as an error of what is for it.
    fn why_lost(&self, peer: JobRank) -> Error {
        gone(peer)
    }

    /// Whoever waits in this lane sleeps at this doorbell and not at the rank's: a thread of the transport that has
    /// something for the lane rings there. A transport that has no such thread has nothing to do.
    fn ring_at(&mut self, _: &'static Doorbell) {}

    /// Groups of ranks to which one packet goes at once, where this network has them.
    ///
    /// # Errors
    /// Why it has none.
    fn multicast(&self) -> Result<&dyn Multicast> {
        Err(Error::not_there_yet("multicast over this network"))
    }

    /// Nothing is wanted of a peer any more: it counts as one that has left.
    fn forget(&mut self, _: JobRank) {}

    /// Something is wanted again of a peer that was forgotten before it had been reached.
    fn want_again(&mut self, _: JobRank) {}

    /// A peer has failed, and the job goes on without it. Whether all has come that it had sent, as far as it will; if
    /// not, ask again when something has come.
    fn outlive(&mut self, _: JobRank) -> bool {
        true
    }

    /// Whether a peer is known to have failed: who leaves does not wait for it.
    fn knows_failed(&self, _: JobRank) -> bool {
        false
    }
}

/// The error of what is for a rank that is gone.
#[cold]
pub fn gone(peer: JobRank) -> Error {
    if peer.is_foreign() {
        let which = match peer.is_stranger() {
            true => "a process".to_owned(),
            false => format!("process {}", peer.0 & !JobRank::FOREIGN),
        };
        let message = format!(
            "{which} of another job cannot be reached any more: it has ended without MPI_Finalize or \
             MPI_Comm_disconnect; its own output or its launcher may say why"
        );
        return Error::new(Class::Other, message);
    }
    let message = format!(
        "rank {peer} cannot be reached any more: its process has ended without finalizing; its own output or its \
         launcher may say why"
    );
    Error::new(Class::Other, message)
}

/// The error of a call that the system refuses.
#[cold]
pub fn refused(call: &str, error: &std::io::Error) -> Error {
    Error::new(Class::Other, format!("the network between nodes: {call} failed: {error}"))
}

/// Bytes that nobody can guess.
pub fn random_bytes<const BYTES: usize>() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let got = system_calls::random(&mut bytes, 0);
    // Up to 256 bytes come whole, once the system has started.
    assert_eq!(got, BYTES as isize, "the system has no random bytes");
    bytes
}

/// With this begin the names of the engine's threads.
pub const THREADS: &str = "serried-";

/// Begins a thread that takes none of the program's signals; `None` if there is none to be had.
pub fn without_signals(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    // SAFETY: the sets are valid places, filled before they are read; the mask of this thread is put back.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        let begun =
            std::thread::Builder::new().name(format!("{THREADS}{name}")).stack_size(64 << 10).spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        begun.ok()
    }
}
