//! The parts of the machine, from coarse to fine, and which of them this
//! process is confined to (MPI-5.0 §9.1.2, §7.4.2).
//!
//! A part is told apart by the smallest number of its CPUs. A process that may
//! run on CPUs of several parts of one kind is confined to none of that kind.

use super::cpus;
use std::fs;

/// The kinds of parts below the node, in the words of the info key
/// `mpi_hw_resource_type`, from coarse to fine.
pub const KINDS: [&str; 5] =
    ["serried://socket", "serried://numa", "serried://l3cache", "serried://core", "serried://thread"];
/// What MPI calls the node.
pub const NODE: &str = "mpi_shared_memory";

/// By kind of [`KINDS`]: the part to which a process is confined, if it is.
pub type Place = [Option<u32>; KINDS.len()];

/// Where the calling process may run.
pub fn here() -> Place {
    confined(&cpus::allowed(), part)
}

/// The parts that hold all of `cpus`.
fn confined(cpus: &[usize], part: impl Fn(usize, usize) -> Option<u32>) -> Place {
    let mut place = [None; KINDS.len()];
    for (kind, confined) in place.iter_mut().enumerate() {
        let mut parts = cpus.iter().map(|&cpu| part(kind, cpu));
        let first = parts.next().flatten();
        *confined = first.filter(|_| parts.all(|other| other == first));
    }
    place
}

/// The part of a kind in which a CPU lies, as /sys tells.
fn part(kind: usize, cpu: usize) -> Option<u32> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    match kind {
        0 => lowest(&format!("{folder}/topology/package_cpus_list"))
            .or_else(|| lowest(&format!("{folder}/topology/core_siblings_list"))),
        1 => memory_domain(&folder),
        2 => lowest(&format!("{folder}/cache/index3/shared_cpu_list")),
        3 => lowest(&format!("{folder}/topology/thread_siblings_list")),
        _ => u32::try_from(cpu).ok(),
    }
}

/// The folder of a CPU has a link to its memory domain: `node0`.
fn memory_domain(folder: &str) -> Option<u32> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find_map(|name| name.strip_prefix("node")?.parse().ok())
}

/// The first number of a list of the kernel, which ascends.
fn lowest(path: &str) -> Option<u32> {
    let text = fs::read_to_string(path).ok()?;
    text.split(['-', ',', '\n']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sockets of 8 CPUs, no memory domains told, caches of 4, cores of 2.
    fn machine(kind: usize, cpu: usize) -> Option<u32> {
        let cpu = cpu as u32;
        [Some(cpu / 8 * 8), None, Some(cpu / 4 * 4), Some(cpu / 2 * 2), Some(cpu)][kind]
    }

    #[test]
    fn a_process_is_confined_to_what_holds_all_its_cpus() {
        assert_eq!(confined(&[5], machine), [Some(0), None, Some(4), Some(4), Some(5)]);
        assert_eq!(confined(&[8, 9], machine), [Some(8), None, Some(8), Some(8), None]);
        assert_eq!(confined(&[3, 4], machine), [Some(0), None, None, None, None]);
        assert_eq!(confined(&[7, 8], machine), [None; 5]);
        assert_eq!(confined(&[], machine), [None; 5]);
    }

    #[test]
    fn who_is_confined_to_a_thread_is_confined_to_its_core() {
        let place = here();
        assert!(place[4].is_none() || cpus::allowed().len() == 1);
        assert_eq!(place[4].is_some(), cpus::allowed().len() == 1);
    }
}
