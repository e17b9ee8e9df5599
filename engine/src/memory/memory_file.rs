//! The memory of a process as a file that it opens for reading and passes on:
//! one copy by the kernel also where it refuses [`super::cross_memory`]
//! (containers with user namespaces of their own, sandboxes that filter calls).

use crate::{Class, Error, Result};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Pieces that one system call takes.
const PIECES: usize = 1024;

/// The memory of this process, to be read by whoever gets the descriptor.
///
/// # Errors
/// `Intern` with the system's reason.
pub fn open() -> Result<OwnedFd> {
    // SAFETY: a plain system call with a C string.
    let raw = unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if raw < 0 {
        return Err(failed("opening the memory file of this process"));
    }
    // SAFETY: just got, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Reads from `remote` of the process whose memory `file` is into pieces
/// `(address, bytes)`.
///
/// # Errors
/// `Intern` with the system's reason (process gone, bad address).
///
/// # Safety
/// The pieces must be writable memory that nothing else uses meanwhile.
pub unsafe fn read(file: BorrowedFd, remote: u64, pieces: &[(usize, usize)]) -> Result<()> {
    let mut at = remote;
    let (mut piece, mut done) = (0, 0);
    let mut vectors = Vec::with_capacity(pieces.len().min(PIECES));
    while piece < pieces.len() {
        vectors.clear();
        for (number, &(address, bytes)) in pieces[piece..].iter().take(PIECES).enumerate() {
            let skip = if number == 0 { done } else { 0 };
            vectors.push(libc::iovec { iov_base: (address + skip) as *mut _, iov_len: bytes - skip });
        }
        // SAFETY: the vectors are valid; the caller vouches for the memory.
        let read = unsafe {
            libc::preadv(file.as_raw_fd(), vectors.as_ptr(), vectors.len() as libc::c_int, at as libc::off_t)
        };
        if read <= 0 && pieces[piece..].iter().any(|piece| piece.1 > 0) {
            return Err(failed("reading the memory file of a peer"));
        }
        at += read as u64;
        done += read as usize;
        while piece < pieces.len() && done >= pieces[piece].1 {
            done -= pieces[piece].1;
            piece += 1;
        }
    }
    Ok(())
}

fn failed(what: &str) -> Error {
    Error::new(Class::Intern, format!("{what} failed: {}", std::io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn reads_its_own_process_into_many_pieces() {
        let source: Vec<u8> = (0..100_000).map(|index| (index % 251) as u8).collect();
        let mut target = vec![0u8; 200_000];
        let base = target.as_mut_ptr() as usize;
        // Every other 50 bytes, an empty piece among them; more than one call takes.
        let mut pieces: Vec<_> = (0..2000).map(|index| (base + index * 100, 50)).collect();
        pieces.insert(7, (base, 0));
        // SAFETY: the pieces lie in `target`, apart from each other.
        unsafe { read(open().unwrap().as_fd(), source.as_ptr() as u64, &pieces).unwrap() };
        for (index, bytes) in target.chunks(100).enumerate() {
            assert_eq!(bytes[..50], source[index * 50..index * 50 + 50]);
            assert!(bytes[50..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn a_bad_address_is_an_error() {
        let mut target = [0u8; 8];
        let piece = [(target.as_mut_ptr() as usize, 8)];
        // SAFETY: the piece is `target`.
        let failed = unsafe { read(open().unwrap().as_fd(), 8, &piece) };
        assert_eq!(failed.unwrap_err().class(), Class::Intern);
    }
}
