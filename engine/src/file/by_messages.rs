//! Collective writing by messages: the range of all is shared out among writers, one on each node, and gone through in
//! windows; for each, every rank sends each writer its pieces of that writer's window, with their offsets. Bytes that
//! nobody gives are left alone.

use super::access_of_call::Access;
use super::failure::{of_other, word_of};
use super::opened::File;
use super::source::Source;
use super::team::Team;
use crate::Result;

/// Bytes of a number in a message.
const WORD: usize = 8;

/// The part of a range that each writer has: whole windows.
fn domain((first, end): (u64, u64), writer: u64, writers: u64, window: u64) -> (u64, u64) {
    let share = (end - first).div_ceil(writers).next_multiple_of(window);
    let begin = first.saturating_add(share.saturating_mul(writer)).min(end);
    (begin, begin.saturating_add(share).min(end))
}

/// What belongs to offsets up to `end`: how many pieces, offset and length of each, and their bytes.
fn message(source: &mut Source, end: u64) -> Vec<u8> {
    let (mut places, mut runs) = (Vec::new(), Vec::new());
    source.each(end, |done, offset, bytes| {
        places.push((offset, bytes));
        match runs.last_mut() {
            Some((from, length)) if *from + *length == done => *length += bytes,
            _ => runs.push((done, bytes)),
        }
    });
    if places.is_empty() {
        return Vec::new();
    }
    let words =
        [places.len() as u64].into_iter().chain(places.iter().flat_map(|&(offset, bytes)| [offset, bytes]));
    let mut message: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
    let items = source.items();
    for (from, length) in runs {
        let at = message.len();
        message.resize(at + length as usize, 0);
        // SAFETY: the program lends the items; the message is ours.
        unsafe { items.datatype.pack(items.address, items.count, from, &mut message[at..]) };
    }
    message
}

/// The pieces of a message, with their offsets.
fn pieces_of(message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let word = |place: usize| {
        let bytes = message.get(place * WORD..(place + 1) * WORD).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    };
    let number = word(0) as usize;
    let mut at = (1 + 2 * number) * WORD;
    (0..number).map(move |piece| {
        let (offset, length) = (word(1 + 2 * piece), word(2 + 2 * piece) as usize);
        at += length;
        (offset, &message[at - length..at])
    })
}

impl File {
    /// Writes together with the others, by messages; the writers are ranks, in the same order at all.
    pub(super) fn write_by_messages(
        &self,
        team: &dyn Team,
        access: &Access,
        hull: (u64, u64),
        (writers, window): (&[u32], u64),
    ) -> Result<()> {
        let number = writers.len() as u64;
        let domains: Vec<_> = (0..number).map(|writer| domain(hull, writer, number, window)).collect();
        let mut sources: Vec<_> = domains.iter().map(|domain| Source::new(access, domain.0)).collect();
        let rounds = domains.iter().map(|domain| (domain.1 - domain.0).div_ceil(window)).max().unwrap_or(0);
        let mut outcome = Ok(());
        for round in 1..=rounds {
            let mut messages = vec![Vec::new(); team.size() as usize];
            for (which, source) in sources.iter_mut().enumerate() {
                let end = domains[which].0.saturating_add(round * window).min(domains[which].1);
                messages[writers[which] as usize] = message(source, end);
            }
            let received = team.exchange(&messages)?;
            if outcome.is_ok() {
                outcome = self.write_pieces(&received);
            }
        }
        let told = team.gather(&[word_of(&outcome)])?;
        outcome?;
        match told.iter().position(|&word| word != 0) {
            Some(rank) => Err(of_other(rank as u32, "write", &self.name, told[rank])),
            None => Ok(()),
        }
    }

    /// Writes the pieces of all ranks in the order of the file, those that touch at once.
    fn write_pieces(&self, received: &[Vec<u8>]) -> Result<()> {
        let mut pieces: Vec<(u64, &[u8])> = received.iter().flat_map(|message| pieces_of(message)).collect();
        pieces.sort_by_key(|piece| piece.0);
        let mut run: (u64, Vec<u8>) = (0, Vec::new());
        for (offset, bytes) in pieces {
            if run.0 + run.1.len() as u64 != offset {
                self.driver.write(run.0, &run.1)?;
                run.0 = offset;
                run.1.clear();
            }
            run.1.extend_from_slice(bytes);
        }
        self.driver.write(run.0, &run.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_cover_the_range_once() {
        for (writers, window) in [(1, 16), (2, 16), (3, 64), (5, 1024)] {
            let mut at = 7;
            for writer in 0..writers {
                let (first, end) = domain((7, 1000), writer, writers, window);
                assert!(first == at || first == end, "{writer}: {first} {at}");
                at = at.max(end);
            }
            assert_eq!(at, 1000);
        }
    }
}
