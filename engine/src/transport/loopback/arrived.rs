//! What has come: held back by chance if that is asked for, put in order, and read one by one.

use super::frame::Frame;
use super::sequence::{Delays, Order};
use crate::JobRank;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// So many frames are taken off the wire before some of them have been read.
const ROOM: u64 = 64;

/// The frames that a rank has taken off the wire and not read.
#[derive(Debug)]
pub struct Inbox {
    delays: Option<Delays>,
    /// What is held back, and until which look.
    held: Vec<(u64, JobRank, Frame)>,
    looks: u64,
    /// By job rank.
    orders: Vec<Order>,
    ready: VecDeque<(JobRank, Frame)>,
    /// The frame that was looked at last.
    current: Option<(JobRank, Frame)>,
    /// How many there are, for who looks without the lock.
    waiting: &'static AtomicU64,
}

impl Inbox {
    /// Of frames of as many ranks; `waiting` is where it is told how many there are.
    pub fn new(ranks: u32, delays: Option<Delays>, waiting: &'static AtomicU64) -> Inbox {
        let orders = (0..ranks).map(|_| Order::default()).collect();
        let (held, ready) = (Vec::new(), VecDeque::new());
        Inbox { delays, held, looks: 0, orders, ready, current: None, waiting }
    }

    /// Whether it takes more off the wire.
    pub fn has_room(&self) -> bool {
        self.waiting.load(SeqCst) < ROOM
    }

    /// A frame has come.
    pub fn arrived(&mut self, source: JobRank, frame: Frame) {
        self.waiting.fetch_add(1, SeqCst);
        match &mut self.delays {
            Some(delays) => self.held.push((self.looks + delays.next(), source, frame)),
            None => self.in_order(source, frame),
        }
    }

    fn in_order(&mut self, source: JobRank, frame: Frame) {
        let ready = &mut self.ready;
        self.orders[source.index()].arrived(frame, |frame| ready.push_back((source, frame)));
    }

    /// Looks once more: what has been held for long enough is let go.
    pub fn look(&mut self) {
        self.looks += 1;
        while let Some(due) = self.held.iter().position(|&(until, ..)| until <= self.looks) {
            let (_, source, frame) = self.held.swap_remove(due);
            self.in_order(source, frame);
        }
    }

    /// The next frame, which stays until [`Inbox::advance`].
    pub fn peek(&mut self) -> Option<&(JobRank, Frame)> {
        if self.current.is_none() {
            self.current = self.ready.pop_front();
        }
        self.current.as_ref()
    }

    /// The frame that was looked at last has been read.
    pub fn advance(&mut self) -> Option<(JobRank, Frame)> {
        let current = self.current.take();
        if current.is_some() {
            self.waiting.fetch_sub(1, SeqCst);
        }
        current
    }

    /// The frame that was looked at last, whose payload may be taken.
    pub fn current(&mut self) -> Option<&mut (JobRank, Frame)> {
        self.current.as_mut()
    }
}
