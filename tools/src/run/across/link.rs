//! A link between two processes of the tree, with both ends' greetings, frames in queues, and a look at the clock.
//!
//! To an agent it goes through the standard streams of a remote shell, which the launcher or another agent has
//! started; for the agent these are its own standard streams. Whatever else the other side writes before its greeting
//! (the files that a shell reads at its start may do so) is passed over.

use super::orders::{Frame, Nonsense};
use super::silence::Silence;
use crate::run::descriptors;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What both ends say first; other words mean another version. Counted up when a frame or a page changes.
const GREETING: &str = concat!("\nserried 3 ", env!("CARGO_PKG_VERSION"), "\n");
const GREETING_BEGINS: &str = "\nserried ";
/// Noise before the greeting, at most.
const NOISE: usize = 64 << 10;
/// What may wait here before what is not urgent is left out.
const QUEUE: usize = 256 << 10;

/// How a link has ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// The other end has gone.
    Closed,
    /// The other end is another version, which says this of itself.
    Version(String),
    /// What comes makes no sense.
    Nonsense,
}

impl From<Nonsense> for Broken {
    fn from(_: Nonsense) -> Broken {
        Broken::Nonsense
    }
}

/// A link.
#[derive(Debug)]
pub struct Link {
    to: Option<OwnedFd>,
    from: Option<OwnedFd>,
    going: Vec<u8>,
    gone: usize,
    coming: Vec<u8>,
    is_greeted: bool,
    /// Whether the other end is there.
    pub silence: Silence,
}

impl Link {
    /// A link by these descriptors; greets.
    pub fn new(to: OwnedFd, from: OwnedFd, silence: Silence) -> Link {
        descriptors::never_block(&to);
        descriptors::never_block(&from);
        let going = GREETING.as_bytes().to_vec();
        Link {
            to: Some(to),
            from: Some(from),
            going,
            gone: 0,
            coming: Vec::new(),
            is_greeted: false,
            silence,
        }
    }

