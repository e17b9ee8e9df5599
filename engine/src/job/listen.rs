//! The sockets at which a node listens for others, and the addresses that go on its card.

use super::node_card::{Address, ADDRESSES};
use crate::{Class, Error, Result};
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

/// Connections that wait until a rank takes them: of many nodes at once.
const BACKLOG: libc::c_int = 1024;
/// A port that is free at one address may be taken at another.
const TRIES: u32 = 64;

/// The sockets of a node, and what its card says of them.
#[derive(Debug)]
pub struct Listeners {
    /// One for each address, in their order; they do not block.
    pub sockets: Vec<OwnedFd>,
    /// Where they listen.
    pub addresses: Vec<Address>,
    /// The port, the same at each.
    pub port: u16,
}

/// Listens at the addresses of this machine by which others reach it. `first` is one that is known to be reached:
/// its network comes first.
///
/// # Errors
/// `Other` where there is no address, or the system refuses.
pub fn listen(first: Option<IpAddr>) -> Result<Listeners> {
    let mut addresses =
        addresses().map_err(|cause| refused("its network devices cannot be listed", &cause))?;
    addresses.sort_by_key(|address| !first.is_some_and(|first| address.is_near(first)));
    addresses.truncate(ADDRESSES);
    if addresses.is_empty() {
        let nothing =
            io::Error::new(io::ErrorKind::NotFound, "there is only the loopback device, or none is up");
        return Err(refused("this machine has no address for others", &nothing));
    }
    let mut problem = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        match listen_at(&addresses) {
            Ok((sockets, port)) => return Ok(Listeners { sockets, addresses, port }),
            Err(cause) => problem = cause,
        }
    }
    Err(refused("no port to listen on", &problem))
}

/// As [`listen()`]; where this machine has no address for others, at the one that it alone knows.
///
/// # Errors
/// As [`listen()`].
pub fn listen_if_only_here() -> Result<Listeners> {
    let here = || {
        let addresses = vec![Address { ip: Ipv4Addr::LOCALHOST.into(), prefix: 8 }];
        listen_at(&addresses).map(|(sockets, port)| Listeners { sockets, addresses, port })
    };
    listen(None).or_else(|error| here().map_err(|_| error))
}

fn listen_at(addresses: &[Address]) -> io::Result<(Vec<OwnedFd>, u16)> {
    let (mut sockets, mut port) = (Vec::new(), 0);
    for address in addresses {
        let listener = TcpListener::bind(SocketAddr::new(address.ip, port))?;
        listener.set_nonblocking(true)?;
        port = listener.local_addr()?.port();
        let socket = OwnedFd::from(listener);
        // SAFETY: a plain system call on our own socket, which listens already; only its queue gets longer.
        unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&socket), BACKLOG) };
        sockets.push(socket);
    }
    Ok((sockets, port))
}

/// The addresses of this machine but those that only it knows, or that mean something on one cable only.
fn addresses() -> io::Result<Vec<Address>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid place for the answer.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found: Vec<(String, Address)> = Vec::new();
    let mut entry = list;
    while !entry.is_null() {
        // SAFETY: an entry of the list, which is freed below only.
        let device = unsafe { &*entry };
        let is_up = device.ifa_flags & libc::IFF_UP as u32 != 0;
        // SAFETY: the pointers of an entry are null or valid.
        let told = unsafe { (ip_of(device.ifa_addr), ip_of(device.ifa_netmask)) };
        if let (true, (Some(ip), Some(mask))) = (is_up, told) {
            // SAFETY: the name of an entry is a C string.
            let name = unsafe { CStr::from_ptr(device.ifa_name) }.to_string_lossy().into_owned();
            found.push((name, Address { ip, prefix: ones(mask) }));
        }
        entry = device.ifa_next;
    }
    // SAFETY: the list is not used any more.
    unsafe { libc::freeifaddrs(list) };
    found.retain(|(_, address)| serves(address.ip));
    // The old protocol first: where both work it is the one that every network has.
    found.sort_by_key(|(name, address)| (address.ip.is_ipv6(), name.clone()));
    Ok(found.into_iter().map(|(_, address)| address).collect())
}

/// Whether others can use an address to reach this machine.
fn serves(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

/// The address in a structure of the system.
///
/// # Safety
/// The pointer must be null or valid.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: by the caller; the family says which structure it is.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))))
            }
            libc::AF_INET6 => {
                let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)))
            }
            _ => None,
        }
    }
}

/// How many bits of a mask are set.
fn ones(mask: IpAddr) -> u8 {
    match mask {
        IpAddr::V4(mask) => u32::from(mask).count_ones() as u8,
        IpAddr::V6(mask) => u128::from(mask).count_ones() as u8,
    }
}

#[cold]
fn refused(what: &str, cause: &io::Error) -> Error {
    Error::new(Class::Other, format!("this node cannot be reached by others: {what}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_mean_something_here_only_do_not_serve() {
        for ip in ["127.0.0.1", "169.254.1.1", "::1", "fe80::1", "0.0.0.0", "::"] {
            assert!(!serves(ip.parse().unwrap()), "{ip}");
        }
        assert!(serves("10.77.0.1".parse().unwrap()) && serves("fd00::1".parse().unwrap()));
        assert_eq!((ones("255.255.0.0".parse().unwrap()), ones("ffff:ffff::".parse().unwrap())), (16, 32));
    }

    #[test]
    fn several_sockets_listen_at_one_port() {
        let local = |ip: &str| Address { ip: ip.parse().unwrap(), prefix: 8 };
        let (sockets, port) = listen_at(&[local("127.0.0.1"), local("127.0.0.2")]).unwrap();
        assert_eq!(sockets.len(), 2);
        for ip in ["127.0.0.1", "127.0.0.2"] {
            assert!(std::net::TcpStream::connect((ip, port)).is_ok(), "{ip}");
        }
        // Where nothing but loopback is there, that is said.
        match listen(None) {
            Ok(found) => assert!(found.port != 0 && found.sockets.len() == found.addresses.len()),
            Err(error) => assert!(error.message().contains("cannot be reached by others"), "{error:?}"),
        }
    }
}
