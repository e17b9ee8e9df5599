//! Local sockets by name, for processes that may be in containers: the kernel keeps such names apart by network namespace.
//!
//! A socket belongs to the namespace of the process that has made it, and stays there wherever its descriptor goes. So the launcher
//! makes and connects sockets for ranks that cannot do so themselves, in its own namespace, and passes them on:
//!
//! ```text
//! rank      over the line, which all ranks inherit:  what it wants, a name; the end of a pair of sockets goes with it
//! launcher  over that end:                           the socket that it has made, or the number of an error
//! ```
//!
//! A line is a socket without a name, so it goes through all namespaces. Both ends check that who listens is of the same user.

use super::pass_descriptor::{self, is_of_own_user, receive_with, send_with};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

/// So long the launcher may take: one that is stopped does not stop a rank.
const PATIENCE: Duration = Duration::from_secs(2);
/// All names that sockets are made for begin so.
const PREFIX: &str = "serried-";
/// Bytes of a name, at most.
const NAME_BYTES: usize = 64;
const LISTEN: u8 = b'l';
const CONNECT: u8 = b'c';
const DATAGRAMS: u8 = b'd';

/// A rank's way to ask its launcher for sockets.
#[derive(Debug)]
pub struct Line(OwnedFd);

/// The launcher's end.
#[derive(Debug)]
pub struct Switchboard {
    own: UnixDatagram,
    line: OwnedFd,
}

impl Line {
    /// From the descriptor that a rank inherits.
    pub fn new(descriptor: OwnedFd) -> Line {
        Line(descriptor)
    }

    /// To pass on to processes that shall have it too.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Another descriptor of the same line.
    ///
    /// # Errors
    /// What the system says.
    pub fn try_clone(&self) -> io::Result<Line> {
        self.0.try_clone().map(Line)
    }

    /// A socket of datagrams, of this name or, if that is empty, of none.
    ///
    /// # Errors
    /// What the system says.
    pub fn datagrams(&self, name: &str) -> io::Result<OwnedFd> {
        self.ask(DATAGRAMS, name)
    }

