//! Whether a name that a user gives means this machine.

use crate::system::host_name;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

/// Whether a name means this machine: as it is written, or by the address to which it resolves.
pub fn is_here(name: &str) -> bool {
    is_named(name, &host_name())
}

/// The same where this machine calls itself `own`.
fn is_named(name: &str, own: &str) -> bool {
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
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2", "::1", &own] {
            assert!(is_here(host), "{host}");
        }
        assert!(is_named("node7", "node7.cluster.example"));
        assert!(is_named("node7.cluster.example", "node7.cluster.example"));
        // This address is kept for documents.
        for host in ["203.0.113.1", "224.0.0.1"] {
            assert!(!is_here(host), "{host}");
        }
    }
}
