//! How often a lane asks the system whether something has come.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// One of so many questions of a spin goes to the system.
const ANSWERED: u32 = 8;

/// How often others than the lane have asked whether there is something to read. A question that goes to the system costs a
/// call, and who spins asks again. A sleep ends at once if an answer has left something out.
#[derive(Debug, Default)]
pub struct Questions(AtomicU32);

impl Questions {
    /// One more. Whether this one shall go to the system.
    pub fn ask(&self) -> bool {
        let asked = self.asked();
        self.0.store(asked.wrapping_add(1), Relaxed);
        asked.is_multiple_of(ANSWERED)
    }

    /// So many until now, roughly where several threads ask.
    pub fn asked(&self) -> u32 {
        self.0.load(Relaxed)
    }
}

/// After so many looks in vain...
const LOOKS_IN_VAIN: u32 = 256;
/// ...only one of so many asks the system.
const SELDOM: u32 = 16;

/// Of a lane. A rank that looks in a loop may wait for a rank of its node, whose packets cost a hundredth of a system call: so
/// after many looks in vain only a few ask. One that is about to sleep, or has slept, always does.
#[derive(Debug, Default)]
pub struct Patience {
    looks: u32,
    /// Looks until the system is asked less often.
    left: u32,
    /// How often others had asked whether there is something, at the last look.
    times: u32,
    is_waiting: bool,
}

impl Patience {
    /// One more look. Whether the system shall be asked now; others have asked so many times whether there is something.
    pub fn is_time(&mut self, times: u32) -> bool {
        self.looks = self.looks.wrapping_add(1);
        self.is_waiting = std::mem::replace(&mut self.times, times) != times;
        self.left = self.left.saturating_sub(1);
        self.is_waiting || self.left > 0 || self.looks.is_multiple_of(SELDOM)
    }

    /// Whether somebody was about to sleep before this look.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Whether this look is one of so many.
    pub fn is_one_of(&self, looks: u32) -> bool {
        self.looks.is_multiple_of(looks)
    }

    /// Something has come.
    pub fn found(&mut self) {
        self.left = LOOKS_IN_VAIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_of_eight_goes_to_the_system_also_when_the_count_begins_anew() {
        let questions = Questions(AtomicU32::new(u32::MAX - 3));
        let answered: Vec<bool> = (0..20).map(|_| questions.ask()).collect();
        let expected: Vec<bool> = (0..20).map(|place: u32| place % ANSWERED == 4).collect();
        assert_eq!(answered, expected);
        assert_eq!(questions.asked(), 16);
    }

    #[test]
    fn who_finds_nothing_asks_less_often_until_somebody_waits() {
        let mut patience = Patience::default();
        patience.found();
        let asked = |patience: &mut Patience, looks: u32| (0..looks).filter(|_| patience.is_time(7)).count();
        patience.is_time(7);
        assert_eq!(asked(&mut patience, LOOKS_IN_VAIN - 2), LOOKS_IN_VAIN as usize - 2);
        assert_eq!(asked(&mut patience, 10 * SELDOM), 10);
        assert!(patience.is_time(8), "somebody is about to sleep");
    }
}
