//! How the threads of a rank sleep: at the doorbell; where descriptors can wake them too, one of them in a wait for
//! these.
//!
//! # Rules
//! The kernel has no wait for a word of memory and for descriptors at once. So one thread has the seat: it waits for
//! the descriptors and for the knocker, at which whoever rings knocks. The others sleep on the word. The one with the
//! seat gives it up when it wakes, and then wakes all others; whoever sleeps first has the seat. So nobody sleeps on
//! the word while the seat is free: a thread that finds it taken says that it sleeps, and then looks at the seat again.
//! Either it sees that the seat is free, or the one that gave it up sees the sleeper.

use super::knock::Knocker;
use super::Doorbell;
use crate::job::node_segment::LANES;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::OnceLock;

/// How a rank sleeps.
#[derive(Debug, Default)]
pub struct Sleeper {
    seat: OnceLock<Seat>,
}

#[derive(Debug)]
struct Seat {
    knocker: Knocker,
    /// Of each lane; -1 for none.
    descriptors: [AtomicI32; LANES],
    is_taken: AtomicBool,
}

impl Sleeper {
    /// A rank that sleeps at `doorbell`, and has not slept so far, waits for a descriptor of a lane too.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn attend(&self, doorbell: &Doorbell, lane: usize, descriptor: RawFd) -> io::Result<()> {
        if self.seat.get().is_none() {
            let descriptors = std::array::from_fn(|_| AtomicI32::new(-1));
            let seat = Seat { knocker: Knocker::open()?, descriptors, is_taken: AtomicBool::new(false) };
            doorbell.knock_at(seat.knocker.name());
            let _ = self.seat.set(seat);
        }
        if let Some(seat) = self.seat.get() {
            seat.descriptors[lane].store(descriptor, Ordering::Release);
        }
        Ok(())
    }

    /// As [`Doorbell::sleep_unless`], until a descriptor has something.
    pub fn sleep_unless(&self, doorbell: &Doorbell, work: impl FnOnce() -> bool, limit: u64) {
        match self.seat.get() {
            Some(seat) if !seat.is_taken.swap(true, Ordering::SeqCst) => {
                doorbell.rest_unless(work, || seat.wait(limit));
                seat.give_up(doorbell);
            }
            Some(seat) => {
                let is_free = || !seat.is_taken.load(Ordering::SeqCst);
                doorbell.sleep_unless(|| work() || is_free(), Some(limit));
            }
            None => doorbell.sleep_unless(work, Some(limit)),
        }
    }
}

impl Seat {
    /// Lets another thread wait for the descriptors, and wakes all that sleep.
    fn give_up(&self, doorbell: &Doorbell) {
        self.is_taken.store(false, Ordering::SeqCst);
        doorbell.wake_at_word();
    }

