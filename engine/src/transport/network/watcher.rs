//! A thread that watches sockets for a rank that sleeps at its doorbell.
//!
//! Peers of the node wake a rank by a futex, and what comes over a socket shows at its descriptor; the
//! kernel has no wait for both. So a thread waits for the descriptors and rings the doorbell, as a peer of the
//! node would. It watches only when it has been asked to, so it does not run while the rank is awake.
//!
//! # Rules
//! The rank asks after it has said at the doorbell that it sleeps, and then looks once more. The thread takes
//! the wish back before it rings. So either the ring finds a rank that sleeps, or the rank asks again.

use super::{without_signals, WaitSet};
use crate::progress::Doorbell;
use crate::sync::{Futex, Ordering};
use crate::Result;
use std::os::fd::RawFd;
use std::sync::OnceLock;

/// Nobody has asked.
const IDLE: u32 = 0;
/// The rank has asked.
const WATCHING: u32 = 1;

/// The thread and what it watches. It lives as long as the process.
#[derive(Debug)]
pub struct Watcher {
    sets: WaitSet,
    doorbell: &'static Doorbell,
    wish: Futex,
    thread: OnceLock<bool>,
}

impl Watcher {
    /// For a rank that sleeps at `doorbell`. The thread begins when it is asked the first time.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(doorbell: &'static Doorbell) -> Result<&'static Watcher> {
        let watcher =
            Watcher { sets: WaitSet::new()?, doorbell, wish: Futex::new(), thread: OnceLock::new() };
        Ok(Box::leak(Box::new(watcher)))
    }

    /// Watches one more set of sockets.
    pub fn add(&self, set: RawFd) -> std::io::Result<()> {
        self.sets.add(set, 0)
    }

    /// The doorbell that is rung.
    pub fn doorbell(&self) -> &'static Doorbell {
        self.doorbell
    }

    /// The rank sleeps, if it finds nothing now: it is rung once something comes.
    pub fn watch(&'static self) {
        // Without the thread a sleep ends after its limit.
        self.thread.get_or_init(|| without_signals("serried-watcher", || self.run()));
        if self.wish.word().swap(WATCHING, Ordering::SeqCst) == IDLE {
            self.wish.wake_all();
        }
    }

    fn run(&self) {
        loop {
            while self.wish.word().load(Ordering::SeqCst) == IDLE {
                self.wish.sleep_while(IDLE, None);
            }
            if self.sets.poll(true) {
                self.wish.word().store(IDLE, Ordering::SeqCst);
                self.doorbell.ring();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    #[test]
    fn a_sleeper_is_rung_for_each_thing_that_comes() {
        let doorbell: &'static Doorbell = Box::leak(Box::default());
        let (watcher, set) = (Watcher::new(doorbell).unwrap(), WaitSet::new().unwrap());
        let (mut sender, mut receiver) = UnixStream::pair().unwrap();
        set.add(receiver.as_raw_fd(), 3).unwrap();
        watcher.add(set.raw()).unwrap();
        let thread = std::thread::spawn(move || {
            for number in 0..200u8 {
                if number % 8 == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
                sender.write_all(&[number]).unwrap();
            }
        });
        let (began, mut place) = (Instant::now(), [0; 1]);
        for number in 0..200u8 {
            while !set.poll(false) {
                let asks = || {
                    watcher.watch();
                    set.poll(false)
                };
                doorbell.sleep_unless(asks, Some(30_000_000_000));
            }
            let ready: Vec<_> = set.ready().collect();
            assert!(ready.len() == 1 && ready[0].name == 3 && ready[0].can_read, "{ready:?}");
            receiver.read_exact(&mut place).unwrap();
            assert_eq!(place, [number]);
        }
        assert!(began.elapsed() < Duration::from_secs(25), "it slept until its limit");
        thread.join().unwrap();
        assert_eq!(receiver.read(&mut place).unwrap(), 0, "the end is told");
    }
}
