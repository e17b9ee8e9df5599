//! Whether a process has a window.

use super::layout::{PAGE, SLOTS};
use super::program;
use super::system::Status;
use std::ffi::CStr;

/// Nobody has asked yet.
pub const UNDECIDED: u32 = 0;
/// There is one.
pub const USABLE: u32 = 1;

/// Why there is no window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Off {
    /// Not a rank of a job of several on this node.
    NoRank = 2,
    /// The setting says so.
    Asked = 3,
    /// The limit on address space (`ulimit -v`) or on the size of files.
    Limit = 4,
    /// valgrind has its own memory.
    Valgrind = 5,
    /// A sanitizer has its own memory.
    Sanitizer = 6,
    /// Pages are not 4 KiB, or there are more ranks than windows.
    Machine = 7,
    /// The address space could not be had.
    NoAddressSpace = 8,
    /// The node segment has no part for windows.
    NoFile = 9,
}

impl Off {
    /// From its number.
    pub fn from_raw(raw: u32) -> Option<Off> {
        use Off::*;
        [NoRank, Asked, Limit, Valgrind, Sanitizer, Machine, NoAddressSpace, NoFile]
            .into_iter()
            .find(|&why| why as u32 == raw)
    }

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Off::NoRank => "this process is no rank of a job of several ranks on this machine",
            Off::Asked => "SERRIED_COPY asks for other means",
            Off::Limit => "a limit on address space or file size is set (ulimit -v, -f)",
            Off::Valgrind => "valgrind is running the program",
            Off::Sanitizer => "a sanitizer is in the program",
            Off::Machine => "pages of this machine are not 4 KiB long, or there are too many ranks",
            Off::NoAddressSpace => "64 GiB of address space are not to be had",
            Off::NoFile => "the node segment was made under a limit on file size (ulimit -f)",
        }
    }
}

/// Whether processes like this one have windows as ranks of a job.
///
/// # Errors
/// Why not.
pub fn here() -> Result<(), Off> {
    other_means_wanted()?;
    possible(0)
}

fn other_means_wanted() -> Result<(), Off> {
    match variable(crate::settings::COPY_NAME) {
        None | Some(b"" | b"direct") => Ok(()),
        Some(_) => Err(Off::Asked),
    }
}

/// Whether a window can be in this process at all.
pub(super) fn possible(slot: u32) -> Result<(), Off> {
    // SAFETY: asking for the page size is always allowed.
    if unsafe { libc::sysconf(libc::_SC_PAGESIZE) } != PAGE as libc::c_long || slot >= SLOTS {
        return Err(Off::Machine);
    }
    limits()?;
    if variable(c"LD_PRELOAD").is_some_and(|value| value.windows(9).any(|part| part == b"vgpreload")) {
        return Err(Off::Valgrind);
    }
    for name in [c"__asan_init", c"__tsan_init", c"__msan_init"] {
        // SAFETY: `name` is a C string.
        if !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null() {
            return Err(Off::Sanitizer);
        }
    }
    Ok(())
}

/// Whether address space, data and files may be as large as one likes.
pub fn limits() -> Result<(), Off> {
    match is_unlimited(libc::RLIMIT_AS) && files_are_unlimited() {
        true => Ok(()),
        false => Err(Off::Limit),
    }
}

/// Whether files may be as large as one likes.
pub fn files_are_unlimited() -> bool {
    is_unlimited(libc::RLIMIT_FSIZE)
}

fn is_unlimited(resource: libc::__rlimit_resource_t) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let known = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    !known || limit.rlim_cur == libc::RLIM_INFINITY
}

/// The slot of this process, as its environment has it before MPI starts.
pub(super) fn slot_by_environment() -> Result<u32, Off> {
    let number =
        |name| variable(name).and_then(|text| std::str::from_utf8(text).ok()?.trim().parse::<u32>().ok());
    other_means_wanted()?;
    if number(c"PMI_SIZE").is_none_or(|size| size < 2) {
        return Err(Off::NoRank);
    }
    number(c"MPI_LOCALRANKID").or_else(|| number(c"PMI_RANK")).ok_or(Off::NoRank)
}

/// Whether libc has its environment: not so while the program is being loaded.
pub(super) fn environment_is_there() -> bool {
    extern "C" {
        static environ: *const *const libc::c_char;
    }
    // SAFETY: libc's own variable.
    unsafe { !environ.is_null() }
}

/// A variable of the environment, without allocation.
fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: `name` is a C string.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a C string of the environment; programs that change it while
    // another thread reads it are wrong in themselves.
    Some(unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Whether pages may become shared now: nothing may hold them by their
/// physical address (registered buffers, GPUs), and none may be locked.
pub(super) fn pages_may_move(now: &Status) -> bool {
    if now.number("VmPin") != Some(0) || now.number("VmLck") != Some(0) {
        return false;
    }
    !program::has_loaded(&["libcuda.so", "libamdhip64.so", "libze_loader.so"])
}