    /// Waits until a descriptor has something, somebody has knocked, or `limit` nanoseconds have passed.
    fn wait(&self, limit: u64) {
        let mut polls =
            [libc::pollfd { fd: self.knocker.raw(), events: libc::POLLIN, revents: 0 }; LANES + 1];
        for (poll, descriptor) in polls[1..].iter_mut().zip(&self.descriptors) {
            // One that is negative is left out.
            poll.fd = descriptor.load(Ordering::Acquire);
        }
        let time = libc::timespec {
            tv_sec: (limit / 1_000_000_000) as libc::time_t,
            tv_nsec: (limit % 1_000_000_000) as libc::c_long,
        };
        let count = polls.len() as libc::nfds_t;
        // SAFETY: `polls` and `time` are valid during the call; the signal mask stays as it is.
        unsafe { libc::ppoll(polls.as_mut_ptr(), count, &raw const time, std::ptr::null()) };
        if polls[0].revents != 0 {
            self.knocker.heard();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    const LIMIT: u64 = 60_000_000_000;

    #[test]
    fn a_sleeper_is_woken_by_a_descriptor_and_by_a_ring() {
        let (doorbell, sleeper) = (&Doorbell::new(), &Sleeper::default());
        let (mut sender, mut receiver) = UnixStream::pair().unwrap();
        receiver.set_nonblocking(true).unwrap();
        sleeper.attend(doorbell, 1, receiver.as_raw_fd()).unwrap();
        let (rung, began) = (&AtomicU64::new(0), Instant::now());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..200u8 {
                    if number.is_multiple_of(8) {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    if number.is_multiple_of(2) {
                        sender.write_all(&[number]).unwrap();
                    } else {
                        rung.fetch_add(1, Ordering::SeqCst);
                        doorbell.ring();
                    }
                }
            });
            let (mut bytes, mut place) = (0, [0; 16]);
            loop {
                bytes += receiver.read(&mut place).unwrap_or(0);
                let seen = rung.load(Ordering::SeqCst);
                if bytes == 100 && seen == 100 {
                    break;
                }
                sleeper.sleep_unless(doorbell, || rung.load(Ordering::SeqCst) != seen, LIMIT);
            }
        });
        assert!(began.elapsed() < Duration::from_nanos(LIMIT / 2), "it slept until its limit");
    }

    #[test]
    fn a_sleeper_that_has_been_woken_sleeps_again() {
        const NAP: u64 = 10_000_000;
        let (doorbell, sleeper) = (&Doorbell::new(), &Sleeper::default());
        let (mut sender, mut receiver) = UnixStream::pair().unwrap();
        sleeper.attend(doorbell, 0, receiver.as_raw_fd()).unwrap();
        sender.write_all(&[1]).unwrap();
        sleeper.sleep_unless(doorbell, || false, LIMIT); // ended by the descriptor
        receiver.read_exact(&mut [0]).unwrap();
        sleeper.sleep_unless(doorbell, || true, LIMIT); // not begun
        let began = Instant::now();
        (0..20).for_each(|_| sleeper.sleep_unless(doorbell, || false, NAP));
        assert!(began.elapsed() >= Duration::from_nanos(19 * NAP), "it wakes itself");
    }

    #[test]
    fn nobody_sleeps_on_the_word_while_the_seat_is_free() {
        let (doorbell, sleeper) = (&Doorbell::new(), &Sleeper::default());
        sleeper.attend(doorbell, 0, -1).unwrap();
        let (seat, began) = (sleeper.seat.get().unwrap(), Instant::now());
        let take = || assert!(!seat.is_taken.swap(true, Ordering::SeqCst));
        take();
        // As if the one with the seat had woken the others just before this thread said that it sleeps.
        let given_up = || {
            seat.is_taken.store(false, Ordering::SeqCst);
            false
        };
        sleeper.sleep_unless(doorbell, given_up, LIMIT);
        take();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(move || sleeper.sleep_unless(doorbell, || false, LIMIT));
            while !doorbell.has_sleepers() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(1)); // now it sleeps, or is about to
            seat.give_up(doorbell);
            sleeper.join().unwrap();
        });
        assert!(began.elapsed() < Duration::from_nanos(LIMIT / 2), "one slept until its limit");
    }

    #[test]
    fn of_several_threads_all_are_woken() {
        let (doorbell, sleeper) = (&Doorbell::new(), &Sleeper::default());
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        receiver.set_nonblocking(true).unwrap();
        sleeper.attend(doorbell, 0, receiver.as_raw_fd()).unwrap();
        let (round, awake, began) = (&AtomicU64::new(0), &AtomicU64::new(0), Instant::now());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    for number in 1..=100 {
                        while round.load(Ordering::SeqCst) < number {
                            sleeper.sleep_unless(doorbell, || round.load(Ordering::SeqCst) >= number, LIMIT);
                        }
                        awake.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for number in 1..=100u64 {
                round.store(number, Ordering::SeqCst);
                match number.is_multiple_of(2) {
                    true => sender.write_all(&[1]).unwrap(),
                    false => doorbell.ring(),
                }
                while awake.load(Ordering::SeqCst) < 3 * number {
                    std::thread::yield_now();
                }
                let _ = (&receiver).read(&mut [0; 4]);
            }
        });
        assert!(began.elapsed() < Duration::from_nanos(LIMIT / 2), "one slept until its limit");
    }
}
