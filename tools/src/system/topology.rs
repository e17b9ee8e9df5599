//! Cores, memory domains and sockets among the CPUs that this process may use,
//! from /sys.

use serried_engine::job::cpus;
use std::collections::BTreeMap;
use std::fs;

/// The allowed CPUs, grouped; groups without an allowed CPU are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// Hardware threads of each core.
    pub cores: Vec<Vec<usize>>,
    /// CPUs of each memory domain.
    pub numa: Vec<Vec<usize>>,
    /// CPUs of each socket.
    pub sockets: Vec<Vec<usize>>,
}

/// Reads the topology of this machine. Where /sys tells nothing, each CPU counts as a core, and all
/// are one domain.
pub fn read() -> Topology {
    let allowed = cpus::allowed();
    let domains = numa_of_cpus();
    let group = |key: &dyn Fn(usize) -> usize| {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &cpu in &allowed {
            groups.entry(key(cpu)).or_default().push(cpu);
        }
        groups.into_values().collect()
    };
    Topology {
        cores: group(&|cpu| first_sibling(cpu).unwrap_or(cpu)),
        numa: group(&|cpu| domains.get(&cpu).copied().unwrap_or(0)),
        sockets: group(&|cpu| of_cpu(cpu, "physical_package_id").and_then(|id| id.parse().ok()).unwrap_or(0)),
    }
}

fn of_cpu(cpu: usize, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}")).ok()?;
    Some(text.trim().to_owned())
}

fn first_sibling(cpu: usize) -> Option<usize> {
    list(&of_cpu(cpu, "thread_siblings_list")?).first().copied()
}

fn numa_of_cpus() -> BTreeMap<usize, usize> {
    let mut domains = BTreeMap::new();
    for entry in fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(node) = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok()) else {
            continue;
        };
        let text = fs::read_to_string(entry.path().join("cpulist")).unwrap_or_default();
        domains.extend(list(&text).into_iter().map(|cpu| (cpu, node)));
    }
    domains
}

/// Reads the kernel's lists, such as `0-3,8`.
fn list(text: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

/// Writes CPUs as the kernel does.
pub fn list_text(cpus: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|(i, cpu)| **cpu == first + i).count();
        parts.push(if run == 1 { first.to_string() } else { format!("{first}-{}", first + run - 1) });
        rest = &rest[run..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        assert_eq!(list("0-2,7,9-9\n"), [0, 1, 2, 7, 9]);
        assert_eq!(list_text(&[0, 1, 2, 7, 9]), "0-2,7,9");
    }

    #[test]
    fn every_allowed_cpu_has_its_place() {
        let topology = read();
        let mut cpus: Vec<usize> = topology.cores.concat();
        cpus.sort_unstable();
        assert_eq!(cpus, cpus::allowed());
        assert_eq!(topology.sockets.concat().len(), cpus.len());
    }
}
