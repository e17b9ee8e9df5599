//! What makes progress in a rank beside the packets that arrive: a list of sources.
//!
//! A room that has something under way adds a source, in a file of its own; the loop that drives a rank knows
//! none of them by name. Each has a flag. A flag that is down costs nothing: while all are down, driving a rank
//! is one comparison. Whoever gives a source something to do raises its flag, and it falls when the source says
//! that nothing is left.

use crate::Result;

/// One source of progress. `Rank` is what it drives, and what it finds its work in.
pub trait Source<Rank>: Send {
    /// Goes on as far as it can without waiting. Whether anything is left to be driven.
    ///
    /// # Errors
    /// A broken protocol; never the failure of an operation.
    fn go_on(&mut self, rank: &mut Rank) -> Result<bool>;

    /// Whether it has to go on once more after the rank has said that it sleeps: because whoever can let it
    /// go on may have rung just before.
    fn looks_before_sleep(&self) -> bool {
        false
    }

    /// Whether nothing is under way for which a rank has to wait before it takes leave.
    fn is_quiet(&self, _rank: &Rank) -> bool {
        true
    }

    /// Whether something is under way in one of these contexts.
    fn is_in(&self, _rank: &Rank, _contexts: &[u64]) -> bool {
        false
    }
}

/// The number of a source in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u32);

impl Number {
    /// Of a source that is added as the how manieth, from 0.
    pub const fn new(number: u32) -> Number {
        assert!(number < u32::BITS, "there are flags for 32 sources");
        Number(number)
    }
}

/// Which sources have something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Whether any has.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether this one has.
    #[inline]
    pub fn has(self, source: Number) -> bool {
        self.0 & 1 << source.0 != 0
    }

    /// This one has something to do.
    #[inline]
    pub fn raise(&mut self, source: Number) {
        self.0 |= 1 << source.0;
    }

    fn lower(&mut self, source: Number) {
        self.0 &= !(1 << source.0);
    }
}

/// What has a list of sources, and their flags.
pub trait Driven: Sized {
    /// The flags.
    fn flags(&mut self) -> &mut Flags;
    /// The list; it is not there while it is driven.
    fn sources(&mut self) -> &mut Sources<Self>;
}

/// The sources of a rank, in the order in which they are driven.
pub struct Sources<Rank>(Vec<Box<dyn Source<Rank>>>);

impl<Rank> Default for Sources<Rank> {
    fn default() -> Self {
        Sources(Vec::new())
    }
}

impl<Rank: Driven> Sources<Rank> {
    /// Adds a source at the end.
    pub fn add(&mut self, source: Box<dyn Source<Rank>>) -> Number {
        self.0.push(source);
        Number::new(self.0.len() as u32 - 1)
    }

    /// Drives those whose flags are up, each once.
    ///
    /// # Errors
    /// The first one's; those after it are driven the next time.
    #[inline(never)]
    pub fn go_on(rank: &mut Rank) -> Result<()> {
        Sources::drive(rank, |_| true)
    }

    /// The same before the rank sleeps, of those that want that.
    ///
    /// # Errors
    /// As [`Sources::go_on`].
    pub fn go_on_before_sleep(rank: &mut Rank) -> Result<()> {
        Sources::drive(rank, |source| source.looks_before_sleep())
    }

    fn drive(rank: &mut Rank, is_due: impl Fn(&dyn Source<Rank>) -> bool) -> Result<()> {
        let mut sources = std::mem::take(rank.sources());
        let driven = sources.0.iter_mut().zip(0..).try_for_each(|(source, number)| {
            let number = Number::new(number);
            if rank.flags().has(number) && is_due(source.as_ref()) {
                rank.flags().lower(number);
                let left = source.go_on(rank);
                // After a failure it is driven again: what has failed may have been one of many.
                if !matches!(left, Ok(false)) {
                    rank.flags().raise(number);
                }
                left?;
            }
            Ok(())
        });
        // What was added meanwhile comes behind.
        sources.0.append(&mut rank.sources().0);
        *rank.sources() = sources;
        driven
    }

