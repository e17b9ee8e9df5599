//! How often the kernel's out-of-memory killer has struck in this cgroup.

use std::fs;

/// The count so far; `None` where the system does not tell.
pub fn kills() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        match (fields.next()?, fields.next()?) {
            ("", path) => read(&format!("/sys/fs/cgroup{path}/memory.events")),
            (names, path) if names.split(',').any(|name| name == "memory") => {
                read(&format!("/sys/fs/cgroup/memory{path}/memory.oom_control"))
            }
            _ => None,
        }
    })
}

fn read(file: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}
