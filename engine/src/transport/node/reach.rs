//! Whether the memory of a peer can be reached, proven by reading a word of it.
//!
//! Containers, Yama and user namespaces forbid cross-memory copies between some
//! pairs; a process id may also mean another process in another namespace. So
//! each pair proves it once: every rank publishes the address of a secret word of
//! its private memory and the word itself; who reads the right word through the
//! kernel can reach the rank.

use super::area::Area;
use crate::memory::cross_memory;
use crate::progress::clock;
use crate::transport::Means;
use crate::Result;
use std::sync::atomic::{AtomicU64, Ordering};

/// The word that peers read to prove that they reach this process.
static SECRET: AtomicU64 = AtomicU64::new(0);

/// Publishes where the secret word lies and what it is, and lets processes of
/// the job read this one where Yama would forbid it.
pub fn publish_proof(own: &Area) {
    let value = (clock::nanoseconds() << 20) ^ (std::process::id() as u64) | 1;
    let value = match SECRET.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => value,
        Err(earlier) => earlier,
    };
    if std::path::Path::new("/proc/sys/kernel/yama/ptrace_scope").exists() {
        // SAFETY: no memory is involved; a refusal only means a slower copy.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    }
    let proof = &own.control().proof.0;
    proof.value.store(value, Ordering::Relaxed);
    proof.address.store(&SECRET as *const AtomicU64 as u64, Ordering::Release); // proof: paired with `probe`
}

/// Tries to read the secret word of the rank at `area`, process `pid`. `None`
/// while that rank has not attached yet.
pub fn probe(area: &Area, pid: u32) -> Option<Means> {
    let proof = &area.control().proof.0;
    let address = proof.address.load(Ordering::Acquire); // proof: paired with `publish_proof`
    if address == 0 || pid == 0 {
        return None;
    }
    let mut word = [0u8; 8];
    // SAFETY: `word` is ours and large enough.
    let read = unsafe { cross_memory::read_one(pid, address, word.as_mut_ptr(), 8) };
    let proven = read.is_ok() && u64::from_ne_bytes(word) == proof.value.load(Ordering::Relaxed);
    Some(if proven { Means::CrossMemory } else { Means::Cells })
}

/// Reads memory of process `pid` into pieces.
///
/// # Errors
/// The system's reason.
///
/// # Safety
/// The pieces must be writable memory that nothing else uses meanwhile.
pub unsafe fn read(pid: u32, remote: u64, pieces: &[(usize, usize)]) -> Result<()> {
    // SAFETY: by the caller.
    unsafe {
        match pieces {
            [(address, bytes)] => cross_memory::read_one(pid, remote, *address as *mut u8, *bytes),
            _ => cross_memory::read(pid, remote, pieces),
        }
    }
}
