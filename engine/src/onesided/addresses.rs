//! What lies at an address of a rank: for faces that name exposed memory by where it lies.

/// For each rank what lies where. Ranges of one rank do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Addresses<T> {
    ranks: Vec<Vec<Range<T>>>,
}

#[derive(Clone, Debug)]
struct Range<T> {
    first: u64,
    end: u64,
    what: T,
}

impl<T> Addresses<T> {
    /// Nothing lies anywhere.
    pub fn new(ranks: u32) -> Addresses<T> {
        Addresses { ranks: (0..ranks).map(|_| Vec::new()).collect() }
    }

    /// Something lies at so many bytes from an address of a rank on.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn insert(&mut self, rank: u32, (first, bytes): (u64, u64), what: T) {
        let ranges = &mut self.ranks[rank as usize];
        let place = ranges.partition_point(|range| range.first < first);
        ranges.insert(place, Range { first, end: first.saturating_add(bytes), what });
    }

    /// Takes away what is not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.ranks.iter_mut().for_each(|ranges| ranges.retain(|range| keep(&range.what)));
    }

    /// What lies at an address of a rank.
    #[inline]
    pub fn find(&self, rank: u32, address: u64) -> Option<&T> {
        let ranges = self.ranks.get(rank as usize)?;
        let after = ranges.partition_point(|range| range.first <= address);
        let range = ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(&range.what)
    }

    /// What lies in the memory of a rank, in the order of addresses.
    pub fn of_rank(&self, rank: u32) -> impl Iterator<Item = &T> {
        self.ranks.get(rank as usize).into_iter().flatten().map(|range| &range.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_what_has_it() {
        let mut addresses = Addresses::new(2);
        addresses.insert(0, (200, 50), 'b');
        addresses.insert(0, (100, 10), 'a');
        addresses.insert(1, (100, 100), 'c');
        let found = |rank, address| addresses.find(rank, address).copied();
        assert_eq!(
            (found(0, 99), found(0, 100), found(0, 109), found(0, 110)),
            (None, Some('a'), Some('a'), None)
        );
        assert_eq!(
            (found(0, 249), found(0, 250), found(1, 150), found(2, 150)),
            (Some('b'), None, Some('c'), None)
        );
        assert!(addresses.of_rank(0).eq(&['a', 'b']));
        addresses.retain(|&what| what != 'a');
        assert_eq!(addresses.find(0, 105), None);
    }
}
