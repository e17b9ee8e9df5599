//! A verdict in words: the ranks that cannot go on, what each waits for, and what
//! is nearly what it waits for.

use super::collectives;
use super::graph::{needs_of, Standing};
use super::words::{self, bytes, job_rank, name, ranks, seconds, tag};
use serried_engine::observe::description::{Description, Envelope, Kind, Need, Thread};
use serried_engine::observe::page::NONE;
use std::fmt::Write;

/// Ranks that are told in full.
const IN_FULL: usize = 8;
/// Near misses that are told of one rank.
const NEAR: usize = 3;

/// A job as a verdict sees it.
pub struct Job<'a> {
    /// How each rank stands.
    pub ranks: &'a [Standing],
    /// Process and program of a rank.
    pub who: &'a dyn Fn(u32) -> String,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub now: u64,
}

/// The verdict on the ranks that are stuck: one line first, then a part for each.
pub fn verdict(job: &Job, stuck: &[u32]) -> String {
    let mut text = format!("serried: {}\n", headline(job, stuck));
    for &rank in stuck.iter().take(IN_FULL) {
        text += &part(job, rank);
    }
    let polls = |&rank: &u32| job.ranks[rank as usize].description().is_some_and(|it| it.polls);
    let polling: Vec<u32> = stuck.iter().copied().filter(polls).collect();
    if !polling.is_empty() {
        let (has, loops) = if polling.len() == 1 { ("has", "that loop") } else { ("have", "those loops") };
        let _ = writeln!(
            text,
            "  {} {has} called nothing else: if {loops} can end, this is no deadlock.",
            words::capital(&ranks(&polling))
        );
    }
    if stuck.len() > IN_FULL {
        let _ = writeln!(text, "  {} wait in the same way or for these.", ranks(&stuck[IN_FULL..]));
    }
    text
}

/// Ranks that have got stuck after a verdict.
pub fn more(job: &Job, stuck: &[u32]) -> String {
    let mut text = format!("serried: now {} cannot go on either\n", ranks(stuck));
    for &rank in stuck.iter().take(IN_FULL) {
        text += &part(job, rank);
    }
    text
}

fn headline(job: &Job, stuck: &[u32]) -> String {
    if let Some(words) = collectives::headline(job.ranks, stuck) {
        return words;
    }
    let needs = |rank: u32| job.ranks[rank as usize].description().into_iter().flat_map(needs_of);
    let gone = |peer: &u32| job.ranks.get(*peer as usize).is_some_and(Standing::is_gone);
    let for_gone = |&rank: &u32| {
        let need = needs(rank).find(|need| !need.peers.is_empty() && need.peers.iter().all(gone))?;
        Some((rank, need.peers.clone()))
    };
    if let Some((rank, peers)) = stuck.iter().find_map(for_gone) {
        let have = if peers.len() == 1 { "has" } else { "have" };
        return format!("rank {rank} waits for {}, which {have} finalized", ranks(&peers));
    }
    match stuck {
        [one] if needs(*one).all(|need| need.peers == [*one]) => {
            format!("rank {one} waits for itself and cannot go on")
        }
        [one] => format!("rank {one} waits for something that nobody can do any more"),
        many => {
            let among = many.iter().all(|&rank| {
                needs(rank).all(|need| need.peers.iter().any(|peer| *peer != rank && many.contains(peer)))
            });
            let other = if many.len() == 2 { "each other" } else { "one another" };
            match among {
                true => format!("{} wait for {other} and cannot go on", ranks(many)),
                false => format!("{} cannot go on", ranks(many)),
            }
        }
    }
}

/// What a rank that waits does, in full.
pub fn part(job: &Job, rank: u32) -> String {
    let Some(description) = job.ranks[rank as usize].description() else { return String::new() };
    let mut text = format!("  rank {rank} ({})", (job.who)(rank));
    for (index, thread) in description.threads.iter().enumerate() {
        let verb = if description.polls { "calls" } else { "is in" };
        let what = match thread.call.as_str() {
            "" => "MPI",
            call => call,
        };
        let since = match thread.since {
            0 if description.naps => " and sleeps, again and again".to_owned(),
            0 => ", again and again".to_owned(),
            since => format!(", since {}", seconds(job.now.saturating_sub(since))),
        };
        let of =
            if description.threads.len() > 1 { format!("thread {} ", thread.number) } else { String::new() };
        let _ = writeln!(text, "{} {of}{verb} {what}{since}", if index == 0 { "" } else { "   " });
        waits(&mut text, job, description, thread);
        place(&mut text, thread);
    }
    for near in near_misses(job, rank, description).into_iter().take(NEAR) {
        let _ = writeln!(text, "    but: {near}");
    }
    text
}

