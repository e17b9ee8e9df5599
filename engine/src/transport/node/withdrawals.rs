//! Taking an offer back: between its owner, who withdraws it, and the peer, who takes it, exactly
//! one succeeds, and the owner waits for nobody to know who.
//!
//! # Protocol
//! Before a rank takes an offer, it says so in a word of its own ([`Taking`]) and then looks whether
//! anything has been withdrawn from it ([`Withdrawn`]). The list of the owner ([`List`]) tells which
//! offers these are. Before an owner withdraws an offer, it writes that down in its list and counts
//! it at the peer, and then looks whether the peer is taking just that. Each needs a barrier between
//! its store and its look; the owner issues it for both (`progress::barrier`). So at least one of
//! them sees the other: the taker sees that the offer was withdrawn, or the owner that it is taken.
//!
//! The word is cleared when the taking is over. Before that the taker tells the owner by a packet, or
//! shows that packets of it wait for room.

use crate::progress::barrier;
use crate::sync::{fence, AtomicU32, AtomicU64, Ordering};

/// What a rank can have withdrawn at a time.
pub const ENTRIES: usize = if cfg!(loom) { 2 } else { 512 };

/// What was offered: one of the two ranks, and the number that its owner gave it. Never 0.
const fn ticket(rank: u32, number: u32) -> u64 {
    1 << 63 | (rank as u64) << 32 | number as u64
}

/// What a rank takes now. It alone writes it.
#[derive(Debug)]
#[repr(C)]
pub struct Taking {
    ticket: AtomicU64,
    waiting: AtomicU32,
}

impl Taking {
    /// Nothing.
    pub fn new() -> Taking {
        Taking { ticket: AtomicU64::new(0), waiting: AtomicU32::new(0) }
    }

    /// Takes what `peer` has offered under `number`, unless something is found to be withdrawn
    /// after that. `spared`: barriers of the peers reach this process.
    #[inline]
    pub fn begin(&self, peer: u32, number: u32, spared: bool) {
        self.ticket.store(ticket(peer, number), Ordering::Relaxed);
        match spared {
            true => barrier::counterpart(),
            false => fence(Ordering::SeqCst), // withdrawals: paired with the owner's barrier
        }
    }

    /// It is over, and the peer has been told.
    #[inline]
    pub fn end(&self) {
        self.ticket.store(0, Ordering::Release); // withdrawals: paired with `is`
    }

    /// Whether that of `peer` under `number` is being taken.
    pub fn is(&self, peer: u32, number: u32) -> bool {
        self.ticket.load(Ordering::Acquire) == ticket(peer, number) // withdrawals: paired with `end`
    }

    /// Says whether packets wait for room.
    pub fn show_waiting(&self, waiting: bool) {
        self.waiting.store(u32::from(waiting), Ordering::Release); // withdrawals: paired with `shows_waiting`
    }

    /// Whether packets wait for room.
    pub fn shows_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) != 0 // withdrawals: paired with `show_waiting`
    }
}

/// How much is withdrawn from a rank that it has not been told of. Its peers add, it takes away.
#[derive(Debug)]
#[repr(C)]
pub struct Withdrawn(AtomicU32);

impl Withdrawn {
    /// Nothing.
    pub fn new() -> Withdrawn {
        Withdrawn(AtomicU32::new(0))
    }

    /// Whether there is anything.
    #[inline]
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// One more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// One less.
    pub fn forget(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a rank has withdrawn. It alone writes it.
#[derive(Debug)]
#[repr(C)]
pub struct List {
    entries: [AtomicU64; ENTRIES],
}

impl List {
    /// Writes one down; `false` if there is no room.
    pub fn add(&self, peer: u32, number: u32) -> bool {
        let free = self.entries.iter().find(|entry| entry.load(Ordering::Relaxed) == 0);
        free.is_some_and(|entry| {
            entry.store(ticket(peer, number), Ordering::Release); // withdrawals: paired with `has`
            true
        })
    }

    /// Strikes it out; whether it was there.
    pub fn remove(&self, peer: u32, number: u32) -> bool {
        let ticket = ticket(peer, number);
        let found = self.entries.iter().find(|entry| entry.load(Ordering::Relaxed) == ticket);
        found.inspect(|entry| entry.store(0, Ordering::Relaxed)).is_some()
    }

    /// Whether it is there.
    pub fn has(&self, peer: u32, number: u32) -> bool {
        let ticket = ticket(peer, number);
        self.entries.iter().any(|entry| entry.load(Ordering::Acquire) == ticket)
        // withdrawals: paired with `add`
    }

    /// Whether this number is there, whoever the peer is.
    pub fn has_number(&self, number: u32) -> bool {
        let same = |entry: u64| entry != 0 && entry as u32 == number;
        self.entries.iter().any(|entry| same(entry.load(Ordering::Relaxed)))
    }

    /// Nothing.
    pub fn new() -> List {
        List { entries: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Default for Taking {
    fn default() -> Self {
        Taking::new()
    }
}

impl Default for Withdrawn {
    fn default() -> Self {
        Withdrawn::new()
    }
}

impl Default for List {
    fn default() -> Self {
        List::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_list_knows_ranks_and_numbers_and_has_an_end() {
        let list = List::new();
        assert!(list.add(0, 0) && list.add(3, 7));
        assert!(list.has(0, 0) && list.has(3, 7) && !list.has(3, 0) && !list.has(7, 3));
        assert!(list.has_number(7) && list.has_number(0) && !list.has_number(3));
        list.remove(0, 0);
        assert!(!list.has(0, 0) && !list.has_number(0));
        assert_eq!((8..).take_while(|&number| list.add(3, number)).count(), ENTRIES - 1);
    }

    #[test]
    fn what_is_taken_is_known_until_it_is_over() {
        let taking = Taking::default();
        assert!(!taking.is(0, 0));
        taking.begin(0, 0, false);
        assert!(taking.is(0, 0) && !taking.is(1, 0));
        taking.end();
        assert!(!taking.is(0, 0));
    }

    /// Two threads, an offer a round: either the one that withdraws it or the one that takes it has it.
    #[test]
    fn exactly_one_of_two_threads_has_each_offer() {
        use std::sync::atomic::{AtomicU32 as Plain, Ordering::SeqCst};
        const ROUNDS: u32 = 20_000;
        let spared = barrier::register();
        let (taking, withdrawn, list) = (Taking::default(), Withdrawn::default(), List::new());
        let (round, taken, at_end) = (Plain::new(0), Plain::new(0), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=ROUNDS {
                    while round.load(SeqCst) != number {
                        std::hint::spin_loop();
                    }
                    taking.begin(0, number, spared);
                    if !(withdrawn.any() && list.has(1, number)) {
                        taken.store(number, SeqCst);
                    }
                    taking.end();
                    at_end.wait();
                    at_end.wait();
                }
            });
            for number in 1..=ROUNDS {
                round.store(number, SeqCst);
                (0..number % 64).for_each(|_| std::hint::spin_loop());
                list.add(1, number);
                withdrawn.add();
                if spared {
                    barrier::everywhere();
                }
                while taking.is(0, number) {
                    std::hint::spin_loop();
                }
                let seen = taken.load(SeqCst) == number;
                at_end.wait();
                assert_eq!(seen, taken.load(SeqCst) == number, "round {number}");
                list.remove(1, number);
                withdrawn.forget();
                at_end.wait();
            }
        });
    }
}
