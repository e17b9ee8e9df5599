//! The system calls on sockets of UDP, and on timers, that the standard library does not have.

use crate::memory::socket_option::socket_number;
use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A socket for datagrams to a group; who `receives` has it at the address of the group, with others of this host.
pub fn open(group: SocketAddrV4, receives: bool) -> io::Result<UdpSocket> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    let raw = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    done(raw.min(0))?;
    // SAFETY: the system has just made it for us.
    let socket = unsafe { UdpSocket::from_raw_fd(raw) };
    if receives {
        set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        // Where the system can, what was sent together comes together.
        let _ = set(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
        // Else a socket also gets what is for groups that others of this host have joined.
        set(&socket, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, 0)?;
        let (place, length) = address(group);
        // SAFETY: `place` is valid for `length` bytes.
        done(unsafe { libc::bind(raw, (&raw const place).cast(), length) })?;
    }
    Ok(socket)
}

/// Asks for so many bytes for datagrams that nobody has read; the system may give less.
pub fn keep(socket: &UdpSocket, bytes: usize) {
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as libc::c_int);
}

/// Bytes that the system keeps for datagrams that nobody has read, its own records included.
pub fn kept(socket: &UdpSocket) -> u64 {
    socket_number(socket, (libc::SOL_SOCKET, libc::SO_RCVBUF)).unwrap_or(0).max(0) as u64
}

/// Sends to groups go out where this address is, pass no router, and are never cut up; other sockets of this host get
/// them only if that is wanted.
pub fn send_from(socket: &UdpSocket, own: Ipv4Addr, same_host: bool) -> io::Result<()> {
    let request = libc::ip_mreqn {
        imr_multiaddr: libc::in_addr { s_addr: 0 },
        imr_address: libc::in_addr { s_addr: u32::from(own).to_be() },
        imr_ifindex: 0,
    };
    let length = std::mem::size_of_val(&request) as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_IP, libc::IP_MULTICAST_IF);
    // SAFETY: `request` is valid for its length.
    done(unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const request).cast(), length)
    })?;
    set(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, 1)?;
    set(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, i32::from(same_host))?;
    set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)
}

/// Bytes of a packet that goes to a group unbroken.
pub fn path_unit(group: SocketAddrV4, own: Ipv4Addr) -> Option<u32> {
    let socket = open(group, false).ok()?;
    send_from(&socket, own, false).ok()?;
    socket.connect(group).ok()?;
    socket_number(&socket, (libc::IPPROTO_IP, libc::IP_MTU)).ok().map(|unit| unit.max(0) as u32)
}

/// Datagrams that are sent together, and their bytes, at most.
pub const MOST: usize = 64;
pub const MOST_BYTES: usize = 65_000;

/// What has become of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// They are on their way.
    Gone,
    /// There is no room for them now.
    NoRoom,
    /// The system does not send them.
    Refused,
}

/// Room for one control message with a number, aligned as the system wants it.
#[repr(C, align(8))]
struct Control([u8; 32]);

/// Sends a datagram of some parts, or if `each` is given, several: so many bytes each, the last one less.
pub fn send(socket: &UdpSocket, to: SocketAddrV4, parts: &[IoSlice<'_>], each: Option<u16>) -> Sent {
    let (mut place, length) = address(to);
    let mut control = Control([0; 32]);
    // SAFETY: an all-zero `msghdr` is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_name, message.msg_namelen) = ((&raw mut place).cast(), length);
    // An `IoSlice` has the layout of an `iovec`, and the parts are only read.
    (message.msg_iov, message.msg_iovlen) = (parts.as_ptr().cast_mut().cast(), parts.len() as _);
    if let Some(each) = each {
        let size = std::mem::size_of::<u16>() as u32;
        message.msg_control = (&raw mut control).cast();
        // SAFETY: `control` has room for a control message of two bytes, which is written whole.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size) as _;
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            (*first).cmsg_level = libc::SOL_UDP;
            (*first).cmsg_type = libc::UDP_SEGMENT;
            (*first).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(first).cast::<u16>().write_unaligned(each);
        }
    }
    // SAFETY: all that `message` names is valid during the call, and only read.
    if unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) } >= 0 {
        return Sent::Gone;
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => Sent::NoRoom,
        _ => Sent::Refused,
    }
}

/// The bytes that have come together, and how long each datagram of them is; `None` if there are none.
pub fn receive(socket: &UdpSocket, into: &mut [u8]) -> Option<(usize, usize)> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut control = Control([0; 32]);
    // SAFETY: an all-zero `msghdr` is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) =
        ((&raw mut control).cast(), std::mem::size_of::<Control>() as _);
    // SAFETY: all that `message` names is valid during the call.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let bytes = usize::try_from(bytes).ok()?;
    // SAFETY: the system has filled `control` up to the length that it has put into `message`.
    let each = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        match first.as_ref() {
            Some(head) if head.cmsg_level == libc::SOL_UDP && head.cmsg_type == libc::UDP_GRO => {
                libc::CMSG_DATA(first).cast::<libc::c_int>().read_unaligned() as usize
            }
            _ => bytes,
        }
    };
    Some((bytes, each))
}

/// Bytes a second of the link that has an address, where its driver tells.
pub fn link_rate(own: Ipv4Addr) -> Option<u64> {
    let name = interface_of(own)?;
    let megabits: i64 =
        std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?.trim().parse().ok()?;
    u64::try_from(megabits).ok().filter(|&megabits| megabits > 0).map(|megabits| megabits * 125_000)
}

/// The interface that has an address.
fn interface_of(own: Ipv4Addr) -> Option<String> {
    let mut all: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the system fills `all`.
    done(unsafe { libc::getifaddrs(&raw mut all) }).ok()?;
    let (mut next, mut found) = (all, None);
    // SAFETY: the list is valid until it is given back; an address has the kind that it says.
    unsafe {
        while let Some(one) = next.as_ref() {
            next = one.ifa_next;
            if one.ifa_addr.is_null() || i32::from((*one.ifa_addr).sa_family) != libc::AF_INET {
                continue;
            }
            let address = one.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
            if address.sin_addr.s_addr == u32::from(own).to_be() {
                found = Some(std::ffi::CStr::from_ptr(one.ifa_name).to_string_lossy().into_owned());
                break;
            }
        }
        libc::freeifaddrs(all);
    }
    found
}

/// A descriptor that can be read after some time.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// One that is not set.
    pub fn new() -> io::Result<Timer> {
        // SAFETY: no memory is involved.
        let raw =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        done(raw.min(0))?;
        // SAFETY: the system has just made it for us.
        Ok(Timer(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    /// Its descriptor.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// It can be read in so many nanoseconds, and not before; 0: never.
    pub fn set(&self, nanoseconds: u64) {
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let after = libc::timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
        };
        let time = libc::itimerspec { it_interval: none, it_value: after };
        // SAFETY: `time` is valid during the call.
        unsafe { libc::timerfd_settime(self.raw(), 0, &raw const time, std::ptr::null_mut()) };
    }
}

fn address(of: SocketAddrV4) -> (libc::sockaddr_in, libc::socklen_t) {
    let place = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: of.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*of.ip()).to_be() },
        sin_zero: [0; 8],
    };
    (place, std::mem::size_of_val(&place) as libc::socklen_t)
}

fn set(socket: &UdpSocket, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: `value` is valid for its length.
    done(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) })
}

fn done(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
