//! Collectives that do not come together: who is missing, who is in another one.

use super::explain::needs_of;
use super::graph::{self, Standing};
use super::words::{self, ranks};
use serried_engine::observe::description::{Communicator, Description, Kind, Need, Operation, Thread};
use serried_engine::world::context;

/// The communicator on which a rank waits for others of a collective.
fn waits_on(description: &Description) -> Option<&Communicator> {
    let in_collective = |need: &&Need| {
        need.kind == Kind::Arrival || need.collective.is_some() || need.message.context & 1 == 1
    };
    let need = needs_of(description).find(in_collective)?;
    let base = context::base(need.message.context);
    description.communicators.iter().find(|known| known.context == base)
}

/// A place in the order of collectives on a communicator.
struct Place<'a> {
    rank: u32,
    number: u64,
    call: Option<&'a str>,
}

/// The collective that a rank has begun last: what makes communicators does not
/// leave its name there.
fn call_of<'a>(description: &'a Description, known: &'a Communicator) -> Option<&'a str> {
    let noted = known.last[0].as_ref().map(|operation| operation.call.as_str());
    let waiting = description.threads.first().map(|thread| thread.call.as_str());
    noted.into_iter().chain(waiting).find(|call| !call.is_empty())
}

/// The operation with this number, as a rank has begun it.
fn operation(known: &Communicator, number: u64) -> Option<&Operation> {
    let back = known.count.checked_sub(number)?;
    known.last.get(back as usize)?.as_ref().filter(|operation| !operation.call.is_empty())
}

/// One line on a collective that the ranks that are stuck do not come together in.
pub fn headline(all: &[Standing], stuck: &[u32]) -> Option<String> {
    let first = stuck.iter().find_map(|&rank| {
        let description = all[rank as usize].description()?;
        Some((description, waits_on(description)?))
    });
    let (description, communicator) = first?;
    let everyone: Vec<u32> = communicator.members.iter().chain(&communicator.remote).copied().collect();
    let waiting = |rank: &u32| {
        let description = all.get(*rank as usize)?.description()?;
        let known = waits_on(description).filter(|known| known.context == communicator.context)?;
        Some(Place { rank: *rank, number: known.count, call: call_of(description, known) })
    };
    let inside: Vec<Place> = everyone.iter().filter_map(waiting).collect();
    let number = inside.iter().map(|place| place.number).min()?;
    let on = words::name(description, communicator.context);
    if let Some(words) = different(all, &everyone, communicator.context, number, &on) {
        return Some(words);
    }
    let missing = absent(all, communicator, number);
    if missing.is_empty() {
        return None;
    }
    let call = inside.iter().find_map(|place| place.call).unwrap_or("a collective operation");
    let who: Vec<u32> = inside.iter().map(|place| place.rank).collect();
    let doing: Vec<String> = missing.iter().take(4).map(|&rank| what_it_does(all, rank)).collect();
    let (have, wait) =
        (if missing.len() == 1 { "has" } else { "have" }, if who.len() == 1 { "waits" } else { "wait" });
    Some(format!(
        "{} {have} not come to {call} (number {number}) on {on}, where {} {wait}: {}",
        ranks(&missing),
        ranks(&who),
        words::and(&doing)
    ))
}

/// Members that have not begun operation `number`.
fn absent(all: &[Standing], communicator: &Communicator, number: u64) -> Vec<u32> {
    let everyone = communicator.members.iter().chain(&communicator.remote).copied();
    let waiting = graph::waiting(all).filter(|(_, description)| {
        waits_on(description).is_some_and(|known| known.context == communicator.context)
    });
    let needed: Vec<u32> = waiting
        .flat_map(|(_, description)| needs_of(description))
        .flat_map(|need| need.peers.clone())
        .collect();
    let has_begun = |rank: u32| match all.get(rank as usize) {
        Some(Standing::Waiting(_)) => {
            count_of(all, rank, communicator.context).is_some_and(|count| count >= number)
        }
        // Others may be through with it, unless somebody waits just for them.
        _ => !needed.contains(&rank),
    };
    everyone.filter(|&rank| !has_begun(rank)).collect()
}

fn count_of(all: &[Standing], rank: u32, context: u64) -> Option<u64> {
    let description = all.get(rank as usize)?.description()?;
    description.communicators.iter().find(|known| known.context == context).map(|known| known.count)
}

