//! Signal handlers of the program, and memory that it shares with others in a way of its own. Both can
//! move this process unseen, besides its own threads and its peers in MPI. Nobody can tell what these
//! will do, so a rank that they might move is never said to be stuck.

use std::ffi::CStr;
use std::fs;
use std::sync::OnceLock;

/// Signals by their numbers from 1 on, as Linux numbers them on the machines that we know.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// Signals that a thread brings about by its own fault; no waiting thread does. Many runtimes catch them.
const FAULTS: [libc::c_int; 6] =
    [libc::SIGILL, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];
/// Those with which the C library ends threads and changes their rights.
const OF_THE_C_LIBRARY: [libc::c_int; 2] = [32, 33];
/// Those that gfortran's library catches to tell where a program ended.
const OF_FORTRAN: [libc::c_int; 4] = [libc::SIGQUIT, libc::SIGTRAP, libc::SIGXCPU, libc::SIGXFSZ];
/// That which Python catches to raise KeyboardInterrupt.
const OF_PYTHON: [libc::c_int; 1] = [libc::SIGINT];

/// The signals that runtimes of this process catch by themselves, a bit for each.
static OF_RUNTIMES: OnceLock<u64> = OnceLock::new();

/// Looks which runtimes there are: not while a lock is held, for the loader has one too.
pub(super) fn look_at_runtimes() {
    OF_RUNTIMES.get_or_init(|| {
        let fortran = if is_loaded(c"_gfortran_set_options") { bits(&OF_FORTRAN) } else { 0 };
        let python = if is_loaded(c"Py_IsInitialized") { bits(&OF_PYTHON) } else { 0 };
        bits(&FAULTS) | bits(&OF_THE_C_LIBRARY) | fortran | python
    });
}

/// The handlers that the program has set, in words; `None` if it has none that may wake anybody.
pub(super) fn handlers() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    match caught(&status) {
        Some(caught) => in_words(caught & !OF_RUNTIMES.get().copied().unwrap_or_default()),
        None => Some("a signal handler that it may have".into()),
    }
}

fn in_words(signals: u64) -> Option<String> {
    let named = |&number: &u32| signals & (1 << (number - 1)) != 0;
    let name = |number: u32| match NAMES.get(number as usize - 1) {
        Some(name) => (*name).to_owned(),
        None => format!("signal {number}"),
    };
    let names: Vec<String> = (1..=64).filter(named).map(name).collect();
    (!names.is_empty()).then(|| format!("the program's handler of {}", names.join(" or ")))
}

/// The signals that have a handler, a bit for each, from the status of a process.
fn caught(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

fn bits(signals: &[libc::c_int]) -> u64 {
    signals.iter().fold(0, |bits, &signal| bits | 1 << (signal - 1))
}

fn is_loaded(symbol: &CStr) -> bool {
    // SAFETY: looks a name up; what it finds is not used.
    unsafe { !libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()).is_null() }
}

/// Memory that the program shares with other processes by itself, in words; `None` if it has none.
pub(super) fn shared_memory() -> Option<String> {
    match fs::read_to_string("/proc/self/maps") {
        Ok(maps) => maps.lines().find_map(shared).map(|name| format!("memory that it shares ({name})")),
        Err(_) => Some("memory that it may share".into()),
    }
}

/// The name of a mapping that somebody else may write to.
fn shared(line: &str) -> Option<&str> {
    let mut words = line.splitn(6, ' ');
    let rights = words.nth(1)?;
    let name = words.nth(3).unwrap_or_default().trim();
    let ours = name.starts_with("/memfd:serried-");
    // Tables of the system, which every program maps.
    let of_the_system =
        !rights.contains('w') && ["/usr/", "/lib", "/var/", "/etc/"].iter().any(|at| name.starts_with(at));
    (rights.ends_with('s') && !ours && !of_the_system).then_some(if name.is_empty() {
        "no name"
    } else {
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_read_from_the_status_of_a_process_and_named() {
        let status = "Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000180006002\nCapInh:\t0\n";
        let caught = caught(status).unwrap();
        let left_out = bits(&FAULTS) | bits(&OF_THE_C_LIBRARY);
        assert_eq!(
            in_words(caught & !left_out).unwrap(),
            "the program's handler of SIGINT or SIGALRM or SIGTERM"
        );
        assert_eq!(in_words(bits(&FAULTS) & !left_out), None);
        assert_eq!(in_words(1 << 39).unwrap(), "the program's handler of signal 40");
        assert!(super::caught("Name:\tx\n").is_none());
    }

    #[test]
    fn memory_that_others_may_write_is_told_apart() {
        let lines = [
            ("7f0000000000-7f0000001000 rw-s 00000000 00:01 12   /memfd:serried-node (deleted)", None),
            ("7f0000000000-7f0000001000 rw-p 00000000 00:01 12   /dev/shm/x", None),
            ("7f0000000000-7f0000001000 r--s 00000000 08:01 12   /usr/lib/gconv/gconv-modules.cache", None),
            ("7f0000000000-7f0000001000 r--s 00000000 00:19 12   /dev/shm/x", Some("/dev/shm/x")),
            (
                "7f0000000000-7f0000001000 rw-s 00000000 00:01 12   /dev/zero (deleted)",
                Some("/dev/zero (deleted)"),
            ),
            (
                "7f0000000000-7f0000001000 rw-s 00000000 00:01 12   /SYSV00000000 (deleted)",
                Some("/SYSV00000000 (deleted)"),
            ),
            ("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ", None),
        ];
        for (line, name) in lines {
            assert_eq!(shared(line), name, "{line}");
        }
    }
}
