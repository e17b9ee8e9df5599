//! What all ranks must give alike to a call on a file (MPI-5.0 §14.2, §14.3, §14.4.4, §14.6.1): they compare it before one
//! of them acts on it, so that the call fails at all of them or at none.

use super::failure::{class_of_word, word_of};
use super::team::Team;
use crate::{Class, Error, Result};

/// An argument, and how a person reads its value.
pub(super) type Argument = (&'static str, fn(u64) -> String);

/// A number as it is.
pub(super) fn number(value: u64) -> String {
    (value as i64).to_string()
}

/// Compares what the ranks give for some arguments of a call on the file `name`. A rank that was called with something
/// wrong comes too, so that nobody waits for it. Gives what the first rank tells the others beside that.
///
/// # Errors
/// What is wrong with my own arguments; the class of that where it was so at another rank; `NotSame`.
pub(super) fn agree<const N: usize>(
    team: &dyn Team,
    name: &str,
    arguments: [Argument; N],
    mine: Result<[u64; N]>,
    told: u64,
) -> Result<u64> {
    let values = *mine.as_ref().unwrap_or(&[0; N]);
    let all = team.gather(&[&[word_of(&mine), told], &values[..]].concat())?;
    mine?;
    let ranks = || all.chunks(N + 2);
    if let Some((rank, words)) = ranks().enumerate().find(|(_, words)| words[0] != 0) {
        let message = format!(
            "rank {rank} gave this call on the file {name} a wrong argument, of which it is told; so the call fails at all \
             ranks, and nothing was done"
        );
        return Err(Error::new(class_of_word(words[0]), message));
    }
    for (place, (argument, in_words)) in arguments.into_iter().enumerate() {
        let value = |words: &[u64]| words[2 + place];
        let first = value(&all);
        if let Some((rank, words)) = ranks().enumerate().find(|(_, words)| value(words) != first) {
            let message = format!(
                "argument {argument} is {} at rank 0 and {} at rank {rank}; it must be the same at all ranks that have opened \
                 the file {name}",
                in_words(first),
                in_words(value(words))
            );
            return Err(Error::new(Class::NotSame, message));
        }
    }
    Ok(all[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::team::{Loan, Shared};

    /// A team in which the others have said something already.
    struct Said {
        rank: u32,
        words: Vec<Vec<u64>>,
    }

    impl Team for Said {
        fn rank(&self) -> u32 {
            self.rank
        }
        fn size(&self) -> u32 {
            self.words.len() as u32
        }
        unsafe fn fill(&self, _: u32, _: (u64, u64), _: &mut dyn FnMut(*mut u8)) -> bool {
            false
        }
        fn find(&self, _: u32, _: (u64, u64)) -> Option<*const u8> {
            None
        }
        fn gather(&self, words: &[u64]) -> Result<Vec<u64>> {
            let mut all = self.words.clone();
            all[self.rank as usize] = words.to_vec();
            Ok(all.concat())
        }
        fn tell(&self, _: u32, _: &mut [u64]) -> Result<()> {
            Ok(())
        }
        fn meet(&self) -> Result<()> {
            Ok(())
        }
        fn exchange(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
            Ok(bytes.to_vec())
        }
        fn share(&self) -> Result<Option<Box<dyn Shared>>> {
            Ok(None)
        }
        fn loan(&self, _: usize) -> Option<Box<dyn Loan>> {
            None
        }
        fn leaders(&self) -> Vec<u32> {
            vec![0]
        }
    }

    const ARGUMENTS: [Argument; 2] = [("offset", number), ("whence", number)];

    #[test]
    fn ranks_that_give_the_same_go_on_with_what_the_first_one_tells() {
        let team = Said { rank: 1, words: vec![vec![0, 77, 5, 6], vec![], vec![0, 3, 5, 6]] };
        assert_eq!(agree(&team, "f", ARGUMENTS, Ok([5, 6]), 9).unwrap(), 77);
    }

    #[test]
    fn a_difference_names_argument_ranks_and_values() {
        let team = Said { rank: 1, words: vec![vec![0, 0, 5, 6], vec![], vec![0, 0, 5, (-7i64) as u64]] };
        let error = agree(&team, "f", ARGUMENTS, Ok([5, 6]), 0).unwrap_err();
        assert_eq!(error.class(), Class::NotSame);
        let told = error.to_string();
        assert!(told.contains("argument whence is 6 at rank 0 and -7 at rank 2"), "{told}");
    }

    #[test]
    fn what_is_wrong_at_one_rank_is_an_error_of_its_class_at_all() {
        let wrong = Error::new(Class::Arg, "argument offset is wrong");
        let words = word_of::<()>(&Err(wrong.clone()));
        let others = Said { rank: 0, words: vec![vec![], vec![words, 0, 0, 0]] };
        let error = agree(&others, "f", ARGUMENTS, Ok([5, 6]), 0).unwrap_err();
        assert!(error.class() == Class::Arg && error.to_string().contains("rank 1 gave"), "{error}");
        let mine = Said { rank: 0, words: vec![vec![], vec![0, 0, 5, 6]] };
        assert!(agree(&mine, "f", ARGUMENTS, Err(wrong), 0)
            .unwrap_err()
            .to_string()
            .contains("offset is wrong"));
    }
}
