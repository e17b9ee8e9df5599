//! The Python stack of a thread that waits, where the process has Python.
//!
//! Where Python lets it be found, `_Py_DumpTraceback` writes the stack; it needs no
//! lock of Python, and the thread's frames stand still while it is here. Elsewhere
//! (Python 3.12 and later hide it) a thread of our own asks Python for the frames
//! under Python's lock. Nobody waits for that lock but that thread: if it does not
//! come soon, the stack is not told.

use crate::memory::system_calls;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::mpsc;
use std::time::Duration;

/// How long Python's lock may take.
const PATIENCE: Duration = Duration::from_millis(500);

type ThisState = unsafe extern "C" fn() -> *mut c_void;
type Dump = unsafe extern "C" fn(c_int, *mut c_void);
type IsInitialized = unsafe extern "C" fn() -> c_int;
type Ensure = unsafe extern "C" fn() -> c_int;
type Release = unsafe extern "C" fn(c_int);
type Run = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// What Python tells of this thread's stack, in the words of its faulthandler.
pub(super) fn stack() -> Option<String> {
    // SAFETY: Python's own functions have had these types since 3.3.
    let (is_initialized, this_state) = unsafe {
        (
            function::<IsInitialized>(c"Py_IsInitialized")?,
            function::<ThisState>(c"PyGILState_GetThisThreadState")?,
        )
    };
    // SAFETY: both may be called at any time.
    let state = unsafe {
        match is_initialized() {
            0 => return None,
            _ => this_state(),
        }
    };
    if state.is_null() {
        return None;
    }
    let descriptor = system_calls::memory_file(c"serried-stack", libc::MFD_CLOEXEC);
    if descriptor < 0 {
        return None;
    }
    // SAFETY: just made, and ours alone.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    // SAFETY: as above.
    match unsafe { function::<Dump>(c"_Py_DumpTraceback") } {
        // SAFETY: the state is this thread's.
        Some(dump) => unsafe { dump(file.as_raw_fd(), state) },
        None => ask(&file)?,
    }
    file.rewind().ok()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Asks Python for the frames of this thread, in a thread of our own.
fn ask(file: &File) -> Option<()> {
    // SAFETY: Python's own functions have had these types since 3.3.
    let (ensure, release, run) = unsafe {
        (
            function::<Ensure>(c"PyGILState_Ensure")?,
            function::<Release>(c"PyGILState_Release")?,
            function::<Run>(c"PyRun_SimpleStringFlags")?,
        )
    };
    let file = file.try_clone().ok()?;
    // SAFETY: asks for a number only; Python knows threads by it.
    let thread = unsafe { libc::pthread_self() };
    let program = CString::new(program(thread, file.as_raw_fd())).ok()?;
    let (tell, told) = mpsc::channel();
    let asking = move || {
        // SAFETY: in pairs, around code that catches its own exceptions; the
        // descriptor lives until the end of this thread.
        unsafe {
            let held = ensure();
            run(program.as_ptr(), std::ptr::null_mut());
            release(held);
        }
        drop(file);
        let _ = tell.send(());
    };
    let asking = std::thread::Builder::new().spawn(asking).ok()?;
    told.recv_timeout(PATIENCE).ok()?;
    // Gone for good, or it would count as a thread of the program.
    asking.join().ok()
}

/// Python that writes the frames of a thread to a descriptor and touches nothing of
/// the program's.
fn program(thread: libc::pthread_t, descriptor: c_int) -> String {
    format!(
        "exec('''try:\n import os, sys\n f = sys._current_frames().get({thread})\n while f is not None:\n  \
         os.write({descriptor}, ('  File \"%s\", line %d in %s\\\\n' % (f.f_code.co_filename, f.f_lineno or 0, \
         f.f_code.co_name)).encode())\n  f = f.f_back\nexcept BaseException:\n pass\n''', {{}})\n"
    )
}

/// A function of Python's, if it is loaded.
///
/// # Safety
/// `F` must be the type of the function pointer.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    assert!(std::mem::size_of::<F>() == std::mem::size_of::<*mut c_void>());
    // SAFETY: looks up a name among the loaded libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: by the caller; as large as a pointer.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}
