//! The wire within a process: a queue for each lane of each rank. For tests.

use super::carrier::{Came, Sent, Wire};
use super::frame::{Frame, Head};
use crate::progress::Doorbell;
use crate::transport::Ready;
use crate::{JobRank, Result};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::Mutex;

/// Frames that a queue has room for.
const ROOM: usize = 48;

/// What is on its way to a lane of a rank.
#[derive(Debug, Default)]
struct Queue {
    frames: Mutex<VecDeque<(JobRank, Frame)>>,
    waiting: AtomicU64,
    is_room_wanted: AtomicBool,
}

impl Ready for Queue {
    fn is_ready(&self) -> bool {
        self.waiting.load(SeqCst) != 0
    }
}

#[derive(Debug, Default)]
struct Rank {
    doorbell: Doorbell,
    lanes: [Queue; 2],
}

/// The queues of a lane of a rank.
#[derive(Debug)]
pub struct Queues {
    job: &'static [Rank],
    me: JobRank,
    lane: usize,
}

impl Queues {
    /// The first lanes of the ranks of a job, whose queues live as long as the process.
    pub fn job(ranks: u32) -> Vec<Queues> {
        let job: Vec<Rank> = (0..ranks).map(|_| Rank::default()).collect();
        let job: &'static [Rank] = job.leak();
        (0..ranks).map(|me| Queues { job, me: JobRank(me), lane: 0 }).collect()
    }

    fn queue(&self, rank: JobRank) -> &'static Queue {
        &self.job[rank.index()].lanes[self.lane]
    }
}

impl Wire for Queues {
    fn send(&mut self, peer: JobRank, head: &Head, payload: &[u8]) -> Result<Sent> {
        let queue = self.queue(peer);
        let mut frames = queue.frames.lock().expect("no thread has panicked");
        if frames.len() >= ROOM {
            return Ok(Sent::NoRoom);
        }
        frames.push_back((self.me, Frame::new(*head, payload)));
        queue.waiting.fetch_add(1, SeqCst);
        drop(frames);
        self.job[peer.index()].doorbell.ring();
        Ok(Sent::Away)
    }

    fn receive(&mut self) -> Option<Came> {
        let queue = self.queue(self.me);
        let (source, frame) = queue.frames.lock().expect("no thread has panicked").pop_front()?;
        queue.waiting.fetch_sub(1, SeqCst);
        if queue.is_room_wanted.swap(false, SeqCst) {
            self.job.iter().for_each(|rank| rank.doorbell.ring());
        }
        Some(Came::Frame(source, frame))
    }

    fn want_room(&mut self, peer: JobRank) {
        self.queue(peer).is_room_wanted.store(true, SeqCst);
    }

    fn ready(&self) -> &'static dyn Ready {
        self.queue(self.me)
    }

    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn doorbell(&self) -> &'static Doorbell {
        &self.job[self.me.index()].doorbell
    }

    fn beside(&self, lane: usize) -> Result<Box<dyn Wire>> {
        Ok(Box::new(Queues { lane, ..*self }))
    }
}
