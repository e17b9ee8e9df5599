//! Packets that have come over the fabric.

use crate::transport::network::framing::Head;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a payload is.
#[derive(Debug)]
pub enum Place {
    /// Where it was received, in this buffer.
    Received(*const u8, usize),
    /// In memory of its own.
    Owned(Box<[u8]>),
}

// SAFETY: the places are in buffers of the port, which has its packets too.
unsafe impl Send for Place {}

/// A packet that has come.
#[derive(Debug)]
pub struct Came {
    /// The number of the partner; none if this rank has made it.
    pub partner: Option<usize>,
    /// Its head.
    pub head: Head,
    /// Its payload.
    pub place: Place,
    /// Somebody else gives it back.
    pub is_retained: bool,
}

/// The packets of a lane, in order.
#[derive(Debug)]
pub struct Inbound {
    came: VecDeque<Came>,
    /// Packets before which others come over the wire that are not here yet.
    early: VecDeque<Came>,
    /// How many have come and can be read: for whoever asks without the lock.
    count: &'static AtomicU64,
}

impl Default for Inbound {
    fn default() -> Self {
        // What is asked without the lock lives as long as the process.
        let count = Box::leak(Box::new(AtomicU64::new(0)));
        Inbound { came: VecDeque::new(), early: VecDeque::new(), count }
    }
}

impl Inbound {
    /// How many can be read.
    pub fn count(&self) -> &'static AtomicU64 {
        self.count
    }

    fn publish(&self) {
        self.count.store(self.came.len() as u64, Ordering::Release);
    }

    /// A packet has come; of a partner that has not changed over it is early.
    pub fn add(&mut self, came: Came, is_early: bool) {
        match is_early {
            true => self.early.push_back(came),
            false => self.came.push_back(came),
        }
        self.publish();
    }

    /// All that a partner has sent over the wire is here: its packets are early no more.
    pub fn changes_over(&mut self, partner: usize) {
        let early = std::mem::take(&mut self.early);
        let (its, others): (VecDeque<Came>, _) =
            early.into_iter().partition(|came| came.partner == Some(partner));
        self.early = others;
        self.came.extend(its);
        self.publish();
    }

    /// Whether there is none to be read.
    pub fn is_empty(&self) -> bool {
        self.came.is_empty()
    }

    /// The one that came first.
    pub fn first(&self) -> Option<&Came> {
        self.came.front()
    }

    /// The same, to be changed.
    pub fn first_mut(&mut self) -> Option<&mut Came> {
        self.came.front_mut()
    }

    /// Takes the one that came first.
    pub fn take(&mut self) -> Option<Came> {
        let came = self.came.pop_front();
        self.publish();
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::network::framing::Sort;

    #[test]
    fn packets_of_a_partner_wait_until_it_has_changed_over_and_keep_their_order() {
        let mut inbound = Inbound::default();
        let came = |partner, number| Came {
            partner: Some(partner),
            head: Head::bare(Sort::Packet, 1, [number, 0]),
            place: Place::Owned(Box::default()),
            is_retained: false,
        };
        let count = inbound.count();
        for number in 0..3 {
            inbound.add(came(0, number), true);
            inbound.add(came(1, 10 + number), number == 0);
        }
        assert_eq!(count.load(Ordering::Relaxed), 2);
        inbound.changes_over(0);
        inbound.add(came(0, 3), false);
        assert_eq!(count.load(Ordering::Relaxed), 6);
        let taken = std::iter::from_fn(|| inbound.take()).map(|came| came.head.header[0]);
        assert_eq!(taken.collect::<Vec<_>>(), [11, 12, 0, 1, 2, 3]);
        inbound.changes_over(1);
        assert_eq!((inbound.first().unwrap().head.header[0], count.load(Ordering::Relaxed)), (10, 1));
    }
}
