//! Asking a rank to describe itself.
//!
//! An observer takes the next number for its question, writes it to the page and
//! rings the rank's doorbell. A rank that waits inside the library sees it, writes
//! its answer into its report area, and the number behind it. A rank that computes
//! does not answer. So nothing costs anything until somebody asks.
//!
//! # Ownership
//! The rank alone writes the report area: `state` is odd while it writes, then
//! even again (release). A reader takes `state` (acquire), copies, and takes
//! `state` again behind a fence: an odd or a changed one means that it has to
//! copy again.

use super::Page;
use std::sync::atomic::{fence, AtomicU64, Ordering, Ordering::Relaxed};

/// What may be wished for with a question, in the lowest bits of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish(u64);

impl Wish {
    /// The stack is wanted too.
    pub const STACK: Wish = Wish(1);
    /// The observer waits for some seconds for the answer: so a rank can give one that polls in vain
    /// now and then, and does something else in between.
    pub const PATIENCE: Wish = Wish(2);
    const BITS: u32 = 2;

    /// Both wishes.
    pub const fn and(self, other: Wish) -> Wish {
        Wish(self.0 | other.0)
    }

    /// The wishes of a question with this number.
    fn of(number: u64) -> Wish {
        Wish(number & ((1 << Wish::BITS) - 1))
    }
}

/// Takes a number for a question and writes it to the page; ring the rank's
/// doorbell afterwards.
pub fn ask(page: &Page, wish: Wish) -> u64 {
    let asked = &page.inquiry.asked;
    let mut old = asked.load(Relaxed);
    loop {
        let open = if old == page.inquiry.answered.load(Relaxed) { Wish::default() } else { Wish::of(old) };
        let new = ((old >> Wish::BITS) + 1) << Wish::BITS | open.and(wish).0;
        match asked.compare_exchange(old, new, Ordering::SeqCst, Relaxed) {
            Ok(_) => return new,
            Err(other) => old = other,
        }
    }
}

/// Whether a question with this number has a wish.
pub fn has_wish(number: u64, wish: Wish) -> bool {
    Wish::of(number).0 & wish.0 != 0
}

impl Page {
    /// The number of a question that is not answered yet.
    #[inline]
    pub fn question(&self) -> Option<u64> {
        let asked = self.inquiry.asked.load(Relaxed);
        (asked != self.inquiry.answered.load(Relaxed)).then_some(asked)
    }
}

/// The report area of a rank, mapped.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    words: &'a [AtomicU64],
}

const STATE: usize = 0;
const NUMBER: usize = 1;
const LENGTH: usize = 2;
const TEXT: usize = 3;

impl<'a> Report<'a> {
    /// The area that consists of these words.
    pub fn new(words: &'a [AtomicU64]) -> Report<'a> {
        Report { words }
    }

    /// The same area, of which no more than so many bytes are written.
    pub fn first(self, bytes: usize) -> Report<'a> {
        Report { words: &self.words[..(bytes / 8).clamp(TEXT + 1, self.words.len())] }
    }

    /// Writes the answer to a question; what does not fit is left out, from the
    /// last line on.
    pub fn write(&self, number: u64, text: &str) {
        let room = (self.words.len() - TEXT) * 8;
        let text = match text.get(..room.min(text.len())).or_else(|| text.get(..room - 3)) {
            Some(cut) if cut.len() < text.len() => &cut[..cut.rfind('\n').map_or(0, |end| end + 1)],
            Some(whole) => whole,
            None => "",
        };
        let state = self.words[STATE].load(Relaxed);
        self.words[STATE].store(state | 1, Relaxed);
        fence(Ordering::Release); // report: paired with `read`
        self.words[NUMBER].store(number, Relaxed);
        self.words[LENGTH].store(text.len() as u64, Relaxed);
        for (word, bytes) in self.words[TEXT..].iter().zip(text.as_bytes().chunks(8)) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(value), Relaxed);
        }
        self.words[STATE].store((state | 1) + 1, Ordering::Release); // report: paired with `read`
    }

    /// The last answer and the number of its question; `None` while it is being
    /// written.
    pub fn read(&self) -> Option<(u64, String)> {
        let state = self.words[STATE].load(Ordering::Acquire); // report: paired with `write`
        let (number, length) = (self.words[NUMBER].load(Relaxed), self.words[LENGTH].load(Relaxed) as usize);
        let text = self.words[TEXT..].iter().take(length.div_ceil(8));
        let mut text: Vec<u8> = text.flat_map(|word| word.load(Relaxed).to_ne_bytes()).collect();
        text.truncate(length);
        fence(Ordering::Acquire); // report: paired with `write`
        let coherent = state & 1 == 0 && self.words[STATE].load(Relaxed) == state;
        (coherent && state != 0).then(|| (number, String::from_utf8_lossy(&text).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NodeSegment;

    #[test]
    fn an_answer_is_read_as_it_was_written_and_cut_at_a_line() {
        let words: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
        let report = Report::new(&words);
        assert_eq!(report.read(), None);
        report.write(4, "waits\nfor 1");
        assert_eq!(report.read(), Some((4, "waits\nfor 1".into())));
        report.write(6, &format!("first\n{}", "x".repeat(50)));
        assert_eq!(report.read(), Some((6, "first\n".into())));
        report.first(48).write(8, "second\nthird and so on for long\n");
        assert_eq!(report.read(), Some((8, "second\n".into())));
    }

    #[test]
    fn a_question_that_is_open_keeps_its_wishes() {
        let node = NodeSegment::create(1).unwrap();
        let page = node.page(0);
        assert_eq!(page.question(), None);
        let first = ask(page, Wish::STACK);
        let second = ask(page, Wish::PATIENCE);
        assert!(second > first && has_wish(second, Wish::STACK) && has_wish(second, Wish::PATIENCE));
        assert_eq!(page.question(), Some(second));
        page.inquiry.answered.store(second, Relaxed);
        let third = ask(page, Wish::PATIENCE);
        assert!(!has_wish(third, Wish::STACK) && has_wish(third, Wish::PATIENCE));
    }
}
