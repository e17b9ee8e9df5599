//! The stack of a thread that waits: calls of the program with their source lines,
//! and those of Python where there is Python. The thread looks at its own stack, so
//! nobody is stopped and no right is needed.

use super::python;
use std::backtrace::Backtrace;

/// Lines that are told.
const LINES: usize = 24;
/// Native lines where there is Python.
const BESIDE_PYTHON: usize = 2;

/// A stack.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Stack {
    /// The MPI function that the program has called; empty if it cannot be seen.
    pub call: String,
    /// From that call outwards: `function at file:line`.
    pub native: Vec<String>,
    /// The same of Python.
    pub python: Vec<String>,
}

/// The stack of the thread that asks.
pub(super) fn of_this_thread() -> Stack {
    let mut stack = read_native(&Backtrace::force_capture().to_string());
    stack.python = read_python(&python::stack().unwrap_or_default());
    if !stack.python.is_empty() {
        stack.native.truncate(BESIDE_PYTHON);
    }
    stack
}

/// Reads what `Backtrace` prints: ` 3: function` and below it `at file:line:column`.
fn read_native(text: &str) -> Stack {
    let mut frames: Vec<(String, String)> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let (Some(place), Some((_, last))) = (line.strip_prefix("at "), frames.last_mut()) {
            // C has no columns that anybody asks for.
            let column = place.rsplit_once(':').filter(|(_, column)| column.parse::<u32>().is_ok());
            let whole = column
                .filter(|(line, _)| line.rsplit_once(':').is_some_and(|(_, n)| n.parse::<u32>().is_ok()));
            *last = whole.map_or(place, |(place, _)| place).to_owned();
        } else if let Some((_, function)) = line.split_once(": ") {
            frames.push((function.to_owned(), String::new()));
        }
    }
    let of_mpi = |function: &str| {
        let name = function.strip_prefix('P').unwrap_or(function);
        name.starts_with("MPI_") || name.starts_with("mpi_")
    };
    let Some(border) = frames.iter().rposition(|(function, _)| of_mpi(function)) else {
        return Stack::default();
    };
    let call = frames[border].0.trim_start_matches('P').to_owned();
    let below_main = |function: &str| {
        function.starts_with("__libc_start") || function == "_start" || function == "start_thread"
    };
    let program = frames[border + 1..].iter().take_while(|(function, _)| !below_main(function));
    let words = |(function, place): &(String, String)| match place.as_str() {
        "" => function.clone(),
        place => format!("{function} at {place}"),
    };
    Stack { call, native: program.map(words).take(LINES).collect(), python: Vec::new() }
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

    #[test]
    fn the_stack_begins_where_the_program_has_called_mpi() {
        let text = "   0: serried::wait\n             at ./x.rs:3:5\n   1: PMPI_Recv\n   2: MPI_Recv\n   3: exchange\n\
                    \x20            at /src/a b/ring.c:14:3\n   4: main\n             at ring.c:20\n   5: __libc_start_main\n   6: _start\n";
        let stack = read_native(text);
        assert_eq!(stack.call, "MPI_Recv");
        assert_eq!(stack.native, ["exchange at /src/a b/ring.c:14", "main at ring.c:20"]);
    }

    #[test]
    fn python_lines_are_read() {
        let text = "Stack (most recent call first):\n  File \"a.py\", line 3 in f\n  File \"a.py\", line 9 in <module>\n";
        assert_eq!(read_python(text), ["f at a.py:3", "<module> at a.py:9"]);
    }
}
