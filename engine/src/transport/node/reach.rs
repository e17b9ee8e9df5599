//! Whether the memory of a peer can be reached, proven by reading a word of it.
//!
//! Containers, Yama and user namespaces forbid cross-memory copies between some
//! pairs; a process id may also mean another process in another namespace. So
//! each pair proves it once: every rank publishes the address of a secret word of
//! its private memory and the word itself; a rank that reads the right word through the
//! kernel can reach the rank, and a memory file that shows it is that rank's.

use super::area::Area;
use super::forks::Between;
use crate::clock;
use crate::memory::{cross_memory, memory_file};
use crate::transport::Means;
use crate::{Class, Error, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
    proof.address.store(&SECRET as *const AtomicU64 as u64, Ordering::Release); // proof: paired with `proof_of`
}

/// By what means the kernel lets this process read memory of a peer.
#[derive(Debug)]
pub enum Remote {
    /// Not tried yet.
    Untried,
    /// Cross-memory copies are not possible, and why; its memory file is asked for.
    Asked(String),
    /// By cross-memory copies, from the process of this number.
    CrossMemory(u32),
    /// By its memory file, and why not better.
    MemoryFile(OwnedFd, String),
    /// Not at all, and why.
    Closed(String),
}

impl Remote {
    /// The rung of the ladder.
    #[inline]
    pub fn means(&self) -> Means {
        match self {
            Remote::CrossMemory(_) => Means::CrossMemory,
            Remote::MemoryFile(..) => Means::MemoryFile,
            Remote::Untried | Remote::Asked(_) | Remote::Closed(_) => Means::Cells,
        }
    }

    /// Whether it will stay as it is.
    #[inline]
    pub fn is_settled(&self) -> bool {
        !matches!(self, Remote::Untried | Remote::Asked(_))
    }

    /// Why it is not better, for people.
    pub fn why(&self) -> &str {
        match self {
            Remote::Untried | Remote::CrossMemory(_) => "",
            Remote::Asked(why) | Remote::MemoryFile(_, why) | Remote::Closed(why) => why,
        }
    }
}

/// The way to the memory of a peer through the kernel.
#[derive(Debug)]
pub struct Kernel<'a> {
    /// By what means.
    pub remote: &'a Remote,
    /// Of whom.
    pub between: Between,
}

impl Kernel<'_> {
    /// Reads memory of the peer into pieces.
    ///
    /// # Errors
    /// The system's reason.
    ///
    /// # Safety
    /// The pieces must be writable memory that nothing else uses meanwhile.
    pub unsafe fn read(&self, remote: u64, pieces: &[(usize, usize)]) -> Result<Means> {
        // SAFETY: by the caller.
        let cross = |pid| unsafe {
            match *pieces {
                [(address, bytes)] => cross_memory::read_one(pid, remote, address as *mut u8, bytes),
                _ => cross_memory::read(pid, remote, pieces),
            }
        };
        match self.remote {
            Remote::CrossMemory(pid) => self.between.copy(|| cross(*pid))?,
            // SAFETY: by the caller.
            Remote::MemoryFile(file, _) => unsafe { memory_file::read(file.as_fd(), remote, pieces)? },
            _ => return Err(Error::new(Class::Intern, "memory of this peer cannot be read")),
        }
        Ok(self.remote.means())
    }
}

/// Tries to read the secret word of the rank at `area`, process `pid`; why it
/// cannot be read. `None` while that rank has not attached yet.
pub fn probe(area: &Area, pid: u32) -> Option<std::result::Result<Remote, String>> {
    let (address, value) = proof_of(area)?;
    if pid == 0 {
        return None;
    }
    let mut word = [0u8; 8];
    // SAFETY: `word` is ours and large enough.
    Some(match unsafe { cross_memory::read_one(pid, address, word.as_mut_ptr(), 8) } {
        Ok(()) if u64::from_ne_bytes(word) == value => Ok(Remote::CrossMemory(pid)),
        Ok(()) => Err(format!("process {pid} is another one here (another namespace of processes)")),
        Err(error) => Err(error.message().to_owned()),
    })
}

/// Whether `file` is the memory of the rank at `area`.
pub fn knows_secret(area: &Area, file: BorrowedFd) -> bool {
    let Some((address, value)) = proof_of(area) else { return false };
    let mut word = [0u8; 8];
    // SAFETY: `word` is ours and large enough.
    let read = unsafe { memory_file::read(file, address, &[(word.as_mut_ptr() as usize, 8)]) };
    read.is_ok() && u64::from_ne_bytes(word) == value
}

/// Where the secret word of a rank lies, and what it is.
fn proof_of(area: &Area) -> Option<(u64, u64)> {
    let proof = &area.control().proof.0;
    let address = proof.address.load(Ordering::Acquire); // proof: paired with `publish_proof`
    (address != 0).then(|| (address, proof.value.load(Ordering::Relaxed)))
}
