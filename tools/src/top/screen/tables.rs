//! The tables of ranks: their columns, by which they can be sorted.

use super::{State, View};
use crate::top::report::{Counts, Doing, Rank};
use crate::top::words::{bytes, count, duration, percent};

/// One column.
pub struct Column {
    /// Its head.
    pub name: &'static str,
    /// Letters; 0: what is left.
    pub width: u16,
    /// Dropped in terminals that are narrower.
    pub from_width: u16,
    /// What stands in it.
    pub text: fn(&Rank, &Counts) -> String,
    /// What to sort by, the largest first.
    pub key: fn(&Rank, &Counts) -> f64,
}

/// The columns of a view.
pub fn columns(view: View, totals: bool) -> &'static [Column] {
    match (view, totals) {
        (View::Ranks, false) => &RANKS,
        (View::Ranks, true) => &RANKS_TOTALS,
        (View::Means, _) => &MEANS,
        (View::Memory, _) => &MEMORY,
        (View::Files, _) => &FILES,
        (View::Traffic, _) => &[],
    }
}

const fn column(
    name: &'static str,
    width: u16,
    text: fn(&Rank, &Counts) -> String,
    key: fn(&Rank, &Counts) -> f64,
) -> Column {
    Column { name, width, from_width: 0, text, key }
}

const RANK: Column = column("RANK", 5, |rank, _| rank.rank.to_string(), |rank, _| -f64::from(rank.rank));
const PROCESS: Column = Column {
    from_width: 96,
    ..column("PID", 8, |rank, _| rank.process.to_string(), |rank, _| f64::from(rank.process))
};
const CALL: Column = column("DOING", 0, |rank, _| doing(rank), |rank, _| rank.since);
const SINCE: Column = column("FOR", 8, |rank, _| since(rank), |rank, _| rank.since);
const SENT: Column =
    column("SENT", 6, |_, counts| count(counts.messages_sent), |_, counts| counts.messages_sent);
const BYTES: Column = column("BYTES", 8, |_, counts| bytes(counts.bytes_sent), |_, counts| counts.bytes_sent);
const COLLECTIVES: Column =
    column("COLL", 5, |_, counts| count(counts.collectives), |_, counts| counts.collectives);
const RESIDENT: Column = Column {
    from_width: 110,
    ..column("MEMORY", 8, |rank, _| bytes(rank.memory.resident as f64), |rank, _| rank.memory.resident as f64)
};

/// A part of a rank's time.
type Part = fn(&Rank) -> Option<f64>;
const COMPUTING: Part = |rank| rank.share.map(|share| share.computing);
const WAITING: Part = |rank| rank.share.map(|share| share.waiting);
const COPYING: Part = |rank| rank.share.map(|share| share.copying);
const LIBRARY: Part = |rank| rank.share.map(|share| share.library);

macro_rules! part {
    ($name:literal, $part:ident) => {
        column(
            $name,
            5,
            |rank, _| $part(rank).map_or(String::new(), percent),
            |rank, _| $part(rank).unwrap_or(-1.0),
        )
    };
}

const RANKS: [Column; 12] = [
    RANK,
    PROCESS,
    CALL,
    SINCE,
    part!("COMP", COMPUTING),
    part!("WAIT", WAITING),
    part!("COPY", COPYING),
    part!("MPI", LIBRARY),
    COLLECTIVES,
    SENT,
    BYTES,
    RESIDENT,
];

const RANKS_TOTALS: [Column; 9] = [
    RANK,
    PROCESS,
    CALL,
    SINCE,
    column("WAITED", 8, |rank, _| duration(rank.total.waiting), |rank, _| rank.total.waiting),
    column("CALLS", 6, |rank, _| count(rank.total.calls), |rank, _| rank.total.calls),
    COLLECTIVES,
    SENT,
    BYTES,
];

macro_rules! means {
    ($name:literal, $field:ident) => {
        column($name, 9, |_, counts| bytes(counts.bytes_by.$field), |_, counts| counts.bytes_by.$field)
    };
}

const MEANS: [Column; 10] = [
    RANK,
    SENT,
    BYTES,
    column("RECVD", 6, |_, counts| count(counts.messages_received), |_, counts| counts.messages_received),
    column("BYTES", 8, |_, counts| bytes(counts.bytes_received), |_, counts| counts.bytes_received),
    means!("INLINE", inline),
    means!("CELLS", cells),
    means!("DIRECT", direct),
    means!("CROSSMEM", cross_memory),
    Column { from_width: 84, ..means!("MEMFILE", memory_file) },
];

const MEMORY: [Column; 8] = [
    RANK,
    column("PROCESS", 9, |rank, _| bytes(rank.memory.resident as f64), |rank, _| rank.memory.resident as f64),
    column("SEGMENT", 9, |rank, _| bytes(rank.memory.segment as f64), |rank, _| rank.memory.segment as f64),
    column("ASIDE", 9, |rank, _| bytes(rank.memory.aside as f64), |rank, _| rank.memory.aside as f64),
    column("OF", 9, |rank, _| bytes(rank.memory.limit as f64), |rank, _| rank.memory.limit as f64),
    column("KEPT", 9, |rank, _| bytes(rank.memory.kept as f64), |rank, _| rank.memory.kept as f64),
    column("UNEXP", 7, |rank, _| count(rank.unexpected.0 as f64), |rank, _| rank.unexpected.0 as f64),
    column("MOST", 7, |rank, _| count(rank.unexpected.1 as f64), |rank, _| rank.unexpected.1 as f64),
];

macro_rules! files {
    ($name:literal, $width:literal, $text:ident, $field:ident) => {
        column($name, $width, |_, counts| $text(counts.files.$field), |_, counts| counts.files.$field)
    };
}

const FILES: [Column; 9] = [
    RANK,
    CALL,
    SINCE,
    files!("WRITTEN", 9, bytes, bytes_written),
    files!("WRITES", 7, count, writes),
    files!("READ", 9, bytes, bytes_read),
    files!("READS", 7, count, reads),
    files!("SYNCS", 6, count, syncs),
    files!("WAITED", 8, duration, waiting),
];

/// What a rank does, in words: `MPI_Recv 3` is a call about rank 3.
pub fn doing(rank: &Rank) -> String {
    let call = rank.call.clone();
    match rank.doing {
        Doing::InCall | Doing::Waiting if !call.is_empty() => match rank.peer {
            Some(peer) if peer >= 0 => format!("{call} {peer}"),
            _ => call,
        },
        Doing::Gone if !call.is_empty() => format!("gone, {call}"),
        other => other.word().to_owned(),
    }
}

fn since(rank: &Rank) -> String {
    if rank.doing.is_live() {
        duration(rank.since)
    } else {
        String::new()
    }
}

/// The ranks in the order asked for.
pub fn sorted(state: &State) -> Vec<&Rank> {
    let mut ranks: Vec<&Rank> = state.report.ranks.iter().collect();
    if let Some(column) = columns(state.view, state.totals).get(state.sort) {
        let key = |rank: &Rank| (column.key)(rank, counts(state, rank));
        ranks.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.rank.cmp(&b.rank)));
    }
    if state.reverse {
        ranks.reverse();
    }
    ranks
}

/// Rates or totals.
pub fn counts<'a>(state: &State, rank: &'a Rank) -> &'a Counts {
    if state.totals {
        &rank.total
    } else {
        &rank.rate
    }
}
