//! The allocator against a naive one.

use super::*;
use std::collections::BTreeMap;

struct Fixture(Ranges, usize);

impl Fixture {
    fn new() -> Fixture {
        let at = system::reserve(0, ENTRY_BYTES).unwrap();
        // SAFETY: just reserved.
        Fixture(unsafe { Ranges::new(at) }, at)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        system::release(self.1, ENTRY_BYTES);
    }
}

#[test]
fn ranges_never_overlap_and_free_ones_of_a_kind_are_merged() {
    let mut fixture = Fixture::new();
    let ranges = &mut fixture.0;
    let mut used: BTreeMap<u32, u32> = BTreeMap::new();
    let mut seed = 12345u64;
    let mut random = move |below: u32| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((seed >> 33) as u32) % below
    };
    for step in 0..30_000 {
        if random(8) == 0 {
            if let Some(run) = ranges.next_dirty(BOARD_PAGES) {
                assert!(ranges.cleaned(run.start).pages >= run.pages);
            }
        } else if used.len() > 60 || (random(2) == 0 && !used.is_empty()) {
            let start = *used.keys().nth(random(used.len() as u32) as usize).unwrap();
            match random(4) {
                0 => {
                    let wanted = used[&start] + random(40);
                    if ranges.extend(start, wanted).is_some() {
                        used.insert(start, wanted);
                    }
                }
                1 if used[&start] > 1 => {
                    let wanted = 1 + random(used[&start] - 1);
                    assert!(ranges.shorten(start, wanted).is_some());
                    used.insert(start, wanted);
                }
                _ => {
                    used.remove(&start);
                    assert!(ranges.give(start).is_some());
                    assert!(ranges.give(start).is_none(), "given twice");
                }
            }
        } else {
            let (pages, alignment) = (1 + random(300), [1, 1, 8, 512][random(4) as usize]);
            let run = ranges.take(pages, alignment).unwrap();
            assert_eq!((run.pages, run.start % alignment), (pages, 0));
            used.insert(run.start, pages);
        }
        let mut end = BOARD_PAGES;
        for (&start, &pages) in &used {
            assert!(start >= end && ranges.length(start) == Some(pages), "step {step}");
            assert_eq!(ranges.starts_before(start + pages - 1), Some(start));
            end = start + pages;
        }
        assert!(end <= ranges.top());
        assert_eq!(ranges.dirty(), dirty_pages(ranges), "step {step}");
    }
    for &start in used.keys() {
        ranges.give(start).unwrap();
    }
    assert_eq!(ranges.dirty(), dirty_pages(ranges));
    while let Some(run) = ranges.next_dirty(BOARD_PAGES) {
        ranges.cleaned(run.start);
    }
    let rest = ranges.take(ranges.top() - BOARD_PAGES, 1).unwrap();
    assert_eq!(rest.start, BOARD_PAGES, "all free ranges have become one");
}

/// Pages of all dirty ranges. No two neighbours are of one kind, but for pages that were never used.
fn dirty_pages(ranges: &Ranges) -> u32 {
    let (mut from, mut end, mut pages) = (BOARD_PAGES, 0, 0);
    while let Some(run) = ranges.next_dirty(from) {
        assert_ne!(run.start, end, "two dirty ranges side by side");
        (from, end, pages) = (run.end(), run.end(), pages + run.pages);
    }
    pages
}

#[test]
fn a_small_dirty_range_leaves_a_large_clean_one_beside_it_clean() {
    let mut fixture = Fixture::new();
    let ranges = &mut fixture.0;
    let (large, _behind) = (ranges.take(1000, 1).unwrap(), ranges.take(1, 1).unwrap());
    ranges.give(large.start).unwrap();
    assert_eq!(ranges.cleaned(large.start).pages, 1000);
    let small = ranges.take(10, 1).unwrap();
    assert!(small.clean);
    ranges.give(small.start).unwrap();
    assert_eq!((ranges.dirty(), ranges.take(10, 1).unwrap()), (10, Run { clean: false, ..small }));
    // A block grows over both kinds.
    let first = ranges.take(20, 1).unwrap();
    ranges.give(first.start).unwrap();
    assert_eq!((ranges.extend(small.start, 500), ranges.dirty()), (Some(500), 0));
    assert_eq!(ranges.extend(small.start, 1001), None, "another block is there");
    assert_eq!(ranges.length(small.start), Some(500));
}

#[test]
fn bytes_are_remembered_and_never_used_pages_are_clean() {
    let mut fixture = Fixture::new();
    let ranges = &mut fixture.0;
    let run = ranges.take(17, 1).unwrap();
    assert!(run.clean);
    for bytes in [16 * 4096 + 1, 17 * 4096, 16 * 4096 + 77] {
        ranges.set_bytes(run.start, bytes);
        assert_eq!(ranges.bytes(run.start), Some(bytes));
    }
    ranges.give(run.start).unwrap();
    assert_eq!((ranges.dirty(), ranges.take(17, 1).unwrap().clean), (17, false));
}

#[test]
fn a_window_can_be_full() {
    let mut fixture = Fixture::new();
    let ranges = &mut fixture.0;
    assert!(ranges.take(BLOCK_PAGES, 1).is_none());
    assert!(ranges.take(u32::MAX, 1).is_none());
    assert!(ranges.take(1, 1 << 30).is_none());
}
