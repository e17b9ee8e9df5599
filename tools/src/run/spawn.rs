//! Making one process: fork, and in the child only system calls until exec.
//!
//! Promises: the rank leads a process group of its own (unless it shares the
//! launcher's terminal), dies when the launcher dies, has the signal mask and
//! limits that the launcher was started with, and a failed exec is reported
//! over a pipe that a successful one closes.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;

/// Everything the child needs, made before the fork.
#[derive(Debug)]
pub struct Child<'a> {
    /// What to execute.
    pub path: &'a CString,
    /// Its arguments, beginning with its name.
    pub arguments: &'a [CString],
    /// Its environment, in two parts.
    pub environment: [&'a [CString]; 2],
    /// Where to run, if not here.
    pub directory: Option<&'a CString>,
    /// What becomes descriptor 0, 1 and 2; `None`: the launcher's own.
    pub streams: [Option<RawFd>; 3],
    /// Descriptors that stay open over exec.
    pub inherited: &'a [RawFd],
    /// CPUs to run on.
    pub place: Option<&'a libc::cpu_set_t>,
    /// Whether it leads a process group of its own.
    pub own_group: bool,
    /// Where to report a failure.
    pub report: RawFd,
    /// By what number to report it.
    pub rank: u32,
}

/// What the launcher was started with and hands on.
#[derive(Clone, Copy)]
pub struct Inheritance<'a> {
    /// The signal mask.
    pub mask: &'a libc::sigset_t,
    /// The limit on open files.
    pub open_files: Option<&'a libc::rlimit>,
}

/// A failure in the child before its program ran, as sent over the pipe.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// The rank that could not be started.
    pub rank: u32,
    /// The step that failed: see the constants below.
    pub step: u32,
    /// The system's error number.
    pub code: i32,
}

/// [`Failure::step`]: entering the directory.
pub const STEP_DIRECTORY: u32 = 1;
/// [`Failure::step`]: replacing the standard streams.
pub const STEP_STREAMS: u32 = 2;
/// [`Failure::step`]: executing the program.
pub const STEP_EXECUTE: u32 = 3;

/// Starts the child; returns its process id. Call while there is one thread.
///
/// # Errors
/// What the system says to the fork.
pub fn spawn(child: &Child, inheritance: Inheritance) -> io::Result<i32> {
    let arguments = pointers(&[child.arguments]);
    let environment = pointers(&child.environment);
    let launcher = std::process::id() as i32;
    // SAFETY: there is one thread; the child does nothing but system calls.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let (step, code) = become_rank(child, inheritance, launcher, &arguments, &environment);
            let failure = Failure { rank: child.rank, step, code };
            // SAFETY: `failure` is plain data of that size; leaving is always allowed.
            unsafe {
                libc::write(child.report, (&raw const failure).cast(), std::mem::size_of::<Failure>());
                libc::_exit(127)
            }
        }
        process => {
            if child.own_group {
                // SAFETY: plain system call; fails harmlessly when the child came first.
                unsafe { libc::setpgid(process, process) };
            }
            Ok(process)
        }
    }
}

/// Pointers to all strings, ended by null.
fn pointers(parts: &[&[CString]]) -> Vec<*const libc::c_char> {
    let strings = parts.iter().flat_map(|part| part.iter()).map(|text| text.as_ptr());
    strings.chain([std::ptr::null()]).collect()
}

/// Runs in the child. Returns only if something failed: the step and errno.
fn become_rank(
    child: &Child,
    inheritance: Inheritance,
    launcher: i32,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
) -> (u32, i32) {
    // SAFETY: only system calls, on valid strings, sets and descriptors made
    // before the fork; `arguments` and `environment` end with null.
    unsafe {
        if child.own_group {
            libc::setpgid(0, 0);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != launcher {
            libc::_exit(127); // the launcher died before it could be noticed
        }
        for (number, stream) in child.streams.iter().enumerate() {
            if stream.is_some_and(|stream| libc::dup2(stream, number as i32) < 0) {
                return (STEP_STREAMS, errno());
            }
        }
        for &descriptor in child.inherited {
            libc::fcntl(descriptor, libc::F_SETFD, 0);
        }
        if child.directory.is_some_and(|folder| libc::chdir(folder.as_ptr()) != 0) {
            return (STEP_DIRECTORY, errno());
        }
        if let Some(place) = child.place {
            libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), place);
        }
        if let Some(limit) = inheritance.open_files {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, inheritance.mask, std::ptr::null_mut());
        libc::execve(child.path.as_ptr(), arguments.as_ptr(), environment.as_ptr());
    }
    (STEP_EXECUTE, errno())
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
