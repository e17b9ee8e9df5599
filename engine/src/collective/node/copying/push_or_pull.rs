//! Which of two members copies a block: its owner pushes it, or the other one pulls it.
//!
//! A member that pushes has the block's lines at hand, and those of the destination too as long as nobody else
//! has used them. So it takes half the time. But if the program has read the destination since the last time,
//! each line has to be taken away from the other core first, and is read there again, from afar. In all that is
//! slower than pulling, even where the push itself is still a little quicker. So members try both ways now and
//! then, a few times each, because the first time finds lines where the other way has left them. They push only
//! if that is quicker by much.

use crate::clock::ticks;
use crate::memory::copy::wait_for_stores;
use crate::tuning::crossovers::PULLED;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Operations from one trial to the next.
pub(crate) const EVERY: u32 = 256;
/// Each way is tried so many times.
pub(crate) const TIMES: u32 = 4;

/// What a member knows about it. MPI lets only one thread at a time be in a collective of a communicator, so it
/// is atomic for its type only.
#[derive(Default)]
pub(crate) struct PushOrPull {
    /// Counts the operations: so all members try the same at the same time.
    turn: AtomicU32,
    /// Least time of this trial, for a KiB, in ticks: to put it there,
    put: AtomicU64,
    /// and to take it.
    taken: AtomicU64,
    /// To put is better now.
    puts: AtomicBool,
}

/// One operation.
#[derive(Clone, Copy)]
pub(crate) struct Turn(Option<u32>);

impl PushOrPull {
    /// The next operation, in which each member has so many bytes for the other.
    #[inline]
    pub fn next(&self, bytes: u64) -> Turn {
        if !PULLED.is_passed_by(bytes) {
            return Turn(None);
        }
        let turn = self.turn.load(Relaxed);
        self.turn.store(turn.wrapping_add(1), Relaxed);
        Turn(Some(turn % EVERY))
    }

    /// Whether this member would rather put than take.
    #[inline]
    pub fn wants_to_put(&self, turn: Turn) -> bool {
        match turn.0 {
            None => false,
            Some(turn) if turn < 2 * TIMES => turn < TIMES,
            Some(_) => self.puts.load(Relaxed),
        }
    }

    /// Copies, by putting or by taking, and takes the time if it is the turn for that.
    #[inline]
    pub fn copy<T>(&self, turn: Turn, bytes: u64, is_put: bool, copy: impl FnOnce() -> T) -> T {
        match turn.0 {
            Some(turn) if turn < 2 * TIMES => self.measure(turn, bytes, is_put, copy),
            _ => copy(),
        }
    }

    #[cold]
    fn measure<T>(&self, turn: u32, bytes: u64, is_put: bool, copy: impl FnOnce() -> T) -> T {
        wait_for_stores();
        let begin = ticks();
        let done = copy();
        wait_for_stores();
        self.learn(turn, is_put, (ticks() - begin) * 1024 / bytes);
        done
    }

    /// A KiB that was put or taken took so long.
    fn learn(&self, turn: u32, is_put: bool, ticks: u64) {
        let best = if turn < TIMES { &self.put } else { &self.taken };
        let time = match (is_put, turn % TIMES) {
            (_, 0) => return best.store(u64::MAX, Relaxed),
            // It was to be put there, and that could not be.
            (false, _) if turn < TIMES => u64::MAX,
            _ => ticks.min(best.load(Relaxed)),
        };
        best.store(time, Relaxed);
        if turn == 2 * TIMES - 1 {
            self.puts.store(self.put.load(Relaxed) < time - time / 4, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operations of a whole round, where to put takes so long and to take so long; how many of them put.
    fn round(direction: &PushOrPull, bytes: u64, can_put: bool, ticks: [u64; 2]) -> usize {
        let puts = |_: &u32| {
            let turn = direction.next(bytes);
            let puts = can_put && direction.wants_to_put(turn);
            match turn.0 {
                // One of each takes longer, for another reason.
                Some(turn) if turn < 2 * TIMES => {
                    direction.learn(turn, puts, ticks[usize::from(!puts)] << (turn % TIMES % 2));
                }
                _ => direction.copy(turn, bytes, puts, || ()),
            }
            puts
        };
        (0..EVERY).filter(puts).count()
    }

    #[test]
    fn data_are_put_where_that_is_quicker_by_much() {
        let (direction, all) = (PushOrPull::default(), (EVERY - TIMES) as usize);
        assert_eq!(round(&direction, 64 << 10, true, [74, 100]), all);
        assert_eq!(round(&direction, 64 << 10, true, [76, 100]), TIMES as usize, "it hears of a change");
        assert_eq!(round(&direction, 64 << 10, true, [20, 100]), all);
        assert_eq!(round(&direction, 64 << 10, false, [20, 100]), 0, "who cannot put takes");
        assert_eq!(round(&direction, 4 << 10, true, [20, 100]), 0, "little is taken");
    }

    #[test]
    fn the_time_that_it_takes_is_taken() {
        let (direction, bytes) = (PushOrPull::default(), 64 << 10);
        for puts in (0..2 * TIMES).map(|turn| turn < TIMES) {
            direction.copy(direction.next(bytes), bytes, puts, || {
                let begin = ticks();
                while ticks() - begin < 64 * 1000 {}
            });
        }
        assert!([&direction.put, &direction.taken]
            .iter()
            .all(|least| (1000..u64::MAX).contains(&least.load(Relaxed))));
    }
}
