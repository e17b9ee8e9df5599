//! A set of descriptors, and which of them have something: an epoll set.

use super::refused;
use crate::Result;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Instant;

/// Descriptors that [`WaitSet::ready`] names at a time.
pub const AT_A_TIME: usize = 16;

/// A set of descriptors, each under a name of its owner's choice.
#[derive(Debug)]
pub struct WaitSet(OwnedFd);

/// What a descriptor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The name under which it was added.
    pub name: u64,
    /// It can be read, or has come to its end.
    pub can_read: bool,
    /// It can be written, or has come to its end.
    pub can_write: bool,
}

impl WaitSet {
    /// An empty set.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new() -> Result<WaitSet> {
        // SAFETY: no memory is involved.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => Err(refused("epoll_create1", &io::Error::last_os_error())),
            // SAFETY: the system has just made it for us.
            raw => Ok(WaitSet(unsafe { OwnedFd::from_raw_fd(raw) })),
        }
    }

    /// The descriptor of the set, which is readable while one of its descriptors has something.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Adds a descriptor under a name; it has something when it can be read.
    pub fn add(&self, descriptor: RawFd, name: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, libc::EPOLLIN as u32, name)
    }

    /// As [`WaitSet::add`]; of several sets that wait for the descriptor only some are woken.
    pub fn add_exclusive(&self, descriptor: RawFd, name: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLEXCLUSIVE;
        self.control(libc::EPOLL_CTL_ADD, descriptor, events as u32, name)
    }

    /// As [`WaitSet::add`]; it has something, once, when more can be read than before.
    pub fn add_edge(&self, descriptor: RawFd, name: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLET;
        self.control(libc::EPOLL_CTL_ADD, descriptor, events as u32, name)
    }

    /// Adds a descriptor that is written to; it has something when it can be.
    pub fn add_writer(&self, descriptor: RawFd, name: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, libc::EPOLLOUT as u32, name)
    }

    /// Adds a descriptor that is written to; it has something at its end alone.
    pub fn add_silent(&self, descriptor: RawFd, name: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, 0, name)
    }

    /// A descriptor of the set has something when it can be read, and if `writes`, when it can be written.
    pub fn change(&self, descriptor: RawFd, name: u64, writes: bool) -> io::Result<()> {
        let events = libc::EPOLLIN | if writes { libc::EPOLLOUT } else { 0 };
        self.control(libc::EPOLL_CTL_MOD, descriptor, events as u32, name)
    }

    /// A descriptor added so has something, once, when there is room again.
    pub fn want_room(&self, descriptor: RawFd, name: u64) -> io::Result<()> {
        let events = libc::EPOLLOUT | libc::EPOLLONESHOT;
        self.control(libc::EPOLL_CTL_MOD, descriptor, events as u32, name)
    }

    /// Takes a descriptor out of the set, which is not closed.
    pub fn remove(&self, descriptor: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, descriptor, 0, 0)
    }

    fn control(&self, what: libc::c_int, descriptor: RawFd, events: u32, name: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: name };
        // SAFETY: `event` is valid during the call.
        match unsafe { libc::epoll_ctl(self.raw(), what, descriptor, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Some that have something, without waiting.
    pub fn ready(&self) -> impl Iterator<Item = Readiness> {
        self.events(0)
    }

    /// Some that have something; waits for one until a time, or for ever.
    pub fn wait(&self, until: Option<Instant>) -> impl Iterator<Item = Readiness> {
        let left = |until: Instant| until.saturating_duration_since(Instant::now()).as_millis() + 1;
        self.events(until.map_or(-1, |until| left(until).min(1 << 30) as libc::c_int))
    }

    fn events(&self, milliseconds: libc::c_int) -> impl Iterator<Item = Readiness> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; AT_A_TIME];
        // SAFETY: the place has room for so many events.
        let found = unsafe {
            libc::epoll_wait(self.raw(), events.as_mut_ptr(), AT_A_TIME as libc::c_int, milliseconds)
        };
        events.into_iter().take(found.max(0) as usize).map(|libc::epoll_event { events, u64: name }| {
            let has = |wanted: libc::c_int| {
                events & (wanted | libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLRDHUP) as u32 != 0
            };
            Readiness { name, can_read: has(libc::EPOLLIN), can_write: has(libc::EPOLLOUT) }
        })
    }

    /// Whether one has something; waits for it if that is wanted.
    pub fn poll(&self, wait: bool) -> bool {
        let mut poll = libc::pollfd { fd: self.raw(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is valid during the call.
        unsafe { libc::poll(&raw mut poll, 1, if wait { -1 } else { 0 }) > 0 }
    }
}
