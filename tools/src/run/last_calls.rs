//! The last calls of ranks, from the recorder on their pages, and the report file
//! of `--report`.

use super::report::subject;
use super::statistics;
use serried_engine::job::NodeSegment;
use serried_engine::observe::recorder::Recorded;
use serried_engine::observe::State;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Calls that a message tells; a report tells all that are known.
const IN_A_MESSAGE: usize = 6;

/// The last calls of a rank before the one that it is in, newest first; empty if it
/// has made none.
pub fn before(node: &NodeSegment, rank: u32) -> String {
    let mut calls = node.page(rank).last_calls();
    // The message itself tells the last one.
    calls.pop();
    if calls.is_empty() {
        return String::new();
    }
    let mut text = String::from("  before that:\n");
    for line in lines(node, &calls).into_iter().take(IN_A_MESSAGE) {
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// A line for each call, newest first; the same call several times is one line.
fn lines(node: &NodeSegment, calls: &[Recorded]) -> Vec<String> {
    let words = |call: &Recorded| {
        let name = node.name(call.name).unwrap_or_else(|| format!("call {}", call.name));
        format!("{name}{}", subject(call))
    };
    let mut told: Vec<(String, u32)> = Vec::new();
    for call in calls.iter().rev() {
        let line = words(call);
        match told.last_mut() {
            Some((last, times)) if *last == line => *times += 1,
            _ => told.push((line, 1)),
        }
    }
    let counted = |(line, times): (String, u32)| match times {
        1 => line,
        times => format!("{line}, {times} times"),
    };
    told.into_iter().map(counted).collect()
}

/// All that is known of a job that went wrong: what was said of it, and of each rank
/// what it did last.
pub fn report(said: &str, node: &NodeSegment, elapsed: Duration) -> String {
    let mut text = format!("{said}\n{}", statistics::table(node, elapsed));
    for rank in 0..node.local_ranks() {
        let page = node.page(rank);
        let process = page.identity.pid.load(Relaxed);
        let state = match page.state() {
            State::Unused => "had not called MPI_Init",
            State::Starting => "was in MPI_Init",
            State::Running if page.inside() => "was inside the first of these",
            State::Running => "had returned from the first of these",
            State::Finalized => "had finalized",
            State::Aborted => "had called MPI_Abort",
            State::Ended => "had ended the job",
        };
        let _ = writeln!(text, "\nrank {rank} (process {process}) {state}; last calls, newest first:");
        for (number, calls) in page.last_calls_of_all().enumerate() {
            if number != 0 {
                text.push_str(" and of another thread:\n");
            }
            for line in lines(node, &calls) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_are_told_once_each_and_the_report_has_all_ranks() {
        let node = NodeSegment::create(2).unwrap();
        node.publish_names(&["", "MPI_Send", "MPI_Recv"]).unwrap();
        let page = node.page(1);
        page.set_state(State::Running);
        for tag in [3, 3, 3, 4] {
            page.enter(1);
            page.about(2, 0, tag, 8);
            page.leave(false);
        }
        page.enter(2);
        let text = before(&node, 1);
        let first = text.find("MPI_Send (rank 0, tag 4, 8 bytes, MPI_COMM_WORLD)").unwrap();
        assert!(
            text[first..].contains("MPI_Send (rank 0, tag 3, 8 bytes, MPI_COMM_WORLD), 3 times"),
            "{text}"
        );
        assert!(before(&node, 0).is_empty());
        let report = report("it went wrong", &node, Duration::from_secs(1));
        for part in
            ["it went wrong", "rank 0 (process 0) had not", "rank 1", "inside the first", "  MPI_Recv\n"]
        {
            assert!(report.contains(part), "{part}: {report}");
        }
    }
}
