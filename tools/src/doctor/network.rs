//! Network and fabrics. A job on one machine needs neither; this says so, and
//! what is there. No name server is asked.

use super::finding::Findings;
use super::{elf, library};
use serried_engine::transport::fabric;
use std::fs;

/// The loopback device and this machine's name.
pub fn network(findings: &mut Findings) {
    match loopback_is_up() {
        true => findings.fine("lo", "the loopback device is up"),
        false => findings.note(
            "lo",
            "the loopback device (lo) is down; jobs on this machine do not need it, other launchers do",
        ),
    }
    let name = crate::system::host_name();
    match known_here(&name) {
        true => findings.fine("hostname", format!("the name of this machine, {name}, is known here")),
        false => findings.note(
            "hostname",
            format!(
                "the name of this machine, {name}, is not in /etc/hosts (no name server was asked); jobs on this machine \
                 do not need it, other launchers may"
            ),
        ),
    }
}

/// Asked of the kernel: /sys shows the devices of whoever mounted it.
fn loopback_is_up() -> bool {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid place for the answer.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return false;
    }
    let mut next = list;
    let mut up = false;
    // SAFETY: a list of the C library, valid until it is freed below; every
    // entry has a name.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
        up |= name == c"lo" && entry.ifa_flags & libc::IFF_UP as u32 != 0;
        next = entry.ifa_next;
    }
    // SAFETY: from getifaddrs, and not used any more.
    unsafe { libc::freeifaddrs(list) };
    up
}

/// Whether the machine can tell its own address without asking anybody.
fn known_here(name: &str) -> bool {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let in_hosts = hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .any(|line| line.split_whitespace().skip(1).any(|known| known.eq_ignore_ascii_case(name)));
    let services = fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    let by_service = services
        .lines()
        .filter_map(|line| line.trim().strip_prefix("hosts:"))
        .any(|line| line.split_whitespace().any(|word| word == "myhostname"));
    in_hosts || by_service || name == "localhost"
}

/// By what ranks of several nodes would be connected.
pub fn fabrics(findings: &mut Findings) {
    let mut devices: Vec<String> = fabric::hardware().collect();
    devices.sort();
    if devices.is_empty() {
        let libfabric = library::search(false).find_alone("libfabric.so.1", library::this_machine());
        let library = match libfabric {
            Some(elf::Elf { path, .. }) => format!("libfabric at {} is not needed", path.display()),
            None => "libfabric is not needed".into(),
        };
        let text = format!("no fast network device: ranks of several nodes talk over TCP; {library}");
        return findings.note("fabrics", text);
    }
    let devices = devices.join(", ");
    match fabric::for_hardware() {
        Ok(provider) => findings.fine(
            "fabrics",
            format!("{devices}: ranks of several nodes talk over libfabric's provider {provider}"),
        ),
        Err(error) => findings.warn(
            "fabrics",
            format!(
                "{devices} would not be used, and ranks of several nodes would talk over TCP: {}",
                error.message()
            ),
            "install a libfabric that has a provider for it",
        ),
    }
}