fn waits(text: &mut String, job: &Job, description: &Description, thread: &Thread) {
    let mut told: Vec<String> = Vec::new();
    let several = thread.ways.len() > 1;
    for need in thread.ways.iter().flatten() {
        let words = need_in_words(job, description, thread, need);
        if !told.contains(&words) {
            told.push(words);
        }
    }
    if let Some(words) = collectives::missing(job.ranks, description, thread) {
        told = vec![words];
    }
    if thread.ways.iter().any(Vec::is_empty) {
        let _ = writeln!(text, "    waits for nobody: its message has come, or its work is being done");
        return;
    }
    let _ = match told.as_slice() {
        [] => writeln!(text, "    waits for nothing that anybody could do"),
        [one] => writeln!(text, "    waits {one}"),
        many => {
            let of = if several { "any of these" } else { "all of these" };
            many.iter()
                .take(8)
                .fold(writeln!(text, "    waits for {of}:"), |_, words| writeln!(text, "      {words}"))
        }
    };
}

fn need_in_words(job: &Job, description: &Description, thread: &Thread, need: &Need) -> String {
    let message = &need.message;
    let on = || name(description, message.context);
    let mut words = match need.kind {
        _ if need.collective.is_some() => {
            format!("for {} in {} on {}", ranks(&need.peers), or_mpi(&thread.call), on())
        }
        Kind::Receive | Kind::Probe => {
            let from = if message.source < 0 { "any rank".to_owned() } else { ranks(&need.peers) };
            let room = match need.kind {
                Kind::Receive => format!(" (room for {})", bytes(message.bytes)),
                _ => String::new(),
            };
            format!("for a message of {from} {} on {}{room}", tag(message.tag), on())
        }
        Kind::Send if message.context == 0 => format!("until {} takes a message", ranks(&need.peers)),
        Kind::Send => {
            let (peers, with, size) = (ranks(&need.peers), tag(message.tag), bytes(message.bytes));
            format!("until {peers} receives its message {with} ({size}) on {}", on())
        }
        Kind::Arrival => format!("for {} in {} on {}", ranks(&need.peers), or_mpi(&thread.call), on()),
        Kind::Program => "for its own MPI_Grequest_complete".into(),
        Kind::Partitioned => {
            format!("for MPI_Psend_init of {} {} on {}", ranks(&need.peers), tag(message.tag), on())
        }
        Kind::Partitions => {
            let (count, of) = (partitions(message.bytes), ranks(&need.peers));
            format!("for {count} of {of} (MPI_Pready) {} on {}", tag(message.tag), on())
        }
        Kind::Ready => {
            let count = partitions(message.bytes);
            format!("for its own MPI_Pready of {count} {} on {}", tag(message.tag), on())
        }
        Kind::Lock => {
            let held = if need.peers.len() == 1 { "which is held by" } else { "which is held by some of" };
            match message.tag {
                NONE => format!(
                    "for the lock of rank {} of a window, {held} {}",
                    message.source,
                    ranks(&need.peers)
                ),
                mutex => {
                    format!("for mutex {mutex} of rank {}, {held} {}", message.source, ranks(&need.peers))
                }
            }
        }
        Kind::Memory => match need.peers.len() {
            0 => "until its memory is changed, which no other rank can do".into(),
            1 => format!("until {} changes memory that it watches", ranks(&need.peers)),
            _ => format!("until one of {} changes memory that it watches", ranks(&need.peers)),
        },
        Kind::Queue => format!("for a lock that {} holds, or asked for before it", ranks(&need.peers)),
        Kind::Farewell => format!("until {} needs its memory no more", ranks(&need.peers)),
        Kind::Other => "for something that any rank may do".into(),
    };
    let gone = |peer: &u32| job.ranks.get(*peer as usize).is_some_and(Standing::is_gone);
    if !need.peers.is_empty() && need.peers.iter().all(gone) {
        words += if need.peers.len() == 1 { ", which has finalized" } else { ", which have finalized" };
    }
    words
}

