//! The order of what a peer sends, whatever the order in which it comes.

use super::frame::Frame;
use std::collections::HashMap;

/// What has come from one peer too early, and what is due.
#[derive(Debug, Default)]
pub struct Order {
    due: u32,
    early: HashMap<u32, Frame>,
}

impl Order {
    /// A frame has come: hands on all that are due now, in their order.
    pub fn arrived(&mut self, frame: Frame, mut hand_on: impl FnMut(Frame)) {
        if frame.head.number != self.due {
            self.early.insert(frame.head.number, frame);
            return;
        }
        let mut next = Some(frame);
        while let Some(frame) = next {
            self.due = self.due.wrapping_add(1);
            hand_on(frame);
            next = self.early.remove(&self.due);
        }
    }
}

/// Delays by chance: what comes is held for some looks, so that it comes late and in another order.
#[derive(Debug)]
pub struct Delays {
    state: u64,
}

/// A frame is held for fewer looks than these.
const LONGEST_DELAY: u64 = 12;

impl Delays {
    /// The same for the same seed.
    pub fn new(seed: u64) -> Delays {
        Delays { state: seed ^ 0x9e37_79b9_7f4a_7c15 | 1 }
    }

    /// For how many looks the next frame is held. Every fourth is not.
    pub fn next(&mut self) -> u64 {
        // Xorshift: any numbers do, as long as they differ from frame to frame.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        match self.state >> 62 {
            0 => 0,
            _ => (self.state >> 20) % LONGEST_DELAY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{Head, Sort};
    use super::*;

    #[test]
    fn what_comes_in_any_order_is_handed_on_in_its_own() {
        let frame = |number| Frame::new(Head { kind: 1, sort: Sort::Packet, number, header: [0; 2] }, &[]);
        let mut order = Order { due: u32::MAX - 1, early: HashMap::new() };
        let mut seen = Vec::new();
        for number in [0, u32::MAX, 2, u32::MAX - 1, 1] {
            order.arrived(frame(number), |frame| seen.push(frame.head.number));
        }
        assert_eq!(seen, [u32::MAX - 1, u32::MAX, 0, 1, 2]);
        assert!(order.early.is_empty());
    }

    #[test]
    fn delays_differ_and_are_those_of_their_seed() {
        let of = |seed| -> Vec<u64> {
            let mut delays = Delays::new(seed);
            (0..100).map(|_| delays.next()).collect()
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert!(of(7).iter().all(|&delay| delay < LONGEST_DELAY) && of(7).contains(&0));
        assert!(of(7).windows(2).any(|pair| pair[0] > pair[1]), "one overtakes another");
    }
}
