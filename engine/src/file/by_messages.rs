//! Collective writing by messages: the range of all is shared out among writers, at most one on each node, and gone
//! through in rounds; in each, every rank sends each writer its pieces of that writer's window, with their offsets. Bytes
//! that nobody gives are left alone. On a striped file a writer has whole stripes ([`Stripes`]), so that no two nodes
//! meet at the lock of one.

use super::access_of_call::Access;
use super::collective_plan::Plan;
use super::driver::Driver;
use super::failure::{of_other, word_of};
use super::opened::File;
use super::source::Source;
use super::striped::Stripes;
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

/// Ranges of offsets, one after the other.
type Ranges = Box<dyn Iterator<Item = (u64, u64)>>;

/// Cuts a range so that no part is longer than a window.
fn cut((first, end): (u64, u64), window: u64) -> impl Iterator<Item = (u64, u64)> {
    let number = (end - first).div_ceil(window);
    (0..number).map(move |part| (first + part * window, (first + (part + 1) * window).min(end)))
}

/// What one writer writes: first and end of each range, none longer than a window.
fn ranges(stripes: Option<Stripes>, hull: (u64, u64), (writer, writers): (u64, u64), window: u64) -> Ranges {
    match stripes {
        None => Box::new(cut(domain(hull, writer, writers, window), window)),
        Some(stripes) => Box::new(
            stripes
                .parts(hull.0, hull.1, writer, writers)
                .flat_map(move |(offset, bytes)| cut((offset, offset + bytes), window)),
        ),
    }
}

/// What one writer gets from this rank.
struct Share<'a> {
    writer: usize,
    ranges: Ranges,
    source: Option<Source<'a>>,
}

impl<'a> Share<'a> {
    /// Adds this rank's pieces of the writer's next ranges, about a window in all; `false` at the end.
    fn next(&mut self, access: &'a Access, window: u64, to: &mut Vec<u8>) -> bool {
        let mut covered = 0;
        while covered < window {
            let Some((first, end)) = self.ranges.next() else { break };
            covered += end - first;
            let source = self.source.get_or_insert_with(|| Source::new(access, first));
            source.each(first, |_, _, _| ());
            message(source, end, to);
        }
        covered > 0
    }
}

/// Adds what belongs to offsets up to `end`: how many pieces, offset and length of each, and their bytes.
fn message(source: &mut Source, end: u64, message: &mut Vec<u8>) {
    let (mut places, mut runs) = (Vec::new(), Vec::new());
    source.each(end, |done, offset, bytes| {
        places.push((offset, bytes));
        match runs.last_mut() {
            Some((from, length)) if *from + *length == done => *length += bytes,
            _ => runs.push((done, bytes)),
        }
    });
    if places.is_empty() {
        return;
    }
    let words =
        [places.len() as u64].into_iter().chain(places.iter().flat_map(|&(offset, bytes)| [offset, bytes]));
    message.extend(words.flat_map(u64::to_ne_bytes));
    let items = source.items();
    for (from, length) in runs {
        let at = message.len();
        message.resize(at + length as usize, 0);
        // SAFETY: the program lends the items; the message is ours.
        unsafe { items.datatype.pack(items.address, items.count, from, &mut message[at..]) };
    }
}

/// The pieces of a message, with their offsets.
fn pieces_of(message: &[u8]) -> Vec<(u64, &[u8])> {
    let word = |at: usize| {
        let bytes = message.get(at..at + WORD).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let number = word(at) as usize;
        let mut data = at + (1 + 2 * number) * WORD;
        for place in (at + WORD..data).step_by(2 * WORD) {
            let (offset, length) = (word(place), word(place + WORD) as usize);
            found.push((offset, &message[data..data + length]));
            data += length;
        }
        at = data;
    }
    found
}

impl File {
    /// Writes together with the others, by messages; the writers are ranks, in the same order at all.
    pub(super) fn write_by_messages(
        &self,
        team: &dyn Team,
        access: &Access,
        hull: (u64, u64),
        (writers, plan): (&[u32], &Plan),
    ) -> Result<()> {
        let Plan { stripes, window, .. } = *plan;
        let share = |(number, &writer): (usize, &u32)| Share {
            writer: writer as usize,
            ranges: ranges(stripes, hull, (number as u64, writers.len() as u64), window),
            source: None,
        };
        let mut shares: Vec<Share> = writers.iter().enumerate().map(share).collect();
        let mut outcome = Ok(());
        loop {
            let mut messages = vec![Vec::new(); team.size() as usize];
            let mut more = false;
            for share in &mut shares {
                more |= share.next(access, window, &mut messages[share.writer]);
            }
            if !more {
                break; // so it is at all ranks
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

    #[test]
    fn ranges_of_all_writers_cover_the_range_once_and_are_no_longer_than_a_window() {
        let stripes = |unit, servers| Some(Stripes { unit, servers });
        for stripes in [None, stripes(64, 3), stripes(7, 4), stripes(500, 1)] {
            for (writers, window) in [(1, 16), (2, 64), (5, 128)] {
                let mut given = [0; 1000];
                for writer in 0..writers {
                    for (first, end) in ranges(stripes, (7, 1000), (writer, writers), window) {
                        assert!(first < end && end - first <= window);
                        given[first as usize..end as usize].iter_mut().for_each(|times| *times += 1);
                    }
                }
                assert!(
                    given[..7].iter().all(|&times| times == 0) && given[7..].iter().all(|&times| times == 1)
                );
            }
        }
    }
}