fn partitions(count: u64) -> String {
    if count == 1 {
        "1 partition".into()
    } else {
        format!("{count} partitions")
    }
}

fn or_mpi(call: &str) -> &str {
    if call.is_empty() {
        "MPI"
    } else {
        call
    }
}

fn place(text: &mut String, thread: &Thread) {
    let lines = if thread.python.is_empty() { &thread.stack } else { &thread.python };
    let mut lines = lines.iter();
    if let Some(first) = lines.next() {
        let _ = writeln!(text, "    in {first}");
    }
    for line in lines.take(7) {
        let _ = writeln!(text, "       {line}");
    }
}

/// What is nearly what a rank waits for.
pub fn near_misses(job: &Job, rank: u32, description: &Description) -> Vec<String> {
    let mut found = Vec::new();
    for need in needs_of(description).filter(|need| need.collective.is_none()) {
        match need.kind {
            Kind::Receive | Kind::Probe => near_receive(description, need, &mut found),
            Kind::Send => near_send(job, rank, description, need, &mut found),
            _ => {}
        }
    }
    found.dedup();
    found
}

/// Messages that are here and nearly match what a receive asks for.
fn near_receive(description: &Description, need: &Need, found: &mut Vec<String>) {
    let wanted = &need.message;
    for message in &description.unexpected {
        let Some(source) = job_rank(description, message.context, message.source) else { continue };
        let same_tag = wanted.tag < 0 || wanted.tag == message.tag;
        let same_source = need.peers.contains(&source);
        let same_context = wanted.context == message.context;
        let why = match (same_context, same_source, same_tag) {
            (true, true, false) => format!("this call waits for tag {}", wanted.tag),
            (true, false, true) => format!("this call waits for {}", ranks(&need.peers)),
            (false, true, true) => format!("this call waits on {}", name(description, wanted.context)),
            (true, false, false) => {
                format!("this call waits for {} {}", ranks(&need.peers), tag(wanted.tag))
            }
            _ => continue,
        };
        found.push(format!("{} is here; {why}", words::message(description, message)));
    }
}

/// Receives of the peer that are nearly for the message that a send waits with.
fn near_send(job: &Job, rank: u32, description: &Description, need: &Need, found: &mut Vec<String>) {
    let [peer] = need.peers[..] else { return };
    let Some(theirs) = job.ranks.get(peer as usize).and_then(Standing::description) else { return };
    for posted in &theirs.posted {
        let source = job_rank(theirs, posted.context, posted.source);
        let for_us = posted.source < 0 || source == Some(rank);
        let same_context = posted.context == need.message.context;
        let same_tag = posted.tag < 0 || posted.tag == need.message.tag;
        if for_us && !(same_context && same_tag) && (same_context || same_tag) {
            found.push(format!(
                "rank {peer} receives {}; this is {} on {}",
                receive(theirs, posted),
                tag(need.message.tag),
                name(description, need.message.context)
            ));
        }
    }
}

fn receive(description: &Description, posted: &Envelope) -> String {
    let from = match job_rank(description, posted.context, posted.source) {
        Some(rank) => format!("from rank {rank}"),
        None => "from any rank".into(),
    };
    format!("{from} {} on {}", tag(posted.tag), name(description, posted.context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_whose_peers_are_at_work_is_not_said_to_wait_for_what_nobody_does() {
        let said = |ways: Vec<Vec<Need>>| {
            let threads = vec![Thread { call: "MPI_Reduce".into(), ways, ..Thread::default() }];
            let waits = Standing::Waiting(Box::new(Description { threads, ..Description::default() }));
            part(&Job { ranks: &[waits], who: &|_| "process 7".into(), now: 0 }, 0)
        };
        assert!(
            said(vec![vec![]]).contains("waits for nobody: its message has come, or its work is being done")
        );
        assert!(said(vec![]).contains("waits for nothing that anybody could do"));
    }
}
