//! Words for what ranks describe.

use serried_engine::observe::description::{Communicator, Description, Envelope};
use serried_engine::observe::page::NONE;

/// `1`, `1 and 2`, `1, 2 and 3`; many as ranges.
pub fn list(ranks: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = ranks;
    while let Some(&first) = rest.first() {
        let length = rest.iter().zip(first..).take_while(|(rank, next)| *rank == next).count();
        match length {
            1 | 2 => parts.extend(rest[..length].iter().map(u32::to_string)),
            _ if ranks.len() <= 4 => parts.extend(rest[..length].iter().map(u32::to_string)),
            _ => parts.push(format!("{first} to {}", first + length as u32 - 1)),
        }
        rest = &rest[length..];
    }
    and(&parts)
}

/// `a`, `a and b`, `a, b and c`.
pub fn and(parts: &[String]) -> String {
    match parts {
        [] => "nobody".into(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// `rank 1`, `ranks 1 and 2`.
pub fn ranks(ranks: &[u32]) -> String {
    match ranks {
        [] => "no rank".into(),
        [one] => format!("rank {one}"),
        many => format!("ranks {}", list(many)),
    }
}

/// With a capital letter at its beginning.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// `8 bytes`, `1.0 MiB`.
pub fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".into(),
        0..=65535 => format!("{count} bytes"),
        65536..=1_048_575 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..=1_073_741_823 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}

/// `with tag 7`, `with any tag`; empty where there is none.
pub fn tag(tag: i32) -> String {
    match tag {
        NONE => String::new(),
        0.. => format!("with tag {tag}"),
        _ => "with any tag".into(),
    }
}

/// Seconds, from nanoseconds.
pub fn seconds(nanoseconds: u64) -> String {
    format!("{:.1} s", nanoseconds as f64 / 1e9)
}

/// The communicator that a context belongs to, as a rank knows it.
pub fn communicator(description: &Description, context: u64) -> Option<&Communicator> {
    let base = serried_engine::world::context::base(context);
    description.communicators.iter().find(|communicator| communicator.context == base)
}

/// Its name, for people.
pub fn name(description: &Description, context: u64) -> String {
    match communicator(description, context) {
        Some(known) if !known.name.is_empty() => known.name.clone(),
        Some(known) => {
            let between = if known.remote.is_empty() { "a communicator" } else { "an intercommunicator" };
            let mut all: Vec<u32> = known.members.iter().chain(&known.remote).copied().collect();
            all.sort_unstable();
            all.dedup();
            let number = serried_engine::world::context::base(context);
            format!("{between} of {} (context {number:#x})", ranks(&all))
        }
        None => format!("a communicator (context {context:#x})"),
    }
}

/// The job rank that a rank of a message in this context is.
pub fn job_rank(description: &Description, context: u64, rank: i32) -> Option<u32> {
    let known = communicator(description, context)?;
    let peers = if known.remote.is_empty() { &known.members } else { &known.remote };
    peers.get(usize::try_from(rank).ok()?).copied()
}

/// A message in a queue: `a message of rank 1 with tag 8 (8 bytes) on MPI_COMM_WORLD`.
pub fn message(description: &Description, message: &Envelope) -> String {
    let of = match job_rank(description, message.context, message.source) {
        Some(rank) => format!("rank {rank}"),
        None => "any rank".into(),
    };
    let (tag, bytes) = (tag(message.tag), bytes(message.bytes));
    format!("a message of {of} {tag} ({bytes}) on {}", name(description, message.context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_for_people() {
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[0, 1]), "ranks 0 and 1");
        assert_eq!(ranks(&[0, 2, 3]), "ranks 0, 2 and 3");
        assert_eq!(ranks(&[0, 1, 2, 3, 4, 5, 9]), "ranks 0 to 5 and 9");
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!(
            [1, 8, 65536, 1 << 20, 3 << 30].map(bytes),
            ["1 byte", "8 bytes", "64.0 KiB", "1.0 MiB", "3.0 GiB"]
        );
    }
}
