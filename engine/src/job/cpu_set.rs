//! Sets of CPUs, by the system's numbers: as large as the system's own type for them.

use std::ops::{BitAnd, BitOr, Not};

/// How many CPUs a set can name.
pub const MOST_CPUS: usize = libc::CPU_SETSIZE as usize;
/// Words of a set.
pub const WORDS: usize = MOST_CPUS / 64;

/// A set of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSet(pub [u64; WORDS]);

impl CpuSet {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Adds one.
    pub fn insert(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let rest = |word: &u64| Some(word & (word - 1)).filter(|&rest| rest != 0);
            let words = std::iter::successors(Some(word).filter(|&word| word != 0), rest);
            words.map(move |word| index * 64 + word.trailing_zeros() as usize)
        })
    }

    fn zip(mut self, other: CpuSet, with: impl Fn(u64, u64) -> u64) -> CpuSet {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = with(*mine, theirs));
        self
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<Cpus: IntoIterator<Item = usize>>(cpus: Cpus) -> CpuSet {
        let mut set = CpuSet::default();
        cpus.into_iter().filter(|&cpu| cpu < MOST_CPUS).for_each(|cpu| set.insert(cpu));
        set
    }
}

impl BitAnd for CpuSet {
    type Output = CpuSet;

    fn bitand(self, other: CpuSet) -> CpuSet {
        self.zip(other, |mine, theirs| mine & theirs)
    }
}

impl BitOr for CpuSet {
    type Output = CpuSet;

    fn bitor(self, other: CpuSet) -> CpuSet {
        self.zip(other, |mine, theirs| mine | theirs)
    }
}

impl Not for CpuSet {
    type Output = CpuSet;

    fn not(mut self) -> CpuSet {
        self.0.iter_mut().for_each(|word| *word = !*word);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_its_cpus_in_order() {
        let set: CpuSet = [1000, 64, 3, 63, 3, MOST_CPUS].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 1000]);
        assert_eq!((set.len(), set.is_empty()), (4, false));
        let other: CpuSet = [3, 4].into_iter().collect();
        assert_eq!((set & other).iter().collect::<Vec<_>>(), [3]);
        assert_eq!((set & !other).len(), 3);
        assert_eq!((set | other).len(), 5);
        assert!(CpuSet::default().is_empty());
    }
}
