//! Which pieces a receiver has, and which it has asked for.

/// So many later pieces may overtake one before it counts as lost.
const OVERTAKING: u32 = 4;

/// The pieces of a broadcast, at one rank.
#[derive(Debug)]
pub struct Pieces {
    number: u32,
    have: Vec<bool>,
    asked: Vec<bool>,
    /// All before this one are here.
    whole: u32,
    /// One behind the last that has come.
    seen: u32,
    /// All before this one have been sent, as far as is known.
    sent: u32,
    /// All before this one are here or have been asked for.
    settled: u32,
}

impl Pieces {
    /// So many, none of them here, or all.
    pub fn new(number: u32, here: bool) -> Pieces {
        let all = vec![here; number as usize];
        let end = if here { number } else { 0 };
        Pieces { number, asked: all.clone(), have: all, whole: end, seen: end, sent: end, settled: end }
    }

    /// The same among other pieces: there are so many.
    pub fn among(&self, number: u32) -> Pieces {
        let mut pieces = Pieces::new(number, false);
        (0..self.number.min(number)).filter(|&piece| self.has(piece)).for_each(|piece| {
            pieces.add(piece);
        });
        pieces
    }

    /// Whether this one is here.
    pub fn has(&self, piece: u32) -> bool {
        self.have.get(piece as usize).copied().unwrap_or(false)
    }

    /// All before this one are here.
    pub fn whole(&self) -> u32 {
        self.whole
    }

    /// Whether all are here.
    pub fn are_all_here(&self) -> bool {
        self.whole == self.number
    }

    /// One has come; whether it is new.
    pub fn add(&mut self, piece: u32) -> bool {
        if piece >= self.number || std::mem::replace(&mut self.have[piece as usize], true) {
            return false;
        }
        self.seen = self.seen.max(piece + 1);
        while self.has(self.whole) {
            self.whole += 1;
        }
        true
    }

    /// All before `end` have been sent.
    pub fn have_been_sent(&mut self, end: u32) {
        self.sent = self.sent.max(end.min(self.number));
    }

    /// What was asked for was sent once more to all: what is still missing may be asked for again.
    pub fn were_sent_again(&mut self) {
        self.asked.fill(false);
        self.settled = self.whole;
    }

    /// Runs of pieces that are lost and have not been asked for, as first and number. They count as asked for now.
    pub fn ask(&mut self) -> Vec<(u32, u32)> {
        let end = self.sent.max(self.seen.saturating_sub(OVERTAKING));
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for piece in self.settled.max(self.whole)..end {
            let at = piece as usize;
            if self.have[at] || std::mem::replace(&mut self.asked[at], true) {
                continue;
            }
            match runs.last_mut() {
                Some((first, number)) if *first + *number == piece => *number += 1,
                _ => runs.push((piece, 1)),
            }
        }
        self.settled = self.settled.max(end);
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::tests::twin::Random;

    #[test]
    fn gaps_and_notes_are_asked_for_once() {
        let mut pieces = Pieces::new(20, false);
        for piece in [0, 1, 4, 5, 6] {
            assert!(pieces.add(piece));
        }
        assert!(pieces.ask() == [(2, 1)], "3 may only have been overtaken");
        assert!(pieces.add(8));
        assert_eq!(pieces.ask(), [(3, 1)]);
        pieces.have_been_sent(10);
        assert_eq!(pieces.ask(), [(7, 1), (9, 1)]);
        assert!(pieces.ask().is_empty() && !pieces.add(8) && !pieces.add(20));
        pieces.were_sent_again();
        assert_eq!(pieces.ask(), [(2, 2), (7, 1), (9, 1)]);
    }

    #[test]
    fn whatever_comes_in_whatever_order_all_that_is_missing_is_asked_for() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let number = 1 + random.below(200) as u32;
            let mut pieces = Pieces::new(number, false);
            let mut asked = vec![0; number as usize];
            let mut note = |pieces: &mut Pieces| {
                for (first, number) in pieces.ask() {
                    (first..first + number).for_each(|piece| asked[piece as usize] += 1);
                }
            };
            let lost = 1 + random.below(5);
            for piece in 0..number {
                if random.below(10) >= lost {
                    // Some come late, some twice.
                    pieces.add(piece.saturating_sub(random.below(3) as u32));
                    pieces.add(piece);
                }
                note(&mut pieces);
            }
            pieces.have_been_sent(number);
            note(&mut pieces);
            let wrong = (0..number).filter(|&piece| !pieces.has(piece) && asked[piece as usize] != 1);
            assert_eq!(wrong.count(), 0, "seed {seed}");
            (0..number).for_each(|piece| assert!(pieces.add(piece) || pieces.has(piece)));
            assert!(pieces.are_all_here() && pieces.ask().is_empty());
        }
    }
}
