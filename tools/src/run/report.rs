//! What the launcher says of a job that went wrong: one message, for people.

use super::verdict::{Cause, Failure, Stage};
use crate::system::signals;
use crate::why::words;
use serried_engine::job::NodeSegment;
use serried_engine::observe::page::NONE;
use serried_engine::observe::recorder::Recorded;
use serried_engine::world::context::WORLD;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// What is known of a rank that failed.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Its process.
    pub process: i32,
    /// Where it ran.
    pub host: &'a str,
    /// The name of its program.
    pub program: &'a str,
    /// How far it had come.
    pub stage: Stage,
    /// Its last MPI call, in words.
    pub last_call: Option<String>,
    /// Its calls before that one, in lines.
    pub calls_before: String,
    /// Whether the out-of-memory killer struck during the job.
    pub out_of_memory: bool,
    /// Ranks still running.
    pub others: usize,
    /// Whether they go on without it.
    pub has_survivors: bool,
}

/// The message for a failed rank.
pub fn failure(failure: &Failure, scene: &Scene) -> String {
    let mut text = format!(
        "serried: rank {} (process {} on {}, {}) {}\n",
        failure.rank,
        scene.process,
        scene.host,
        scene.program,
        what_happened(failure.cause, scene.stage)
    );
    if let Some(call) = &scene.last_call {
        let _ = writeln!(text, "  MPI: {call}");
        text.push_str(&scene.calls_before);
    }
    if let Some(hint) = hint(failure.cause, scene) {
        let _ = writeln!(text, "  {hint}");
    }
    match scene.others {
        0 => {}
        _ if scene.has_survivors => text.push_str("  The job goes on without it (--on-failure=continue).\n"),
        1 => text.push_str("  The other rank is ended.\n"),
        others => {
            let _ = writeln!(text, "  The other {others} ranks are ended.");
        }
    }
    text
}

fn what_happened(cause: Cause, stage: Stage) -> String {
    match cause {
        Cause::Killed(signal) => format!("was killed by {}", signals::name(signal)),
        Cause::Exited(status) if stage.takes_part() => {
            format!("exited with status {status} without MPI_Finalize")
        }
        Cause::Exited(status) => format!("exited with status {status}"),
        Cause::NoFinalize => "exited with status 0 without MPI_Finalize".into(),
        Cause::NoInit => "exited without MPI_Init, but other ranks wait for it in MPI".into(),
        Cause::Abort(code) => format!("called MPI_Abort with code {code}"),
        Cause::End(status) => format!("ended the job with status {status}"),
        Cause::Error(_) => "ended the job because of the error above".into(),
    }
}

fn hint(cause: Cause, scene: &Scene) -> Option<String> {
    let text = match cause {
        Cause::Killed(signal) => return by_signal(signal, scene.out_of_memory).map(str::to_owned),
        Cause::Exited(status @ 129..=192) => {
            return Some(format!(
                "A shell around the program says so when {} killed it.",
                signals::name(status - 128)
            ))
        }
        Cause::Exited(_) if scene.program.starts_with("python") => {
            "If it was a Python exception, its traceback stands above."
        }
        Cause::NoFinalize => "Does the program call exit() between MPI_Init and MPI_Finalize?",
        Cause::NoInit => "All ranks of a job must call MPI_Init, or none.",
        Cause::Exited(_) | Cause::Abort(_) | Cause::End(_) | Cause::Error(_) => return None,
    };
    Some(text.to_owned())
}

fn by_signal(signal: i32, out_of_memory: bool) -> Option<&'static str> {
    Some(match signal {
        libc::SIGKILL if out_of_memory => {
            "The kernel's out-of-memory killer has struck: give the job more memory, or use fewer ranks."
        }
        libc::SIGKILL => "Somebody sent it SIGKILL: a person, a batch system, or a limit of the machine.",
        libc::SIGSEGV => "It touched memory that is not its own: a wrong pointer or index, or a full stack.",
        libc::SIGBUS => "It touched memory with nothing behind it: a truncated file, or a full /dev/shm.",
        libc::SIGABRT => {
            "It gave up by itself (assert, abort, a check of the C library); its words stand above."
        }
        libc::SIGFPE => "It divided an integer by zero, or floating-point traps are on.",
        libc::SIGILL => "It met an instruction that this CPU has not: was it built for another machine?",
        libc::SIGPIPE => "It wrote to something that nobody reads any more.",
        _ => return None,
    })
}

/// The call that a rank is in, or was in last, in words.
pub fn call(node: &NodeSegment, rank: u32, stage: Stage, now: u64) -> Option<String> {
    match stage {
        Stage::Outside => return Some("it had not called MPI_Init".into()),
        Stage::Starting => return Some("it was inside MPI_Init".into()),
        Stage::Finalized => return Some("it had finalized".into()),
        Stage::Overwritten => return Some("a wrong pointer or index has overwritten its record".into()),
        Stage::Inside | Stage::Aborted(_) | Stage::Ended(_) => {}
    }
    let page = node.page(rank);
    let call = page.current()?;
    let name = node.name(call.name)?;
    let mut text = match page.inside() {
        true => format!("it was inside {name}{}", subject(&call)),
        false => format!("its last call was {name}, which had returned"),
    };
    let since = page.call.waiting_since.load(Relaxed);
    if page.inside() && since != 0 && now > since {
        let _ = write!(text, ", waiting for {:.1} s", (now - since) as f64 / 1e9);
    }
    let [written, read] =
        [&page.files.bytes_written, &page.files.bytes_read].map(|counter| counter.load(Relaxed));
    if written + read > 0 {
        let _ = write!(
            text,
            "; of files it had written {} and read {}",
            words::bytes(written),
            words::bytes(read)
        );
    }
    Some(text)
}

/// Whom a call is about, in brackets; empty if it has not said so.
pub fn subject(call: &Recorded) -> String {
    let mut about = Vec::new();
    let named = |value: i32| (value != NONE).then_some(value);
    about.extend(named(call.peer).map(|peer| match peer {
        negative if negative < 0 => "any rank".to_owned(),
        peer => format!("rank {peer}"),
    }));
    about.extend(named(call.tag).map(|tag| match tag {
        negative if negative < 0 => "any tag".to_owned(),
        tag => format!("tag {tag}"),
    }));
    if call.bytes != 0 {
        about.push(words::bytes(call.bytes));
    }
    match call.communicator {
        0 => {}
        WORLD => about.push("MPI_COMM_WORLD".into()),
        other => about.push(format!("communicator {other:#x}")),
    }
    if about.is_empty() {
        return String::new();
    }
    format!(" ({})", about.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::observe::State;

    #[test]
    fn the_message_names_rank_process_signal_and_call() {
        let node = NodeSegment::create(2).unwrap();
        node.publish_names(&["", "MPI_Recv"]).unwrap();
        let page = node.page(1);
        page.set_state(State::Running);
        page.enter(1);
        page.about(1, 0, 7, 8);
        page.call.waiting_since.store(1_000_000_000, Relaxed);
        let scene = Scene {
            process: 42,
            host: "vm",
            program: "heat",
            stage: Stage::Inside,
            last_call: call(&node, 1, Stage::Inside, 3_500_000_000),
            calls_before: String::new(),
            out_of_memory: false,
            others: 1,
            has_survivors: false,
        };
        let text = failure(&Failure { rank: 1, cause: Cause::Killed(11), patient: false }, &scene);
        for part in
            ["rank 1", "process 42 on vm", "signal 11, SIGSEGV", "inside MPI_Recv (rank 0, tag 7", "2.5 s"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
