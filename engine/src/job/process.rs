//! What the system says of other processes.

/// The state of a process as /proc tells it (proc(5): `R`, `S`, `Z` …), `None` if there
/// is no such process.
pub fn state(process: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may contain anything, also parentheses.
    text.rsplit_once(") ")?.1.chars().next()
}

/// The namespace that gives this process its number, as the kernel numbers them; 0 if it does not say.
pub fn own_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |known| std::os::linux::fs::MetadataExt::st_ino(&known))
}
