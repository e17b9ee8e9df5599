//! `--stats`: what each rank did, from its page, as a small table.

use serried_engine::job::NodeSegment;
use serried_engine::observe::{Page, State};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The table for all ranks, after `elapsed` time.
pub fn table(node: &NodeSegment, elapsed: Duration) -> String {
    let pages: Vec<&Page> = (0..node.local_ranks()).map(|rank| node.page(rank)).collect();
    let mut text = format!("serried: {} ranks, {:.3} s\n", pages.len(), elapsed.as_secs_f64());
    if pages.iter().all(|page| page.state() == State::Unused) {
        text.push_str("  no rank used Serried's MPI, so there is nothing to count\n");
        return text;
    }
    let _ = writeln!(
        text,
        "{:>6} {:>10} {:>9} {:>10} {:>9} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "rank",
        "sent",
        "bytes",
        "received",
        "bytes",
        "collectives",
        "waiting",
        "sleeps",
        "rung",
        "late",
        "CPU"
    );
    for rank in 0..node.local_ranks() {
        let name = node.page(rank).identity.rank.load(Relaxed).to_string();
        row(&mut text, &name, &|counter| counter(node, rank));
    }
    if pages.len() > 1 {
        row(&mut text, "all", &|counter| (0..node.local_ranks()).map(|rank| counter(node, rank)).sum());
    }
    text
}

/// Reads one number of a rank.
type Counter = fn(&NodeSegment, u32) -> u64;

fn row(text: &mut String, name: &str, value: &dyn Fn(Counter) -> u64) {
    let _ = writeln!(
        text,
        "{:>6} {:>10} {:>9} {:>10} {:>9} {:>11} {:>7.2}s {:>8} {:>8} {:>7.3}s {:>7.2}s",
        name,
        value(|node, rank| node.sent(rank).messages),
        bytes(value(|node, rank| node.sent(rank).bytes)),
        value(|node, rank| get(&node.page(rank).counters.messages_received)),
        bytes(value(|node, rank| get(&node.page(rank).counters.bytes_received))),
        value(|node, rank| get(&node.page(rank).counters.collectives)),
        value(|node, rank| get(&node.page(rank).counters.waiting_nanoseconds)) as f64 / 1e9,
        value(|node, rank| get(&node.page(rank).counters.sleeps)),
        value(|node, rank| get(&node.page(rank).counters.rung)),
        value(|node, rank| get(&node.page(rank).counters.late_nanoseconds)) as f64 / 1e9,
        value(|node, rank| get(&node.page(rank).counters.cpu_nanoseconds)) as f64 / 1e9,
    );
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Relaxed)
}

/// A number of bytes, short.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return count.to_string();
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_short_and_right() {
        assert_eq!([0, 1023, 1024, 5 << 20].map(bytes), ["0", "1023", "1.0KiB", "5.0MiB"]);
    }

    #[test]
    fn the_table_has_a_row_for_each_rank_and_the_sum() {
        let node = NodeSegment::create(2).unwrap();
        for rank in 0..2 {
            node.page(rank).set_state(State::Finalized);
            node.page(rank).counters.unrowed.messages.store(21, Relaxed);
        }
        let table = table(&node, Duration::from_millis(1500));
        assert!(
            table.contains("2 ranks, 1.500 s") && table.lines().last().unwrap().contains(" 42 "),
            "{table}"
        );
    }
}