    /// To poll for what comes.
    pub fn reads(&self) -> Option<RawFd> {
        self.from.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// To poll for room, if something waits.
    pub fn writes(&self) -> Option<RawFd> {
        self.to.as_ref().filter(|_| self.gone < self.going.len()).map(AsRawFd::as_raw_fd)
    }

    /// Whether the other end has greeted.
    pub fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    /// Whether so much waits that what is not urgent had better not be added.
    pub fn is_full(&self) -> bool {
        self.going.len() - self.gone > QUEUE
    }

    /// Adds a frame to what goes out, and tries to send.
    pub fn send(&mut self, frame: &Frame) {
        if self.to.is_some() {
            frame.put(&mut self.going);
            self.write();
        }
    }

    /// Sends as much as goes at once.
    pub fn write(&mut self) {
        let Some(to) = &self.to else { return };
        while self.gone < self.going.len() {
            match descriptors::write(to.as_raw_fd(), &self.going[self.gone..]) {
                Ok(count) => self.gone += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => break,
                // The end is noticed where something is read.
                Err(_) => self.gone = self.going.len(),
            }
        }
        if self.gone == self.going.len() || self.gone > QUEUE {
            self.going.drain(..self.gone);
            self.gone = 0;
        }
    }

    /// Takes in what has come.
    ///
    /// # Errors
    /// The link has ended.
    pub fn read(&mut self) -> Result<(), Broken> {
        let Some(from) = &self.from else { return Err(Broken::Closed) };
        let mut buffer = [0; 65536];
        match descriptors::read(from.as_raw_fd(), &mut buffer) {
            Ok(0) => Err(self.ended()),
            Ok(count) => {
                self.silence.heard();
                self.coming.extend_from_slice(&buffer[..count]);
                if self.is_greeted {
                    Ok(())
                } else {
                    self.listen_for_greeting()
                }
            }
            Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(())
            }
            Err(_) => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> Broken {
        self.close();
        Broken::Closed
    }

    fn listen_for_greeting(&mut self) -> Result<(), Broken> {
        // The first line may be the greeting itself.
        let text = &self.coming;
        let Some(begin) =
            text.windows(GREETING_BEGINS.len()).position(|part| part == GREETING_BEGINS.as_bytes())
        else {
            return if text.len() > NOISE { Err(Broken::Nonsense) } else { Ok(()) };
        };
        let Some(length) = text[begin + 1..].iter().position(|&byte| byte == b'\n') else { return Ok(()) };
        let line = &text[begin..begin + length + 2];
        if line != GREETING.as_bytes() {
            return Err(Broken::Version(String::from_utf8_lossy(line).trim().to_owned()));
        }
        self.coming.drain(..begin + length + 2);
        self.is_greeted = true;
        Ok(())
    }

    /// The next frame that has come whole.
    ///
    /// # Errors
    /// What comes makes no sense.
    pub fn next(&mut self) -> Result<Option<Frame>, Broken> {
        match self.is_greeted {
            true => Ok(Frame::take(&mut self.coming)?),
            false => Ok(None),
        }
    }

    /// Nothing more is to be said: the other end notices.
    pub fn close(&mut self) {
        (self.to, self.from) = (None, None);
    }

    /// Whether all has gone out, as far as it can.
    pub fn is_empty(&self) -> bool {
        self.to.is_none() || self.gone >= self.going.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::orders::{News, Order, ALL};
    use super::*;
    use std::time::{Duration, Instant};

    fn pair() -> (Link, Link) {
        let ((from_one, to_two), (from_two, to_one)) =
            (descriptors::pipe().unwrap(), descriptors::pipe().unwrap());
        let silence = || Silence::new(Duration::from_secs(10), Instant::now());
        (Link::new(to_one, from_one, silence()), Link::new(to_two, from_two, silence()))
    }

    #[test]
    fn frames_come_over_a_link_in_order_and_its_end_is_noticed() {
        let (mut one, mut two) = pair();
        one.send(&Order::Ending.frame(3));
        one.send(&Order::Signal(2).frame(ALL));
        two.send(&News::Done.frame(5));
        two.read().unwrap();
        assert!(two.is_greeted());
        assert_eq!(two.next().unwrap(), Some(Order::Ending.frame(3)));
        assert_eq!(two.next().unwrap(), Some(Order::Signal(2).frame(ALL)));
        assert_eq!(two.next().unwrap(), None);
        two.close();
        one.read().unwrap();
        assert_eq!(one.next().unwrap(), Some(News::Done.frame(5)));
        assert_eq!(one.read(), Err(Broken::Closed));
        assert!(one.is_empty() && one.reads().is_none());
    }

    #[test]
    fn noise_before_the_greeting_is_passed_over_and_another_version_is_told() {
        let ((from, to), (_kept, away)) = (descriptors::pipe().unwrap(), descriptors::pipe().unwrap());
        let silence = || Silence::new(Duration::from_secs(10), Instant::now());
        let mut link = Link::new(away, from, silence());
        let write = |text: &str| descriptors::write(to.as_raw_fd(), text.as_bytes()).unwrap();
        write("Welcome to n2\nLast login: today");
        link.read().unwrap();
        assert!(!link.is_greeted());
        write(&GREETING[..7]);
        link.read().unwrap();
        write(&GREETING[7..]);
        link.read().unwrap();
        assert!(link.is_greeted() && link.next() == Ok(None));
        let ((from, to), (_kept, away)) = (descriptors::pipe().unwrap(), descriptors::pipe().unwrap());
        let mut link = Link::new(away, from, silence());
        descriptors::write(to.as_raw_fd(), b"\nserried 77 9.9.9\n").unwrap();
        assert_eq!(link.read(), Err(Broken::Version("serried 77 9.9.9".into())));
    }
}
