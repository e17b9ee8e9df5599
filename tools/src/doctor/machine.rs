//! CPUs, memory, limits and sandboxes, as far as jobs feel them.

use super::finding::{size, Findings};
use crate::system::topology;
use serried_engine::device;
use serried_engine::job::cpus;
use serried_engine::memory::system_calls;
use serried_engine::memory::window::policy;
use std::fs;

/// CPUs that may be used.
pub fn processors(findings: &mut Findings) {
    let allowed = cpus::allowed();
    let there = topology::read();
    // SAFETY: asking for a number of the system is always allowed.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as usize;
    let text = format!(
        "{} of {online} CPUs may be used ({}): {} cores, {} memory domains",
        allowed.len(),
        topology::list_text(&allowed),
        there.cores.len(),
        there.numa.len()
    );
    findings.fine("cpus", text);
    if allowed.len() < online {
        findings.note(
            "affinity",
            "an affinity mask or cpuset hides the other CPUs (taskset, a container, a batch system)",
        );
    }
    match cpus::quota() {
        Some(quota) if quota < allowed.len() as f64 => {
            let text =
                format!("the cgroup grants {quota:.2} CPUs' worth of time, less than the CPUs that are seen");
            findings.warn("quota", text, "use that many ranks, or raise the container's CPU limit");
        }
        _ => {}
    }
    if cpus::usable() == 1 {
        findings.note("cpus", "one CPU: ranks take turns on it");
    }
}

/// GPUs whose memory buffers may lie in.
pub fn devices(findings: &mut Findings) {
    findings.note("gpus", device::describe(crate::info::wanted_gpu()));
}

/// Memory that may be used, and where shared memory comes from.
pub fn memory(findings: &mut Findings) {
    let free = meminfo("MemAvailable:");
    match group_limit() {
        Some((limit, used)) => {
            let left = limit.saturating_sub(used);
            let text = format!("the memory cgroup allows {}; {} of it are free", size(limit), size(left));
            match left < 64 << 20 {
                true => findings.warn(
                    "memory",
                    text,
                    "raise the container's memory limit: the kernel kills ranks that want more",
                ),
                false => findings.fine("memory", text),
            }
        }
        None => {
            findings.fine("memory", format!("{} of memory are available; no cgroup limits it", size(free)))
        }
    }
    match memory_file() {
        Ok(()) => findings.fine("shared-memory", "ranks share memory by memfd_create, which works here"),
        Err(cause) => findings.fault(
            "shared-memory",
            format!("memfd_create fails ({cause}), so ranks cannot share memory"),
            "allow the system call in the sandbox (seccomp profile) of the container",
        ),
    }
    dev_shm(findings);
}

/// `/dev/shm`: not ours, but others use it.
fn dev_shm(findings: &mut Findings) {
    let Some(about) = super::places::about("/dev/shm") else {
        return findings.note("dev-shm", "there is no /dev/shm; Serried needs none, other libraries do");
    };
    let mut odd = Vec::new();
    if about.read_only {
        odd.push("it is read-only".to_owned());
    }
    if about.bytes < 256 << 20 {
        odd.push("it is small".to_owned());
    } else if about.free < 16 << 20 {
        odd.push("it is full".to_owned());
    }
    let text = format!("/dev/shm has {}, {} of it free", size(about.bytes), size(about.free));
    match odd.is_empty() {
        true => findings.fine("dev-shm", text),
        false => findings.note(
            "dev-shm",
            format!(
                "{text}; {}. Serried does not use it; other libraries do (`docker run --shm-size`)",
                odd.join(", ")
            ),
        ),
    }
}