fn what_it_does(all: &[Standing], rank: u32) -> String {
    match all.get(rank as usize) {
        Some(Standing::Finalized) => format!("rank {rank} has finalized"),
        Some(Standing::Waiting(description)) => {
            let call = description.threads.first().map_or("", |thread| &thread.call);
            let on = waits_on(description).map(|known| words::name(description, known.context));
            let on = on.map_or(String::new(), |on| format!(" on {on}"));
            format!("rank {rank} is in {}{on}", if call.is_empty() { "MPI" } else { call })
        }
        _ => format!("rank {rank} computes"),
    }
}

/// Ranks whose operation with the same number is another one.
fn different(all: &[Standing], everyone: &[u32], context: u64, number: u64, on: &str) -> Option<String> {
    let begun = |&rank: &u32| {
        let description = all.get(rank as usize)?.description()?;
        let known = description.communicators.iter().find(|known| known.context == context)?;
        Some((rank, operation(known, number)?))
    };
    let begun: Vec<(u32, &Operation)> = everyone.iter().filter_map(begun).collect();
    let (first, theirs) = begun.first()?;
    let (other, another) = begun.iter().find(|(_, operation)| {
        operation.call != theirs.call || (operation.root != theirs.root && theirs.root >= 0)
    })?;
    Some(format!(
        "rank {first} calls {} and rank {other} {} as collective operation number {number} on {on}; all ranks of a \
         communicator must call the same ones in the same order",
        call(theirs),
        call(another)
    ))
}

fn call(operation: &Operation) -> String {
    match operation.root {
        root if root >= 0 => format!("{} with root {root}", operation.call),
        _ => operation.call.clone(),
    }
}

/// For whom a thread waits in a collective, in words; `None` if it is in none. Those
/// who have not come at all, if there are such.
pub fn missing(all: &[Standing], description: &Description, thread: &Thread) -> Option<String> {
    let mut needs = thread.ways.iter().flatten().peekable();
    needs.peek()?;
    let mut peers = Vec::new();
    let mut context = 0;
    for need in needs {
        if need.kind != Kind::Arrival && need.collective.is_none() {
            return None;
        }
        peers.extend(&need.peers);
        context = need.message.context;
    }
    peers.sort_unstable();
    peers.dedup();
    let known = words::communicator(description, context)?;
    let call = match known.last[0].as_ref() {
        Some(operation) if !operation.call.is_empty() => call(operation),
        _ => thread.call.clone(),
    };
    let (number, on) = (known.count, words::name(description, context));
    let absent = absent(all, known, number);
    if !absent.is_empty() {
        peers = absent;
    }
    Some(format!("for {} in {call} (number {number} on {on})", ranks(&peers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(count: u64, call: &str, peers: &[u32], kind: Kind) -> Standing {
        let operation = |call: &str| Operation { root: -1, bytes: 0, call: call.into() };
        let world = Communicator {
            context: 2,
            members: vec![0, 1, 2],
            count,
            last: [Some(operation(call)), Some(operation("MPI_Bcast"))],
            name: "MPI_COMM_WORLD".into(),
            ..Communicator::default()
        };
        let mut need = Need { kind, peers: peers.to_vec(), ..Need::default() };
        need.message.context = 2;
        let thread = Thread { call: call.into(), ways: vec![vec![need]], ..Thread::default() };
        let description =
            Description { threads: vec![thread], communicators: vec![world], ..Description::default() };
        Standing::Waiting(Box::new(description))
    }

    #[test]
    fn who_is_missing_is_named_with_what_it_does() {
        let barrier = |peers: &[u32]| rank(3, "MPI_Barrier", peers, Kind::Arrival);
        let mut late = rank(2, "MPI_Bcast", &[0], Kind::Receive);
        if let Standing::Waiting(description) = &mut late {
            description.threads[0].call = "MPI_Recv".into();
        }
        let words = headline(&[barrier(&[2]), barrier(&[2]), late], &[0, 1, 2]).unwrap();
        assert_eq!(
            words,
            "rank 2 has not come to MPI_Barrier (number 3) on MPI_COMM_WORLD, where ranks 0 and 1 wait: rank 2 is in MPI_Recv"
        );
    }

    #[test]
    fn different_operations_are_told() {
        let all = [
            rank(3, "MPI_Barrier", &[1], Kind::Arrival),
            rank(3, "MPI_Allreduce", &[0], Kind::Arrival),
            rank(4, "MPI_Barrier", &[0], Kind::Arrival),
        ];
        let words = headline(&all, &[0, 1, 2]).unwrap();
        assert!(
            words.starts_with(
                "rank 0 calls MPI_Barrier and rank 1 MPI_Allreduce as collective operation number 3"
            ),
            "{words}"
        );
    }
}
