//! Copying between the memories of two processes in one system call
//! (`process_vm_readv` and `process_vm_writev`).

use crate::{Class, Error, Result};

/// Pieces that one system call takes.
const PIECES: usize = 1024;

/// Reads from `remote` of process `pid` into pieces `(address, bytes)`.
///
/// # Errors
/// `Intern` with the system's reason (forbidden, process gone, bad address).
///
/// # Safety
/// The pieces must be writable memory that nothing else uses meanwhile.
pub unsafe fn read(pid: u32, remote: u64, pieces: &[(usize, usize)]) -> Result<()> {
    let mut at = remote;
    let mut local = Vec::with_capacity(pieces.len().min(PIECES));
    for group in pieces.chunks(PIECES) {
        local.clear();
        local.extend(group.iter().map(|&(address, bytes)| iovec(address, bytes)));
        let bytes: usize = group.iter().map(|piece| piece.1).sum();
        // SAFETY: the caller vouches for the pieces.
        unsafe { transfer(pid, at, &mut local, bytes, Direction::Read)? };
        at += bytes as u64;
    }
    Ok(())
}

/// Reads one piece; no allocation.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// As [`read`].
pub unsafe fn read_one(pid: u32, remote: u64, address: *mut u8, bytes: usize) -> Result<()> {
    // SAFETY: the caller vouches for the piece.
    unsafe { transfer(pid, remote, &mut [iovec(address as usize, bytes)], bytes, Direction::Read) }
}

/// Writes `bytes` bytes at `local` to `remote` of process `pid`.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// `local` must be readable; the peer must have offered the memory at `remote`.
pub unsafe fn write(pid: u32, remote: u64, local: *const u8, bytes: usize) -> Result<()> {
    // SAFETY: the caller vouches for the piece.
    unsafe { transfer(pid, remote, &mut [iovec(local as usize, bytes)], bytes, Direction::Write) }
}

/// Bytes of another process, and where they lie in this one.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Their address in the other process.
    pub there: u64,
    /// Their address in this one.
    pub here: usize,
    /// How many.
    pub bytes: usize,
}

/// Reads many pieces of process `pid`.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// What lies here must be writable memory that nothing else uses meanwhile.
pub unsafe fn read_many(pid: u32, pairs: &[Pair]) -> Result<()> {
    // SAFETY: by the caller.
    pairs.chunks(PIECES).try_for_each(|group| unsafe { transfer_many(pid, group, Direction::Read) })
}

/// Writes many pieces to process `pid`.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// What lies here must be readable; the peer must have offered its memory.
pub unsafe fn write_many(pid: u32, pairs: &[Pair]) -> Result<()> {
    // SAFETY: by the caller.
    pairs.chunks(PIECES).try_for_each(|group| unsafe { transfer_many(pid, group, Direction::Write) })
}