/// Limits of this process that ranks inherit.
pub fn limits(findings: &mut Findings) {
    let (files, most) = limit(libc::RLIMIT_NOFILE);
    let text = format!("{} open files (ulimit -n), up to {}", count(files), count(most));
    match most < 64 {
        true => findings.warn(
            "open-files",
            text,
            "raise `ulimit -n`: the launcher needs 3 for each rank and some 20",
        ),
        false => findings.fine("open-files", text),
    }
    let (processes, _) = limit(libc::RLIMIT_NPROC);
    if processes < 64 {
        findings.warn("processes", format!("{processes} processes at most (ulimit -u)"), "raise `ulimit -u`");
    }
    if policy::limits().is_err() {
        let (space, _) = limit(libc::RLIMIT_AS);
        let (file, _) = limit(libc::RLIMIT_FSIZE);
        let text = format!(
            "address space is {} (ulimit -v), files are {} (ulimit -f): with either limited, ranks cannot map each \
             other's memory",
            bytes(space),
            bytes(file)
        );
        match space < 256 << 20 || file < 8 << 20 {
            true => findings.fault(
                "address-space",
                text,
                "raise them: `ulimit -v unlimited; ulimit -f unlimited`",
            ),
            false => findings.warn("address-space", text, "`ulimit -v unlimited; ulimit -f unlimited`"),
        }
    }
    let (locked, _) = limit(libc::RLIMIT_MEMLOCK);
    findings
        .fine("locked-memory", format!("locked memory: {} (ulimit -l); Serried locks none", bytes(locked)));
}

/// What the system forbids processes like this one.
pub fn sandbox(findings: &mut Findings) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim().to_owned();
    if field("Seccomp:") == "2" {
        findings.note(
            "seccomp",
            "a seccomp filter is at work: it may forbid system calls (the lines about two ranks tell which ways are left)",
        );
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "" | "0" => {}
        value => findings.note(
            "ptrace",
            format!("yama/ptrace_scope is {value}: processes may not read each other without leave; ranks give it to each other"),
        ),
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().collect::<Vec<_>>() == ["0", "0", "4294967295"];
    if !whole && !map.is_empty() {
        findings.note(
            "user-namespace",
            "this is a user namespace; ranks in different ones cannot read each other's memory",
        );
    }
    if fs::metadata("/.dockerenv").is_ok() || fs::metadata("/run/.containerenv").is_ok() {
        findings.note("container", "this is a container");
    }
}

fn memory_file() -> std::io::Result<()> {
    let file = system_calls::memory_file(c"doctor", libc::MFD_CLOEXEC);
    if file < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: just made, and ours.
    unsafe { libc::close(file) };
    Ok(())
}

fn limit(which: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `found` is a valid place for the answer.
    unsafe { libc::getrlimit(which, &mut found) };
    (found.rlim_cur, found.rlim_max)
}

fn count(value: u64) -> String {
    if value == libc::RLIM_INFINITY {
        "any number of".into()
    } else {
        value.to_string()
    }
}

fn bytes(value: u64) -> String {
    if value == libc::RLIM_INFINITY {
        "unlimited".into()
    } else {
        size(value)
    }
}

/// The tightest memory limit of the cgroups above, and what they use.
fn group_limit() -> Option<(u64, u64)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut tightest: Option<(u64, u64)> = None;
    for line in groups.lines() {
        let fields: Vec<&str> = line.splitn(3, ':').collect();
        let [_, controllers, path] = fields[..] else { continue };
        let (root, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            list if list.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            let number = |file: &str| {
                fs::read_to_string(format!("{root}{path}/{file}")).ok()?.trim().parse::<u64>().ok()
            };
            // Version 1 writes a number near the largest for "none".
            if let (Some(limit), Some(used)) = (number(limit).filter(|&limit| limit < 1 << 60), number(used))
            {
                if tightest.is_none_or(|(known, _)| limit < known) {
                    tightest = Some((limit, used));
                }
            }
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => break,
            }
        }
    }
    tightest
}

fn meminfo(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let value =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok());
    value.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(
            (size(17), size(1 << 20), size(64 << 30)),
            ("17 bytes".into(), "1.0 MiB".into(), "64 GiB".into())
        );
    }
}
