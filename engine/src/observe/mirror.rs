//! Pages of ranks on other hosts: what has changed on a page goes to where it is mirrored, in lines of 64 bytes.
//!
//! A mirror is a page like any other, so that observers see no difference, but for two things: what was asked of it
//! has to be passed on, and traffic with single peers is not told apart.

use super::flow::Sent;
use super::page::{Counters, Inquiry};
use super::{Call, Page};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const WORDS: usize = Page::FIRST_BYTES / 4;
const WORDS_IN_LINE: usize = 16;
/// Bytes of a line.
pub const LINE_BYTES: usize = WORDS_IN_LINE * 4;

const HAS_ROW: usize = (offset_of!(Page, counters) + offset_of!(Counters, has_row)) / 4;
const MESSAGES: usize = (offset_of!(Page, counters) + offset_of!(Counters, unrowed)) / 4;
const BYTES: usize = MESSAGES + 2;
const WAITING_SINCE: usize = (offset_of!(Page, call) + offset_of!(Call, waiting_since)) / 4;
const INQUIRY: usize = offset_of!(Page, inquiry) / LINE_BYTES;
const _: () = assert!(size_of::<Inquiry>() == LINE_BYTES);

/// Lines of a page that have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A bit for each line, the first line lowest.
    pub lines: u64,
    /// Their contents, in their order.
    pub bytes: Vec<u8>,
}

/// What a mirror has been told of a page so far.
#[derive(Debug)]
pub struct Told([u32; WORDS]);

impl Default for Told {
    fn default() -> Told {
        Told([0; WORDS])
    }
}

impl Told {
    /// What has changed since the last look; `sent` is what the rank of this page has sent in all.
    pub fn look(&mut self, page: &Page, sent: Sent) -> Option<Changes> {
        let mut now = [0; WORDS];
        now.iter_mut().zip(words(page)).for_each(|(place, word)| *place = word.load(Relaxed));
        now[HAS_ROW] = 0;
        for (at, value) in [(MESSAGES, sent.messages), (BYTES, sent.bytes)] {
            (now[at], now[at + 1]) = (value as u32, (value >> 32) as u32);
        }
        let mut changes = Changes::default();
        let lines = now.chunks_exact(WORDS_IN_LINE).zip(self.0.chunks_exact_mut(WORDS_IN_LINE)).enumerate();
        for (line, (new, told)) in lines.filter(|(line, (new, told))| *line != INQUIRY && new != told) {
            changes.lines |= 1 << line;
            changes.bytes.extend(new.iter().flat_map(|word| word.to_le_bytes()));
            told.copy_from_slice(new);
        }
        (changes.lines != 0).then_some(changes)
    }
}

/// Writes to a mirror what has changed. `ahead` is how many nanoseconds the clock here is ahead of that of the rank.
/// Changes that make no sense are left out.
pub fn apply(page: &Page, changes: &Changes, ahead: i64) {
    let lines = (0..64).filter(|line| changes.lines & 1 << line != 0);
    for (line, bytes) in lines.zip(changes.bytes.chunks_exact(LINE_BYTES)) {
        if line == INQUIRY {
            continue;
        }
        for (word, bytes) in words(page)[line * WORDS_IN_LINE..].iter().zip(bytes.chunks_exact(4)) {
            word.store(u32::from_le_bytes(bytes.try_into().expect("four bytes")), Relaxed);
        }
        if line == WAITING_SINCE / WORDS_IN_LINE {
            let since = &page.call.waiting_since;
            match since.load(Relaxed) {
                0 => {}
                told => since.store(told.saturating_add_signed(ahead).max(1), Relaxed),
            }
        }
    }
    page.identity.elsewhere.store(1, Relaxed);
}

/// The part of a page that is always memory, in words.
fn words(page: &Page) -> &[AtomicU32; WORDS] {
    // SAFETY: the part has so many bytes, is aligned, and is made of atomics only; those of 64 bits are written by other
    // processes, or by this one through the same words.
    unsafe { &*std::ptr::from_ref(page).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;
    use crate::observe::State;

    #[test]
    fn a_mirror_follows_a_page_and_keeps_what_was_asked_of_it() {
        let (here, there) = (NodeSegment::create(1).unwrap(), NodeSegment::create(1).unwrap());
        let (page, mirror) = (there.page(0), here.page(0));
        let mut told = Told::default();
        page.set_state(State::Running);
        page.call.waiting_since.store(1_000, Relaxed);
        page.counters.sleeps.store(1 << 33, Relaxed);
        page.inquiry.answered.store(9, Relaxed);
        mirror.inquiry.asked.store(4, Relaxed);
        let sent = Sent { messages: 3 << 32, bytes: 7 };
        apply(mirror, &told.look(page, sent).unwrap(), 500);
        assert_eq!((mirror.state(), mirror.is_mirror(), page.is_mirror()), (State::Running, true, false));
        assert_eq!(mirror.call.waiting_since.load(Relaxed), 1_500);
        assert_eq!(mirror.counters.sleeps.load(Relaxed), 1 << 33);
        assert_eq!((mirror.inquiry.asked.load(Relaxed), mirror.inquiry.answered.load(Relaxed)), (4, 0));
        assert_eq!(here.sent(0), sent);
        assert_eq!(told.look(page, sent), None);
        page.enter(5);
        let changes = told.look(page, sent).unwrap();
        assert_eq!(changes.bytes.len(), changes.lines.count_ones() as usize * LINE_BYTES);
        assert!(changes.lines.count_ones() < 4, "{:b}", changes.lines);
        apply(mirror, &changes, 500);
        assert!(mirror.inside());
        page.call.waiting_since.store(0, Relaxed);
        apply(mirror, &told.look(page, sent).unwrap(), -5_000);
        assert_eq!(mirror.call.waiting_since.load(Relaxed), 0);
    }

    #[test]
    fn changes_that_make_no_sense_do_no_harm() {
        let page = Page::blank();
        apply(&page, &Changes { lines: u64::MAX, bytes: vec![0; 65] }, 0);
        apply(&page, &Changes { lines: 1 << 63, bytes: Vec::new() }, 0);
    }
}