/// One transfer of as many pieces as a system call takes, repeated as [`transfer`] is.
unsafe fn transfer_many(pid: u32, pairs: &[Pair], direction: Direction) -> Result<()> {
    let mut here: Vec<_> = pairs.iter().map(|pair| iovec(pair.here, pair.bytes)).collect();
    let mut there: Vec<_> = pairs.iter().map(|pair| iovec(pair.there as usize, pair.bytes)).collect();
    let (mut here, mut there) = (&mut here[..], &mut there[..]);
    let mut bytes: usize = pairs.iter().map(|pair| pair.bytes).sum();
    while bytes > 0 {
        // SAFETY: by the caller.
        let moved = unsafe { transfer_once(pid, here, there, bytes, direction)? };
        bytes -= moved;
        (here, there) = (advance(here, moved), advance(there, moved));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Direction {
    Read,
    Write,
}

fn iovec(address: usize, bytes: usize) -> libc::iovec {
    libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes }
}

/// One transfer, repeated while the kernel moves only a part (it does so at
/// 2 GiB, and at a signal).
unsafe fn transfer(
    pid: u32,
    mut remote: u64,
    mut local: &mut [libc::iovec],
    mut bytes: usize,
    direction: Direction,
) -> Result<()> {
    while bytes > 0 {
        let other = iovec(remote as usize, bytes);
        // SAFETY: by the caller.
        let moved = unsafe { transfer_once(pid, local, &[other], bytes, direction)? };
        bytes -= moved;
        remote += moved as u64;
        local = advance(local, moved);
    }
    Ok(())
}

/// One system call; how many bytes it has moved: at least one.
unsafe fn transfer_once(
    pid: u32,
    here: &[libc::iovec],
    there: &[libc::iovec],
    bytes: usize,
    direction: Direction,
) -> Result<usize> {
    let call = match direction {
        Direction::Read => libc::process_vm_readv,
        Direction::Write => libc::process_vm_writev,
    };
    let number = |pieces: &[libc::iovec]| pieces.len() as libc::c_ulong;
    // SAFETY: the vectors are valid; the caller vouches for local memory, and the kernel checks the remote one.
    let moved =
        unsafe { call(pid as libc::pid_t, here.as_ptr(), number(here), there.as_ptr(), number(there), 0) };
    match moved {
        1.. => Ok(moved as usize),
        _ => {
            let cause = std::io::Error::last_os_error();
            let sentence =
                format!("copying {bytes} bytes between this process and process {pid} failed: {cause}");
            Err(Error::new(Class::Intern, sentence))
        }
    }
}

fn advance(mut pieces: &mut [libc::iovec], mut moved: usize) -> &mut [libc::iovec] {
    while moved > 0 {
        let taken = moved.min(pieces[0].iov_len);
        pieces[0].iov_base = (pieces[0].iov_base as usize + taken) as *mut libc::c_void;
        pieces[0].iov_len -= taken;
        moved -= taken;
        if pieces[0].iov_len == 0 {
            pieces = &mut pieces[1..];
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_process_into_several_pieces() {
        let source: Vec<u8> = (0..100).collect();
        let mut target = [0u8; 120];
        let base = target.as_mut_ptr() as usize;
        let pid = std::process::id();
        // SAFETY: the pieces lie in `target`, apart from each other.
        unsafe { read(pid, source.as_ptr() as u64, &[(base, 30), (base + 40, 70)]).unwrap() };
        assert_eq!(target[..30], source[..30]);
        assert_eq!(target[40..110], source[30..]);
    }

    #[test]
    fn many_pieces_are_read_and_written() {
        let source: Vec<u8> = (0..250).cycle().take(3 * PIECES * 4).collect();
        let mut target = vec![0u8; source.len()];
        let (pid, from, to) = (std::process::id(), source.as_ptr() as usize, target.as_mut_ptr() as usize);
        // Pieces of 1, 2 and 3 bytes, each 4 after the last, more of them than a system call takes.
        let piece = |index: usize| Pair {
            there: (from + 4 * index) as u64,
            here: to + 4 * index,
            bytes: 1 + index % 3,
        };
        let pairs: Vec<_> = (0..3 * PIECES).map(piece).collect();
        // SAFETY: the pieces lie in `target`, apart from each other.
        unsafe { read_many(pid, &pairs).unwrap() };
        let expected = |at: usize, here: u8| if at % 4 < 1 + at / 4 % 3 { here } else { 0 };
        assert!(target.iter().enumerate().all(|(at, &byte)| byte == expected(at, source[at])));
        let back: Vec<_> = pairs
            .iter()
            .map(|pair| Pair { there: pair.here as u64, here: from + 1, bytes: pair.bytes })
            .collect();
        // SAFETY: the same; the source is only read.
        unsafe { write_many(pid, &back).unwrap() };
        assert!(target.iter().enumerate().all(|(at, &byte)| byte == expected(at, source[1 + at % 4])));
    }

    #[test]
    fn a_bad_address_is_an_error() {
        let mut target = [0u8; 8];
        // SAFETY: the piece is `target`.
        let failed = unsafe { read_one(std::process::id(), 8, target.as_mut_ptr(), 8) };
        assert_eq!(failed.unwrap_err().class(), Class::Intern);
    }
}
