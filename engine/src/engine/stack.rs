//! The stack of a thread that waits: addresses of its calls, and the lines of Python where there is
//! Python. The thread looks at its own stack, so nobody is stopped and no right is needed. The
//! observer finds out which functions and lines the addresses are: reading debugging information
//! here would cost this process memory that stays.

use super::python;
use std::ffi::{c_int, c_void};

/// Lines of Python that are told.
const LINES: usize = 24;
/// Calls that are told, those of the engine among them.
const CALLS: usize = 64;

/// A stack.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Stack {
    /// Addresses inside its calls, the innermost first.
    pub native: Vec<u64>,
    /// Lines of Python, the same.
    pub python: Vec<String>,
}

/// The stack of the thread that asks.
pub(super) fn of_this_thread() -> Stack {
    Stack { native: addresses(), python: read_python(&python::stack().unwrap_or_default()) }
}

/// The unwinder of the C library's family, which Rust's own library uses and has loaded.
type Context = *mut c_void;
/// `_URC_NO_REASON`: go on.
const ON: c_int = 0;
/// `_URC_END_OF_STACK`: stop.
const STOP: c_int = 5;

extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(Context, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(context: Context, is_before: *mut c_int) -> usize;
}

fn addresses() -> Vec<u64> {
    extern "C" fn each(context: Context, found: *mut c_void) -> c_int {
        // SAFETY: the vector below, which nobody else has while the stack is walked.
        let found = unsafe { &mut *found.cast::<Vec<u64>>() };
        let mut is_before = 0;
        // SAFETY: the context is the walk's own, and valid during this call.
        let address = unsafe { _Unwind_GetIPInfo(context, &mut is_before) } as u64;
        if address == 0 || found.len() == CALLS {
            return STOP;
        }
        // Where a call returns to may be on the next line already, or in the next function.
        found.push(if is_before != 0 { address } else { address - 1 });
        ON
    }
    let mut found = Vec::with_capacity(CALLS);
    // SAFETY: `each` gets the vector that it expects, and does not unwind.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    found
}

/// `File "x.py", line 3 in f` becomes `f at x.py:3`.
fn read_python(text: &str) -> Vec<String> {
    let frame = |line: &str| {
        let (file, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        Some(format!("{function} at {file}:{number}"))
    };
    text.lines().filter_map(frame).take(LINES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn called() -> Vec<u64> {
        std::hint::black_box(addresses())
    }

    #[test]
    fn the_stack_goes_through_its_callers() {
        let found = called();
        let inside = |start: usize| {
            let near = |address: &&u64| (start as u64..start as u64 + 4096).contains(*address);
            found.iter().position(|address| near(&address))
        };
        assert!((3..=CALLS).contains(&found.len()), "{found:x?}");
        assert!(inside(called as *const () as usize).is_some_and(|place| place < 3), "{found:x?}");
    }

    #[test]
    fn python_lines_are_read() {
        let text = "Stack (most recent call first):\n  File \"a.py\", line 3 in f\n  File \"a.py\", line 9 in <module>\n";
        assert_eq!(read_python(text), ["f at a.py:3", "<module> at a.py:9"]);
    }
}