    fn ask(&self, what: u8, name: &str) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        send_with(self.0.as_fd(), &[&[what], name.as_bytes()].concat(), Some(theirs.as_fd()))?;
        drop(theirs);
        let mut code = [0; 4];
        let (bytes, made) = receive_with(ours.as_fd(), &mut code, 0)?;
        match (made, i32::from_ne_bytes(code)) {
            (Some(made), _) => Ok(made),
            (None, code) if bytes == 4 => Err(io::Error::from_raw_os_error(code)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Listens at a name, where all find it that have the same line. Without one, or if nobody is at its other end, those find it
/// that are in the network namespace of this process. Also tells whether it is the former.
///
/// # Errors
/// What the system says.
pub fn listen(line: Option<&Line>, name: &str) -> io::Result<(UnixListener, bool)> {
    match line.map(|line| line.ask(LISTEN, name)) {
        Some(Ok(made)) => Ok((UnixListener::from(made), true)),
        _ => pass_descriptor::listen(name).map(|made| (made, false)),
    }
}

/// Connects to who listens at a name and is of the same user. It waits for nobody there, and for the launcher only where this process
/// does not find the name by itself.
///
/// # Errors
/// What the system says; `ConnectionRefused`: nobody listens there.
pub fn connect(line: Option<&Line>, name: &str) -> io::Result<UnixStream> {
    match (pass_descriptor::connect(name), line) {
        (Ok(stream), _) if is_of_own_user(&stream) => Ok(stream),
        (Err(error), Some(line)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            line.ask(CONNECT, name).map(UnixStream::from)
        }
        (Ok(_), _) => Err(io::ErrorKind::PermissionDenied.into()),
        (Err(error), _) => Err(error),
    }
}

impl Switchboard {
    /// For the ranks of a job that is about to be started.
    ///
    /// # Errors
    /// What the system says.
    pub fn open() -> io::Result<Switchboard> {
        let (own, line) = UnixDatagram::pair()?;
        own.set_nonblocking(true)?;
        line.set_write_timeout(Some(PATIENCE))?;
        Ok(Switchboard { own, line: line.into() })
    }

    /// What ranks inherit.
    pub fn line(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// To poll on.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Answers all that has been asked.
    pub fn serve(&self) {
        let mut said = [0; 1 + NAME_BYTES];
        while let Ok((bytes, answer)) = receive_with(self.own.as_fd(), &mut said, libc::MSG_DONTWAIT) {
            let Some(answer) = answer else { continue };
            let made = made(&said[..bytes]);
            let code = made.as_ref().err().and_then(io::Error::raw_os_error).unwrap_or(libc::EINVAL);
            // An empty socket has room for it; one who has gone need not hear it.
            let _ = send_with(answer.as_fd(), &code.to_ne_bytes(), made.ok().as_ref().map(AsFd::as_fd));
        }
    }
}

/// What a rank has asked for.
fn made(said: &[u8]) -> io::Result<OwnedFd> {
    let (&what, name) = said.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    if (what, name) == (DATAGRAMS, b"") {
        return UnixDatagram::unbound().map(OwnedFd::from);
    }
    let name = std::str::from_utf8(name).ok().filter(|name| name.starts_with(PREFIX));
    let name = name.ok_or(io::ErrorKind::InvalidInput)?;
    match what {
        DATAGRAMS => UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?).map(OwnedFd::from),
        LISTEN => pass_descriptor::listen(name).map(OwnedFd::from),
        CONNECT => {
            let stream = pass_descriptor::connect(name)?;
            let refused = || io::Error::from_raw_os_error(libc::EACCES);
            is_of_own_user(&stream).then(|| stream.into()).ok_or_else(refused)
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl AsRawFd for Line {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A board that somebody serves as long as this runs.
    fn with_board(then: impl FnOnce(&Line)) {
        let board = Switchboard::open().unwrap();
        let line = Line::new(board.line().try_clone_to_owned().unwrap());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    board.serve();
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            then(&line);
            is_over.store(true, Ordering::Relaxed);
        });
    }

    fn name(of: &str) -> String {
        format!("serried-test-{}-{of}", std::process::id())
    }

    /// Runs something in a network namespace of its own; `false` where this user may not make one.
    fn elsewhere(then: impl FnOnce() + Send) -> bool {
        std::thread::scope(|scope| {
            let run = || {
                // SAFETY: a plain system call; this thread alone goes there.
                let is_made = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
                if is_made {
                    then();
                }
                is_made
            };
            scope.spawn(run).join().unwrap()
        })
    }

    #[test]
    fn processes_of_different_network_namespaces_connect_by_the_launcher() {
        with_board(|line| {
            let [here, there, knocked] = ["here", "there", "knocked"].map(name);
            let hears = UnixDatagram::from(line.datagrams(&knocked).unwrap());
            let (listener, true) = listen(Some(line), &here).unwrap() else { panic!("not by the line") };
            elsewhere(|| {
                assert!(connect(None, &here).is_err(), "the kernel keeps them apart");
                let mut outside = connect(Some(line), &here).unwrap();
                outside.write_all(b"from there").unwrap();
                let (from_there, _) = listen(Some(line), &there).unwrap();
                connect(Some(line), &there).unwrap();
                from_there.accept().unwrap();
                let knocks = UnixDatagram::from(line.datagrams("").unwrap());
                knocks.send_to_addr(b"knock", &SocketAddr::from_abstract_name(&knocked).unwrap()).unwrap();
            })
            .then(|| {
                let mut said = String::new();
                listener.accept().unwrap().0.read_to_string(&mut said).unwrap();
                assert_eq!(said, "from there");
                assert_eq!(hears.recv(&mut [0; 9]).unwrap(), 5);
            });
        });
    }

    #[test]
    fn where_nobody_listens_and_where_somebody_does_already_is_told() {
        with_board(|line| {
            let name = name("taken");
            let nobody = connect(Some(line), &name).unwrap_err();
            assert_eq!(nobody.kind(), io::ErrorKind::ConnectionRefused);
            let _first = listen(Some(line), &name).unwrap();
            assert_eq!(listen(Some(line), &name).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        });
    }

    #[test]
    fn a_launcher_that_has_gone_leaves_what_the_process_can_do_by_itself() {
        let board = Switchboard::open().unwrap();
        let line = Line::new(board.line().try_clone_to_owned().unwrap());
        drop(board);
        let name = name("alone");
        let (listener, false) = listen(Some(&line), &name).unwrap() else { panic!("by nobody") };
        connect(Some(&line), &name).unwrap();
        listener.accept().unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |said: &[u8]| made(said).is_err();
        assert!(
            refused(b"")
                && refused(b"l")
                && refused(b"lother")
                && refused(b"cother")
                && refused(b"xserried-x")
        );
        assert!(refused(b"l\xff\xff") && !refused(format!("l{}", name("sense")).as_bytes()));
    }
}
