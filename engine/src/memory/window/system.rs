//! The system calls under a window, without allocation.

use super::layout::PAGE;
use std::os::fd::RawFd;

/// Reserves address space, at `at` unless that is 0. Costs no memory.
pub fn reserve(at: usize, bytes: usize) -> Option<usize> {
    let fixed = if at == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: a new mapping that replaces none.
    let got = unsafe { libc::mmap(at as *mut _, bytes, libc::PROT_NONE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return None;
    }
    if at != 0 && got as usize != at {
        // A kernel that does not know the flag took the address as a hint.
        release(got as usize, bytes);
        return None;
    }
    Some(got as usize)
}

/// Gives a reservation back.
pub fn release(at: usize, bytes: usize) {
    // SAFETY: only ever called with what `reserve` gave and nobody has used.
    unsafe { libc::munmap(at as *mut _, bytes) };
}

/// Makes reserved address space usable.
///
/// # Safety
/// The range must lie in a reservation of the caller.
pub unsafe fn commit(at: usize, bytes: usize) -> bool {
    // SAFETY: by the caller.
    unsafe { libc::mprotect(at as *mut _, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Replaces a range by shared pages of a file, which children do not inherit.
///
/// # Safety
/// The range must belong to the caller; what lay there is lost.
pub unsafe fn map_shared(at: usize, bytes: usize, file: RawFd, offset: u64, populate: bool) -> bool {
    let populate = if populate { libc::MAP_POPULATE } else { 0 };
    // SAFETY: by the caller.
    unsafe {
        map(at, bytes, libc::MAP_SHARED | populate, file, offset)
            && libc::madvise(at as *mut _, bytes, libc::MADV_DONTFORK) == 0
    }
}

/// Replaces a range by pages of a file that are shared already, and that children inherit as well.
///
/// # Safety
/// The file must have what lies in the range, and nobody may write there meanwhile.
pub unsafe fn map_again(at: usize, bytes: usize, file: RawFd, offset: u64) -> bool {
    // SAFETY: by the caller.
    unsafe { map(at, bytes, libc::MAP_SHARED | libc::MAP_POPULATE, file, offset) }
}

/// A private copy of memory, elsewhere.
///
/// # Safety
/// The range must be readable.
pub unsafe fn copy_of(at: usize, bytes: usize) -> Option<usize> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, which is as long.
    unsafe {
        let copy = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        if copy == libc::MAP_FAILED {
            return None;
        }
        std::ptr::copy_nonoverlapping(at as *const u8, copy.cast(), bytes);
        Some(copy as usize)
    }
}

/// Replaces a range by memory from elsewhere.
///
/// # Safety
/// Both ranges must belong to the caller; what lay in the second one is lost.
pub unsafe fn move_to(from: usize, at: usize, bytes: usize) -> bool {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: by the caller.
    unsafe { libc::mremap(from as *mut _, bytes, bytes, flags, at as *mut libc::c_void) != libc::MAP_FAILED }
}

/// Does something while the signals of this thread wait.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the sets are places for the answers, and are filled before they are read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let done = work();
    // SAFETY: filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    done
}

/// Replaces a range by a private view of pages of a file.
///
/// # Safety
/// As [`map_shared`].
pub unsafe fn map_private(at: usize, bytes: usize, file: RawFd, offset: u64) -> bool {
    // SAFETY: by the caller.
    unsafe { map(at, bytes, libc::MAP_PRIVATE, file, offset) }
}

unsafe fn map(at: usize, bytes: usize, flags: i32, file: RawFd, offset: u64) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: by the callers.
    unsafe { libc::mmap(at as *mut _, bytes, access, flags, file, offset as i64) != libc::MAP_FAILED }
}

/// Gives the pages of a private range back; it reads as zero, or as the file.
///
/// # Safety
/// Nobody may need what lies there.
pub unsafe fn forget(at: usize, bytes: usize) -> bool {
    // SAFETY: by the caller.
    unsafe { libc::madvise(at as *mut _, bytes, libc::MADV_DONTNEED) == 0 }
}

/// Gives pages of a file back: they read as zero, for everybody.
pub fn punch(file: RawFd, offset: u64, bytes: usize) -> bool {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a system call on a file of ours.
    unsafe { libc::fallocate(file, mode, offset as i64, bytes as i64) == 0 }
}

/// Writes memory to a file.
///
/// # Safety
/// The range must be readable.
pub unsafe fn write_to(file: RawFd, offset: u64, at: usize, bytes: usize) -> bool {
    let mut done = 0;
    while done < bytes {
        // SAFETY: by the caller.
        let wrote = unsafe {
            libc::pwrite(file, (at + done) as *const _, bytes - done, (offset + done as u64) as i64)
        };
        if wrote <= 0 {
            return false;
        }
        done += wrote as usize;
    }
    true
}

/// Maps pages of a range that are there into this process, for reading.
pub fn populate(at: usize, bytes: usize) {
    let start = at & !(PAGE - 1);
    // SAFETY: advice changes no contents; a refusal only means faults later.
    unsafe { libc::madvise(start as *mut _, at + bytes - start, libc::MADV_POPULATE_READ) };
}

/// Bytes of memory of this machine.
pub fn all_memory() -> usize {
    // SAFETY: asking is always allowed.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages).map_or(usize::MAX, |pages| pages.saturating_mul(PAGE))
}

/// What `/proc/self/status` says of this process at one moment.
pub struct Status {
    text: [u8; 4096],
    length: usize,
}

impl Status {
    /// Now.
    pub fn now() -> Option<Status> {
        let mut status = Status { text: [0; 4096], length: 0 };
        status.length = read_file(c"/proc/self/status", &mut status.text)?;
        Some(status)
    }

    /// A number of it, in its own unit (KiB for memory).
    pub fn number(&self, name: &str) -> Option<u64> {
        let text = std::str::from_utf8(&self.text[..self.length]).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Whether the process has one thread: nobody else writes to its memory.
    pub fn is_alone(&self) -> bool {
        self.number("Threads") == Some(1)
    }
}

/// A number of `/proc/self/status`, in its own unit.
pub fn status(name: &str) -> Option<u64> {
    Status::now()?.number(name)
}

/// Where the heap begins that the kernel gives out by `brk`; `None`: it does not say.
pub fn start_of_heap() -> Option<usize> {
    /// Its place among the fields behind the name of the program, which may have spaces of its own.
    const START_BRK: usize = 44;
    let mut text = [0u8; 1024];
    let length = read_file(c"/proc/self/stat", &mut text)?;
    let (_, fields) = std::str::from_utf8(&text[..length]).ok()?.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(START_BRK)?.parse().ok().filter(|&start| start != 0)
}

fn read_file(path: &std::ffi::CStr, into: &mut [u8]) -> Option<usize> {
    // SAFETY: plain system calls on a valid path and buffer.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, into.as_mut_ptr().cast(), into.len());
        libc::close(file);
        usize::try_from(length).ok()
    }
}

/// Whether a page of private memory has contents of its own, by the words of
/// `/proc/self/pagemap` for pages from `at` on. `false`: they are not to be had.
pub fn own_pages(at: usize, words: &mut [u64]) -> bool {
    // SAFETY: plain system calls on a valid path and buffer.
    unsafe {
        let file = libc::open(c"/proc/self/pagemap".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let wanted = words.len() * 8;
        let got = libc::pread(file, words.as_mut_ptr().cast(), wanted, (at / PAGE * 8) as i64);
        libc::close(file);
        if got != wanted as isize {
            return false;
        }
    }
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const OF_FILE: u64 = 1 << 61;
    for word in words.iter_mut() {
        let own = *word & (PRESENT | SWAPPED) != 0 && *word & OF_FILE == 0;
        *word = own as u64;
    }
    true
}