    /// Whether a rank may take leave.
    pub fn are_quiet(&self, rank: &Rank) -> bool {
        self.0.iter().all(|source| source.is_quiet(rank))
    }

    /// Whether any of them has something under way in one of these contexts.
    pub fn are_in(&self, rank: &Rank, contexts: &[u64]) -> bool {
        self.0.iter().any(|source| source.is_in(rank, contexts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Error};

    #[derive(Default)]
    struct Rank {
        flags: Flags,
        sources: Sources<Rank>,
        driven: Vec<&'static str>,
    }

    impl Driven for Rank {
        fn flags(&mut self) -> &mut Flags {
            &mut self.flags
        }
        fn sources(&mut self) -> &mut Sources<Rank> {
            &mut self.sources
        }
    }

    /// Has so many steps to go, and fails at one.
    struct Steps(&'static str, u32, u32);

    impl Source<Rank> for Steps {
        fn go_on(&mut self, rank: &mut Rank) -> Result<bool> {
            rank.driven.push(self.0);
            self.1 -= 1;
            match self.1 == self.2 {
                true => Err(Error::new(Class::Intern, "a step too many")),
                false => Ok(self.1 > 0),
            }
        }
        fn looks_before_sleep(&self) -> bool {
            self.0 == "b"
        }
        fn is_quiet(&self, _: &Rank) -> bool {
            self.1 == 0
        }
        fn is_in(&self, _: &Rank, contexts: &[u64]) -> bool {
            contexts.contains(&u64::from(self.1))
        }
    }

    #[test]
    fn only_those_with_something_to_do_are_driven_in_their_order() {
        let mut rank = Rank::default();
        let [a, b] = ["a", "b"].map(|name| rank.sources.add(Box::new(Steps(name, 2, 9))));
        Sources::go_on(&mut rank).unwrap();
        assert!(rank.driven.is_empty() && !rank.flags.any());
        rank.flags.raise(b);
        Sources::go_on(&mut rank).unwrap();
        assert_eq!((&rank.driven[..], rank.flags.has(a), rank.flags.has(b)), (&["b"][..], false, true));
        rank.flags.raise(a);
        assert!(!rank.sources.are_quiet(&rank) && rank.sources.are_in(&rank, &[1]));
        Sources::go_on_before_sleep(&mut rank).unwrap();
        Sources::go_on(&mut rank).unwrap();
        Sources::go_on(&mut rank).unwrap();
        assert_eq!(rank.driven, ["b", "b", "a", "a"]);
        assert!(!rank.flags.any() && rank.sources.are_quiet(&rank));
        assert!(!rank.sources.are_in(&rank, &[1, 2]));
    }

    #[test]
    fn one_that_fails_is_driven_again() {
        let mut rank = Rank::default();
        let a = rank.sources.add(Box::new(Steps("a", 3, 2)));
        rank.flags.raise(a);
        assert!(Sources::go_on(&mut rank).is_err());
        assert!(rank.flags.has(a));
        Sources::go_on(&mut rank).unwrap();
        assert_eq!(rank.driven.len(), 2);
    }

    /// Adds another one when it is driven.
    struct Adds;

    impl Source<Rank> for Adds {
        fn go_on(&mut self, rank: &mut Rank) -> Result<bool> {
            let number = rank.sources().0.len();
            assert_eq!(number, 0, "the list is not there while it is driven");
            rank.sources().0.push(Box::new(Steps("late", 1, 9)));
            Ok(false)
        }
    }

    #[test]
    fn one_may_be_added_while_others_are_driven() {
        let mut rank = Rank::default();
        let adds = rank.sources.add(Box::new(Adds));
        rank.flags.raise(adds);
        Sources::go_on(&mut rank).unwrap();
        rank.flags.raise(Number::new(1));
        Sources::go_on(&mut rank).unwrap();
        assert_eq!(rank.driven, ["late"]);
    }
}
