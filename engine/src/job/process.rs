//! What the system says of other processes.

/// The state of a process as /proc tells it (proc(5): `R`, `S`, `Z` …), `None` if there
/// is no such process.
pub fn state(process: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may contain anything, also parentheses.
    text.rsplit_once(") ")?.1.chars().next()
}
