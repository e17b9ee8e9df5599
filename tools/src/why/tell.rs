//! What `serried why` prints.

use super::explain::{self, Job};
use super::graph::Standing;
use super::look::Seen;
use super::words::{self, bytes, ranks, seconds};
use crate::attach::Snapshot;
use serried_engine::job::process;
use serried_engine::observe::State;
use std::fmt::Write;

/// Ranks that are told in full when they are not stuck.
const IN_FULL: usize = 16;
/// Messages of a queue that are told.
const QUEUE: usize = 4;

/// All that was seen, in words.
pub fn of(seen: &Seen) -> String {
    let who = |rank: u32| who(&seen.ranks[rank as usize]);
    let job = Job { ranks: &seen.standing, who: &who, now: seen.now };
    let number = seen.ranks.len();
    let of = if number == 1 { "rank" } else { "ranks" };
    let mut text = format!("job of process {} ({}), {number} {of}\n", seen.process, seen.command);
    match seen.stuck.is_empty() {
        true => {
            let _ = writeln!(text, "{}", why_not_stuck(seen));
        }
        false => text += &explain::verdict(&job, &seen.stuck).replacen("serried: ", "verdict: ", 1),
    }
    let others: Vec<u32> = (0..number as u32).filter(|rank| !seen.stuck.contains(rank)).collect();
    for &rank in others.iter().take(IN_FULL) {
        match seen.standing[rank as usize] {
            Standing::Waiting(_) => text += &explain::part(&job, rank),
            _ => {
                let words = what_it_does(seen, rank);
                let _ = writeln!(text, "  rank {rank} ({}) {words}", who(rank));
            }
        }
        queues(&mut text, seen, rank);
    }
    if others.len() > IN_FULL {
        let _ = writeln!(text, "  and {} more", others.len() - IN_FULL);
    }
    slow(&mut text, seen);
    means(&mut text, seen);
    text
}

fn who(rank: &Snapshot) -> String {
    match rank.process {
        0 => "not started".into(),
        process if rank.elsewhere => format!("process {process} of another host or container"),
        process => {
            let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            format!("process {process}, {}", name.trim())
        }
    }
}

fn why_not_stuck(seen: &Seen) -> String {
    let free = |&rank: &u32| {
        let running = seen.ranks[rank as usize].state != State::Finalized;
        running && matches!(seen.standing[rank as usize], Standing::Free)
    };
    let free: Vec<u32> = (0..seen.ranks.len() as u32).filter(free).collect();
    let longest = seen.ranks.iter().filter(|rank| rank.waiting_since != 0);
    let longest = longest.map(|rank| seen.now.saturating_sub(rank.waiting_since)).max().unwrap_or(0);
    let does = |one: &str, many: &str| if free.len() == 1 { one.to_owned() } else { many.to_owned() };
    match (free.as_slice(), longest) {
        ([], _) => "not stuck: what is waited for can still come".into(),
        (free, 0) => format!("not stuck: {} {}", ranks(free), does("does not wait", "do not wait")),
        (free, longest) => format!(
            "not stuck: {} {} (others wait since {})",
            ranks(free),
            does("does not wait", "do not wait"),
            seconds(longest)
        ),
    }
}

/// What a rank does that has not answered.
fn what_it_does(seen: &Seen, rank: u32) -> String {
    let (shown, call) = (&seen.ranks[rank as usize], &seen.calls[rank as usize]);
    let doing = match process::state(shown.process as u32) {
        Some('R') => "computes",
        Some('T' | 't') => "is stopped (SIGSTOP, or a debugger)",
        Some('D') => "waits for a disk or a file system",
        Some('Z' | 'X') | None => "has ended",
        Some(_) => "sleeps, not in MPI",
    };
    match shown.state {
        State::Unused => "has not called MPI_Init yet".into(),
        State::Starting => "is in MPI_Init".into(),
        State::Finalized => "has finalized".into(),
        State::Aborted => "has called MPI_Abort".into(),
        State::Ended => "has ended the job".into(),
        State::Running if shown.inside => format!("is in {call}, at work"),
        State::Running if call.is_empty() => doing.into(),
        State::Running => format!("{doing}; its last MPI call was {call}"),
    }
}

fn queues(text: &mut String, seen: &Seen, rank: u32) {
    let Some(description) = seen.standing[rank as usize].description() else { return };
    for waiting in description.unexpected.iter().take(QUEUE) {
        let _ = writeln!(text, "    nobody has asked for {}", words::message(description, waiting));
    }
    if description.unexpected.len() > QUEUE {
        let _ = writeln!(text, "    and for {} more at least", description.unexpected.len() - QUEUE);
    }
    for free in &description.free {
        let _ = writeln!(text, "    {free}, so this rank may go on");
    }
}

/// The rank that has waited least makes the others wait.
fn slow(text: &mut String, seen: &Seen) {
    let mut waited: Vec<(u64, u32)> =
        seen.ranks.iter().map(|rank| (rank.waited(seen.now), rank.rank)).collect();
    waited.sort_unstable();
    let (Some(&(least, rank)), Some(&(most, _))) = (waited.first(), waited.last()) else { return };
    if waited.len() > 1 && most > 1_000_000_000 && least < most / 2 {
        let (least, middle) = (seconds(least), seconds(waited[waited.len() / 2].0));
        let _ = writeln!(text, "slowest: rank {rank} has waited {least}, half of the ranks {middle} or more");
    }
}

/// By which means bytes came to each rank.
fn means(text: &mut String, seen: &Seen) {
    for rank in &seen.ranks {
        let totals = &rank.totals;
        let all = [
            (totals.bytes_inline, "in packets"),
            (totals.bytes_cells, "through cells"),
            (totals.bytes_direct, "from mapped memory"),
            (totals.bytes_cross_memory, "copied by the kernel"),
            (totals.bytes_memory_file, "from memory files"),
            (totals.bytes_device, "by the driver of a device"),
        ];
        let used: Vec<String> = all
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, how)| format!("{} {how}", bytes(*count)))
            .collect();
        if !used.is_empty() {
            let _ = writeln!(text, "moved by rank {}: {}", rank.rank, words::and(&used));
        }
    }
}
