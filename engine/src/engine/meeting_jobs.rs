//! Jobs connect (MPI-5.0 §11.9, §11.10.4): by a port, or over a socket that two processes have.
//!
//! A process that connects sends a note to the process that has opened the port: its own name, a number of its own, and, if
//! the two were started apart, how to connect to it. In a context that both make of this number the two then meet, as the
//! leaders of two groups do.

use super::beyond::root_of;
use super::Engine;
use crate::job::node_segment::LANES;
use crate::job::{Contact, PortName, ProcessName};
use crate::transport::Packets;
use crate::world::bootstrap_channel::{garbled, join, member_of, read_words, split, words};
use crate::world::create::{check_intra, join_by};
use crate::world::{context, BootstrapChannel, Communicator, Group, Line};
use crate::{Class, Error, JobRank, Result};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Milliseconds between two looks at the socket of [`Engine::join_over`].
const LOOK: libc::c_int = 1;
/// Bytes that a process says of itself over it, at most.
const LONGEST: usize = 4096;

impl Engine {
    /// `MPI_Comm_accept`: the name of the port counts at the root.
    ///
    /// # Errors
    /// `Port`, `Comm`, `Root`.
    pub fn accept(
        &self,
        port: impl FnOnce() -> Result<String>,
        root: i32,
        local: &Communicator,
    ) -> Result<Communicator> {
        self.meet(root, local, || self.hear_knock(&port()?))
    }

    /// `MPI_Comm_connect`: the same.
    ///
    /// # Errors
    /// As [`Engine::accept`].
    pub fn connect(
        &self,
        port: impl FnOnce() -> Result<String>,
        root: i32,
        local: &Communicator,
    ) -> Result<Communicator> {
        let mut host = None;
        let made = self.meet(root, local, || self.knock(&port()?, &mut host));
        let Some(host) = host else { return made };
        self.meets_at_port(host, false);
        let transport = &mut self.lanes.at(0).lock().transport;
        if made.is_ok() || transport.lost() != Some(host) {
            return made;
        }
        transport.forget(host);
        Err(nobody_at_port())
    }

    /// Joins two groups; the root of this one finds the other's.
    fn meet(
        &self,
        root: i32,
        local: &Communicator,
        find: impl FnOnce() -> Result<(Line, u32)>,
    ) -> Result<Communicator> {
        check_intra(local)?;
        let made = join_by(self, local, root_of(local, root)?, find)?;
        Ok(made.with_error_handler(local.error_handler()))
    }

    fn own(&self) -> JobRank {
        self.contexts.job_rank()
    }

    /// Waits until somebody connects to a port of this process.
    pub(super) fn hear_knock(&self, name: &str) -> Result<(Line, u32)> {
        let (strangers, port) = (self.strangers()?, PortName::read(name)?);
        if port.owner.name != strangers.own() {
            let text = format!(
                "the port {name:?} was opened by another process; the root of MPI_Comm_accept must have opened it"
            );
            return Err(Error::new(Class::Port, text));
        }
        self.check_open(&port)?;
        // Whoever waits here waits for another job, of which observers know nothing.
        let line = knocks_at(&port, strangers.own_rank());
        let mut note = None;
        BootstrapChannel::wait_until(self, &mut || {
            note = self.take(&line, 0)?;
            Ok(note.is_some())
        })?;
        let [words, contact] = split(&note.unwrap_or_default())?.try_into().map_err(|_| garbled())?;
        if !contact.is_empty() {
            strangers.keep(Contact::from_bytes(&contact)?);
        }
        match read_words(&words)?[..] {
            [name, number] => Ok((meeting([member_of(self, name)?, self.own()], number, 1), 0)),
            _ => Err(garbled()),
        }
    }

    /// Tells the process that has opened a port, the `host`, that this one connects.
    fn knock(&self, name: &str, host: &mut Option<JobRank>) -> Result<(Line, u32)> {
        let (strangers, port) = (self.strangers()?, PortName::read(name)?);
        let is_apart = port.owner.name.mark() != strangers.own().mark();
        let (owner, contact) = match is_apart {
            true => (strangers.keep(port.owner.clone()), strangers.own_contact().to_bytes()),
            false => {
                self.check_open(&port)?;
                (member_of(self, port.owner.name.0)?, Vec::new())
            }
        };
        let number = self.contexts.propose()?;
        let own = self.contexts.full_name(self.own());
        self.lanes.at(0).lock().transport.want_again(owner);
        self.meets_at_port(owner, true);
        *host = Some(owner);
        self.post(&knocks_at(&port, owner), 0, &join(&[words([own.0, number]), contact]))?;
        Ok((meeting([self.own(), owner], number, 0), 1))
    }

