//! Which parts of a block something holds for.

use std::ops::Range;

/// Parts that neither touch nor overlap, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts(Vec<Range<u64>>);

impl Parts {
    /// It holds for one more, too.
    pub fn add(&mut self, part: Range<u64>) {
        if part.is_empty() {
            return;
        }
        let begin = self.0.partition_point(|one| one.end < part.start);
        let end = self.0.partition_point(|one| one.start <= part.end);
        let touched = &self.0[begin..end];
        let first = touched.first().map_or(part.start, |one| one.start.min(part.start));
        let last = touched.last().map_or(part.end, |one| one.end.max(part.end));
        self.0.splice(begin..end, std::iter::once(first..last));
    }

    /// Whether it holds for all of a part.
    pub fn contain(&self, part: &Range<u64>) -> bool {
        part.is_empty() || self.0.iter().any(|one| one.start <= part.start && part.end <= one.end)
    }

    /// Where it holds within a part; from now on it does not.
    pub fn take(&mut self, part: &Range<u64>) -> Vec<Range<u64>> {
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        let keep = |one: Range<u64>, to: &mut Vec<Range<u64>>| {
            if !one.is_empty() {
                to.push(one);
            }
        };
        for one in self.0.drain(..) {
            keep(one.start..one.end.min(part.start), &mut left);
            keep(one.start.max(part.start)..one.end.min(part.end), &mut taken);
            keep(one.start.max(part.end)..one.end, &mut left);
        }
        self.0 = left;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_touch_are_one() {
        let mut parts = Parts::default();
        [10..20, 30..40, 50..60, 0..5, 7..7].into_iter().for_each(|part| parts.add(part));
        assert_eq!(parts, Parts(vec![0..5, 10..20, 30..40, 50..60]));
        parts.add(20..25);
        parts.add(35..55);
        assert_eq!(parts, Parts(vec![0..5, 10..25, 30..60]));
        parts.add(2..100);
        assert_eq!((parts.0.len(), parts.contain(&(0..100))), (1, true));
    }

    #[test]
    fn what_is_taken_is_not_there_any_more() {
        let mut parts = Parts(vec![0..10, 20..30, 40..50]);
        assert!(parts.contain(&(22..30)) && !parts.contain(&(22..31)) && parts.contain(&(15..15)));
        assert_eq!(parts.take(&(5..25)), [5..10, 20..25]);
        assert_eq!(parts, Parts(vec![0..5, 25..30, 40..50]));
        assert_eq!(parts.take(&(5..25)), []);
        assert_eq!(parts.take(&(0..100)), [0..5, 25..30, 40..50]);
        assert_eq!(parts, Parts::default());
    }
}
