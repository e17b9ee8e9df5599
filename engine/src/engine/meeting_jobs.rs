//! Jobs of a universe connect (MPI-5.0 §11.9, §11.10.4): by a port, or over a socket that two processes have.
//!
//! A process that connects sends a note to the process that has opened the port: its own name and a number of its own. In a
//! context that both make of this number the two then meet, as the leaders of two groups do.

use super::beyond::{outward, root_of};
use super::Engine;
use crate::job::node_segment::LANES;
use crate::job::ports::Port;
use crate::world::bootstrap_channel::{garbled, member_of, read_words, words};
use crate::world::create::{check_intra, join_by};
use crate::world::{context, BootstrapChannel, Communicator, Group, Line};
use crate::{Class, Error, JobRank, Result};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Milliseconds between two looks at the socket of [`Engine::join_over`].
const LOOK: libc::c_int = 1;

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
        self.meet(root, local, || self.knock(&port()?))
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
    fn hear_knock(&self, name: &str) -> Result<(Line, u32)> {
        let universe = self.universe()?;
        let port = universe.port(name)?;
        universe.check_open(port)?;
        if port.owner != universe.own() {
            let text = format!(
                "the port {name:?} was opened by another process; the root of MPI_Comm_accept must have opened it"
            );
            return Err(Error::new(Class::Port, text));
        }
        // Whoever connects may be of another job.
        self.go_beyond()?;
        let line = knocks_at(port, self.own());
        let mut note = None;
        BootstrapChannel::wait_until(self, &mut || {
            note = self.take(&line, 0)?;
            Ok(note.is_some())
        })?;
        match read_words(&note.unwrap_or_default())?[..] {
            [name, number] => Ok((meeting([member_of(self, name)?, self.own()], number, 1), 0)),
            _ => Err(garbled()),
        }
    }

    /// Tells the process that has opened a port that this one connects.
    fn knock(&self, name: &str) -> Result<(Line, u32)> {
        let universe = self.universe()?;
        let port = universe.port(name)?;
        universe.check_open(port)?;
        let owner = member_of(self, u64::from(port.owner))?;
        let number = self.contexts.propose()?;
        self.post(&knocks_at(port, owner), 0, &words([u64::from(outward(self, self.own())), number]))?;
        Ok((meeting([self.own(), owner], number, 0), 1))
    }

    /// `MPI_Comm_join`: this process and that at the other end of a socket. Nothing else must be on its way there.
    ///
    /// # Errors
    /// `Comm` if the other process was started apart from this one; `Other` when the socket fails.
    pub fn join_over(&self, socket: RawFd) -> Result<Communicator> {
        let universe = self.universe()?;
        let mine = [universe.mark(), u64::from(universe.own()), self.contexts.propose()?];
        self.transfer(socket, &mut words(mine), libc::POLLOUT)?;
        let mut theirs = vec![0; std::mem::size_of_val(&mine)];
        self.transfer(socket, &mut theirs, libc::POLLIN)?;
        let [mark, name, number] = read_words(&theirs)?.try_into().map_err(|_| garbled())?;
        if mark != mine[0] {
            let text = "the process at the other end of the socket belongs to a job that was started apart from this \
                        one; joining such jobs is not there yet in this version of Serried";
            return Err(Error::new(Class::Comm, text));
        }
        let (first, last) = ((mine[1], mine[2]), (name, number));
        let is_first = first < last;
        let both = if is_first { [mine[1], name] } else { [name, mine[1]] };
        let members = [member_of(self, both[0])?, member_of(self, both[1])?];
        let line = meeting(members, mine[2].min(number), u32::from(!is_first));
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

/// Where the owner of a port hears who connects.
fn knocks_at(port: Port, owner: JobRank) -> Line {
    let context = context::meeting(&format!("port {}", port.serial()), [port.owner].into_iter());
    Line { peers: Arc::new(Group::new(vec![owner])), rank: 0, context, tag: 0 }
}

/// Where two processes meet of which one has thought of a number.
fn meeting(both: [JobRank; 2], number: u64, rank: u32) -> Line {
    let context = context::meeting(&format!("meeting {number}"), std::iter::empty());
    Line { peers: Arc::new(Group::new(both.to_vec())), rank, context, tag: 0 }
}