    /// `MPI_Comm_join`: this process and that at the other end of a socket. Nothing else must be on its way there.
    ///
    /// # Errors
    /// `Other` when the socket fails.
    pub fn join_over(&self, socket: RawFd) -> Result<Communicator> {
        let strangers = self.strangers()?;
        let (mut mine, number) = (strangers.own_contact().to_bytes(), self.contexts.propose()?);
        let mut head = words([number, mine.len() as u64]);
        self.transfer(socket, &mut head, libc::POLLOUT)?;
        self.transfer(socket, &mut mine, libc::POLLOUT)?;
        self.transfer(socket, &mut head, libc::POLLIN)?;
        let [theirs, length] = read_words(&head)?.try_into().map_err(|_| garbled())?;
        let mut contact =
            vec![0; usize::try_from(length).ok().filter(|&it| it <= LONGEST).ok_or_else(garbled)?];
        self.transfer(socket, &mut contact, libc::POLLIN)?;
        let contact = Contact::from_bytes(&contact)?;
        let (own, other) = (strangers.own(), contact.name);
        if other.mark() != own.mark() {
            strangers.keep(contact);
        }
        let is_first = (own, number) < (other, theirs);
        let both = if is_first { [own, other] } else { [other, own] };
        let members = [member_of(self, both[0].0)?, member_of(self, both[1].0)?];
        let line = meeting(members, number.min(theirs), u32::from(!is_first));
        join_by(self, &Communicator::self_(self.own().0), 0, || Ok((line, u32::from(is_first))))
    }

    /// Sends or receives all bytes over a socket, which may block or not; goes on with everything else meanwhile.
    fn transfer(&self, socket: RawFd, bytes: &mut [u8], event: libc::c_short) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            for lane in 0..LANES {
                self.look(self.lanes.at(lane), |_| ())?;
            }
            let mut poll = libc::pollfd { fd: socket, events: event, revents: 0 };
            let rest = &mut bytes[done..];
            // SAFETY: `poll` is valid; `rest` is, for its length.
            let moved = unsafe {
                match libc::poll(&raw mut poll, 1, LOOK) {
                    1 if event == libc::POLLIN => {
                        libc::recv(socket, rest.as_mut_ptr().cast(), rest.len(), libc::MSG_DONTWAIT)
                    }
                    1 => libc::send(
                        socket,
                        rest.as_ptr().cast(),
                        rest.len(),
                        libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
                    ),
                    _ => continue,
                }
            };
            match moved {
                1.. => done += moved as usize,
                0 => return Err(no_join(&io::ErrorKind::UnexpectedEof.into())),
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::WouldBlock => {}
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(no_join(&error)),
                },
            }
        }
        Ok(())
    }
}

fn no_join(error: &io::Error) -> Error {
    Error::new(Class::Other, format!("the socket that was given to MPI_Comm_join fails: {error}"))
}

/// The error of a port at which nobody listens.
#[cold]
fn nobody_at_port() -> Error {
    let text = "nobody listens at the port: it has been closed, or the process that has opened it has ended or cannot be \
                reached from this machine";
    Error::new(Class::Port, text)
}

/// Where the owner of a port hears who connects.
fn knocks_at(port: &PortName, owner: JobRank) -> Line {
    let context = context::meeting(&format!("port {}", port.serial), [port.owner.name].into_iter());
    Line { peers: Arc::new(Group::new(vec![owner])), rank: 0, context, tag: 0 }
}

/// Where two processes meet of which one has thought of a number.
fn meeting(both: [JobRank; 2], number: u64, rank: u32) -> Line {
    let context = context::meeting(&format!("meeting {number}"), std::iter::empty::<ProcessName>());
    Line { peers: Arc::new(Group::new(both.to_vec())), rank, context, tag: 0 }
}
