//! What `serried why --json` prints.

use super::explain::{self, Job};
use super::graph::needs_of;
use super::graph::Standing;
use super::look::Seen;
use super::words;
use serried_engine::observe::description::{Description, Envelope, Kind, Need, Thread};
use serried_engine::observe::page::NONE;

/// All that was seen.
pub fn of(seen: &Seen) -> String {
    let ranks: Vec<String> = (0..seen.ranks.len()).map(|rank| of_rank(seen, rank)).collect();
    let who = |rank: u32| format!("process {}", seen.ranks[rank as usize].process);
    let job = Job { ranks: &seen.standing, who: &who, now: seen.now };
    let verdict = match seen.stuck.is_empty() {
        true => "null".to_owned(),
        false => {
            let text = explain::verdict(&job, &seen.stuck);
            let first = text.lines().next().unwrap_or_default().trim_start_matches("serried: ");
            object(&[("ranks", numbers(&seen.stuck)), ("words", string(first))])
        }
    };
    let members = [
        ("process", seen.process.to_string()),
        ("command", string(&seen.command)),
        ("verdict", verdict),
        ("ranks", array(&ranks)),
    ];
    object(&members) + "\n"
}

fn of_rank(seen: &Seen, rank: usize) -> String {
    let (shown, standing) = (&seen.ranks[rank], &seen.standing[rank]);
    let state = match standing {
        Standing::Free => "free",
        Standing::Finalized(_) => "finalized",
        Standing::Waiting(description) if description.polls => "polls",
        Standing::Waiting(_) => "waits",
    };
    let mut members = vec![
        ("rank", shown.rank.to_string()),
        ("process", shown.process.to_string()),
        ("state", string(state)),
        ("call", string(&seen.calls[rank])),
        ("inside", shown.inside.to_string()),
        ("waited_seconds", format!("{:.3}", shown.waited(seen.now) as f64 / 1e9)),
    ];
    if let Some(description) = standing.description() {
        members.extend(of_description(seen, description));
        let who = |_: u32| String::new();
        let job = Job { ranks: &seen.standing, who: &who, now: seen.now };
        let near = explain::near_misses(&job, rank as u32, description);
        members.push(("near", array(&near.iter().map(|words| string(words)).collect::<Vec<_>>())));
    }
    let totals = &shown.totals;
    let moved = [
        ("packets", totals.bytes_inline.to_string()),
        ("cells", totals.bytes_cells.to_string()),
        ("direct", totals.bytes_direct.to_string()),
        ("cross_memory", totals.bytes_cross_memory.to_string()),
        ("memory_file", totals.bytes_memory_file.to_string()),
        ("device", totals.bytes_device.to_string()),
        ("device_mapped", totals.bytes_device_mapped.to_string()),
        ("device_combined", totals.bytes_device_combined.to_string()),
    ];
    members.push(("bytes", object(&moved)));
    object(&members)
}

fn of_description(seen: &Seen, description: &Description) -> Vec<(&'static str, String)> {
    let threads: Vec<String> =
        description.threads.iter().map(|thread| of_thread(seen, description, thread)).collect();
    let queue = |messages: &[Envelope]| {
        array(&messages.iter().map(|one| envelope(description, one)).collect::<Vec<_>>())
    };
    let peers: Vec<u32> = {
        let mut peers: Vec<u32> = needs_of(description).flat_map(|need| need.peers.clone()).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    };
    vec![
        ("waits_for", numbers(&peers)),
        ("threads", array(&threads)),
        ("may_go_on", array(&description.free.iter().map(|words| string(words)).collect::<Vec<_>>())),
        ("posted", queue(&description.posted)),
        ("unexpected", queue(&description.unexpected)),
    ]
}

fn of_thread(seen: &Seen, description: &Description, thread: &Thread) -> String {
    let needs =
        |way: &Vec<Need>| array(&way.iter().map(|need| of_need(description, need)).collect::<Vec<_>>());
    let since = match thread.since {
        0 => "null".into(),
        since => format!("{:.3}", seen.now.saturating_sub(since) as f64 / 1e9),
    };
    let lines = |lines: &[String]| array(&lines.iter().map(|line| string(line)).collect::<Vec<_>>());
    object(&[
        ("thread", thread.number.to_string()),
        ("call", string(&thread.call)),
        ("seconds", since),
        ("ways", array(&thread.ways.iter().map(needs).collect::<Vec<_>>())),
        ("stack", lines(&thread.stack)),
        ("python", lines(&thread.python)),
    ])
}

fn of_need(description: &Description, need: &Need) -> String {
    let kind = match need.kind {
        _ if need.collective.is_some() => "collective",
        Kind::Receive => "receive",
        Kind::Probe => "probe",
        Kind::Send => "send",
        Kind::Arrival => "collective",
        Kind::Program => "program",
        Kind::Partitioned => "partitioned send",
        Kind::Partitions => "partitions",
        Kind::Ready => "ready",
        Kind::Lock => "lock",
        Kind::Memory => "memory",
        Kind::Queue => "queue",
        Kind::Farewell => "farewell",
        Kind::Other => "other",
    };
    object(&[
        ("kind", string(kind)),
        ("ranks", numbers(&need.peers)),
        ("message", envelope(description, &need.message)),
    ])
}

fn envelope(description: &Description, message: &Envelope) -> String {
    let number = |value: i32| match value {
        0.. => value.to_string(),
        NONE => "null".into(),
        _ => string("any"),
    };
    object(&[
        ("communicator", string(&words::name(description, message.context))),
        ("source", number(message.source)),
        ("tag", number(message.tag)),
        ("bytes", message.bytes.to_string()),
    ])
}

fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}: {value}", string(name))).collect();
    format!("{{{}}}", members.join(", "))
}

fn array(values: &[String]) -> String {
    format!("[{}]", values.join(", "))
}

fn numbers(values: &[u32]) -> String {
    array(&values.iter().map(u32::to_string).collect::<Vec<_>>())
}

fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
