//! The machines that a user names, for a launcher that has only this one: names
//! that mean this machine are accepted, others refused with a sentence.
//!
//! A list is `host[:ranks],…`. A file has a host in each line, `host[:ranks]` or
//! `host slots=N`; what stands behind it, and what follows a `#`, has no meaning
//! on one machine.

use crate::system::host_name;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

/// Looks at the value of `-hosts`.
///
/// # Errors
/// A sentence that names the machine that is not this one.
pub fn check_list(option: &str, list: &str) -> Result<(), String> {
    let hosts = list.split(',').map(str::trim).filter(|host| !host.is_empty());
    all_are_here(option, list, hosts)
}

/// Looks at the value of `-hostfile`.
///
/// # Errors
/// A sentence: the file cannot be read, or which machine in it is not this one.
pub fn check_file(option: &str, file: &Path) -> Result<(), String> {
    let name = file.display().to_string();
    let text = super::configuration::text(file).map_err(|text| format!("{option} {name}: {text}"))?;
    let hosts = text.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next());
    all_are_here(option, &name, hosts)
}

fn all_are_here<'a>(option: &str, value: &str, hosts: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut known: Vec<&str> = Vec::new();
    for host in hosts.map(without_ranks) {
        if known.contains(&host) {
            continue;
        }
        if !is_here(host, &host_name()) {
            return Err(format!(
                "{option} {value}: jobs on other machines ({host}) are not there yet in this version of Serried; \
                 without {option} all ranks run on this machine"
            ));
        }
        known.push(host);
    }
    Ok(())
}

/// The name in `host:4`. The colons of an IPv6 address belong to it.
fn without_ranks(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match host.split_once(':') {
        Some((name, ranks)) if !ranks.contains(':') => name,
        _ => host,
    }
}

/// Whether a name means this machine, whose own name is `own`: as it is written, or by the
/// address to which it resolves.
fn is_here(name: &str, own: &str) -> bool {
    let short = own.split('.').next().unwrap_or("");
    let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_loopback || ["localhost", own, short].iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return true;
    }
    (name, 0).to_socket_addrs().is_ok_and(|mut addresses| addresses.any(|address| is_own(address.ip())))
}

/// Whether an address is one of this machine: only these can be listened at.
fn is_own(address: IpAddr) -> bool {
    !address.is_multicast() && UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_machine_are_known() {
        let own = host_name();
        for host in ["localhost", "LOCALHOST:4", "127.0.0.1", "127.0.0.2:8", "::1", "[::1]:2", &own] {
            assert_eq!(check_list("-hosts", &format!("{host},localhost")), Ok(()), "{host}");
        }
        assert!(
            is_here("node7", "node7.cluster.example")
                && is_here("node7.cluster.example", "node7.cluster.example")
        );
        // This address is kept for documents.
        for host in ["192.0.2.1", "192.0.2.1:4", "224.0.0.1"] {
            let refused = check_list("-hosts", &format!("localhost,{host}")).unwrap_err();
            assert!(refused.contains("other machines (") && refused.contains("not there yet"), "{refused}");
        }
    }

    #[test]
    fn a_file_is_read_in_the_words_of_hydra_and_open_mpi() {
        let file = std::env::temp_dir().join(format!("serried-hosts-{}", std::process::id()));
        let check = |text: &str| {
            std::fs::write(&file, text).unwrap();
            check_file("-f", &file)
        };
        assert_eq!(check("# here\n\nlocalhost:2 binding=user:0 # and here\n  127.0.0.1 slots=4\n"), Ok(()));
        assert!(check("localhost\n192.0.2.1 slots=4\n").unwrap_err().contains("(192.0.2.1)"));
        std::fs::remove_file(&file).unwrap();
        assert!(check_file("-f", &file).unwrap_err().contains("there is no such file"));
        assert!(check_file("-f", Path::new("/")).unwrap_err().contains("cannot be read"));
    }
}
